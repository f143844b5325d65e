/* afr.h - the rules of AFR: weights of samples by how badly the first head does on them. */
#ifndef GN_METHODS_AFR_H
#define GN_METHODS_AFR_H

#include "methods/linear_head.h"

/* weights[i] = exp(-gamma p_i) n / n_{y_i}, p_i being the probability of the right class, made to
 * sum to 1. probabilities [n][classes]; sizes [classes] is scratch. */
void gn_afr_weights(const float *probabilities, const int32_t *y, size_t n, size_t classes,
                    double gamma, size_t *sizes, float *weights);

/* One step of gradient descent on sum_i weights[i] CE_i + lambda |head - anchor|^2, the gradient
 * clipped to length 1. gradient is scratch of the head's size, logits [n][classes] and losses [n]
 * too. Returns the value before the step. */
typedef struct gn_afr_scratch {
    gn_linear_head gradient;
    float *logits, *losses;
} gn_afr_scratch;
double gn_afr_step(const gn_featured *samples, const float *weights, const gn_linear_head *anchor,
                   double lambda, double lr, const gn_linear_head *head,
                   const gn_afr_scratch *scratch);

/* An upper bound of the curvature of that objective: half the largest eigenvalue of
 * sum_i weights[i] x_i x_i^T, with a 1 after each x_i for the bias, by the power method, plus
 * 2 lambda. Steps of 1 / curvature never overshoot, whatever the scale of the features. weights sum
 * to 1; scratch [2 (width + 1)]. */
double gn_afr_curvature(const gn_featured *samples, const float *weights, double lambda,
                        double *scratch);

#endif
