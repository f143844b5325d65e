#include "reproduce/cell.h"

#include <stdio.h>
#include <string.h>

enum { GRID_MAX = 4096 };

const char *gn_cell_state_name(gn_cell_state state)
{
    static const char *const names[] = {"runnable", "data missing", "no configuration"};
    return names[state];
}

/* ---- settings ---- */

/* The parts of a copy of text, which is cut at the separator. */
static gerne_status split(gerne_ctx *ctx, gn_arena *arena, const char *text, char separator,
                          const char ***out, size_t *count)
{
    size_t parts = 1;
    char *copy;
    for (const char *c = text; *c; c++)
        parts += *c == separator;
    GN_TRY(gn_arena_alloc(ctx, arena, strlen(text) + 1, 1, &copy));
    GN_TRY(gn_arena_alloc(ctx, arena, parts, sizeof **out, out));
    memcpy(copy, text, strlen(text) + 1);
    *count = 0;
    for (char *start = copy; start;) {
        char *end = strchr(start, separator);
        if (end)
            *end = '\0';
        if (*start)
            (*out)[(*count)++] = start;
        start = end ? end + 1 : NULL;
    }
    return GERNE_OK;
}

static gerne_status add_override(gerne_ctx *ctx, gn_arena *arena, const char *word, gn_cell *cell)
{
    const char *equals = strchr(word, '=');
    char key[64];
    const char **values;
    size_t count;
    if (!equals || equals == word || !equals[1] || (size_t)(equals - word) >= sizeof key)
        return gn_fail(ctx, GERNE_EINTERNAL, "cells.csv, %s: '%s' is not key=value", cell->path,
                       word);
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    GN_TRY(split(ctx, arena, equals + 1, '|', &values, &count));
    if (count > 1)
        return gn_settings_add(ctx, &cell->axes, key, values, count, true, 0);
    GN_TRY(split(ctx, arena, equals + 1, '+', &values, &count));
    return gn_settings_add(ctx, count > 1 ? &cell->folds : &cell->fixed, key, values, count,
                           count > 1, 0);
}

static gerne_status read_base(gerne_ctx *ctx, gn_cell *cell)
{
    char name[128];
    if (cell->is_own)
        return gn_settings_read(ctx, cell->base_name, &cell->base);
    snprintf(name, sizeof name, "%s.yaml", cell->base_name);
    const gn_embedded_file *file = gn_paper_file(name);
    if (!file)
        return gn_fail(ctx, GERNE_EINTERNAL, "cells.csv, %s: no file '%s'", cell->path, name);
    return gn_settings_parse(ctx, file->bytes, file->size, name, &cell->base);
}

static gerne_status read_settings(gerne_ctx *ctx, gn_arena *arena, gn_cell *cell)
{
    const char **words;
    size_t count;
    GN_TRY(read_base(ctx, cell));
    GN_TRY(split(ctx, arena, cell->overrides, ' ', &words, &count));
    for (size_t i = 0; i < count; i++)
        GN_TRY(add_override(ctx, arena, words[i], cell));
    if (gn_grid_size(&cell->axes) > GRID_MAX)
        return gn_fail(ctx, GERNE_EINTERNAL, "cells.csv, %s: a grid of more than %d points",
                       cell->path, GRID_MAX);
    return GERNE_OK;
}

gerne_status gn_cell_settings_read(gerne_ctx *ctx, gn_arena *arena, gn_cell *cell)
{
    cell->base = cell->fixed = cell->axes = cell->folds = (gn_settings){.arena = arena};
    gerne_status status = read_settings(ctx, arena, cell);
    if (status != GERNE_OK)
        gn_cell_settings_free(cell);
    return status;
}

void gn_cell_settings_free(gn_cell *cell)
{
    gn_settings_free(&cell->base);
    gn_settings_free(&cell->fixed);
    gn_settings_free(&cell->axes);
    gn_settings_free(&cell->folds);
}

/* ---- grids ---- */

size_t gn_grid_size(const gn_settings *axes)
{
    size_t size = 1;
    for (size_t i = 0; i < axes->count && size <= GRID_MAX; i++)
        size *= axes->list[i].count;
    return size;
}

const char *gn_grid_value(const gn_settings *axes, size_t point, size_t axis)
{
    for (size_t i = axes->count; i-- > axis + 1;)
        point /= axes->list[i].count;
    return axes->list[axis].items[point % axes->list[axis].count];
}

/* ---- can it run? ---- */

static const char *setting_of(const gn_cell *cell, const char *key)
{
    const gn_setting *s = gn_settings_find(&cell->fixed, key);
    s = s ? s : gn_settings_find(&cell->base, key);
    return s && s->count ? s->items[0] : NULL;
}

static gerne_status settle_data(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                                gn_cell *cell)
{
    if (!cell->dataset->folder[0])
        return GERNE_OK; /* generated */
    GN_TRY(gn_place_of(ctx, arena, places, cell->dataset, &cell->dir, &cell->reason));
    if (!cell->dir) {
        cell->state = GN_CELL_DATA_MISSING;
        cell->hint = cell->dataset->hint;
        return GERNE_OK;
    }
    if (strcmp(cell->dataset->name, "c-cifar10") == 0)
        GN_TRY(gn_place_of_frost(ctx, arena, places, &cell->frost));
    if (!setting_of(cell, "model.weights"))
        return GERNE_OK;
    const char *arch = setting_of(cell, "model.arch");
    GN_TRY(gn_place_of_weights(ctx, arena, places, arch ? arch : "resnet50", &cell->weights,
                               &cell->reason, &cell->hint));
    if (!cell->weights)
        cell->state = GN_CELL_DATA_MISSING;
    if (!arch || strcmp(arch, "resnet50") == 0)
        cell->variant_of_weights = places->variant;
    return GERNE_OK;
}

gerne_status gn_cell_settle(gerne_ctx *ctx, gn_arena *arena, const gn_places *places, gn_cell *cell)
{
    cell->state = GN_CELL_RUNNABLE;
    if (!cell->base_name) {
        cell->state = GN_CELL_NO_CONFIGURATION;
        cell->reason = "no configuration in this budget; try the other --budget";
    } else {
        GN_TRY(gn_cell_settings_read(ctx, arena, cell));
        const char *freeze = setting_of(cell, "model.freeze");
        cell->frozen = freeze && strcmp(freeze, "body") == 0;
        if (!cell->is_own)
            GN_TRY(settle_data(ctx, arena, places, cell));
    }
    return GERNE_OK;
}

/* ---- flags ---- */

static gerne_status add_flag(gerne_ctx *ctx, gn_settings *out, const char *key, const char *value)
{
    return value ? gn_settings_add(ctx, out, key, &value, 1, false, 0) : GERNE_OK;
}

gerne_status gn_cell_flags(gerne_ctx *ctx, const gn_cell *cell, gn_settings *out)
{
    const gn_settings *fixed = &cell->fixed;
    for (size_t i = 0; i < fixed->count; i++)
        GN_TRY(add_flag(ctx, out, fixed->list[i].key, fixed->list[i].items[0]));
    GN_TRY(add_flag(ctx, out, cell->dataset->is_file ? "data.file" : "data.dir", cell->dir));
    GN_TRY(add_flag(ctx, out, "data.frost", cell->frost));
    GN_TRY(add_flag(ctx, out, "model.weights", cell->weights));
    return add_flag(ctx, out, "model.variant", cell->variant_of_weights);
}

gerne_status gn_cell_changes(gerne_ctx *ctx, const gn_cell *cell, size_t point, size_t fold,
                             gn_settings *out)
{
    const gn_settings *axes = &cell->axes, *folds = &cell->folds;
    for (size_t i = 0; i < axes->count; i++)
        GN_TRY(add_flag(ctx, out, axes->list[i].key, gn_grid_value(axes, point, i)));
    for (size_t i = 0; i < folds->count; i++)
        GN_TRY(add_flag(ctx, out, folds->list[i].key, gn_grid_value(folds, fold, i)));
    return GERNE_OK;
}

gerne_status gn_cell_point_words(gerne_ctx *ctx, gn_arena *arena, const gn_cell *cell, size_t point,
                                 const char **out)
{
    const gn_settings *axes = &cell->axes;
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
