/* resampling.c - batches in which every group of a class is equally large: c = 1, beta = 0. */
#include "methods/extrapolation.h"

typedef struct resampling_options {
    const char *target;
} resampling_options;

static const gn_option options[] = {GN_TARGET_OPTION(resampling_options)};

static gerne_status check(gn_run *run)
{
    const resampling_options *given = run->options;
    return gn_extrapolation_target(run, gn_extrapolation_groups(run), given->target);
}

static gerne_status start(gn_run *run)
{
    const resampling_options *given = run->options;
    GN_TRY(gn_extrapolation_target(run, run->groups, given->target));
    return gn_extrapolation_start(run, run->state, &(gn_extrapolation_options){.c = 1, .beta = 0});
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    (void)k;
    return gn_extrapolation_plan(run, run->state, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batches)
{
    (void)k;
    return gn_extrapolation_step(run, run->state, batches);
}

static const char description[] =
    "Draws batches with equally many samples of every class and, inside a class, of every "
    "attribute that occurs in it, and minimises their mean loss.\n\n"
    "    p(y) = 1/K,  p(a|y) = 1/A\n"
    "    L = mean CE_i\n\n"
    "target sets other shares than 1/A: marginal is the mix of attributes that all classes have "
    "together, a list gives the shares themselves. It is gerne with c = 1 and beta = 0; resample "
    "draws groups at random instead of in equal "
    "numbers. Use it as a strong baseline when attributes are known. The samples of very small "
    "groups are repeated often and easily overfitted; weight decay and early stopping help. With "
    "unknown attributes the groups are those of method.estimator; without one it is class-balanced "
    "ERM.";

const gn_method gn_method_resampling = {
    .name = "resampling",
    .paper = "Idrissi et al. 2022",
    .title = "Simple data balancing achieves competitive worst-group-accuracy",
    .summary = "draws group-balanced batches",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(resampling_options),
    .state_size = sizeof(gn_extrapolation),
    .check = check,
    .start = start,
    .plan = plan,
    .step = step,
};
