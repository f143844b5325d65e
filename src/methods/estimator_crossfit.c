/* estimator_crossfit.c - cross-fitted margins: every sample is judged by a biased model that was
 * not trained on it, and so cannot have memorised it. Two normal distributions fitted to the
 * margins of a class say which of its samples are hard, without any threshold. */
#include <math.h>

#include "debias/groups.h"
#include "methods/hardest.h"

enum { FOLDS = 5 };

typedef struct crossfit_options {
    gn_estimator_budget budget;
} crossfit_options;

static const gn_option options[] = {GN_ESTIMATOR_BUDGET(crossfit_options, "2")};

typedef struct crossfit_state {
    gn_train_part part;
} crossfit_state;

static gerne_status margins_of(gn_run *run, float **out)
{
    return gn_run_table(run, "crossfit", run->n, 0, out);
}

static int stages(const gn_run *run, gn_stage *list)
{
    static const char *const names[FOLDS] = {"crossfit 1", "crossfit 2", "crossfit 3", "crossfit 4",
                                             "crossfit 5"};
    const crossfit_options *given = run->options;
    for (int i = 0; i < FOLDS; i++)
        list[i] = gn_estimator_stage(names[i], &given->budget);
    return FOLDS;
}

/* The samples of a class take turns, so that every fold has its share of every class, and all
 * stages agree. kept[i] = 0 in this stage's fold. */
static gerne_status leave_out(gn_run *run, float **kept)
{
    uint32_t *seen;
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *seen, &seen));
    GN_TRY(gn_run_alloc(run, run->n, sizeof **kept, kept));
    for (size_t i = 0; i < run->n; i++)
        (*kept)[i] = (int)(seen[run->y[i]]++ % FOLDS) != run->stage_index;
    for (uint32_t y = 0; y < run->classes; y++)
        if (seen[y] < FOLDS) {
            char text[GN_GROUP_TEXT];
            gn_fail(run->ctx, GERNE_EUSAGE,
                    "estimator 'crossfit' trains on %d parts of every class, but class %s has %u "
                    "training samples",
                    FOLDS, gn_class_text(run->groups, y, text), seen[y]);
            gn_hint(run->ctx, "use another --method.estimator");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

static bool gives_membership(const gn_run *run)
{
    (void)run;
    return true;
}

static gerne_status start(gn_run *run)
{
    crossfit_state *state = run->state;
    float *margins, *kept;
    run->looks_first = true;
    GN_TRY(margins_of(run, &margins));
    GN_TRY(leave_out(run, &kept));
    return gn_train_part_start(run, kept, &state->part);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const crossfit_state *state = run->state;
    (void)k;
    return gn_train_part_plan(&state->part, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return gn_gce_step(run, batch);
}

/* z[y] - max over other classes of z. */
static float margin(const float *logits, uint32_t classes, uint32_t y)
{
    float other = -INFINITY;
    for (uint32_t k = 0; k < classes; k++)
        if (k != y)
            other = fmaxf(other, logits[k]);
    return logits[y] - other;
}

static gerne_status finish(gn_run *run)
{
    float *margins, *kept, *logits;
    GN_TRY(margins_of(run, &margins));
    GN_TRY(leave_out(run, &kept));
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, logits, NULL));
    for (size_t i = 0; i < run->n; i++)
        if (kept[i] == 0)
            margins[i] = margin(logits + i * run->classes, run->classes, (uint32_t)run->y[i]);
    return GERNE_OK;
}

static gerne_status groups(gn_run *run)
{
    float *margins;
    GN_TRY(margins_of(run, &margins));
    return gn_modes_groups(run, margins);
}

static const char description[] =
    "Cross-fitted margins: the training split is divided into five parts with their share of every "
    "class. A model is trained on four of them, on class-balanced batches with generalised "
    "cross-entropy (exponent 0.7), which favours what is easy, and judges the samples of the "
    "fifth, which it cannot have memorised; so five times. Two normal distributions are fitted to "
    "the margins of every class; the samples of the lower one are 'hard', the others 'easy'.\n\n"
    "    u_i = z_i[y_i] - max over k != y_i of z_i[k],  z: of the model without i\n\n"
    "What counts as a second mode is that of estimator biased with t auto, as are the lines of the "
    "log, pseudo.expected_precision and the error of a class without one. estimator_epochs is the "
    "length of each model, estimator_lr its learning rate relative to train.lr, and "
    "estimator_augment changes its training images; the models have to be short, or they learn "
    "more than the shortcut. Use it when the fraction of minority "
    "samples is not known. It gives no groups of the validation split.";

const gn_method gn_estimator_crossfit = {
    .name = "crossfit",
    .paper = "gerne 2026",
    .title = "Cross-fitted margins (no paper)",
    .summary = "the samples whose class a biased model of other samples finds improbable",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(crossfit_options),
    .state_size = sizeof(crossfit_state),
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
    .attributes_found = gn_finds_two,
    .gives_membership = gives_membership,
    .groups = groups,
};
