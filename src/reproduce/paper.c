#include "reproduce/paper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 3, ROWS_MAX = 64 }; /* method, title and setting come before the figures */

const gn_embedded_file *gn_paper_file(const char *name)
{
    for (const gn_embedded_file *f = gn_paper_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

gerne_status gn_paper_open(gerne_ctx *ctx, const char *name, gn_csv **out)
{
    *out = NULL;
    const gn_embedded_file *file = gn_paper_file(name);
    if (!file)
        return gn_fail(ctx, GERNE_EINTERNAL, "no embedded file '%s'", name);
    return gn_csv_open_bytes(ctx, name, file->bytes, file->size, NULL, out);
}

bool gn_paper_figure_parse(const char *text, gn_paper_figure *out)
{
    char mean[32];
    *out = (gn_paper_figure){NAN, NAN};
    if (!text[0])
        return true;
    const char *sign = strstr(text, " +- ");
    size_t length = sign ? (size_t)(sign - text) : strlen(text);
    if (length >= sizeof mean)
        return false;
    memcpy(mean, text, length);
    mean[length] = '\0';
    gn_paper_figure read = {NAN, NAN};
    if (!gn_parse_double(mean, &read.mean) || (sign && !gn_parse_double(sign + 4, &read.sd)))
        return false;
    *out = read;
    return true;
}

static gerne_status read_row(gerne_ctx *ctx, gn_arena *arena, gn_csv *csv, size_t columns,
                             gn_paper_row *row)
{
    GN_TRY(gn_arena_copy_text(ctx, arena, gn_csv_cell(csv, 0), &row->method));
    GN_TRY(gn_arena_copy_text(ctx, arena, gn_csv_cell(csv, 1), &row->title));
    GN_TRY(gn_arena_copy_text(ctx, arena, gn_csv_cell(csv, 2), &row->setting));
    GN_TRY(gn_arena_alloc(ctx, arena, columns, sizeof *row->figures, &row->figures));
    for (size_t i = 0; i < columns; i++)
        if (!gn_paper_figure_parse(gn_csv_cell(csv, LABELS + i), &row->figures[i]))
            return gn_csv_fail(csv, GERNE_EDATA, (ptrdiff_t)(LABELS + i),
                               "'%s' is not a mean with a deviation", gn_csv_cell(csv, LABELS + i));
    return GERNE_OK;
}

static gerne_status read_all(gerne_ctx *ctx, gn_arena *arena, gn_csv *csv, gn_paper_table *out)
{
    out->column_count = gn_csv_columns(csv) - LABELS;
    GN_TRY(gn_arena_alloc(ctx, arena, out->column_count, sizeof *out->columns, &out->columns));
    for (size_t i = 0; i < out->column_count; i++)
        GN_TRY(gn_arena_copy_text(ctx, arena, gn_csv_name(csv, LABELS + i), &out->columns[i]));
    GN_TRY(gn_arena_alloc(ctx, arena, ROWS_MAX, sizeof *out->rows, &out->rows));
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        if (out->row_count == ROWS_MAX)
            return gn_csv_fail(csv, GERNE_EINTERNAL, -1, "more than %d rows", ROWS_MAX);
        GN_TRY(read_row(ctx, arena, csv, out->column_count, &out->rows[out->row_count++]));
    }
}

gerne_status gn_paper_table_read(gerne_ctx *ctx, gn_arena *arena, const char *name,
                                 gn_paper_table *out)
{
    char file[64];
    gn_csv *csv;
    *out = (gn_paper_table){0};
    snprintf(file, sizeof file, "%s.csv", name);
    GN_TRY(gn_paper_open(ctx, file, &csv));
    gerne_status status = gn_csv_columns(csv) > LABELS
                              ? read_all(ctx, arena, csv, out)
                              : gn_fail(ctx, GERNE_EINTERNAL, "%s has no figures", file);
    gn_csv_close(csv);
    return status;
}
