/* soft_law.h - the step of GERNE with soft membership: one less biased batch by hard groups, whose
 * samples weigh what the soft law says (debias/soft.h). */
#ifndef GN_METHODS_SOFT_LAW_H
#define GN_METHODS_SOFT_LAW_H

#include "methods/method.h"

typedef struct gn_soft_law {
    const gerne_sampler *sampler;
    float *weights; /* [n] */
    double s;       /* mean over classes, for the log */
} gn_soft_law;

typedef struct gn_soft_law_options {
    double c, beta;
    bool by_class, beyond_bounds;
} gn_soft_law_options;

/* For the hook check: GERNE_EUSAGE unless an estimator will say how much samples are of a group. */
GERNE_CHECKED gerne_status gn_soft_law_check(const gn_run *run);

/* GERNE_EUSAGE where s = c (1 + beta) would make the weight of a sample negative. */
GERNE_CHECKED gerne_status gn_soft_law_start(gn_run *run, gn_soft_law *law,
                                             const gn_soft_law_options *options);
GERNE_CHECKED gerne_status gn_soft_law_plan(const gn_soft_law *law, gn_plan *plan);
GERNE_CHECKED gerne_status gn_soft_law_step(gn_run *run, const gn_soft_law *law,
                                            gn_minibatch *batch);

#endif
