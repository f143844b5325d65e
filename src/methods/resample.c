/* resample.c - SubpopBench's ReSample: every draw takes a group at random, then one of its samples.
 * resampling draws exactly as many of each group instead. */
#include "methods/weighted.h"

typedef struct resample_state {
    const gerne_sampler *sampler;
} resample_state;

static gerne_status start(gn_run *run)
{
    resample_state *state = run->state;
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const resample_state *state = run->state;
    (void)k;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_GROUPS);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return gn_plain_step(run, batch);
}

static const char description[] =
    "SubpopBench's ReSample: every sample of a batch is drawn on its own, from a group chosen "
    "uniformly, and uniformly inside the group, with replacement.\n\n"
    "    P(i) = 1 / (G n_g(i)),  G: groups that have samples\n"
    "    L = mean CE_i\n\n"
    "resampling draws equal numbers of every group instead, which has less variance. The samples "
    "of very small groups are repeated often and easily overfitted; weight decay and early "
    "stopping help. Use it to compare with SubpopBench. With unknown attributes the groups are "
    "those of method.estimator; without one it is class-balanced sampling.";

const gn_method gn_method_resample = {
    .name = "resample",
    .paper = "Yang et al. 2023",
    .title = "Change is Hard: A Closer Look at Subpopulation Shift",
    .summary = "draws every sample from a random group",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(resample_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
