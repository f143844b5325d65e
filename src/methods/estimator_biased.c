/* estimator_biased.c - algorithm 2 of GERNE (ICCV 2025): a biased model is trained on
 * class-balanced batches with a tenth of the learning rate and twice the weight decay; per class
 * the fraction t of training samples that it gives the least probability of their class become
 * pseudo-attribute 0, the rest 1. */
#include <stdio.h>

#include "debias/bounds.h"
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
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX | GN_LOG | GN_GUESSED, .search_factor = 2,
     .help = "attributes unknown: fraction of each class that becomes its hard pseudo-group"},
    {"t_rounding", GN_CHOICE, offsetof(biased_options, t_rounding), .fallback = "floor",
     .choices = "floor|ceil", .help = "rounding of t times the class size to a number of samples"},
    {"biased", GN_TEXT, offsetof(biased_options, biased), .flags = GN_NO_HASH,
     .help = "attributes unknown: run on the same data whose biased model is reused"},
};

typedef struct biased_state {
    gn_extrapolation by_class;
} biased_state;

/* The biased model's probabilities of the right class [n], then the classes that it predicts in the
 * validation split. */
static gerne_status scores_of(gn_run *run, float **out)
{
    return gn_run_table(run, "scores", run->n + gn_val_count(run), 0, out);
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
    snprintf(at, size, "t = %g", given->t);
    return gn_pseudo_counts(run->ctx, run->groups, given->t, given->t_rounding == 1, out);
}

static gerne_status start(gn_run *run)
{
    biased_state *state = run->state;
    float *made;
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

static gerne_status finish(gn_run *run)
{
    float *logits, *scores;
    GN_TRY(scores_of(run, &scores));
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, logits, NULL));
    gn_softmax(logits, run->n, run->classes);
    for (size_t i = 0; i < run->n; i++)
        scores[i] = logits[i * run->classes + (size_t)run->y[i]];
    return gn_predict_set(run, 0, GN_SET_VALIDATION, scores + run->n);
}

static gerne_status groups(gn_run *run)
{
    static const char *const names[PSEUDO_ATTRIBUTES] = {"hard", "easy"};
    static const bool minority[PSEUDO_ATTRIBUTES] = {true, false};
    const biased_options *given = run->options;
    gerne_pseudo *pseudo;
    float *scores;
    int32_t *a;
    GN_TRY(scores_of(run, &scores));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, scores + run->n, run->classes));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *a, &a));
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores, run->n, run->classes, &pseudo));
    gerne_status status =
        gerne_pseudo_assign(run->ctx, pseudo, given->t, given->t_rounding == 1, a);
    gerne_pseudo_close(pseudo);
    GN_TRY(status);
    run->pseudo.t = given->t;
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
    "when the fraction of minority samples is roughly known: t should be near it; t_rounding ceil "
    "rounds up instead. Since t sets the group sizes, the bounds of beta are known, and checked, "
    "before training. The scores are kept in the run directory (scores.ckpt) and in the cache: "
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
