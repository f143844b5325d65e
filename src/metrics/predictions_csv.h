/* predictions_csv.h - predictions as CSV: of any model when read, in one form when written.
 *
 * Reading: columns y, a (labels) and pred (a class), or prob_<class> for every class, or one score
 * for two classes; their names can be chosen, further columns are ignored. The classes are the
 * given ones, or those of the prob_ columns, or else the labels of column y; a label that is none
 * of them is refused with its line.
 */
#ifndef GN_METRICS_PREDICTIONS_CSV_H
#define GN_METRICS_PREDICTIONS_CSV_H

#include "base/text.h"
#include "debias/labels.h"
#include "debias/missing.h"
#include "metrics/predictions.h"

typedef struct gn_prediction_columns {
    const char *y, *pred;
    const char *a;     /* NULL: no attribute, all samples are GN_ALL_SAMPLES */
    const char *score; /* of two classes: the probability of the second; NULL: prob_<class> */
    const char *split; /* only rows with this text in column "split"; NULL takes all */
    const char *const *classes, *const *attributes; /* count 0 finds them in the file */
    size_t class_count, attribute_count;
    bool in_order;       /* given classes keep their order, as attributes do; else sorted */
    bool decisions_only; /* probabilities are not read where there is a column pred */
    int missing;         /* a gn_missing_rule */
} gn_prediction_columns;

typedef struct gn_prediction_file {
    gn_predictions predictions;
    gn_labels *classes, *attributes;
    uint64_t *ids; /* a hash of column "index" for every row; NULL when there is no such column */
    size_t id_capacity;
    uint64_t disagreements; /* rows whose pred is not their most probable class */
    bool splits_mixed;      /* column "split" has several values and all rows were taken */
    gn_missing missing;
} gn_prediction_file;

/* Free the result with gn_prediction_file_free, also after a failure. */
GERNE_CHECKED gerne_status gn_predictions_read(gerne_ctx *ctx, const char *path,
                                               const gn_prediction_columns *columns,
                                               gn_prediction_file *out);
void gn_prediction_file_free(gn_prediction_file *file);

/* GERNE_EDATA unless both files hold the same samples in the same order: as many rows, the same
 * y and a, and the same index where both have one. The names are for the message. */
GERNE_CHECKED gerne_status gn_predictions_check_paired(gerne_ctx *ctx,
                                                       const gn_prediction_file *first,
                                                       const char *first_name,
                                                       const gn_prediction_file *second,
                                                       const char *second_name);

/* Writing: a header, then a line per sample, appended to a text that the caller writes out as it
 * grows. Columns index, y, a, split, pred, prob_<class> in order of the classes, and file where the
 * samples are files. */
typedef struct gn_prediction_line {
    uint64_t index;    /* of the sample in its split */
    const char *y, *a; /* labels; "" where unknown */
    const char *split;
    const char *pred;            /* a class */
    const double *probabilities; /* [classes] */
    const char *file;            /* the sample's path, or NULL */
} gn_prediction_line;

GERNE_CHECKED gerne_status gn_predictions_add_header(gerne_ctx *ctx, const char *const *classes,
                                                     int32_t count, bool files, gn_text *out);
GERNE_CHECKED gerne_status gn_predictions_add_line(gerne_ctx *ctx, const gn_prediction_line *line,
                                                   int32_t classes, gn_text *out);

#endif
