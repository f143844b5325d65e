/* evaluation.h - one set of predictions, or one beside another, in the forms that `gerne eval`
 * prints. */
#ifndef GN_METRICS_EVALUATION_H
#define GN_METRICS_EVALUATION_H

#include "metrics/comparison.h"
#include "metrics/metrics.h"

typedef struct gn_evaluated {
    const char *name; /* for people */
    const gn_metrics *metrics;
    gn_group_names names;
} gn_evaluated;

/* All are borrowed; the last two are NULL when there is nothing to compare with. */
typedef struct gn_evaluation {
    gn_evaluated first;
    const gn_evaluated *second;
    const gn_comparison *comparison;
} gn_evaluation;

/* New reference, or NULL without memory. */
json_t *gn_evaluation_json(const gn_evaluation *evaluation);

GERNE_CHECKED gerne_status gn_evaluation_print(gerne_ctx *ctx, const gn_evaluation *evaluation,
                                               gn_text *out);

/* Logs that groups have no samples. */
void gn_warn_of_empty_groups(gerne_ctx *ctx, const gn_metrics *metrics,
                             const gn_group_names *names);

#endif
