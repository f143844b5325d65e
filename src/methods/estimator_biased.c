/* estimator_biased.c - algorithm 2 of GERNE (ICCV 2025): a biased model is trained on
 * class-balanced batches with a tenth of the learning rate and twice the weight decay; per class
 * the fraction t of training samples that it gives the least probability of their class become
 * pseudo-attribute 0, the rest 1. */
#include "methods/extrapolation.h"
#include "methods/hardest.h"

typedef struct biased_options {
    gn_hardest_options hardest;
    const char *biased;
} biased_options;

static const gn_option options[] = {
    GN_HARDEST_OPTIONS(biased_options, "0.01"),
    {"biased", GN_TEXT, offsetof(biased_options, biased), .flags = GN_NO_HASH,
     .help = "attributes unknown: run on the same data whose biased model is reused"},
};

typedef struct biased_state {
    gn_extrapolation by_class;
} biased_state;

/* What the biased model says: of the training samples, and the classes of validation. */
static gerne_status scores_of(gn_run *run, gn_scores *scores, float **predicted)
{
    size_t val = gn_val_count(run);
    float *all;
    GN_TRY(gn_run_table(run, "scores", 2 * run->n + val, 0, &all));
    *scores = (gn_scores){all, all + run->n + val};
    *predicted = all + run->n;
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

static gerne_status expect(const gn_run *run, char *at, size_t size, gerne_groups **out)
{
    const biased_options *given = run->options;
    return gn_hardest_expect(run, &given->hardest, at, size, out);
}

static bool gives_membership(const gn_run *run)
{
    const biased_options *given = run->options;
    return gn_hardest_membership(&given->hardest);
}

static gerne_status start(gn_run *run)
{
    biased_state *state = run->state;
    gn_scores made;
    float *predicted;
    GN_TRY(scores_of(run, &made, &predicted));
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
    gn_scores scores;
    float *predicted;
    GN_TRY(scores_of(run, &scores, &predicted));
    GN_TRY(gn_score_training(run, 0, &scores));
    return gn_predict_set(run, 0, GN_SET_VALIDATION, predicted);
}

static gerne_status groups(gn_run *run)
{
    const biased_options *given = run->options;
    gn_scores scores;
    float *predicted;
    GN_TRY(scores_of(run, &scores, &predicted));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, predicted, run->classes));
    return gn_hardest_groups(run, &given->hardest, &scores);
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
    .attributes_found = gn_finds_two,
    .gives_membership = gives_membership,
    .expect = expect,
    .groups = groups,
};
