/* estimator_mst.c - multi-stage data-selective retraining of FG-CCDB (2026): a model of a tenth of
 * the data relies on the shortcut; each further one is trained from scratch on the half of every
 * class that the one before gives the largest logits of its class, and relies on it more. The class
 * that the last one predicts is the sample's pseudo-attribute: modes (s, y), K of them in each
 * class. */
#include "methods/estimating.h"
#include "methods/group_rules.h"
#include "methods/weighted.h"

enum { ROUNDS_MAX = 4 };

typedef struct mst_options {
    gn_estimator_budget budget;
    double share, keep;
    int64_t rounds;
} mst_options;

static const gn_option options[] = {
    GN_ESTIMATOR_BUDGET(mst_options, "20"),
    {"mst_share", GN_REAL, offsetof(mst_options, share), .fallback = "0.1", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "attributes unknown: fraction of each class that the first model is trained on"},
    {"mst_keep", GN_REAL, offsetof(mst_options, keep), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX,
     .help =
         "attributes unknown: fraction of each class, those with the largest logits of it, that "
         "each further model is trained on"},
    {"mst_rounds", GN_INT, offsetof(mst_options, rounds), .fallback = "3", .min = 1,
     .max = ROUNDS_MAX, .help = "attributes unknown: number of further models"},
};

typedef struct mst_state {
    const gerne_sampler *sampler;
    uint32_t *map; /* of the samples that this stage trains on */
} mst_state;

/* The classes that the last model predicts: training, then validation. */
static gerne_status modes_of(gn_run *run, float **out)
{
    return gn_run_table(run, "mst", run->n + gn_val_count(run), 0, out);
}

/* The samples that the next stage trains on. */
static gerne_status kept_of(gn_run *run, float **out)
{
    return gn_run_table(run, "mst kept", run->n, 1, out);
}

static int stages(const gn_run *run, gn_stage *list)
{
    static const char *const names[1 + ROUNDS_MAX] = {"mst", "mst 1", "mst 2", "mst 3", "mst 4"};
    const mst_options *given = run->options;
    for (int64_t i = 0; i <= given->rounds; i++)
        list[i] = gn_estimator_stage(names[i], &given->budget);
    return 1 + (int)given->rounds;
}

static gerne_status start(gn_run *run)
{
    const mst_options *given = run->options;
    mst_state *state = run->state;
    const gerne_groups *groups;
    float *chosen, *made;
    GN_TRY(modes_of(run, &made));
    GN_TRY(kept_of(run, &chosen));
    if (run->stage_index == 0) {
        GN_TRY(gn_run_alloc(run, run->n, sizeof *chosen, &chosen));
        gn_choose_share(run->y, run->n, run->classes, given->share, run->seed, chosen);
    }
    GN_TRY(gn_take_part(run, chosen, &state->map, &groups));
    uint32_t batch = run->batch;
    if (batch > run->epoch_samples) { /* the whole part at once */
        batch = (uint32_t)run->epoch_samples;
        run->epoch_samples = run->batch;
        gn_log(run->ctx, GERNE_LOG_INFO, "mst: stage '%s' has batches of its %u samples, not of %u",
               run->stage->name, batch, run->batch);
    }
    run->pass_samples = batch;
    return gn_run_sampler(run, groups, &(gerne_sampler_options){.drop_last = true, .batch = batch},
                          &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const mst_state *state = run->state;
    (void)k;
    plan->batches[plan->count++] =
        (gn_request){.sampler = state->sampler, .draw = GERNE_DRAW_SHUFFLED, .map = state->map};
    return GERNE_OK;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return gn_plain_step(run, batch);
}

/* The half of each class that has the largest logits of its class. */
static gerne_status keep_surest(gn_run *run)
{
    const mst_options *given = run->options;
    gerne_pseudo *order;
    float *logits, *scores, *kept;
    int32_t *sure;
    GN_TRY(kept_of(run, &kept));
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *scores, &scores));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *sure, &sure));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, logits, NULL));
    for (size_t i = 0; i < run->n; i++)
        scores[i] = logits[i * run->classes + (size_t)run->y[i]];
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores, run->n, run->classes, &order));
    gerne_status status = gerne_pseudo_assign(run->ctx, order, 1 - given->keep, false, sure);
    gerne_pseudo_close(order);
    for (size_t i = 0; i < run->n; i++)
        kept[i] = (float)sure[i];
    return status;
}

static gerne_status finish(gn_run *run)
{
    const mst_options *given = run->options;
    float *modes;
    if (run->stage_index < given->rounds)
        return keep_surest(run);
    GN_TRY(modes_of(run, &modes));
    GN_TRY(gn_predict_set(run, 0, GN_SET_TRAIN, modes));
    return gn_predict_set(run, 0, GN_SET_VALIDATION, modes + run->n);
}

static uint32_t attributes_found(const gn_run *run)
{
    return run->classes;
}

static gerne_status groups(gn_run *run)
{
    float *modes;
    GN_TRY(modes_of(run, &modes));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_INFERRED, modes + run->n, run->classes));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, modes + run->n, run->classes));
    return gn_regroup_by_class(run, modes);
}

static const char description[] =
    "Multi-stage data-selective retraining, of FG-CCDB: a first model is trained on a random "
    "fraction of every class; every further one is trained from scratch on the samples that the "
    "one before gives the largest logits of their class, and relies on the shortcut more. The "
    "class that the last one predicts is the attribute.\n\n"
    "    a_i = argmax z_i of the last model:  K attributes, K^2 groups\n\n"
    "mst_share is the fraction that the first model is trained on, mst_keep the fraction of every "
    "class that each of the mst_rounds further models is trained on, estimator_epochs the length "
    "of each, estimator_lr their learning rate relative to train.lr, and estimator_augment changes "
    "their training images. Groups may be empty; a "
    "class that is one group as a whole is an error. It assumes as many attributes as classes, "
    "each of which goes with one class. Use it for such data, C-MNIST for example. select.metric "
    "inferred_wga, inferred_gba, bias_wga and bias_gba are available.";

const gn_method gn_estimator_mst = {
    .name = "mst",
    .paper = "Zhao and Zhang 2026",
    .title = "Fine-Grained Class-Conditional Distribution Balancing for Debiased Learning",
    .summary = "groups by the class that a model trained on easy samples predicts",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(mst_options),
    .state_size = sizeof(mst_state),
    .plain_batches = true,
    .val_cells = 1 << GN_CELLS_INFERRED | 1 << GN_CELLS_BIASED,
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
    .attributes_found = attributes_found,
    .groups = groups,
};
