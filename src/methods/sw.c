/* sw.c - sampling and weighting, the comparator of GERNE's appendix B: one less biased batch whose
 * samples are weighted by p_ext / p_lb of their group. The same expected loss as GERNE's, another
 * variance. */
#include "debias/bounds.h"
#include "methods/extrapolation.h"
#include "methods/group_weights.h"

typedef struct sw_options {
    double c, beta;
    bool beyond_bounds;
} sw_options;

static const gn_option options[] = {
    {"c", GN_REAL, offsetof(sw_options, c), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .search = "0.5,1",
     .help = "how far the batch moves from the data (0) to balanced groups (1)"},
    {"beta", GN_REAL, offsetof(sw_options, beta), .fallback = "1", .min = -100, .max = 100,
     .flags = GN_TUNABLE,
     .help = "extrapolation factor as in gerne: the weights give the same expected "
             "loss"},
    {"beyond_bounds", GN_BOOL, offsetof(sw_options, beyond_bounds), .fallback = "false",
     .help = "allow a beta outside its bounds, with a warning"},
};

typedef struct sw_state {
    const gerne_sampler *sampler;
    double *weights; /* [groups] */
} sw_state;

static gerne_status check_beta(gn_run *run, const gerne_groups *groups)
{
    const sw_options *given = run->options;
    return gerne_check_beta(run->ctx, groups, given->c, given->beta,
                            gn_extrapolation_flags(run, given->beyond_bounds));
}

static gerne_status check(gn_run *run)
{
    const gerne_groups *groups = gn_extrapolation_groups(run);
    return groups ? check_beta(run, groups) : GERNE_OK;
}

static gerne_status limits(const gn_run *run, int steps, gn_limits *out)
{
    const sw_options *given = run->options;
    return gn_extrapolation_limits(run, given->c, given->beyond_bounds, steps, out);
}

static gerne_status start(gn_run *run)
{
    const sw_options *given = run->options;
    sw_state *state = run->state;
    if (run->estimator && !run->sizes_checked)
        GN_TRY(check_beta(run, run->groups));
    run->c = given->c;
    run->beta = given->beta;
    run->pass_samples = (size_t)run->classes * run->per_class;
    GN_TRY(gn_run_alloc(run, (size_t)run->classes * run->attributes, sizeof *state->weights,
                        &state->weights));
    GN_TRY(gn_weights_of(run->ctx, run->groups, given->c, given->beta, state->weights));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.c = given->c, .beta = given->beta},
                          &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const sw_state *state = run->state;
    (void)k;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_LESS_BIASED);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const sw_state *state = run->state;
    (void)k;
    gn_weigh_by_group(run, state->weights, batch);
    return gn_weighted_step(run, batch);
}

static const char description[] =
    "Sampling and weighting: draws the less biased batch of gerne alone, and weights every sample "
    "by the ratio of its group's weight in gerne to its share of the batch.\n\n"
    "    p_lb(a|y)  = alpha + c (1/A - alpha),  alpha = n_g / n_y\n"
    "    p_ext(a|y) = alpha + c (1 + beta) (1/A - alpha)\n"
    "    L = mean (p_ext / p_lb) CE_i\n\n"
    "Its expected loss is that of gerne with the same c and beta, but its variance differs: use it "
    "to find out what the second batch of gerne is worth. c, beta, its bounds and beyond_bounds "
    "are as in gerne. With unknown attributes the groups are those of method.estimator; without "
    "one every class is one group, all weights are 1, and it is class-balanced ERM.";

const gn_method gn_method_sw = {
    .name = "sw",
    .paper = "Asaad et al. 2025, appendix B",
    .title = "Gradient Extrapolation for Debiased Representation Learning",
    .summary = "weights one less biased batch to the expected loss of gerne",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(sw_options),
    .state_size = sizeof(sw_state),
    .limited = "beta",
    .limited_by = "c",
    .check = check,
    .limits = limits,
    .start = start,
    .plan = plan,
    .step = step,
    .watch = gn_extrapolation_watch,
};
