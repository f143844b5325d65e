/* evaluate.h - metrics in the forms that callers get. */
#ifndef GN_API_EVALUATE_H
#define GN_API_EVALUATE_H

#include "metrics/evaluation.h"

/* out may be NULL in both. */
GERNE_CHECKED gerne_status gn_give_metrics(gerne_ctx *ctx, const gn_metrics *metrics,
                                           gerne_metrics *out);
GERNE_CHECKED gerne_status gn_give_evaluation(gerne_ctx *ctx, const gn_evaluation *evaluation,
                                              gerne_form form, char **out);

#endif
