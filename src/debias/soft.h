/* soft.h - the law of soft membership: a sample belongs to the attributes of its class by degrees.
 *
 * r_ij >= 0 is how much sample i has attribute j, sum_j r_ij = 1 (the posteriors of a mixture, or
 * of a classifier). alpha_j is the mean of r_ij over the class, and sample i has the weight
 *
 *     w_i = 1 - s (1 - rho_i),   rho_i = sum_j r_ij q_j / alpha_j
 *
 * whose mean over the class is 1. With r in {0, 1} it is the weight p / alpha of its group
 * (line.h). Weights are not negative up to s = 1 / (1 - min_i rho_i), which is never below the
 * bound of the same shares with hard groups. */
#ifndef GN_DEBIAS_SOFT_H
#define GN_DEBIAS_SOFT_H

#include "debias/line.h"

typedef struct gn_soft {
    const int32_t *y; /* [n], 0..classes-1; every class occurs */
    const float *r;   /* [n][attributes] */
    size_t n;
    uint32_t classes, attributes;
} gn_soft;

/* Fills alpha[classes * attributes]. GERNE_EDATA when memberships are negative, or do not add up
 * to 1 within 1e-4, or a class has no samples. */
GERNE_CHECKED gerne_status gn_soft_shares(gerne_ctx *ctx, const gn_soft *soft, double *alpha);

/* rho[n] from these shares. target [classes * attributes]; NULL: 1 over the attributes that the
 * class has. */
void gn_soft_ratios(const gn_soft *soft, const double *alpha, const double *target, double *rho);

/* Up to which s no sample of the class has a negative weight; infinite when all have rho = 1.
 * *sample is the one that binds. */
double gn_soft_bound(const gn_soft *soft, const double *rho, uint32_t y, size_t *sample);
/* The lowest s with the same property; -INFINITY where nothing binds. */
double gn_soft_lower_bound(const gn_soft *soft, const double *rho, uint32_t y);

/* Fills weights[n]; s is that of each class. */
void gn_soft_weights(const gn_soft *soft, const double *rho, const double *s, float *weights);

/* The same for samples that are drawn by a law of hard groups, with attribute a[i] in {0, ...} and
 * the shares drawn[classes * attributes], instead of uniformly from their class: weights are times
 * alpha / drawn, so that the law of the loss stays and the samples that matter are seen often. */
void gn_soft_redraw(const gerne_groups *groups, const int32_t *y, const int32_t *a, size_t n,
                    const double *drawn, float *weights);

#endif
