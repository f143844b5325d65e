/* loss.h - losses: logits (and features) of samples in; losses and their gradients out.
 *
 * A loss is a function and the terms it works with, lent for the time of a pass:
 *
 *     const gn_cross_entropy terms = {.labels = y, .weights = w};
 *     gn_loss loss = gn_cross_entropy_loss(&terms);
 *
 * losses[i] is the loss of sample i before it is weighted, for tables and logs.
 */
#ifndef GN_NN_LOSS_H
#define GN_NN_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argmax.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

/* Some consecutive samples of a batch: first..first+count-1. Rows of the arrays are theirs. */
typedef struct gn_loss_part {
    size_t first, count;
    size_t classes, width;
    const float *logits;     /* [count][classes] */
    const float *features;   /* [count][width] */
    float *losses;           /* [count], to be filled; or NULL */
    float *logit_gradient;   /* [count][classes], to be filled; NULL in a forward pass */
    float *feature_gradient; /* [count][width], zero at first, beside what comes from the logits;
                                NULL unless the loss wants features and the body trains */
} gn_loss_part;

/* Returns the part's contribution to the value of the loss, the number that the gradients belong
 * to; only required where losses are. */
typedef double gn_loss_fn(const void *terms, const gn_loss_part *part);

typedef struct gn_loss {
    gn_loss_fn *evaluate;
    const void *terms;
    bool wants_features; /* has a gradient by features of its own */
} gn_loss;

/* Weighted cross-entropy: sum_i weights[i] CE_i. With other labels (mixed inputs) the target of
 * sample i is share[i] labels[i] + (1 - share[i]) others[i]. */
typedef struct gn_cross_entropy {
    const int32_t *labels; /* [of the batch] */
    const float *weights;  /* NULL: equal ones that sum to 1 */
    size_t count;          /* of the batch, for equal weights */
    const int32_t *others; /* or NULL */
    const float *share;    /* with others */
} gn_cross_entropy;

gn_loss gn_cross_entropy_loss(const gn_cross_entropy *terms);

/* In place: logits -> probabilities. */
void gn_softmax(float *logits, size_t count, size_t classes);

/* The arg max of each row, lowest index on ties. */
void gn_predict(const float *logits, size_t count, size_t classes, int32_t *predictions);

#pragma GCC visibility pop

#endif
