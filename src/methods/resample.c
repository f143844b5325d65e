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

const gn_method gn_method_resample = {
    .name = "resample",
    .paper = "Japkowicz 2000; Yang et al. 2023",
    .summary = "draws every sample from a random group",
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(resample_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
