/* estimator_biased.c - algorithm 2 of GERNE (ICCV 2025): a biased model is trained on
 * class-balanced batches with a tenth of the learning rate and twice the weight decay; per class
 * the fraction t of training samples that it gives the least probability of their class become
 * pseudo-attribute 0, the rest 1. */
#include <math.h>
#include <stdio.h>

#include "debias/bounds.h"
#include "debias/groups.h"
#include "debias/pseudo.h"
#include "methods/estimating.h"
#include "methods/extrapolation.h"

enum { HARD, EASY, PSEUDO_ATTRIBUTES };

typedef struct biased_options {
    double t;
    int t_rounding;
    const char *biased;
} biased_options;

static const gn_option options[] = {
    {"t", GN_REAL, offsetof(biased_options, t), .fallback = "0.01", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX | GN_LOG | GN_GUESSED | GN_AUTO,
     .search_factor = 2,
     .help = "attributes unknown: fraction of each class that becomes its hard pseudo-group; auto: "
             "by the two modes of the biased model's log-odds"},
    {"t_rounding", GN_CHOICE, offsetof(biased_options, t_rounding), .fallback = "floor",
     .choices = "floor|ceil", .help = "rounding of t times the class size to a number of samples"},
    {"biased", GN_TEXT, offsetof(biased_options, biased), .flags = GN_NO_HASH,
     .help = "attributes unknown: run on the same data whose biased model is reused"},
};

typedef struct biased_state {
    gn_extrapolation by_class;
} biased_state;

/* What the biased model says of the samples. */
typedef struct biased_scores {
    float *right;     /* [n]: the probability of the right class */
    float *predicted; /* [validation samples]: the class */
    float *odds;      /* [n]: log-odds of the right class, where probabilities are 1 in float */
} biased_scores;

static gerne_status scores_of(gn_run *run, biased_scores *out)
{
    size_t val = gn_val_count(run);
    float *all;
    GN_TRY(gn_run_table(run, "scores", 2 * run->n + val, 0, &all));
    *out = (biased_scores){all, all + run->n, all + run->n + val};
    return GERNE_OK;
}

static int stages(const gn_run *run, gn_stage *list)
{
    const biased_options *given = run->options;
    list[0] = (gn_stage){.name = "biased",
                         .lr_factor = 0.1,
                         .decay_factor = 2,
                         .networks = 1,
                         .keep = GN_KEEP_BALANCED_ACC,
                         .table = "scores",
                         .from = given->biased,
                         .from_key = "method.biased"};
    return 1;
}

static uint32_t attributes_found(const gn_run *run)
{
    (void)run;
    return PSEUDO_ATTRIBUTES;
}

/* Which samples are hard is not known before the biased model is trained; how many, is. */
static gerne_status expect(const gn_run *run, char *at, size_t size, gerne_groups **out)
{
    const biased_options *given = run->options;
    if (isnan(given->t))
        return GERNE_OK; /* not even that */
    snprintf(at, size, "t = %g", given->t);
    return gn_pseudo_counts(run->ctx, run->groups, given->t, given->t_rounding == 1, out);
}

static gerne_status start(gn_run *run)
{
    biased_state *state = run->state;
    biased_scores made;
    GN_TRY(scores_of(run, &made));
    return gn_extrapolation_start(run, &state->by_class,
                                  &(gn_extrapolation_options){.c = 1, .beta = -1});
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    biased_state *state = run->state;
    (void)k;
    return gn_extrapolation_plan(run, &state->by_class, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batches)
{
    biased_state *state = run->state;
    (void)k;
    return gn_extrapolation_step(run, &state->by_class, batches);
}

/* log p[y] / (1 - p[y]) = z[y] - log of the sum of exp z over the other classes. */
static double log_odds(const float *logits, size_t classes, size_t y)
{
    double largest = (double)-INFINITY, sum = 0;
    for (size_t k = 0; k < classes; k++)
        if (k != y)
            largest = fmax(largest, (double)logits[k]);
    for (size_t k = 0; k < classes; k++)
        if (k != y)
            sum += exp((double)logits[k] - largest);
    return (double)logits[y] - largest - log(sum);
}

static gerne_status finish(gn_run *run)
{
    biased_scores scores;
    float *logits;
    GN_TRY(scores_of(run, &scores));
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, logits, NULL));
    for (size_t i = 0; i < run->n; i++)
        scores.odds[i] =
            (float)log_odds(logits + i * run->classes, run->classes, (size_t)run->y[i]);
    gn_softmax(logits, run->n, run->classes);
    for (size_t i = 0; i < run->n; i++)
        scores.right[i] = logits[i * run->classes + (size_t)run->y[i]];
    return gn_predict_set(run, 0, GN_SET_VALIDATION, scores.predicted);
}

/* Says what auto found in every class, and its share and expected precision over all. */
static void report_found(gn_run *run, const gn_hard *hard)
{
    static const char *const from[] = {
        [GN_HARD_NOTHING] = "no second mode",
        [GN_HARD_CLEAR] = "a clear second mode",
        [GN_HARD_OTHERS] = "no clear second mode, the share of the other classes",
        [GN_HARD_UNCLEAR] = "a second mode that overlaps with the first"};
    uint64_t all = 0, judged = 0;
    double right = 0;
    char text[GN_GROUP_TEXT];
    for (uint32_t y = 0; y < run->classes; y++) {
        gn_log(run->ctx, GERNE_LOG_INFO, "t auto: class %s: %llu hard samples of %llu (%s)",
               gn_class_text(run->groups, y, text), (unsigned long long)hard[y].count,
               (unsigned long long)run->groups->class_counts[y], from[hard[y].from]);
        all += hard[y].count;
        if (!isnan(hard[y].precision) && hard[y].count) {
            judged += hard[y].count;
            right += (double)hard[y].count * hard[y].precision;
        }
    }
    run->pseudo.t = (double)all / (double)run->n;
    run->pseudo.expected_precision = judged ? right / (double)judged : (double)NAN;
}

/* t auto: as many as the lower mode of the log-odds has. */
static gerne_status find_modes(gn_run *run, const biased_scores *scores, int32_t *a)
{
    gerne_pseudo *pseudo;
    gn_hard *hard;
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *hard, &hard));
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores->odds, run->n, run->classes, &pseudo));
    gerne_status status = gn_hard_find(run->ctx, pseudo, scores->odds, hard);
    if (status == GERNE_OK) {
        gn_hard_assign(pseudo, hard, a);
        report_found(run, hard);
    }
    gerne_pseudo_close(pseudo);
    return status;
}

static gerne_status take_share(gn_run *run, const biased_scores *scores, int32_t *a)
{
    const biased_options *given = run->options;
    gerne_pseudo *pseudo;
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores->right, run->n, run->classes, &pseudo));
    gerne_status status =
        gerne_pseudo_assign(run->ctx, pseudo, given->t, given->t_rounding == 1, a);
    gerne_pseudo_close(pseudo);
    run->pseudo.t = given->t;
    return status;
}

static gerne_status groups(gn_run *run)
{
    static const char *const names[PSEUDO_ATTRIBUTES] = {"hard", "easy"};
    static const bool minority[PSEUDO_ATTRIBUTES] = {true, false};
    const biased_options *given = run->options;
    biased_scores scores;
    int32_t *a;
    GN_TRY(scores_of(run, &scores));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, scores.predicted, run->classes));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *a, &a));
    GN_TRY(isnan(given->t) ? find_modes(run, &scores, a) : take_share(run, &scores, a));
    return gn_run_regroup(run, &(gn_grouping){a, PSEUDO_ATTRIBUTES, names, minority});
}

static const char description[] =
    "Algorithm 2 of GERNE: a biased model is trained on class-balanced batches with a tenth of the "
    "learning rate and twice the weight decay, as long as the run, and its checkpoint with the "
    "best class-balanced validation accuracy is kept. In every class the fraction t of the "
    "training samples whose class it finds least probable becomes attribute 'hard', the rest "
    "'easy'.\n\n"
    "    hard: the max(1, floor(t n_y)) samples of class y with the lowest p_i[y_i]\n\n"
    "It assumes that the biased model learns the shortcut and is unsure where it fails. Use it "
    "with a number t when the fraction of minority samples is roughly known: t should be near it; "
    "t_rounding ceil rounds up instead. Since t sets the group sizes, the bounds of beta are then "
    "known, and checked, before training.\n\n"
    "With t auto two normal distributions are fitted to the log-odds of every class; the samples "
    "up to the point where the lower one is no longer the more probable one are hard. A class "
    "whose lower mean is not at least three deviations of the upper one below it takes the median "
    "fraction of those where it is, if these are the most classes. The log says what was found in "
    "each class, results.json the precision to expect (pseudo.expected_precision). A class without "
    "a second mode, or whose lower mode has more than half of it, ends the run with an error that "
    "names it, unless method.no_shortcut is keep.\n\n"
    "    u_i = log p_i[y_i] - log(1 - p_i[y_i])\n\n"
    "The scores are kept in the run directory (scores.ckpt) and in the cache: "
    "runs that differ only in options of method and select reuse them, and biased names a run to "
    "take them from. select.metric bias_wga and bias_gba are available.";

const gn_method gn_estimator_biased = {
    .name = "biased",
    .paper = "Asaad et al. 2025",
    .title = "Gradient Extrapolation for Debiased Representation Learning",
    .summary = "the samples of each class that a biased model finds hardest",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(biased_options),
    .state_size = sizeof(biased_state),
    .val_cells = 1 << GN_CELLS_BIASED,
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
    .attributes_found = attributes_found,
    .expect = expect,
    .groups = groups,
};
