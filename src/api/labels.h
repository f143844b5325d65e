/* labels.h - an audit of labels in the forms that callers get. */
#ifndef GN_API_LABELS_H
#define GN_API_LABELS_H

#include "data/label_report.h"

/* name is what texts for people call the data. */
GERNE_CHECKED gerne_status gn_give_label_report(gerne_ctx *ctx, const gn_label_table *table,
                                                const char *name, gerne_form form, char **out);

#endif
