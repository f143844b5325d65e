/* bounds.h - what the theory says beyond the public calls: weights, variances, a grid for beta. */
#ifndef GN_DEBIAS_BOUNDS_H
#define GN_DEBIAS_BOUNDS_H

#include "base/status.h"

GERNE_CHECKED gerne_status gn_check_c(gerne_ctx *ctx, double c);

/* The largest beta that is let pass for pseudo-groups: the share of the large one stays above
 * -0.25. */
double gn_pseudo_cap(const gerne_groups *groups, double c);

/* The groups hard (0) and easy (1) that t makes of the samples of each class, before it is known
 * which samples they are; sizes only. */
GERNE_CHECKED gerne_status gn_pseudo_counts(gerne_ctx *ctx, const gerne_groups *groups, double t,
                                            bool round_up, gerne_groups **out);

/* Variances of the loss in units of that of the majority's (appendix B: two classes and two
 * attributes, strongly biased, minority already learnt). */
typedef struct gn_variances {
    double weighted;    /* one less biased batch with weights p_ext / p_lb */
    double independent; /* GERNE, batches drawn apart */
    double shared;      /* GERNE, majority samples of the less biased batch shared; 0 <= c <= 1 */
    double least;       /* the paper's lower bound, reached by fully correlated batches only */
} gn_variances;

gn_variances gn_variances_of(double c, double beta);

/* The weights per group with which one less biased batch has the same expected loss as GERNE:
 * p_ext / p_lb, 0 for groups that are never drawn. */
GERNE_CHECKED gerne_status gn_weights_of(gerne_ctx *ctx, const gerne_groups *groups, double c,
                                         double beta, double *weights);

/* Values of beta worth trying, ascending: no debiasing, no extrapolation, and so many steps from
 * balance to just below the bound. */
enum { GN_BETA_STEPS = 10, GN_BETA_STEPS_MAX = 100 };

typedef struct gn_beta_list {
    double items[GN_BETA_STEPS_MAX + 3];
    size_t count;
} gn_beta_list;

GERNE_CHECKED gerne_status gn_beta_grid(gerne_ctx *ctx, const gerne_groups *groups, double c,
                                        int steps, gn_beta_list *out);

#endif
