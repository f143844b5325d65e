/* head_fit.h - a head fitted to features: L1 logistic regressions on standardised features of
 * subsets with balanced groups, whose mean becomes the head. For method dfr and the option
 * repair. */
#ifndef GN_METHODS_HEAD_FIT_H
#define GN_METHODS_HEAD_FIT_H

#include "methods/linear_head.h"
#include "methods/subsets.h"

typedef struct gn_head_problem {
    gn_featured samples;
    gn_grouped groups;      /* of the same samples */
    const float *reference; /* [reference_n][width]: features that the final scale is taken from */
    size_t reference_n, repeats;
    uint64_t seed;
} gn_head_problem;

typedef struct gn_head_outcome {
    double c;        /* of the fits */
    double held_wga; /* worst-group accuracy of that c on the half that was not fitted */
} gn_head_outcome;

/* Every group that is not empty needs two samples: the split is halved group by group to choose
 * c. */
GERNE_CHECKED gerne_status gn_head_fit(gerne_ctx *ctx, const gn_head_problem *problem,
                                       const gn_linear_head *head, gn_head_outcome *outcome);

/* The subgradient of rho |w|_1 is added to the gradient, sign(0) being 0; returns rho |w|_1. */
double gn_l1_penalty(const float *w, size_t count, double rho, float *gradient);

#endif
