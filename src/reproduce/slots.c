#include "reproduce/slots.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/method.h"

enum { SLOTS_MAX = 512 };

const char *gn_slot_state_name(gn_slot_state state)
{
    static const char *const names[] = {"runnable", "data missing", "not built yet",
                                        "no configuration"};
    return names[state];
}

static bool method_exists(const char *name)
{
    for (size_t i = 0; gn_methods[i]; i++)
        if (strcmp(gn_methods[i]->name, name) == 0)
            return true;
    return false;
}

/* ---- can it run? ---- */

static const char *setting_of(const gn_slot *slot, const char *key)
{
    const gn_setting *s = gn_settings_find(&slot->settings.fixed, key);
    s = s ? s : gn_settings_find(&slot->settings.base, key);
    return s && s->count ? s->items[0] : NULL;
}

static gerne_status settle_data(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                                gn_slot *slot)
{
    GN_TRY(gn_place_of(ctx, arena, places, slot->dataset, &slot->dir, &slot->reason));
    if (!slot->dir) {
        slot->state = slot->dataset->folder ? GN_SLOT_DATA_MISSING : GN_SLOT_NOT_BUILT;
        slot->hint = slot->dataset->hint;
        return GERNE_OK;
    }
    if (strcmp(slot->dataset->name, "c-cifar10") == 0)
        GN_TRY(gn_place_of_frost(ctx, arena, places, &slot->frost));
    if (!setting_of(slot, "model.weights"))
        return GERNE_OK;
    const char *arch = setting_of(slot, "model.arch");
    GN_TRY(gn_place_of_weights(ctx, arena, places, arch ? arch : "resnet50", &slot->weights,
                               &slot->reason, &slot->hint));
    if (!slot->weights)
        slot->state = GN_SLOT_DATA_MISSING;
    slot->variant_of_weights = places->variant;
    return GERNE_OK;
}

gerne_status gn_slot_settle(gerne_ctx *ctx, gn_arena *arena, const gn_places *places, gn_slot *slot)
{
    slot->state = GN_SLOT_RUNNABLE;
    if (!method_exists(slot->method)) {
        slot->state = GN_SLOT_NOT_BUILT;
        slot->reason = "not built yet: the method";
    } else if (!slot->dataset->folder) {
        slot->state = GN_SLOT_NOT_BUILT;
        slot->reason = "not built yet: text data";
    } else if (!slot->cell) {
        slot->state = GN_SLOT_NO_CELL;
        slot->reason = "no configuration in this budget; try the other --budget";
    } else {
        GN_TRY(gn_cell_settings_read(ctx, arena, slot->cell, &slot->settings));
        const char *freeze = setting_of(slot, "model.freeze");
        slot->frozen = freeze && strcmp(freeze, "body") == 0;
        if (!slot->cell->file)
            GN_TRY(settle_data(ctx, arena, places, slot));
    }
    return GERNE_OK;
}

/* ---- from tables and cells to slots ---- */

typedef struct maker {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_slot_request *request;
    gn_cells cells;
    gn_slots all;
} maker;

static const gn_cell *find_cell(const maker *m, const char *path)
{
    for (size_t i = 0; i < m->cells.count; i++) {
        const gn_cell *c = &m->cells.list[i];
        if (strcmp(c->table, m->request->what) == 0 && strcmp(c->path, path) == 0 &&
            (!c->budget[0] || strcmp(c->budget, m->request->budget) == 0))
            return c;
    }
    return NULL;
}

static gerne_status add_slot(maker *m, const gn_slot *slot)
{
    if (!slot->dataset)
        return gn_fail(m->ctx, GERNE_EINTERNAL, "%s: a dataset that nobody knows", slot->path);
    if (m->all.count == SLOTS_MAX)
        return gn_fail(m->ctx, GERNE_EINTERNAL, "more than %d slots", SLOTS_MAX);
    m->all.list[m->all.count++] = *slot;
    return GERNE_OK;
}

/* A column's name is "dataset/ratio" or "dataset". */
static gerne_status add_of_table(maker *m, const gn_paper_row *row, const char *column,
                                 const gn_paper_figure *figure)
{
    char dataset[64];
    const char *slash = strchr(column, '/');
    const char *const parts[] = {column, row->setting, row->method};
    snprintf(dataset, sizeof dataset, "%.*s", (int)strcspn(column, "/"), column);
    gn_slot slot = {.ratio = slash ? slash + 1 : "",
                    .setting = row->setting,
                    .method = row->method,
                    .variant = "",
                    .title = row->title,
                    .dataset = gn_paper_dataset_find(dataset),
                    .paper = *figure};
    GN_TRY(gn_cell_path(m->ctx, m->arena, parts, 3, &slot.path));
    slot.cell = find_cell(m, slot.path);
    if (isnan(figure->mean) && !slot.cell)
        return GERNE_OK; /* a place that the paper leaves empty */
    return add_slot(m, &slot);
}

static gerne_status make_of_table(maker *m)
{
    gn_paper_table table;
    GN_TRY(gn_paper_table_read(m->ctx, m->arena, m->request->what, &table));
    for (size_t c = 0; c < table.column_count; c++)
        for (size_t r = 0; r < table.row_count; r++)
            GN_TRY(add_of_table(m, &table.rows[r], table.columns[c], &table.rows[r].figures[c]));
    return GERNE_OK;
}

/* The two rows of appendix G with a configuration of the user's: its data, network and method. */
static gerne_status make_of_own(maker *m)
{
    static const gn_paper_dataset own = {.name = "own",
                                         .title = "the configuration's data",
                                         .metric = "wga",
                                         .metric_title = "worst-group accuracy",
                                         .folder = ""};
    static const char *const settings[] = {"test", "folds"};
    static const char *const overrides[] = {
        "data.train_on=val select.split=test train.log_test=true",
        "data.train_on=val data.fold=1/3+2/3+3/3 train.log_test=true"};
    gn_settings file = {.arena = m->arena};
    const char *method;
    gerne_status status = gn_settings_read(m->ctx, m->request->dataset, &file);
    const gn_setting *name = gn_settings_find(&file, "method.name");
    if (status == GERNE_OK)
        status = gn_arena_copy_text(m->ctx, m->arena,
                                    name && name->count ? name->items[0] : "gerne", &method);
    gn_settings_free(&file);
    GN_TRY(status);
    for (int i = 0; i < 2; i++) {
        const char *const parts[] = {"own", settings[i], method};
        gn_cell *cell;
        GN_TRY(gn_arena_alloc(m->ctx, m->arena, 1, sizeof *cell, &cell));
        GN_TRY(gn_cell_path(m->ctx, m->arena, parts, 3, &cell->path));
        *cell = (gn_cell){"table3",
                          "own",
                          "",
                          settings[i],
                          method,
                          "",
                          "",
                          m->request->dataset,
                          m->request->dataset,
                          overrides[i],
                          cell->path};
        const gn_slot slot = {.path = cell->path,
                              .ratio = "",
                              .setting = settings[i],
                              .method = method,
                              .variant = "",
                              .title = method,
                              .dataset = &own,
                              .paper = {NAN, NAN},
                              .cell = cell};
        GN_TRY(add_slot(m, &slot));
    }
    return GERNE_OK;
}

static gerne_status make_of_cells(maker *m)
{
    for (size_t i = 0; i < m->cells.count; i++) {
        const gn_cell *c = &m->cells.list[i];
        if (strcmp(c->table, m->request->what) != 0 ||
            (c->budget[0] && strcmp(c->budget, m->request->budget) != 0))
            continue;
        const gn_slot slot = {.path = c->path,
                              .ratio = c->ratio,
                              .setting = c->setting,
                              .method = c->method,
                              .variant = c->variant,
                              .title = strcmp(c->method, "gerne") == 0 ? "GERNE" : c->method,
                              .dataset = gn_paper_dataset_find(c->dataset),
                              .paper = {NAN, NAN},
                              .cell = c};
        GN_TRY(add_slot(m, &slot));
    }
    return GERNE_OK;
}

/* ---- choosing ---- */

/* All paths and their beginnings, for the nearest name. */
static const char *nearest_path(maker *m, const char *text)
{
    const char **names;
    size_t count = 0;
    if (gn_arena_alloc(m->ctx, m->arena, m->all.count * 5, sizeof *names, &names) != GERNE_OK)
        return NULL;
    for (size_t i = 0; i < m->all.count; i++)
        for (const char *c = m->all.list[i].path; count < m->all.count * 5; c++) {
            if (*c != '/' && *c)
                continue;
            char *part;
            size_t length = (size_t)(c - m->all.list[i].path);
            if (gn_arena_alloc(m->ctx, m->arena, length + 1, 1, &part) != GERNE_OK)
                return NULL;
            memcpy(part, m->all.list[i].path, length);
            names[count++] = part;
            if (!*c)
                break;
        }
    return gn_nearest(text, names, count);
}

static const char *nearest_method(maker *m, const char *text)
{
    const char **names;
    if (gn_arena_alloc(m->ctx, m->arena, m->all.count, sizeof *names, &names) != GERNE_OK)
        return NULL;
    for (size_t i = 0; i < m->all.count; i++)
        names[i] = m->all.list[i].method;
    return gn_nearest(text, names, m->all.count);
}

/* Every part of a comma-separated list must take something. */
static gerne_status check_list(maker *m, const char *list, bool is_path)
{
    char part[256];
    for (const char *start = list; start;) {
        const char *end = strchr(start, ',');
        size_t length = end ? (size_t)(end - start) : strlen(start);
        snprintf(part, sizeof part, "%.*s", (int)length, start);
        size_t hits = 0;
        for (size_t i = 0; i < m->all.count; i++)
            hits += is_path ? gn_path_chosen(m->all.list[i].path, part)
                            : gn_word_chosen(m->all.list[i].method, part);
        if (!hits) {
            const char *near = is_path ? nearest_path(m, part) : nearest_method(m, part);
            gn_fail(m->ctx, GERNE_EUSAGE, "%s has no %s '%s'", m->request->what,
                    is_path ? "cell" : "method", part);
            if (near)
                gn_hint(m->ctx, "did you mean '%s'? 'gerne reproduce %s --list' shows all", near,
                        m->request->what);
            else
                gn_hint(m->ctx, "'gerne reproduce %s --list' shows all", m->request->what);
            return GERNE_EUSAGE;
        }
        start = end ? end + 1 : NULL;
    }
    return GERNE_OK;
}

static gerne_status choose(maker *m, gn_slots *out)
{
    GN_TRY(check_list(m, m->request->only, true));
    GN_TRY(check_list(m, m->request->method, false));
    GN_TRY(gn_arena_alloc(m->ctx, m->arena, m->all.count + 1, sizeof *out->list, &out->list));
    for (size_t i = 0; i < m->all.count; i++) {
        const gn_slot *slot = &m->all.list[i];
        if (!gn_path_chosen(slot->path, m->request->only) ||
            !gn_word_chosen(slot->method, m->request->method))
            continue;
        out->list[out->count] = *slot;
        GN_TRY(gn_slot_settle(m->ctx, m->arena, &m->request->places, &out->list[out->count++]));
    }
    if (out->count)
        return GERNE_OK;
    gn_fail(m->ctx, GERNE_EUSAGE, "no cell of %s has both '%s' and method '%s'", m->request->what,
            m->request->only ? m->request->only : "", m->request->method ? m->request->method : "");
    gn_hint(m->ctx, "'gerne reproduce %s --list' shows all", m->request->what);
    return GERNE_EUSAGE;
}

gerne_status gn_slots_make(gerne_ctx *ctx, gn_arena *arena, const gn_slot_request *request,
                           gn_slots *out)
{
    maker m = {.ctx = ctx, .arena = arena, .request = request};
    *out = (gn_slots){0};
    GN_TRY(gn_cells_read(ctx, arena, &m.cells));
    GN_TRY(gn_arena_alloc(ctx, arena, SLOTS_MAX, sizeof *m.all.list, &m.all.list));
    if (request->dataset)
        GN_TRY(make_of_own(&m));
    else
        GN_TRY(strncmp(request->what, "table", 5) == 0 ? make_of_table(&m) : make_of_cells(&m));
    gerne_status status = choose(&m, out);
    if (status != GERNE_OK)
        gn_slots_free(out);
    return status;
}

void gn_slots_free(gn_slots *slots)
{
    for (size_t i = 0; i < slots->count; i++)
        gn_cell_settings_free(&slots->list[i].settings);
    slots->count = 0;
}

/* ---- configurations ---- */

static gerne_status add_flag(gerne_ctx *ctx, gn_settings *out, const char *key, const char *value)
{
    return value ? gn_settings_add(ctx, out, key, &value, 1, false, 0) : GERNE_OK;
}

gerne_status gn_slot_flags(gerne_ctx *ctx, const gn_slot *slot, gn_settings *out)
{
    const gn_settings *fixed = &slot->settings.fixed;
    for (size_t i = 0; i < fixed->count; i++)
        GN_TRY(add_flag(ctx, out, fixed->list[i].key, fixed->list[i].items[0]));
    GN_TRY(add_flag(ctx, out, "data.dir", slot->dir));
    GN_TRY(add_flag(ctx, out, "data.frost", slot->frost));
    GN_TRY(add_flag(ctx, out, "model.weights", slot->weights));
    return add_flag(ctx, out, "model.variant", slot->variant_of_weights);
}

gerne_status gn_slot_changes(gerne_ctx *ctx, const gn_slot *slot, size_t point, size_t fold,
                             gn_settings *out)
{
    const gn_settings *axes = &slot->settings.axes, *folds = &slot->settings.folds;
    for (size_t i = 0; i < axes->count; i++)
        GN_TRY(add_flag(ctx, out, axes->list[i].key, gn_grid_value(axes, point, i)));
    for (size_t i = 0; i < folds->count; i++)
        GN_TRY(add_flag(ctx, out, folds->list[i].key, gn_grid_value(folds, fold, i)));
    return GERNE_OK;
}

gerne_status gn_slot_point_words(gerne_ctx *ctx, gn_arena *arena, const gn_slot *slot, size_t point,
                                 const char **out)
{
    const gn_settings *axes = &slot->settings.axes;
    gn_text text = {0};
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < axes->count && status == GERNE_OK; i++) {
        const char *dot = strrchr(axes->list[i].key, '.');
        status = gn_text_add(ctx, &text, "%s%s = %s", i ? ", " : "",
                             dot ? dot + 1 : axes->list[i].key, gn_grid_value(axes, point, i));
    }
    if (status == GERNE_OK)
        status = gn_arena_copy_text(ctx, arena, text.bytes ? text.bytes : "", out);
    gn_text_free(&text);
    return status;
}
