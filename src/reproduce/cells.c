#include "reproduce/cells.h"

#include <stdio.h>
#include <string.h>

enum { CELLS_MAX = 512, GRID_MAX = 4096 };

static const char *const column_names[] = {"table",   "dataset", "ratio", "setting",  "method",
                                           "variant", "budget",  "base",  "overrides"};
enum { COLUMNS = sizeof column_names / sizeof column_names[0] };

gerne_status gn_cell_path(gerne_ctx *ctx, gn_arena *arena, const char *const *parts, size_t count,
                          const char **out)
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
    *cell = (gn_cell){texts[0], texts[1], texts[2], texts[3], texts[4], texts[5],
                      texts[6], texts[7], NULL,     texts[8], NULL};
    return gn_cell_path(ctx, arena, texts + 1, 5, &cell->path);
}

static gerne_status read_all(gerne_ctx *ctx, gn_arena *arena, gn_csv *csv, gn_cells *out)
{
    size_t columns[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        GN_TRY(gn_csv_require(csv, column_names[i], &columns[i]));
    GN_TRY(gn_arena_alloc(ctx, arena, CELLS_MAX, sizeof *out->list, &out->list));
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        if (out->count == CELLS_MAX)
            return gn_csv_fail(csv, GERNE_EINTERNAL, -1, "more than %d cells", CELLS_MAX);
        GN_TRY(read_cell(ctx, arena, csv, columns, &out->list[out->count++]));
    }
}

gerne_status gn_cells_read(gerne_ctx *ctx, gn_arena *arena, gn_cells *out)
{
    gn_csv *csv;
    *out = (gn_cells){0};
    GN_TRY(gn_paper_open(ctx, "cells.csv", &csv));
    gerne_status status = read_all(ctx, arena, csv, out);
    gn_csv_close(csv);
    return status;
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

static gerne_status add_override(gerne_ctx *ctx, gn_arena *arena, const gn_cell *cell,
                                 const char *word, gn_cell_settings *out)
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
        return gn_settings_add(ctx, &out->axes, key, values, count, true, 0);
    GN_TRY(split(ctx, arena, equals + 1, '+', &values, &count));
    return gn_settings_add(ctx, count > 1 ? &out->folds : &out->fixed, key, values, count,
                           count > 1, 0);
}

static gerne_status read_base(gerne_ctx *ctx, const gn_cell *cell, gn_settings *out)
{
    char name[128];
    if (cell->file)
        return gn_settings_read(ctx, cell->file, out);
    snprintf(name, sizeof name, "%s.yaml", cell->base);
    const gn_embedded_file *file = gn_paper_file(name);
    if (!file)
        return gn_fail(ctx, GERNE_EINTERNAL, "cells.csv, %s: no file '%s'", cell->path, name);
    return gn_settings_parse(ctx, file->bytes, file->size, name, out);
}

static gerne_status read_settings(gerne_ctx *ctx, gn_arena *arena, const gn_cell *cell,
                                  gn_cell_settings *out)
{
    GN_TRY(read_base(ctx, cell, &out->base));
    const char **words;
    size_t count;
    GN_TRY(split(ctx, arena, cell->overrides, ' ', &words, &count));
    for (size_t i = 0; i < count; i++)
        GN_TRY(add_override(ctx, arena, cell, words[i], out));
    if (gn_grid_size(&out->axes) > GRID_MAX)
        return gn_fail(ctx, GERNE_EINTERNAL, "cells.csv, %s: a grid of more than %d points",
                       cell->path, GRID_MAX);
    return GERNE_OK;
}

gerne_status gn_cell_settings_read(gerne_ctx *ctx, gn_arena *arena, const gn_cell *cell,
                                   gn_cell_settings *out)
{
    *out =
        (gn_cell_settings){{.arena = arena}, {.arena = arena}, {.arena = arena}, {.arena = arena}};
    gerne_status status = read_settings(ctx, arena, cell, out);
    if (status != GERNE_OK)
        gn_cell_settings_free(out);
    return status;
}

void gn_cell_settings_free(gn_cell_settings *settings)
{
    gn_settings_free(&settings->base);
    gn_settings_free(&settings->fixed);
    gn_settings_free(&settings->axes);
    gn_settings_free(&settings->folds);
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
