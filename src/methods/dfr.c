/* dfr.c - deep feature reweighting: a network learns features from the data as they are, then its
 * head is fitted anew to group-balanced samples, as a rule of the validation split. */
#include "debias/groups.h"
#include "methods/head_fit.h"
#include "methods/two_stage.h"

typedef enum variant { ORIGINAL, SUBPOPBENCH } variant;
typedef enum fit_split { ON_VALIDATION, ON_TRAIN } fit_split;
enum { REPEATS_VALIDATION = 20, REPEATS_TRAIN = 10 };

typedef struct dfr_options {
    int variant, split;
    double rho;
    int64_t repeats;
} dfr_options;

static const gn_option options[] = {
    {"variant", GN_CHOICE, offsetof(dfr_options, variant), .fallback = "original",
     .choices = "original|subpopbench",
     .help = "original: mean of L1 logistic regressions on standardised features, C chosen by "
             "worst-group accuracy; subpopbench: steps of the optimiser with an L1 penalty"},
    {"split", GN_CHOICE, offsetof(dfr_options, split), .fallback = "val", .choices = "val|train",
     .help = "the split that the head is fitted to"},
    {"rho", GN_REAL, offsetof(dfr_options, rho), .fallback = "0.1", .min = 0, .max = 100,
     .flags = GN_TUNABLE, .help = "subpopbench: factor of the L1 norm of the head's weights"},
    {"repeats", GN_INT, offsetof(dfr_options, repeats), .fallback = "0", .min = 0, .max = 10000,
     .help =
         "original: regressions to average, each on a balanced subset of its own; 0: 20 on val, "
         "10 on train"},
};

typedef struct dfr_state {
    const gerne_sampler *sampler;
    const uint32_t *map; /* subpopbench: the balanced subset */
    gn_grouped groups;
} dfr_state;

static int stages(const gn_run *run, gn_stage *list)
{
    const dfr_options *given = run->options;
    list[0] = gn_erm_stage();
    list[1] = gn_head_stage("head");
    list[1].decay_factor = 0;
    list[1].on_validation = given->split == ON_VALIDATION;
    list[1].steps = given->variant == ORIGINAL ? 1 : 0;
    return 2;
}

/* A group of the training split that the head could not be balanced over. */
static gerne_status refuse_group(gn_run *run, uint32_t y, uint32_t a, uint64_t count, size_t least)
{
    const dfr_options *given = run->options;
    char name[GN_GROUP_TEXT];
    gn_fail(run->ctx, GERNE_EUSAGE,
            "dfr balances the groups of the %s split: group (%s) has %llu sample%s there, it "
            "needs %zu",
            given->split == ON_VALIDATION ? "validation" : "training",
            gn_group_text(run->groups, y, a, name), (unsigned long long)count,
            count == 1 ? "" : "s", least);
    gn_hint(run->ctx, "%suse --method.split %s, or put more samples of it there",
            run->attributes > 1 ? "balance classes instead with --method.attributes unknown, " : "",
            given->split == ON_VALIDATION ? "train" : "val");
    return GERNE_EUSAGE;
}

static gerne_status refuse_split(gn_run *run)
{
    gn_fail(run->ctx, GERNE_EUSAGE,
            "dfr fits the head to the validation split, but the data has none");
    gn_hint(run->ctx, "hold out samples with --data.val N, or use --method.split train");
    return GERNE_EUSAGE;
}

static gerne_status check(gn_run *run)
{
    const dfr_options *given = run->options;
    bool on_validation = given->split == ON_VALIDATION;
    gn_labelled split = gn_run_labelled(run, on_validation ? GN_SET_VALIDATION : GN_SET_TRAIN);
    size_t least = given->variant == ORIGINAL ? 2 : 1; /* one for each half */
    if (split.n == 0)
        return refuse_split(run);
    if (run->estimator && on_validation)
        gn_warn(run->ctx,
                "dfr: estimator '%s' finds groups of the training split; in the validation split, "
                "to which the head is fitted, classes are balanced (method.split val)",
                run->estimator->name);
    if (run->estimator)
        return GERNE_OK; /* sizes are not known yet */
    for (uint32_t y = 0; y < run->classes; y++)
        for (uint32_t a = 0; a < split.attributes; a++) {
            uint64_t count = 0;
            for (size_t i = 0; i < split.n; i++)
                count += split.y[i] == (int32_t)y && split.a[i] == (int32_t)a;
            if (count < least && (count || gerne_groups_count(run->groups, y, a)))
                return refuse_group(run, y, a, count, least);
        }
    return GERNE_OK;
}

/* The subset that SubpopBench's stage draws from: as many samples of every group as the smallest
 * has. */
static gerne_status balance(gn_run *run, const gerne_groups **groups)
{
    dfr_state *state = run->state;
    size_t *sizes;
    uint32_t *list;
    int32_t *y;
    GN_TRY(gn_run_alloc(run, state->groups.groups, sizeof *sizes, &sizes));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *list, &list));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *y, &y));
    gn_permutation order = gn_permutation_at(run->n, run->seed, GN_RNG_METHOD, 0, 0);
    size_t smallest = gn_smallest_group(&state->groups, sizes);
    size_t count = gn_balanced_subset(&state->groups, &order, smallest, sizes, list);
    for (size_t i = 0; i < count; i++)
        y[i] = run->y[list[i]];
    state->map = list;
    gn_log(run->ctx, GERNE_LOG_INFO, "dfr: %zu samples, %zu of each group", count, smallest);
    return gn_run_groups(run, y, NULL, count, 1, groups);
}

static gerne_status start(gn_run *run)
{
    const dfr_options *given = run->options;
    dfr_state *state = run->state;
    const gerne_groups *groups = NULL;
    if (run->stage->head_only) {
        GN_TRY(gn_run_by_group(run, &state->groups));
        if (given->variant == ORIGINAL)
            return GERNE_OK;
        GN_TRY(balance(run, &groups));
    }
    return gn_run_sampler(run, groups, &(gerne_sampler_options){.drop_last = true},
                          &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const dfr_state *state = run->state;
    (void)k;
    if (state->sampler)
        plan->batches[plan->count++] = (gn_request){
            .sampler = state->sampler,
            .draw = run->stage->head_only ? GERNE_DRAW_UNIFORM : GERNE_DRAW_SHUFFLED,
            .map = state->map,
        };
    return GERNE_OK;
}

/* Mean cross-entropy + rho |W|_1; the figure "loss" is the first term. */
static gerne_status penalized_step(gn_run *run, gn_minibatch *batch)
{
    const dfr_options *given = run->options;
    GN_TRY(gn_weighted_pass(run, 0, batch, NULL, false));
    gn_block w;
    GN_TRY(gn_run_head_weights(run, 0, &w));
    gn_run_log(run, "penalty", gn_l1_penalty(w.values, w.size, given->rho, w.gradients));
    gn_run_log(run, "loss", gn_mean(batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

/* Features of the split, and of the training split for their scale. */
static gerne_status infer(gn_run *run, gn_head_problem *problem)
{
    const dfr_options *given = run->options;
    gn_featured *s = &problem->samples;
    gn_sample_set set = given->split == ON_VALIDATION ? GN_SET_VALIDATION : GN_SET_TRAIN;
    float *own, *train;
    GN_TRY(gn_run_alloc(run, s->n * s->width, sizeof *own, &own));
    GN_TRY(gn_run_infer(run, 0, set, NULL, own));
    s->x = problem->reference = own;
    problem->reference_n = gn_run_labelled(run, GN_SET_TRAIN).n;
    if (set == GN_SET_TRAIN)
        return GERNE_OK;
    GN_TRY(gn_run_alloc(run, problem->reference_n * s->width, sizeof *train, &train));
    problem->reference = train;
    return gn_run_infer(run, 0, GN_SET_TRAIN, NULL, train);
}

static gerne_status refit(gn_run *run)
{
    const dfr_options *given = run->options;
    const dfr_state *state = run->state;
    size_t usual = given->split == ON_VALIDATION ? REPEATS_VALIDATION : REPEATS_TRAIN;
    gn_head_problem problem = {
        .samples = {.y = run->y, .n = run->n, .width = run->width, run->classes},
        .groups = state->groups,
        .repeats = given->repeats ? (size_t)given->repeats : usual,
        .seed = run->seed,
    };
    const gn_featured *s = &problem.samples;
    gn_linear_head head;
    gn_head_outcome outcome;
    float *logits, *losses;
    GN_TRY(gn_run_alloc(run, s->classes * s->width, sizeof(float), &head.weights));
    GN_TRY(gn_run_alloc(run, s->classes, sizeof(float), &head.bias));
    GN_TRY(gn_run_alloc(run, s->n * s->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_alloc(run, s->n, sizeof *losses, &losses));
    GN_TRY(infer(run, &problem));
    GN_TRY(gn_head_fit(run->ctx, &problem, &head, &outcome));
    gn_log(run->ctx, GERNE_LOG_INFO, "dfr: C = %g, worst group of the other half %.1f %%",
           outcome.c, 100 * outcome.held_wga);
    gn_head_logits(s, &head, logits);
    gn_run_log(run, "loss", gn_head_loss(s, NULL, logits, losses));
    gn_run_log(run, "c", outcome.c);
    return gn_run_set_head(run, 0, head.weights, head.bias);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const dfr_options *given = run->options;
    (void)k;
    if (!run->stage->head_only)
        return gn_plain_step(run, batch);
    return given->variant == ORIGINAL ? refit(run) : penalized_step(run, batch);
}

static const char description[] =
    "Deep feature reweighting: stage 'erm' trains the network by ERM and keeps the last "
    "checkpoint; then its head is fitted to a group-balanced subset of the validation split, on "
    "features that stay as they are.\n\n"
    "    original:     minimise |w|_1 + C sum_i log(1 + exp(-t_i w.x_i)),  t_i = +-1,\n"
    "                  and average over balanced subsets\n"
    "    subpopbench:  L = mean CE_i + rho |W|_1,  on one balanced subset\n\n"
    "The original variant standardises features by the training split and fits L1 logistic "
    "regressions (one against the rest for more than two classes). C, from 1, 0.7, 0.3, 0.1, 0.07, "
    "0.03 and 0.01, is the one with the best worst-group accuracy on one half of the split after a "
    "fit to the other; then repeats regressions (0: 20 on val, 10 on train), each on a subset of "
    "its own, are averaged. The subpopbench variant trains a fresh head with the optimiser of the "
    "run. With split train the head is fitted to the training split, whose attributes are then "
    "needed. It assumes that ERM learns useful features for all groups. Use it when the validation "
    "split has attributes and every group in it some samples. The checkpoint is selected on the "
    "samples that the head was fitted to, so trust the test split rather than validation. With "
    "unknown attributes the classes of the validation split are balanced; the groups of "
    "method.estimator serve split train alone.";

const gn_method gn_method_dfr = {
    .name = "dfr",
    .paper = "Kirichenko et al. 2023",
    .title = "Last Layer Re-Training is Sufficient for Robustness to Spurious Correlations",
    .summary = "refits the head of an ERM network to group-balanced validation data",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .validation = GN_VALIDATION_FITS_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(dfr_options),
    .state_size = sizeof(dfr_state),
    .plain_batches = true,
    .stages = stages,
    .check = check,
    .start = start,
    .plan = plan,
    .step = step,
};
