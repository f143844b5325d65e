#include "data/columns.h"

gerne_status gn_column_find(gn_csv *csv, const char *named, const char *const *usual,
                            const char *key, ptrdiff_t *column)
{
    *column = -1;
    if (named) {
        size_t found;
        GN_TRY(gn_csv_require_flag(csv, named, key, &found));
        *column = (ptrdiff_t)found;
    }
    for (; !named && *usual && *column < 0; usual++)
        *column = gn_csv_column(csv, *usual);
    return GERNE_OK;
}

/* Which of the names the column has. */
static const char *name_of(const gn_csv *csv, const char *const *names, ptrdiff_t column)
{
    while (gn_csv_column(csv, *names) != column)
        names++;
    return *names;
}

gerne_status gn_csv_labels_find(gn_csv *csv, const gn_data_options *options,
                                const char *const *attributes, gn_csv_labels *out)
{
    static const char *const splits[] = {"split", NULL};
    *out = (gn_csv_labels){-1, -1, -1, NULL};
    if (!gn_is_none(options->y)) {
        size_t y;
        GN_TRY(gn_csv_require_flag(csv, options->y ? options->y : "y", "data.y", &y));
        out->y = (ptrdiff_t)y;
    }
    if (!gn_is_none(options->a))
        GN_TRY(gn_column_find(csv, options->a, attributes, "data.a", &out->a));
    if (out->a >= 0)
        out->a_name = options->a ? options->a : name_of(csv, attributes, out->a);
    return gn_column_find(csv, options->split, splits, "data.split", &out->split);
}

static const char *cell(const gn_csv *csv, ptrdiff_t column)
{
    return column >= 0 ? gn_csv_cell(csv, (size_t)column) : NULL;
}

gerne_status gn_csv_labels_add(gerne_ctx *ctx, gn_csv *csv, const char *path,
                               const gn_csv_labels *columns, gn_rows *rows)
{
    gn_split split = GN_TRAIN;
    const char *word = cell(csv, columns->split);
    if (word && !gn_parse_split(word, &split)) {
        gn_csv_fail(csv, GERNE_EDATA, columns->split, GN_NOT_A_SPLIT, word);
        gn_hint(ctx, GN_OTHER_SPLITS);
        return GERNE_EDATA;
    }
    gerne_status status =
        gn_rows_add(ctx, rows, cell(csv, columns->y), cell(csv, columns->a), split);
    return status == GERNE_EDATA ? gn_fail_in(ctx, status, "%s, line %zu", path, gn_csv_line(csv))
                                 : status;
}
