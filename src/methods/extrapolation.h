/* extrapolation.h - the step that ERM by class, Resampling and GERNE share.
 *
 * L_ext = L_lb + beta (L_lb - L_b). beta = -1 leaves the biased batch alone (class-balanced ERM),
 * c = 1 and beta = 0 the group-balanced one (Resampling): one path, so that these special cases
 * hold bit for bit. */
#ifndef GN_METHODS_EXTRAPOLATION_H
#define GN_METHODS_EXTRAPOLATION_H

#include "methods/weighted.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

typedef struct gn_extrapolation {
    const gerne_sampler *sampler;
    double beta;
    const double *betas; /* [classes], read in every step in place of beta; or NULL */
    float *gradient;     /* of L_b, for the log; made when first needed */
} gn_extrapolation;

typedef struct gn_extrapolation_options {
    double c, beta;
    bool share_majority, rounded;
    const double *betas; /* as above; lent */
} gn_extrapolation_options;

GERNE_CHECKED gerne_status gn_extrapolation_start(gn_run *run, gn_extrapolation *e,
                                                  const gn_extrapolation_options *options);
GERNE_CHECKED gerne_status gn_extrapolation_plan(const gn_run *run, const gn_extrapolation *e,
                                                 gn_plan *plan);
GERNE_CHECKED gerne_status gn_extrapolation_step(gn_run *run, gn_extrapolation *e,
                                                 gn_minibatch *batches);

/* Batches that a step gets. */
size_t gn_extrapolation_batches(const gn_run *run, const gn_extrapolation *e);

/* The groups that beta can be checked against before training; NULL when an estimator will find
 * them, and cannot tell their sizes. */
gerne_groups *gn_extrapolation_groups(const gn_run *run);

/* Sets what counts as balance in these groups, or, where they are not known yet, checks the text of
 * it: for check, limits and start. */
GERNE_CHECKED gerne_status gn_extrapolation_target(const gn_run *run, gerne_groups *groups,
                                                   const char *target);

/* The option, for options that have a field target. */
#define GN_TARGET_OPTION(type)                                                                     \
    {                                                                                              \
        "target", GN_TEXT, offsetof(type, target),                                                 \
            .fallback = "uniform",                                                                 \
            .help = "what counts as balance in a class: uniform, equal groups; "                   \
                    "marginal, the attributes of all classes together; or shares, "                \
                    "0.7,0.3, of each class 0.7,0.3;0.5,0.5"                                       \
    }

/* Flags of gerne_check_beta: groups that are a guess may exceed their bound. */
unsigned gn_extrapolation_flags(const gn_run *run, bool beyond_bounds);

/* The hook limits, for beta, by the groups that the run will have. */
GERNE_CHECKED gerne_status gn_extrapolation_limits(const gn_run *run, double c, bool beyond_bounds,
                                                   int steps, gn_limits *out);

/* The hook watch: inside its bounds the loss is a mean of losses by shares that are not negative,
 * so a mean well below zero says that L_b grows without bound, long before figures overflow. */
GERNE_CHECKED gerne_status gn_extrapolation_watch(const gn_run *run, double mean_loss,
                                                  gn_text *warning);

#pragma GCC visibility pop

#endif
