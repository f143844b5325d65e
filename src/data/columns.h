/* columns.h - the columns of a CSV that hold class, attribute and split. */
#ifndef GN_DATA_COLUMNS_H
#define GN_DATA_COLUMNS_H

#include "base/csv.h"
#include "data/source.h"

typedef struct gn_csv_labels {
    ptrdiff_t y, a, split; /* -1 when the data has none */
    const char *a_name;    /* of the options, or one of the usual ones; NULL when there is none */
} gn_csv_labels;

/* The column that was named, which has to be there, or the first of the usual names (ended by
 * NULL), or -1; key is the one that names it, such as "data.a". */
GERNE_CHECKED gerne_status gn_column_find(gn_csv *csv, const char *named, const char *const *usual,
                                          const char *key, ptrdiff_t *column);

/* The columns of data.y, data.a and data.split; attributes are the usual names of the second. */
GERNE_CHECKED gerne_status gn_csv_labels_find(gn_csv *csv, const gn_data_options *options,
                                              const char *const *attributes, gn_csv_labels *out);

/* Adds the labels of the row just read; path is the file in messages. */
GERNE_CHECKED gerne_status gn_csv_labels_add(gerne_ctx *ctx, gn_csv *csv, const char *path,
                                             const gn_csv_labels *columns, gn_rows *rows);

#endif
