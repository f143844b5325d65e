/* dfr_fit.h - the refit of DFR: L1 logistic regressions on standardised features of balanced
 * subsets, whose mean becomes the head. */
#ifndef GN_METHODS_DFR_FIT_H
#define GN_METHODS_DFR_FIT_H

#include "methods/linear_head.h"
#include "methods/subsets.h"

typedef struct gn_dfr_problem {
    gn_featured samples;
    gn_grouped groups;      /* of the same samples */
    const float *reference; /* [reference_n][width]: features that the final scale is taken from */
    size_t reference_n, repeats;
    uint64_t seed;
} gn_dfr_problem;

typedef struct gn_dfr_outcome {
    double c;        /* of the fits */
    double held_wga; /* worst-group accuracy of that c on the half that was not fitted */
} gn_dfr_outcome;

/* Every group that is not empty needs two samples: the split is halved group by group to choose
 * c. */
GERNE_CHECKED gerne_status gn_dfr_fit(gerne_ctx *ctx, const gn_dfr_problem *problem,
                                      const gn_linear_head *head, gn_dfr_outcome *outcome);

/* The subgradient of rho |w|_1 is added to the gradient, sign(0) being 0; returns rho |w|_1. */
double gn_l1_penalty(const float *w, size_t count, double rho, float *gradient);

#endif
