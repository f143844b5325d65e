/* gerne.c - gradient extrapolation (GERNE, ICCV 2025), attributes known or unknown.
 *
 * Algorithm 1, one step:
 *     draw B_b  with p(a|y) = alpha,  B_lb with p(a|y) = alpha + c (1/A - alpha)
 *     L_b, L_lb = mean cross-entropy on each
 *     L_ext = L_lb + beta (L_lb - L_b)
 *     update with the gradient of L_ext
 *
 * Algorithm 2, attributes unknown: a biased model is trained on class-balanced batches with a tenth
 * of the learning rate and twice the weight decay; per class the fraction t of training samples
 * that it gives the least probability of their class become pseudo-attribute 0, the rest 1; then
 * algorithm 1 with these groups.
 */
#include <math.h>
#include <stdio.h>

#include "debias/bounds.h"
#include "methods/extrapolation.h"
#include "nn/loss.h"

enum { PSEUDO_GROUPS = 2 };

typedef struct gerne_options {
    double c, beta, t;
    bool share_majority, beyond_bounds;
    int rounding, t_rounding;
    const char *biased;
} gerne_options;

#define OPTION(key) offsetof(gerne_options, key)

static const gn_option options[] = {
    {"c", GN_REAL, OPTION(c), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .search = "0.5,1",
     .help = "how far the less biased batch moves from the data (0) to balanced groups (1)"},
    {"beta", GN_REAL, OPTION(beta), .fallback = "1", .min = -100, .max = 100, .flags = GN_TUNABLE,
     .help = "extrapolation factor; 1/c - 1 balances the groups, 'gerne bounds' gives the limits"},
    {"t", GN_REAL, OPTION(t), .fallback = "0.01", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX | GN_LOG | GN_GUESSED, .search_factor = 2,
     .help = "attributes unknown: fraction of each class that becomes its hard pseudo-group"},
    {"share_majority", GN_BOOL, OPTION(share_majority), .fallback = "false",
     .help = "let the two batches share samples: same mean, lower variance"},
    {"rounding", GN_CHOICE, OPTION(rounding), .fallback = "exact", .choices = "exact|round",
     .help = "samples per group in a batch: exact on average, or rounded"},
    {"t_rounding", GN_CHOICE, OPTION(t_rounding), .fallback = "floor", .choices = "floor|ceil",
     .flags = GN_GUESSED, .help = "rounding of t times the class size to a number of samples"},
    {"beyond_bounds", GN_BOOL, OPTION(beyond_bounds), .fallback = "false",
     .help = "allow a beta outside its bounds, with a warning"},
    {"biased", GN_TEXT, OPTION(biased), .flags = GN_NO_HASH | GN_GUESSED,
     .help = "attributes unknown: run on the same data whose biased model is reused"},
};

typedef struct gerne_state {
    gn_extrapolation extrapolation;
    float *scores; /* [n]: the biased model's probability of the right class */
} gerne_state;

static bool trains_biased_model(const gn_run *run)
{
    return !run->known && run->stage_index == 0;
}

static int stages(const gn_run *run, gn_stage *list)
{
    const gerne_options *given = run->options;
    const gn_stage biased = {.name = "biased",
                             .lr_factor = 0.1,
                             .decay_factor = 2,
                             .networks = 1,
                             .keep = GN_KEEP_BALANCED_ACC,
                             .table = "scores",
                             .from = given->biased};
    const gn_stage main = {.name = "main", .lr_factor = 1, .decay_factor = 1, .networks = 1};
    if (run->known) {
        list[0] = main;
        return 1;
    }
    list[0] = biased;
    list[1] = main;
    return 2;
}

static unsigned beta_flags(const gn_run *run)
{
    const gerne_options *given = run->options;
    return (run->known ? 0U : GERNE_PSEUDO_GROUPS) |
           (given->beyond_bounds ? GERNE_BEYOND_BOUNDS : 0U);
}

/* Which samples are hard is not known before the biased model is trained; how many, is. *out is
 * NULL where attributes are known. */
static gerne_status count_pseudo_groups(const gn_run *run, gerne_groups **out)
{
    const gerne_options *given = run->options;
    *out = NULL;
    if (run->known)
        return GERNE_OK;
    return gn_pseudo_counts(run->ctx, run->groups, given->t, given->t_rounding == 1, out);
}

static gerne_status check(gn_run *run)
{
    const gerne_options *given = run->options;
    gerne_groups *pseudo;
    GN_TRY(count_pseudo_groups(run, &pseudo));
    gerne_status status = gerne_check_beta(run->ctx, pseudo ? pseudo : run->groups, given->c,
                                           given->beta, beta_flags(run));
    gerne_groups_close(pseudo);
    return status;
}

static gerne_status limits(const gn_run *run, int steps, gn_limits *out)
{
    const gerne_options *given = run->options;
    gerne_groups *pseudo;
    GN_TRY(count_pseudo_groups(run, &pseudo));
    gerne_status status = gn_extrapolation_limits(run->ctx, pseudo ? pseudo : run->groups, given->c,
                                                  beta_flags(run), steps, out);
    if (pseudo)
        snprintf(out->at, sizeof out->at, "c = %g, t = %g", given->c, given->t);
    gerne_groups_close(pseudo);
    return status;
}

static gerne_status report_quality(gn_run *run, const gerne_pseudo *pseudo)
{
    const gerne_options *given = run->options;
    gerne_pseudo_quality quality = {.precision = (double)NAN, .recall = (double)NAN};
    bool round_up = given->t_rounding == 1;
    if (run->true_a && run->true_attributes > 1)
        GN_TRY(gerne_pseudo_judge(run->ctx, pseudo, run->true_a, run->true_attributes, &given->t, 1,
                                  round_up, &quality));
    run->pseudo.precision = quality.precision;
    run->pseudo.recall = quality.recall;
    return GERNE_OK;
}

/* Hard (0) and easy (1) samples by the scores of the biased model. */
static gerne_status make_pseudo_groups(gn_run *run, const float *scores)
{
    const gerne_options *given = run->options;
    gerne_pseudo *pseudo;
    int32_t *a;
    GN_TRY(gn_run_alloc(run, run->n, sizeof *a, &a));
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores, run->n, run->classes, &pseudo));
    gerne_status status =
        gerne_pseudo_assign(run->ctx, pseudo, given->t, given->t_rounding == 1, a);
    if (status == GERNE_OK)
        status = report_quality(run, pseudo);
    gerne_pseudo_close(pseudo);
    GN_TRY(status);
    run->pseudo.made = true;
    run->pseudo.t = given->t;
    run->pseudo.n = 0;
    for (size_t i = 0; i < run->n; i++)
        run->pseudo.n += a[i] == 0;
    static const char *const names[PSEUDO_GROUPS] = {"hard", "easy"};
    return gn_run_regroup(run, a, PSEUDO_GROUPS, names);
}

static gerne_status start(gn_run *run)
{
    const gerne_options *given = run->options;
    gerne_state *state = run->state;
    if (!run->known)
        GN_TRY(gn_run_table(run, "scores", run->n, 0, &state->scores));
    if (trains_biased_model(run))
        return gn_extrapolation_start(run, &state->extrapolation,
                                      &(gn_extrapolation_options){.c = 1, .beta = -1});
    if (!run->known)
        GN_TRY(make_pseudo_groups(run, state->scores));
    return gn_extrapolation_start(
        run, &state->extrapolation,
        &(gn_extrapolation_options){.c = given->c,
                                    .beta = given->beta,
                                    .share_majority = given->share_majority,
                                    .rounded = given->rounding == 1});
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    gerne_state *state = run->state;
    (void)k;
    return gn_extrapolation_plan(run, &state->extrapolation, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batches)
{
    gerne_state *state = run->state;
    (void)k;
    return gn_extrapolation_step(run, &state->extrapolation, batches);
}

static gerne_status finish(gn_run *run)
{
    gerne_state *state = run->state;
    float *logits;
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_predict(run, 0, logits));
    gn_softmax(logits, run->n, run->classes);
    for (size_t i = 0; i < run->n; i++)
        state->scores[i] = logits[i * run->classes + (size_t)run->y[i]];
    return GERNE_OK;
}

static gerne_status explain(const gn_run *run, gn_text *reason, gn_text *remedy)
{
    const gerne_options *given = run->options;
    gerne_bounds bounds;
    if (trains_biased_model(run) || gerne_bounds_of(run->ctx, run->groups, given->c, &bounds))
        return GERNE_OK;
    double share = (double)NAN;
    if (bounds.binds) {
        double alpha = gerne_groups_alpha(run->groups, bounds.y, bounds.a);
        share = alpha * (1 - (given->beta + 1) / (bounds.beta_max + 1));
    }
    GN_TRY(gn_text_add(run->ctx, reason,
                       "; beta is %g, its interval at c = %g is [%.4g, %.4g], and the share p_ext "
                       "of the largest group y=%u, a=%u is %.4g%s",
                       given->beta, given->c, bounds.lower, bounds.upper, bounds.y, bounds.a, share,
                       share < 0 ? ": a negative share makes its loss grow without bound" : ""));
    return gn_text_add(run->ctx, remedy, " or method.beta%s",
                       run->coupled && !run->concatenate
                           ? ", set model.bn concat (the network can tell the two batches apart by "
                             "their BatchNorm statistics)"
                           : "");
}

const gn_method gn_method_gerne = {
    .name = "gerne",
    .paper = "GERNE, ICCV 2025",
    .summary = "extrapolates the gradients of a biased and a less biased batch",
    .attributes = GN_ATTRIBUTES_GUESSED,
    .guessed_attributes = PSEUDO_GROUPS,
    .guess = "estimated with a biased model",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(gerne_options),
    .state_size = sizeof(gerne_state),
    .limited = "beta",
    .limited_by = "c",
    .stages = stages,
    .check = check,
    .limits = limits,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
    .watch = gn_extrapolation_watch,
    .explain = explain,
};
