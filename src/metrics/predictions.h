/* predictions.h - the predictions of a network on a split, sample by sample.
 *
 * Filled batch by batch, then handed to metrics.h:
 *
 *     gn_predictions p;
 *     gn_predictions_init(&p, classes, attributes, true);
 *     for each batch: GN_TRY(gn_predictions_add_logits(ctx, &p, logits, y, a, count));
 *     ...
 *     gn_predictions_free(&p);
 *
 * Samples keep the order in which they came.
 */
#ifndef GN_METRICS_PREDICTIONS_H
#define GN_METRICS_PREDICTIONS_H

#include "base/argmax.h"
#include "base/memory.h"
#include "debias/groups.h"

typedef struct gn_predictions {
    int32_t classes, attributes;
    bool with_probabilities;
    size_t count;
    int32_t *y, *a, *pred; /* indices: class, attribute, class */
    double *probabilities; /* [count][classes]; NULL when there are none */
    size_t capacity[4];    /* of the four arrays above */
} gn_predictions;

/* Nothing is allocated yet; without attributes pass attributes = 1 and a = 0 everywhere. */
void gn_predictions_init(gn_predictions *predictions, int32_t classes, int32_t attributes,
                         bool with_probabilities);
void gn_predictions_free(gn_predictions *predictions);
GN_LOCAL_STRUCT(gn_predictions, gn_predictions_free)
void gn_predictions_clear(gn_predictions *predictions); /* forgets the samples, keeps the memory */

/* One sample; probabilities [classes] is read only when they are kept. */
GERNE_CHECKED gerne_status gn_predictions_add(gerne_ctx *ctx, gn_predictions *predictions,
                                              int32_t y, int32_t a, int32_t pred,
                                              const double *probabilities);

/* A batch of logits [count][classes]: softmax and argmax (the lowest index on ties). A logit that
 * is not a number is GERNE_EDIVERGED. */
GERNE_CHECKED gerne_status gn_predictions_add_logits(gerne_ctx *ctx, gn_predictions *predictions,
                                                     const float *logits, const int32_t *y,
                                                     const int32_t *a, size_t count);

/* GERNE_EDATA when classes * attributes is above GN_MAX_GROUPS. */
GERNE_CHECKED gerne_status gn_check_group_count(gerne_ctx *ctx, size_t classes, size_t attributes);

#endif
