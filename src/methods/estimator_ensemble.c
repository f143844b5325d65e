/* estimator_ensemble.c - the amplified biased model of BiasEnsemble (Lee et al. 2023) before the
 * sort of GERNE: five short models of generalised cross-entropy vote for the samples that follow
 * the shortcut, and the biased model learns from these alone. */
#include "debias/groups.h"
#include "methods/hardest.h"
#include "methods/weighted.h"

enum { VOTERS = 5, MAJORITY = 3 };
static const float sure = 0.99f;

typedef struct ensemble_options {
    gn_estimator_budget budget;
    gn_hardest_options hardest;
} ensemble_options;

static const gn_option options[] = {
    GN_ESTIMATOR_BUDGET(ensemble_options, "2"),
    GN_HARDEST_OPTIONS(ensemble_options, "auto"),
};

typedef struct ensemble_state {
    gn_train_part part;
} ensemble_state;

static gerne_status votes_of(gn_run *run, float **out)
{
    return gn_run_table(run, "ensemble votes", run->n, 0, out);
}

static gerne_status scores_of(gn_run *run, gn_scores *scores, float **predicted)
{
    float *all;
    GN_TRY(gn_run_table(run, "ensemble", 2 * run->n + gn_val_count(run), 0, &all));
    *scores = (gn_scores){all, all + run->n};
    *predicted = all + 2 * run->n;
    return GERNE_OK;
}

static int stages(const gn_run *run, gn_stage *list)
{
    static const char *const names[VOTERS + 1] = {"voter 1", "voter 2", "voter 3",
                                                  "voter 4", "voter 5", "biased"};
    const ensemble_options *given = run->options;
    for (int i = 0; i <= VOTERS; i++)
        list[i] = gn_estimator_stage(names[i], &given->budget);
    return VOTERS + 1;
}

static gerne_status expect(const gn_run *run, char *at, size_t size, gerne_groups **out)
{
    const ensemble_options *given = run->options;
    return gn_hardest_expect(run, &given->hardest, at, size, out);
}

/* What this stage trains on: all samples, or those that most voters are sure of. */
static gerne_status choose(gn_run *run, const float *votes, float *chosen)
{
    uint64_t *left, all = 0;
    char text[GN_GROUP_TEXT];
    bool voting = run->stage_index < VOTERS;
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *left, &left));
    for (size_t i = 0; i < run->n; i++) {
        chosen[i] = voting || votes[i] >= MAJORITY;
        left[run->y[i]] += chosen[i] != 0;
        all += chosen[i] != 0;
    }
    for (uint32_t y = 0; y < run->classes; y++)
        if (left[y] == 0) {
            gn_fail(run->ctx, GERNE_ENOTHING,
                    "estimator 'ensemble': class %s has no sample that %d of %d models are sure of",
                    gn_class_text(run->groups, y, text), MAJORITY, VOTERS);
            gn_hint(run->ctx, "train them longer (--method.estimator_epochs, "
                              "--method.estimator_lr), or use another --method.estimator");
            return GERNE_ENOTHING;
        }
    if (!voting)
        gn_log(run->ctx, GERNE_LOG_INFO, "ensemble: %llu of %zu samples follow the shortcut",
               (unsigned long long)all, run->n);
    return GERNE_OK;
}

static bool gives_membership(const gn_run *run)
{
    const ensemble_options *given = run->options;
    return gn_hardest_membership(&given->hardest);
}

static gerne_status start(gn_run *run)
{
    ensemble_state *state = run->state;
    gn_scores made;
    float *votes, *predicted, *chosen;
    run->looks_first = run->stage_index < VOTERS;
    GN_TRY(votes_of(run, &votes));
    GN_TRY(scores_of(run, &made, &predicted));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *chosen, &chosen));
    GN_TRY(choose(run, votes, chosen));
    return gn_train_part_start(run, chosen, &state->part);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const ensemble_state *state = run->state;
    (void)k;
    return gn_train_part_plan(&state->part, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return run->stage_index < VOTERS ? gn_gce_step(run, batch) : gn_plain_step(run, batch);
}

static gerne_status finish(gn_run *run)
{
    gn_scores scores;
    float *votes, *predicted;
    GN_TRY(votes_of(run, &votes));
    GN_TRY(scores_of(run, &scores, &predicted));
    GN_TRY(gn_score_training(run, 0, &scores));
    if (run->stage_index < VOTERS) {
        for (size_t i = 0; i < run->n; i++)
            votes[i] += scores.right[i] > sure;
        return GERNE_OK;
    }
    return gn_predict_set(run, 0, GN_SET_VALIDATION, predicted);
}

static gerne_status groups(gn_run *run)
{
    const ensemble_options *given = run->options;
    gn_scores scores;
    float *predicted;
    GN_TRY(scores_of(run, &scores, &predicted));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, predicted, run->classes));
    return gn_hardest_groups(run, &given->hardest, &scores);
}

static const char description[] =
    "The amplified biased model of BiasEnsemble, before the sort of GERNE: five short models are "
    "trained on class-balanced batches with generalised cross-entropy (exponent 0.7), which "
    "favours what is easy. The biased model is trained with cross-entropy on those samples alone "
    "that three of them are sure of, so that it does not learn from the others; its least probable "
    "samples of every class are 'hard', the others 'easy'.\n\n"
    "    sure:  p_i[y_i] > 0.99\n"
    "    hard:  the lower mode of the log-odds of p_i[y_i], or the fraction t\n\n"
    "estimator_epochs is the length of each of the six models and estimator_lr their learning rate "
    "relative to train.lr; estimator_augment changes their training images. t, t_rounding and "
    "what is logged are those of estimator biased, but auto is the default here. It assumes that "
    "samples which follow the shortcut are learnt first. Use it "
    "where the biased model of algorithm 2 learns the minority, too. A class without a sample that "
    "the models are sure of ends the run with an error that names it. select.metric bias_wga and "
    "bias_gba are available.";

const gn_method gn_estimator_ensemble = {
    .name = "ensemble",
    .paper = "Lee et al. 2023",
    .title = "Revisiting the Importance of Amplifying Bias for Debiasing",
    .summary = "the samples that a model of unanimously easy samples finds hardest",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(ensemble_options),
    .state_size = sizeof(ensemble_state),
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
