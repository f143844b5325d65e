/* reweight.c - uniform batches whose samples are weighted by the sizes of their groups: by the
 * inverse, its root, or the inverse effective number of samples. */
#include "methods/group_weights.h"
#include "methods/weighted.h"

typedef struct reweight_state {
    const gerne_sampler *sampler;
    double *weights; /* [groups], of mean 1 */
} reweight_state;

typedef struct cbloss_options {
    double b;
    bool compat_cb_underflow;
} cbloss_options;

static const gn_option cbloss_option_table[] = {
    {"b", GN_REAL, offsetof(cbloss_options, b), .fallback = "0.9999", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MAX,
     .help = "n samples count as (1 - b^n) / (1 - b): 0 all groups alike, near 1 by size"},
    {"compat_cb_underflow", GN_BOOL, offsetof(cbloss_options, compat_cb_underflow),
     .fallback = "false",
     .help = "as SubpopBench: weight 0 for groups so large that b^n is lost beside 1"},
};

static gerne_status start(gn_run *run, const gn_weighting *weighting)
{
    reweight_state *state = run->state;
    GN_TRY(gn_group_weights(run, weighting, &state->weights));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

static gerne_status start_reweight(gn_run *run)
{
    return start(run, &(gn_weighting){.rule = GN_BY_SIZE});
}

static gerne_status start_sqrt_reweight(gn_run *run)
{
    return start(run, &(gn_weighting){.rule = GN_BY_ROOT});
}

static gerne_status start_cbloss(gn_run *run)
{
    const cbloss_options *given = run->options;
    return start(run, &(gn_weighting){.rule = GN_BY_EFFECTIVE_NUMBER,
                                      .b = given->b,
                                      .underflow = given->compat_cb_underflow});
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const reweight_state *state = run->state;
    (void)k;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_UNIFORM);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const reweight_state *state = run->state;
    (void)k;
    gn_weigh_by_group(run, state->weights, batch);
    return gn_weighted_step(run, batch);
}

const gn_method gn_method_reweight = {
    .name = "reweight",
    .paper = "Japkowicz 2000",
    .summary = "weights samples by the inverse size of their group",
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(reweight_state),
    .plain_batches = true,
    .start = start_reweight,
    .plan = plan,
    .step = step,
};

const gn_method gn_method_sqrt_reweight = {
    .name = "sqrt_reweight",
    .paper = "Japkowicz 2000; Yang et al. 2023",
    .summary = "weights samples by the inverse square root of their group's size",
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(reweight_state),
    .plain_batches = true,
    .start = start_sqrt_reweight,
    .plan = plan,
    .step = step,
};

const gn_method gn_method_cbloss = {
    .name = "cbloss",
    .paper = "Cui et al. 2019",
    .summary = "weights samples by the inverse effective number of samples of their group",
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = cbloss_option_table,
    .option_count = sizeof cbloss_option_table / sizeof cbloss_option_table[0],
    .options_size = sizeof(cbloss_options),
    .state_size = sizeof(reweight_state),
    .plain_batches = true,
    .start = start_cbloss,
    .plan = plan,
    .step = step,
};
