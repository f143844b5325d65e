/* logistic.h - L1-regularised logistic regression (liblinear, behind this one file). */
#ifndef GN_NN_LOGISTIC_H
#define GN_NN_LOGISTIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct gn_logistic_problem {
    const float *x;   /* [n][width] */
    const int32_t *y; /* [n], 0..classes-1; every class occurs */
    size_t n, width, classes;
} gn_logistic_problem;

/* Two classes: the w and b that minimise
 *     |w|_1 + |b| + c sum_i log(1 + exp(-s_i (w x_i + b))),  s_i = 1 for class 1, -1 for class 0,
 * as a head: class 1 has w/2 and b/2, class 0 their negatives, so that a softmax gives the same
 * probabilities. More classes: one such fit of each against the rest, as they are. Fills
 * weights[classes][width] and bias[classes]; equal problems give equal bits. */
GERNE_CHECKED gerne_status gn_logistic_fit(gerne_ctx *ctx, const gn_logistic_problem *problem,
                                           double c, double *weights, double *bias);

#endif
