/* resampling.c - batches in which every group of a class is equally large: c = 1, beta = 0. */
#include "methods/extrapolation.h"

static gerne_status start(gn_run *run)
{
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

const gn_method gn_method_resampling = {
    .name = "resampling",
    .paper = "Idrissi et al. 2022",
    .summary = "draws group-balanced batches",
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(gn_extrapolation),
    .start = start,
    .plan = plan,
    .step = step,
};
