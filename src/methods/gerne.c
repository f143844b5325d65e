/* gerne.c - gradient extrapolation (GERNE, ICCV 2025), attributes known or unknown.
 *
 * Algorithm 1, one step:
 *     draw B_b  with p(a|y) = alpha,  B_lb with p(a|y) = alpha + c (1/A - alpha)
 *     L_b, L_lb = mean cross-entropy on each
 *     L_ext = L_lb + beta (L_lb - L_b)
 *     update with the gradient of L_ext
 *
 * Algorithm 2, attributes unknown: groups come from an estimator, by default a biased model
 * (estimator_biased.c); then algorithm 1 with these groups.
 */
#include <math.h>
#include <stdio.h>

#include "debias/bounds.h"
#include "debias/line.h"
#include "methods/adapt.h"
#include "methods/extrapolation.h"
#include "methods/soft_law.h"

enum { HARD, SOFT }; /* membership */

typedef struct gerne_options {
    double c, beta;
    bool share_majority, beyond_bounds;
    int rounding;
    const char *target;
    int membership;
    gn_adapt_options adapt;
} gerne_options;

typedef struct gerne_state {
    gn_extrapolation extrapolation;
    gn_adapt adapt;
    gn_soft_law soft; /* in place of both, with membership soft */
} gerne_state;

#define OPTION(key) offsetof(gerne_options, key)
#define MOVING      "adapt contribution|groupdro|hypergradient|repetitions|fan|feedback"

static const gn_option options[] = {
    {"c", GN_REAL, OPTION(c), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .search = "0.5,1",
     .help = "how far the less biased batch moves from the data (0) to balanced groups (1)"},
    {"beta", GN_REAL, OPTION(beta), .fallback = "auto", .min = -100, .max = 100,
     .flags = GN_TUNABLE | GN_AUTO,
     .help = "extrapolation factor; auto: 1/c - 1, which balances the groups; 'gerne bounds' gives "
             "the limits"},
    {"share_majority", GN_BOOL, OPTION(share_majority), .fallback = "false",
     .help = "let the two batches share samples: same mean, lower variance"},
    {"rounding", GN_CHOICE, OPTION(rounding), .fallback = "exact", .choices = "exact|round",
     .help = "samples per group in a batch: exact on average, or rounded"},
    GN_TARGET_OPTION(gerne_options),
    {"membership", GN_CHOICE, OPTION(membership), .fallback = "hard", .choices = "hard|soft",
     .help = "attributes unknown: soft weighs samples by how sure the estimator is of their group, "
             "with t auto, crossfit or ensemble"},
    {"beyond_bounds", GN_BOOL, OPTION(beyond_bounds), .fallback = "false",
     .help = "allow a beta outside its bounds, with a warning"},
    {"adapt", GN_CHOICE, OPTION(adapt.rule), .fallback = "none", .choices = GN_ADAPT_CHOICES,
     .help = "rule that moves s = c (1 + beta) while training"},
    {"s_by_class", GN_BOOL, OPTION(adapt.by_class), .fallback = "false",
     .help = "give each class its own s, at most 0.98 of the class's own limit"},
    {"adapt_min", GN_REAL, OPTION(adapt.low), .fallback = "1", .min = 0, .max = 100, .when = MOVING,
     .help = "smallest s that a rule may choose; 1 balances groups"},
    {"adapt_max", GN_REAL, OPTION(adapt.high), .fallback = "0", .min = 0, .max = 100,
     .when = MOVING,
     .help = "largest s that a rule may choose; 0: 0.98 of the largest that groups allow"},
    {"adapt_gamma", GN_REAL, OPTION(adapt.gamma), .fallback = "1", .min = 0, .max = 100,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .when = "adapt contribution",
     .help = "contribution of the small groups to the gradient per that of the large ones"},
    {"adapt_eta", GN_REAL, OPTION(adapt.eta), .fallback = "0.05", .min = 0, .max = 100,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .when = "adapt groupdro",
     .help = "step size of the ascent on s"},
    {"adapt_adjustment", GN_REAL, OPTION(adapt.adjustment), .fallback = "1", .min = 0, .max = 1000,
     .flags = GN_TUNABLE, .when = "adapt groupdro",
     .help = "C of the adjusted losses l + C / sqrt(n) of groups"},
    {"adapt_rate", GN_REAL, OPTION(adapt.rate), .fallback = "1", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .when = "adapt hypergradient",
     .help = "step size of the descent on the validation loss"},
    {"adapt_repetitions", GN_REAL, OPTION(adapt.repetitions), .fallback = "50", .min = 0,
     .max = 1e9, .flags = GN_TUNABLE, .when = "adapt repetitions",
     .help = "passes over the most repeated group after which s falls"},
    {"adapt_end", GN_REAL, OPTION(adapt.end), .fallback = "1", .min = 0, .max = 100,
     .flags = GN_TUNABLE, .when = "adapt repetitions", .help = "s at the end of training"},
    {"adapt_heads", GN_INT, OPTION(adapt.heads), .fallback = "8", .min = 2, .max = 64,
     .when = "adapt fan", .help = "heads of the fan, each with an s of its own"},
    {"adapt_kappa", GN_REAL, OPTION(adapt.kappa), .fallback = "1", .min = 0, .max = 100,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .when = "adapt feedback",
     .help = "change of s per evaluation for a gap of 1 between accuracies"},
};

/* What is extrapolated to when no beta is given: balanced groups. */
static const double AUTOMATIC_S = 1;

static double beta_of(const gn_run *run)
{
    const gerne_options *given = run->options;
    return isnan(given->beta) ? gn_beta_of(given->c, AUTOMATIC_S) : given->beta;
}

static gerne_status check_groups(gn_run *run, const gerne_groups *groups)
{
    const gerne_options *given = run->options;
    double beta = beta_of(run);
    if (given->adapt.rule || given->adapt.by_class)
        GN_TRY(gn_adapt_check(run, &given->adapt, groups, gn_s_of(given->c, beta)));
    if (given->adapt.by_class) /* a class lowers a beta that is too large for it */
        beta = fmin(beta, gn_beta_of(given->c, AUTOMATIC_S));
    return gerne_check_beta(run->ctx, groups, given->c, beta,
                            gn_extrapolation_flags(run, given->beyond_bounds));
}

static bool is_soft(const gn_run *run)
{
    const gerne_options *given = run->options;
    return given->membership == SOFT;
}

/* One batch with fixed weights has no place for options of two, or of groups. */
static gerne_status check_soft(gn_run *run)
{
    const gerne_options *given = run->options;
    const char *other = given->adapt.rule       ? "method.adapt"
                        : given->share_majority ? "method.share_majority"
                        : given->rounding       ? "method.rounding round"
                                                : NULL;
    if (!is_soft(run))
        return GERNE_OK;
    if (other)
        return gn_fail(run->ctx, GERNE_EUSAGE, "method.membership soft cannot be combined with %s",
                       other);
    return gn_soft_law_check(run);
}

static gerne_status check(gn_run *run)
{
    const gerne_options *given = run->options;
    GN_TRY(check_soft(run));
    gerne_groups *groups = gn_extrapolation_groups(run);
    GN_TRY(gn_extrapolation_target(run, groups, given->target));
    return groups ? check_groups(run, groups) : GERNE_OK;
}

static gerne_status limits(const gn_run *run, int steps, gn_limits *out)
{
    const gerne_options *given = run->options;
    GN_TRY(gn_extrapolation_target(run, gn_extrapolation_groups(run), given->target));
    return gn_extrapolation_limits(run, given->c, given->beyond_bounds, steps, out);
}

static gerne_status start(gn_run *run)
{
    const gerne_options *given = run->options;
    gerne_state *state = run->state;
    double beta = beta_of(run);
    run->automatic_value = beta;
    GN_TRY(gn_extrapolation_target(run, run->groups, given->target));
    if (is_soft(run))
        return gn_soft_law_start(run, &state->soft,
                                 &(gn_soft_law_options){.c = given->c,
                                                        .beta = beta,
                                                        .by_class = given->adapt.by_class,
                                                        .beyond_bounds = given->beyond_bounds});
    if (run->estimator && !run->sizes_checked)
        GN_TRY(check_groups(run, run->groups));
    GN_TRY(gn_adapt_start(run, &state->adapt, &given->adapt, given->c, gn_s_of(given->c, beta)));
    const gn_extrapolation_options law = {
        .c = given->c,
        .beta = beta,
        .betas = gn_adapt_moves(&given->adapt) ? state->adapt.betas : NULL,
        .share_majority = given->share_majority,
        .rounded = given->rounding == 1,
    };
    return gn_extrapolation_start(run, &state->extrapolation, &law);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const gerne_state *state = run->state;
    (void)k;
    if (is_soft(run))
        return gn_soft_law_plan(&state->soft, plan);
    return gn_extrapolation_plan(run, &state->extrapolation, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batches)
{
    gerne_state *state = run->state;
    if (is_soft(run))
        return gn_soft_law_step(run, &state->soft, &batches[0]);
    GN_TRY(gn_extrapolation_step(run, &state->extrapolation, batches));
    return gn_adapt_step(run, &state->adapt, k, batches,
                         gn_extrapolation_batches(run, &state->extrapolation));
}

static gerne_status refit(gn_run *run)
{
    const gerne_state *state = run->state;
    return is_soft(run) ? GERNE_OK : gn_adapt_refit(run, &state->adapt);
}

static gerne_status evaluated(gn_run *run, const gn_validated *validated)
{
    gerne_state *state = run->state;
    return is_soft(run) ? GERNE_OK : gn_adapt_evaluated(run, &state->adapt, validated);
}

/* What beta does to the largest group: of hard groups with one beta. */
static gerne_status explain_beta(const gn_run *run, gn_text *reason)
{
    const gerne_options *given = run->options;
    gerne_bounds bounds;
    if (is_soft(run) || isnan(run->beta) ||
        gerne_bounds_of(run->ctx, run->groups, given->c, &bounds))
        return GERNE_OK;
    double share = (double)NAN;
    if (bounds.binds) {
        double alpha = gerne_groups_alpha(run->groups, bounds.y, bounds.a);
        share = alpha * (1 - (run->beta + 1) / (bounds.beta_max + 1));
    }
    return gn_text_add(run->ctx, reason,
                       "; beta is %g, its interval at c = %g is [%.4g, %.4g], and the share p_ext "
                       "of the largest group y=%u, a=%u is %.4g%s",
                       run->beta, given->c, bounds.lower, bounds.upper, bounds.y, bounds.a, share,
                       share < 0 ? ": a negative share makes its loss grow without bound" : "");
}

static gerne_status explain(const gn_run *run, gn_text *reason, gn_text *remedy)
{
    const char *bn = "";
    GN_TRY(explain_beta(run, reason));
    if (run->coupled && !run->concatenate)
        bn = ", set model.bn concat (the network can tell the two batches apart by their BatchNorm "
             "statistics)";
    else if (run->model->bn == GN_BN_FROZEN)
        bn = ", set model.bn concat (frozen statistics do not follow large steps)";
    return gn_text_add(run->ctx, remedy, " or method.beta%s", bn);
}

static const char description[] =
    "Every step draws two batches, each with equally many samples of every class: a biased one, in "
    "which attributes occur as in the data, and a less biased one, which c moves towards equal "
    "groups. The network is updated with the loss extrapolated from the biased batch to the less "
    "biased one and beyond it.\n\n"
    "    p_b(a|y)   = alpha = n_g / n_y                    biased batch\n"
    "    p_lb(a|y)  = alpha + c (1/A - alpha)              less biased batch\n"
    "    L_ext      = L_lb + beta (L_lb - L_b)             L: mean CE of a batch\n"
    "    p_ext(a|y) = alpha + s (1/A - alpha)              weight of a group in L_ext\n"
    "    s          = c (1 + beta)                         sets the expected loss\n\n"
    "Here A counts the attributes that occur in the class. beta = -1 is class-balanced ERM, c = 1 "
    "with beta = 0 is resampling, beta = 1/c - 1 gives all groups of a class the same weight on "
    "average, and a larger beta favours the small ones. Above the upper bound of beta, which "
    "'gerne bounds' prints, the largest group has a negative weight and its loss grows without "
    "bound: such values are refused unless beyond_bounds is set. share_majority lets the two "
    "batches share samples, which lowers the variance of the update; with rounding round the "
    "numbers of samples per group are rounded instead of being exact on average. It assumes that "
    "every group that matters has samples. Use it when attributes are known, or can be estimated, "
    "and some groups are rare.\n\n"
    "With unknown attributes the groups come from an estimator, by default biased (algorithm 2 of "
    "the paper), and beta may exceed its bound until the largest group has weight -0.25. With "
    "estimator none every class is one group, and beta changes only the variance.\n\n"
    "target sets other shares q of the groups than 1/A to move to, in both batches and in the "
    "bounds: marginal is the mix of attributes that all classes have together, so that the "
    "attribute says nothing of the class but keeps its frequency; a list gives the shares "
    "themselves.\n\n"
    "With unknown attributes and an estimator that says how much a sample is hard (biased and "
    "ensemble with t auto, crossfit), membership soft takes its posteriors r for what they are, "
    "instead of 0 or 1: one less biased batch is drawn by the groups, and its samples weigh so "
    "that "
    "the loss is that of the soft law in expectation. s is limited where the weight of a sample "
    "would be negative; rules of adapt, share_majority and rounding need groups.\n\n"
    "    alpha_j = mean of r_ij over the class,  rho_i = sum_j r_ij q_j / alpha_j\n"
    "    L       = mean over classes and samples of (1 - s (1 - rho_i)) CE_i\n\n"
    "beta is auto unless it is given: 1/c - 1, which balances the groups whatever c is. adapt "
    "names a rule that moves s while training, from the s of beta on, between adapt_min and "
    "adapt_max; s_by_class gives every class an s of its own, where one class could go further "
    "than another, and lowers a beta that is too large for a class in that class alone.\n\n"
    "    contribution:   sum of p_ext u over small groups = adapt_gamma x large\n"
    "                    u: mean of 1 - p(y|x) over a group\n"
    "    groupdro:       s <- s + adapt_eta dL_ext/ds,\n"
    "                    losses of groups: l + adapt_adjustment / sqrt(n)\n"
    "    hypergradient:  s <- s - adapt_rate dF/ds,\n"
    "                    F: validation loss of the worst groups\n"
    "    repetitions:    s of beta until a group was seen adapt_repetitions times,\n"
    "                    then linearly to adapt_end\n"
    "    fan:            evaluates the best of adapt_heads heads, each of its own s\n"
    "    feedback:       s <- s + adapt_kappa (accuracy of large - of small groups)\n\n"
    "contribution and groupdro look at the batches and move s every 20 steps by at most 0.05; "
    "hypergradient and feedback move it after an evaluation by at most 0.1 and need the "
    "attributes of the validation split; fan needs a validation split. docs/adaptive.md compares "
    "them.";

static const gn_log_plot plots[] = {
    {.title = "Training loss",
     .needs = "loss",
     .lines = {{.figure = "L_b", .name = "L_b, biased batch"},
               {.figure = "L_lb", .name = "L_lb, less biased batch"},
               {.figure = "loss", .name = "L_ext, extrapolated"}}},
    {.title = "Extrapolation s = c (1 + beta), moved by method.adapt",
     .note = "s = 1 balances the groups; above it the small ones weigh more.",
     .needs = "s_high",
     .lines = {{.figure = "s", .name = "s in training"},
               {.figure = "s_head", .name = "s of the evaluated head"},
               {.figure = "s_least", .name = "smallest of a class"},
               {.figure = "s_most", .name = "largest of a class"},
               {.figure = "s_low", .name = "limits", .limit = true},
               {.figure = "s_high", .limit = true}}},
    {0},
};

const gn_method gn_method_gerne = {
    .name = "gerne",
    .paper = "Asaad et al. 2025",
    .title = "Gradient Extrapolation for Debiased Representation Learning",
    .summary = "extrapolates the gradients of a biased and a less biased batch",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .default_estimator = "biased",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(gerne_options),
    .state_size = sizeof(gerne_state),
    .limited = "beta",
    .limited_by = "c",
    .plots = plots,
    .check = check,
    .limits = limits,
    .start = start,
    .plan = plan,
    .step = step,
    .refit = refit,
    .evaluated = evaluated,
    .watch = gn_extrapolation_watch,
    .explain = explain,
};
