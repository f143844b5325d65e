/* estimator_jtt.c - the error set of just train twice (Liu et al. 2021) as groups: a briefly
 * trained model is wrong on attribute 0 and right on attribute 1, in training and validation. */
#include "methods/estimating.h"
#include "methods/weighted.h"

typedef struct jtt_options {
    gn_estimator_budget budget;
} jtt_options;

static const gn_option options[] = {GN_ESTIMATOR_BUDGET(jtt_options, "1")};

/* The classes that the model predicts: training, then validation. */
static gerne_status predictions_of(gn_run *run, float **out)
{
    return gn_run_table(run, "jtt", run->n + gn_val_count(run), 0, out);
}

static int stages(const gn_run *run, gn_stage *list)
{
    const jtt_options *given = run->options;
    list[0] = gn_estimator_stage("jtt", &given->budget);
    list[0].table = "jtt";
    return 1;
}

static gerne_status start(gn_run *run)
{
    float *made;
    GN_TRY(predictions_of(run, &made));
    return gn_shuffled_start(run);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return gn_plain_step(run, batch);
}

static gerne_status finish(gn_run *run)
{
    float *predictions;
    GN_TRY(predictions_of(run, &predictions));
    GN_TRY(gn_predict_set(run, 0, GN_SET_TRAIN, predictions));
    return gn_predict_set(run, 0, GN_SET_VALIDATION, predictions + run->n);
}

static gerne_status groups(gn_run *run)
{
    static const char *const names[GN_TWO_ATTRIBUTES] = {"wrong", "right"};
    const gn_labelled val = gn_run_labelled(run, GN_SET_VALIDATION);
    float *predictions, *right;
    GN_TRY(predictions_of(run, &predictions));
    GN_TRY(gn_run_alloc(run, run->n + val.n, sizeof *right, &right));
    gn_mark_right(predictions, run->y, run->n, right);
    gn_mark_right(predictions + run->n, val.y, val.n, right + run->n);
    GN_TRY(gn_cells_of_table(run, GN_CELLS_INFERRED, right + run->n, GN_TWO_ATTRIBUTES));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, predictions + run->n, run->classes));
    return gn_regroup_in_two(run, right, names);
}

static const char description[] =
    "The error set of just train twice as groups: a model is trained briefly by ERM; training and "
    "validation samples that it misclassifies have attribute 'wrong', the others 'right'.\n\n"
    "    a_i = wrong if argmax z_i != y_i, else right\n\n"
    "It assumes that the model errs where the shortcut fails. Use it as the cheapest estimator. "
    "estimator_epochs decides: too short, and the errors are arbitrary; too long, and there are "
    "none; estimator_lr is the learning rate relative to train.lr, and estimator_augment changes "
    "its training images. A class without errors, or with "
    "nothing else, ends the run with an error that names it. select.metric inferred_wga, "
    "inferred_gba, bias_wga and bias_gba are available.";

const gn_method gn_estimator_jtt = {
    .name = "jtt",
    .paper = "Liu et al. 2021",
    .title = "Just Train Twice: Improving Group Robustness without Training Group Information",
    .summary = "the samples that a briefly trained model misclassifies",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(jtt_options),
    .plain_batches = true,
    .val_cells = 1 << GN_CELLS_INFERRED | 1 << GN_CELLS_BIASED,
    .stages = stages,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
    .finish = finish,
    .attributes_found = gn_finds_two,
    .groups = groups,
};
