#include "reproduce/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS_MAX = 1024 };

/* ---- cells.csv ---- */

/* The columns of cells.csv; those of the path come in its order. */
enum { TABLE, DATASET, RATIO, SETTING, METHOD, VARIANT, BUDGET, BASE, OVERRIDES, COLUMNS };
static const char *const column_names[COLUMNS] = {
    "table", "dataset", "ratio", "setting", "method", "variant", "budget", "base", "overrides"};

/* The parts that are not empty, with slashes between them. */
static gerne_status join_path(gerne_ctx *ctx, gn_arena *arena, const char *const *parts,
                              size_t count, const char **out)
{
    gn_text text = {0};
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < count && status == GERNE_OK; i++)
        if (parts[i][0])
            status = gn_text_add(ctx, &text, "%s%s", text.size ? "/" : "", parts[i]);
    if (status == GERNE_OK)
        status = gn_arena_copy_text(ctx, arena, text.bytes ? text.bytes : "", out);
    gn_text_free(&text);
    return status;
}

static gerne_status read_cell(gerne_ctx *ctx, gn_arena *arena, gn_csv *csv, const size_t *columns,
                              gn_cell *cell)
{
    const char *texts[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        GN_TRY(gn_arena_copy_text(ctx, arena, gn_csv_cell(csv, columns[i]), &texts[i]));
    *cell = (gn_cell){.ratio = texts[RATIO],
                      .setting = texts[SETTING],
                      .method = texts[METHOD],
                      .variant = texts[VARIANT],
                      .title = strcmp(texts[METHOD], "gerne") == 0 ? "GERNE" : texts[METHOD],
                      .dataset = gn_paper_dataset_find(texts[DATASET]),
                      .paper = {NAN, NAN},
                      .budget = texts[BUDGET],
                      .base_name = texts[BASE],
                      .overrides = texts[OVERRIDES]};
    GN_TRY(join_path(ctx, arena, texts + DATASET, BUDGET - DATASET, &cell->path));
    return cell->dataset
               ? GERNE_OK
               : gn_csv_fail(csv, GERNE_EINTERNAL, (ptrdiff_t)columns[DATASET], "unknown dataset");
}

static bool is_asked(gn_csv *csv, const size_t *columns, const char *what, const char *budget)
{
    const char *own = gn_csv_cell(csv, columns[BUDGET]);
    return (!what || strcmp(gn_csv_cell(csv, columns[TABLE]), what) == 0) &&
           (!budget || !own[0] || strcmp(own, budget) == 0);
}

static gerne_status read_rows(gerne_ctx *ctx, gn_arena *arena, gn_csv *csv, const char *what,
                              const char *budget, gn_cells *out)
{
    size_t columns[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        GN_TRY(gn_csv_require(csv, column_names[i], &columns[i]));
    GN_TRY(gn_arena_alloc(ctx, arena, CELLS_MAX, sizeof *out->list, &out->list));
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        if (!is_asked(csv, columns, what, budget))
            continue;
        if (out->count == CELLS_MAX)
            return gn_csv_fail(csv, GERNE_EINTERNAL, -1, "more than %d cells", CELLS_MAX);
        GN_TRY(read_cell(ctx, arena, csv, columns, &out->list[out->count++]));
    }
}

gerne_status gn_cells_read(gerne_ctx *ctx, gn_arena *arena, const char *what, const char *budget,
                           gn_cells *out)
{
    gn_csv *csv;
    *out = (gn_cells){0};
    GN_TRY(gn_paper_open(ctx, "cells.csv", &csv));
    gerne_status status = read_rows(ctx, arena, csv, what, budget, out);
    gn_csv_close(csv);
    return status;
}

/* ---- all cells of a table or figure ---- */

typedef struct maker {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_reproduce_options *options;
    gn_cells configured, all;
} maker;

static const gn_cell *find_configured(const maker *m, const char *path)
{
    for (size_t i = 0; i < m->configured.count; i++)
        if (strcmp(m->configured.list[i].path, path) == 0)
            return &m->configured.list[i];
    return NULL;
}

static gerne_status add_cell(maker *m, const gn_cell *cell)
{
    if (m->all.count == CELLS_MAX)
        return gn_fail(m->ctx, GERNE_EINTERNAL, "more than %d cells", CELLS_MAX);
    m->all.list[m->all.count++] = *cell;
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
    gn_cell cell = {.ratio = slash ? slash + 1 : "",
                    .setting = row->setting,
                    .method = row->method,
                    .variant = "",
                    .budget = "",
                    .dataset = gn_paper_dataset_find(dataset)};
    GN_TRY(join_path(m->ctx, m->arena, parts, 3, &cell.path));
    const gn_cell *configured = find_configured(m, cell.path);
    if (configured)
        cell = *configured;
    else if (isnan(figure->mean))
        return GERNE_OK; /* a place that the paper leaves empty */
    if (!cell.dataset)
        return gn_fail(m->ctx, GERNE_EINTERNAL, "%s: unknown dataset", cell.path);
    cell.title = row->title;
    cell.paper = *figure;
    return add_cell(m, &cell);
}

static gerne_status make_of_table(maker *m)
{
    gn_paper_table table;
    GN_TRY(gn_paper_table_read(m->ctx, m->arena, m->options->what, &table));
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
    gerne_status status = gn_settings_read(m->ctx, m->options->dataset, &file);
    const gn_setting *name = gn_settings_find(&file, "method.name");
    if (status == GERNE_OK)
        status = gn_arena_copy_text(m->ctx, m->arena,
                                    name && name->count ? name->items[0] : "gerne", &method);
    gn_settings_free(&file);
    GN_TRY(status);
    for (int i = 0; i < 2; i++) {
        const char *const parts[] = {"own", settings[i], method};
        gn_cell cell = {.ratio = "",
                        .setting = settings[i],
                        .method = method,
                        .variant = "",
                        .title = method,
                        .dataset = &own,
                        .paper = {NAN, NAN},
                        .budget = "",
                        .base_name = m->options->dataset,
                        .is_own = true,
                        .overrides = overrides[i]};
        GN_TRY(join_path(m->ctx, m->arena, parts, 3, &cell.path));
        GN_TRY(add_cell(m, &cell));
    }
    return GERNE_OK;
}

/* ---- choosing ---- */

bool gn_path_chosen(const char *path, const char *prefixes)
{
    if (!prefixes)
        return true;
    for (const char *start = prefixes; start;) {
        const char *end = strchr(start, ',');
        size_t length = end ? (size_t)(end - start) : strlen(start);
        while (length && start[length - 1] == '/')
            length--;
        if (length && strncmp(path, start, length) == 0 &&
            (path[length] == '\0' || path[length] == '/'))
            return true;
        start = end ? end + 1 : NULL;
    }
    return false;
}

bool gn_word_chosen(const char *word, const char *list)
{
    size_t size = strlen(word);
    for (const char *start = list; start;) {
        const char *end = strchr(start, ',');
        size_t length = end ? (size_t)(end - start) : strlen(start);
        if (length == size && strncmp(start, word, size) == 0)
            return true;
        start = end ? end + 1 : NULL;
    }
    return !list;
}

/* All paths and their prefixes, for the nearest name. */
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
            gn_fail(m->ctx, GERNE_EUSAGE, "%s has no %s '%s'", m->options->what,
                    is_path ? "cell" : "method", part);
            if (near)
                gn_hint(m->ctx, "did you mean '%s'? 'gerne reproduce %s --list' shows all", near,
                        m->options->what);
            else
                gn_hint(m->ctx, "'gerne reproduce %s --list' shows all", m->options->what);
            return GERNE_EUSAGE;
        }
        start = end ? end + 1 : NULL;
    }
    return GERNE_OK;
}

static gerne_status choose(maker *m, gn_cells *out)
{
    GN_TRY(check_list(m, m->options->only, true));
    GN_TRY(check_list(m, m->options->method, false));
    GN_TRY(gn_arena_alloc(m->ctx, m->arena, m->all.count + 1, sizeof *out->list, &out->list));
    for (size_t i = 0; i < m->all.count; i++) {
        const gn_cell *cell = &m->all.list[i];
        if (!gn_path_chosen(cell->path, m->options->only) ||
            !gn_word_chosen(cell->method, m->options->method))
            continue;
        out->list[out->count] = *cell;
        GN_TRY(gn_cell_settle(m->ctx, m->arena, &m->options->places, &out->list[out->count++]));
    }
    if (out->count)
        return GERNE_OK;
    gn_fail(m->ctx, GERNE_EUSAGE, "no cell of %s has both '%s' and method '%s'", m->options->what,
            m->options->only ? m->options->only : "", m->options->method ? m->options->method : "");
    gn_hint(m->ctx, "'gerne reproduce %s --list' shows all", m->options->what);
    return GERNE_EUSAGE;
}

gerne_status gn_cells_make(gerne_ctx *ctx, gn_arena *arena, const gn_reproduce_options *options,
                           gn_cells *out)
{
    maker m = {.ctx = ctx, .arena = arena, .options = options};
    *out = (gn_cells){0};
    GN_TRY(gn_cells_read(ctx, arena, options->what, options->budget, &m.configured));
    GN_TRY(gn_arena_alloc(ctx, arena, CELLS_MAX, sizeof *m.all.list, &m.all.list));
    if (options->dataset)
        GN_TRY(make_of_own(&m));
    else if (strncmp(options->what, "table", 5) == 0)
        GN_TRY(make_of_table(&m));
    else
        m.all = m.configured; /* figures are in cells.csv alone */
    gerne_status status = choose(&m, out);
    if (status != GERNE_OK)
        gn_cells_free(out);
    return status;
}

void gn_cells_free(gn_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        gn_cell_settings_free(&cells->list[i]);
    cells->count = 0;
}
