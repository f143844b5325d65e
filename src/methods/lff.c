/* lff.c - learning from failure: a network trained to rely on what is easy, and a second one
 * that learns from the samples on which the first fails. The second predicts (network 0). */
#include "methods/rules.h"
#include "methods/weighted.h"

enum { DEBIASED, BIASED };

typedef enum variant { ORIGINAL, SUBPOPBENCH } variant;

typedef struct lff_options {
    int variant;
    double q, rho;
} lff_options;

static const gn_option options[] = {
    {"variant", GN_CHOICE, offsetof(lff_options, variant), .fallback = "original",
     .choices = "original|subpopbench",
     .help = "original: moving averages of losses, relative to the largest of the "
             "class; subpopbench: the losses of the batch"},
    {"q", GN_REAL, offsetof(lff_options, q), .fallback = "0.7", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "exponent of the generalised cross-entropy of the biased network"},
    {"rho", GN_REAL, offsetof(lff_options, rho), .fallback = "0.7", .min = 0, .max = 1,
     .flags = GN_OPEN_MAX, .help = "original: decay of the moving averages"},
};

typedef struct lff_state {
    const gerne_sampler *sampler;
    float *means[2];  /* [n] running means of the losses of either network */
    float *seen;      /* [n]: 1 after the first visit */
    float *maxima[2]; /* [classes] */
} lff_state;

static int stages(const gn_run *run, gn_stage *list)
{
    (void)run;
    list[0] = (gn_stage){.name = "main", .lr_factor = 1, .decay_factor = 1, .networks = 2};
    return 1;
}

static gerne_status start(gn_run *run)
{
    lff_state *state = run->state;
    GN_TRY(gn_run_table(run, "debiased losses", run->n, 0, &state->means[DEBIASED]));
    GN_TRY(gn_run_table(run, "biased losses", run->n, 0, &state->means[BIASED]));
    GN_TRY(gn_run_table(run, "seen", run->n, 0, &state->seen));
    for (int i = 0; i < 2; i++)
        GN_TRY(gn_run_alloc(run, run->classes, sizeof(float), &state->maxima[i]));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.drop_last = true}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const lff_options *given = run->options;
    lff_state *state = run->state;
    (void)k;
    plan->batches[plan->count++] = (gn_request){
        .sampler = state->sampler,
        .draw = given->variant == ORIGINAL ? GERNE_DRAW_SHUFFLED : GERNE_DRAW_UNIFORM,
    };
    return GERNE_OK;
}

/* Relative difficulty by running means, each divided by the largest of its class. */
static void weigh_by_means(const gn_run *run, gn_minibatch *batch)
{
    const lff_options *given = run->options;
    lff_state *state = run->state;
    size_t n = batch->samples.count;
    for (size_t i = 0; i < n; i++) {
        uint32_t s = batch->indices[i];
        for (int net = 0; net < 2; net++)
            state->means[net][s] = gn_lff_mean(state->means[net][s], state->seen[s] != 0,
                                               batch->losses[net][i], given->rho);
        state->seen[s] = 1;
    }
    for (int net = 0; net < 2; net++)
        gn_class_maxima(state->means[net], run->y, run->n, run->classes, state->maxima[net]);
    for (size_t i = 0; i < n; i++) {
        uint32_t s = batch->indices[i];
        float relative[2];
        for (int net = 0; net < 2; net++) {
            float largest = state->maxima[net][run->y[s]];
            relative[net] = largest > 0 ? state->means[net][s] / largest : 0;
        }
        batch->weights[i] = gn_lff_weight(relative[BIASED], relative[DEBIASED]) / (float)n;
    }
}

static void weigh_by_losses(gn_minibatch *batch)
{
    size_t n = batch->samples.count;
    for (size_t i = 0; i < n; i++)
        batch->weights[i] =
            gn_lff_weight(batch->losses[BIASED][i], batch->losses[DEBIASED][i]) / (float)n;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const lff_options *given = run->options;
    size_t n = batch->samples.count;
    (void)k;
    GN_TRY(gn_weighted_forward(run, BIASED, batch));
    GN_TRY(gn_weighted_forward(run, DEBIASED, batch));
    if (given->variant == ORIGINAL)
        weigh_by_means(run, batch);
    else
        weigh_by_losses(batch);
    GN_TRY(gn_weighted_backward(run, DEBIASED, batch, batch->weights, false));
    gn_run_log(run, "loss", gn_weighted_sum(batch->weights, batch->losses[DEBIASED], n));
    for (size_t i = 0; i < n; i++)
        batch->weights[i] = gn_gce_factor(batch->losses[BIASED][i], given->q) / (float)n;
    GN_TRY(gn_weighted_backward(run, BIASED, batch, batch->weights, false));
    gn_run_log(run, "L_biased", gn_weighted_sum(batch->weights, batch->losses[BIASED], n));
    GN_TRY(gn_run_apply(run, DEBIASED));
    return gn_run_apply(run, BIASED);
}

const gn_method gn_method_lff = {
    .name = "lff",
    .paper = "Nam et al. 2020",
    .summary = "upweights samples on which a biased network, trained alongside, fails",
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(lff_options),
    .state_size = sizeof(lff_state),
    .plain_batches = true,
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
};
