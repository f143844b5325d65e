/* label_table.h - a CSV file of labels alone: the groups of two of its columns, and which of its
 * columns gives the class away. */
#ifndef GN_DATA_LABEL_TABLE_H
#define GN_DATA_LABEL_TABLE_H

#include "base/memory.h"
#include "debias/association.h"
#include "debias/missing.h"

enum { GN_FEW_VALUES = 50 }; /* more are measurements or names, not a shortcut to look for */

typedef struct gn_label_columns {
    const char *y;
    const char *a;     /* NULL: column "a", else the column that predicts the class best */
    const char *split; /* a value of the split column, or "all"; NULL: the training rows, where the
                          column has 0/1/2 or words for the splits */
    const char *split_column; /* NULL: column "split", if there is one */
    int missing;              /* a gn_missing_rule */
} gn_label_columns;

typedef struct gn_ranked_column {
    const char *name;
    uint32_t values;
    gn_association association; /* with the class */
} gn_ranked_column;

typedef struct gn_label_table {
    gn_arena *arena;
    const char *y, *a;         /* the columns that were taken */
    const char *split;         /* whose rows were taken; NULL: all */
    gerne_groups *groups;      /* of these rows */
    gerne_groups *all;         /* of all rows, when only some were taken */
    gn_ranked_column *ranking; /* when no attribute was named: by Cramer's V less chance */
    size_t ranked;
} gn_label_table;

/* path "-" is the standard input. Free the result with gn_label_table_free, also after a failure.
 */
GERNE_CHECKED gerne_status gn_label_table_read(gerne_ctx *ctx, const char *path,
                                               const gn_label_columns *columns,
                                               gn_label_table *out);
void gn_label_table_free(gn_label_table *table);

#endif
