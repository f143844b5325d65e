/* weighted.h - passes with weighted cross-entropy, which most methods are made of. */
#ifndef GN_METHODS_WEIGHTED_H
#define GN_METHODS_WEIGHTED_H

#include "methods/method.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

/* A plan of one batch: the step's draw from a sampler. */
GERNE_CHECKED gerne_status gn_plan_draw(gn_plan *plan, const gerne_sampler *sampler,
                                        gerne_draw draw);

/* For methods that draw one batch of shuffled epochs: start calls the first, the other is the hook
 * plan. */
GERNE_CHECKED gerne_status gn_shuffled_start(gn_run *run);
GERNE_CHECKED gerne_status gn_shuffled_plan(gn_run *run, int64_t k, gn_plan *plan);

/* gn_run_pass, _forward and _backward with the loss sum_j weights[j] CE_j; the draw's own weights
 * when weights is NULL. */
GERNE_CHECKED gerne_status gn_weighted_pass(gn_run *run, int i, gn_minibatch *batch,
                                            const float *weights, bool accumulate);
GERNE_CHECKED gerne_status gn_weighted_forward(gn_run *run, int i, gn_minibatch *batch);
GERNE_CHECKED gerne_status gn_weighted_backward(gn_run *run, int i, gn_minibatch *batch,
                                                const float *weights, bool accumulate);

/* A step of network 0 on the batch with the draw's own weights. */
GERNE_CHECKED gerne_status gn_plain_step(gn_run *run, gn_minibatch *batch);
/* The same with batch->weights. */
GERNE_CHECKED gerne_status gn_weighted_step(gn_run *run, gn_minibatch *batch);

/* sum_i weights[i] losses[i], in double. */
double gn_weighted_sum(const float *weights, const float *losses, size_t count);
double gn_mean(const float *values, size_t count);

#pragma GCC visibility pop

#endif
