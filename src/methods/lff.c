/* lff.c - learning from failure: a network trained to rely on what is easy, and a second one
 * that learns from the samples on which the first fails. The second predicts (network 0). */
#include "methods/difficulty.h"
#include "methods/rules.h"
#include "methods/weighted.h"

enum { DEBIASED = GN_DEBIASED, BIASED = GN_BIASED }; /* networks */

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
    gn_difficulty difficulty;
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
    GN_TRY(gn_difficulty_start(run, &state->difficulty));
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
    lff_state *state = run->state;
    size_t n = batch->samples.count;
    (void)k;
    GN_TRY(gn_weighted_forward(run, BIASED, batch));
    GN_TRY(gn_weighted_forward(run, DEBIASED, batch));
    if (given->variant == ORIGINAL)
        gn_difficulty_weigh(run, &state->difficulty, batch, batch->losses, given->rho,
                            batch->weights);
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
