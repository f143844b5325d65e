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
     .help = "n samples count as (1 - b^n) / (1 - b); 0: all groups weigh the same, near 1: by "
             "inverse size"},
    {"compat_cb_underflow", GN_BOOL, offsetof(cbloss_options, compat_cb_underflow),
     .fallback = "false",
     .help = "as SubpopBench: weight 0 for groups so large that 1 - b^n rounds to 1"},
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

static const char reweight_description[] =
    "Draws uniform batches and weights every sample by the inverse size of its group.\n\n"
    "    w_g = G r_g / sum_h r_h,  r_g = 1 / n_g  (0 for an empty group)\n"
    "    L   = mean w_g(i) CE_i\n\n"
    "It has the aim of resample, with weights in place of repeated samples. Use it when attributes "
    "are known. The weights have mean 1 over the groups, not over the samples: on strongly biased "
    "data the mean weight of a batch is a few per cent, so that sgd needs a learning rate that is "
    "larger by as much, while adam does not. Very unequal weights make the gradient noisy; "
    "sqrt_reweight and cbloss are milder. With unknown attributes the groups are those of "
    "method.estimator; without one weights are by class size.";

const gn_method gn_method_reweight = {
    .name = "reweight",
    .paper = "Japkowicz 2000",
    .title = "The Class Imbalance Problem: Significance and Strategies",
    .summary = "weights samples by the inverse size of their group",
    .description = reweight_description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(reweight_state),
    .plain_batches = true,
    .start = start_reweight,
    .plan = plan,
    .step = step,
};

static const char sqrt_reweight_description[] =
    "Draws uniform batches and weights every sample by the inverse square root of the size of its "
    "group, which is milder than reweight.\n\n"
    "    w_g = G r_g / sum_h r_h,  r_g = 1 / sqrt(n_g)  (0 for an empty group)\n"
    "    L   = mean w_g(i) CE_i\n\n"
    "Use it where the full weights of reweight make training unstable or overfit the smallest "
    "groups. The weights have mean 1 over the groups, not over the samples, so that sgd may need a "
    "larger learning rate. With unknown attributes the groups are those of method.estimator; "
    "without one weights are by class size.";

const gn_method gn_method_sqrt_reweight = {
    .name = "sqrt_reweight",
    .paper = "Yang et al. 2023",
    .title = "Change is Hard: A Closer Look at Subpopulation Shift",
    .summary = "weights samples by the inverse square root of their group's size",
    .description = sqrt_reweight_description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(reweight_state),
    .plain_batches = true,
    .start = start_sqrt_reweight,
    .plan = plan,
    .step = step,
};

static const char cbloss_description[] =
    "Draws uniform batches and weights every sample by the inverse effective number of samples of "
    "its group, which grows ever more slowly with the size of the group.\n\n"
    "    w_g = G r_g / sum_h r_h,  r_g = (1 - b) / (1 - b^n_g)  (0 for an empty one)\n"
    "    L   = mean w_g(i) CE_i\n\n"
    "b = 0 gives all groups the same weight, b near 1 the weights of reweight; groups with many "
    "times 1 / (1 - b) samples count as equally large. The weights have mean 1 over the groups, "
    "not over the samples, so that sgd may need a larger learning rate. Use it where reweight "
    "overfits the smallest groups. compat_cb_underflow repeats a defect of SubpopBench: a group "
    "for which 1 - b^n_g rounds to 1 (above some 36,700 samples at b = 0.999) gets weight 0. With "
    "unknown attributes the groups are those of method.estimator; without one weights are by class "
    "size.";

const gn_method gn_method_cbloss = {
    .name = "cbloss",
    .paper = "Cui et al. 2019",
    .title = "Class-Balanced Loss Based on Effective Number of Samples",
    .summary = "weights samples by the inverse effective size of their group",
    .description = cbloss_description,
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
