/* label_report.h - what the labels of a file or dataset tell about its bias, in the forms that
 * `gerne audit` prints. */
#ifndef GN_DATA_LABEL_REPORT_H
#define GN_DATA_LABEL_REPORT_H

#include "data/dataset.h"
#include "data/label_table.h"
#include "debias/audit.h"

/* The groups of a split, GN_SPLITS for all, with the names of the dataset; the caller closes them.
 */
GERNE_CHECKED gerne_status gn_dataset_groups(gerne_ctx *ctx, const gn_dataset *dataset,
                                             gn_split split, gerne_groups **out);

/* A table of the dataset's groups. Free it with gn_label_table_free, also after a failure; the
 * names of the columns are the dataset's. */
GERNE_CHECKED gerne_status gn_label_table_of(gerne_ctx *ctx, const gn_dataset *dataset,
                                             gn_split split, gn_label_table *out);

typedef struct gn_label_report {
    const gn_label_table *table; /* lent */
    gn_audit audit, all;         /* all: of all splits, where the table has them */
} gn_label_report;

GERNE_CHECKED gerne_status gn_label_report_of(gerne_ctx *ctx, const gn_label_table *table,
                                              gn_label_report *out);

/* New reference. */
GERNE_CHECKED gerne_status gn_label_report_json(gerne_ctx *ctx, const gn_label_report *report,
                                                json_t **out);

/* name is that of the data. */
GERNE_CHECKED gerne_status gn_label_report_print(gerne_ctx *ctx, const gn_label_report *report,
                                                 const char *name, gn_text *out);

#endif
