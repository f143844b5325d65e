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
    run->looks_first = true;
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

static const char description[] =
    "Learning from failure: a biased network is trained to rely on what is easy to learn, by the "
    "generalised cross-entropy; a second network, which predicts, is trained on the same batches "
    "with more weight on the samples that the biased one finds hard.\n\n"
    "    biased:    L_b = mean q p_i[y_i]^q CE_i       the factor has no gradient\n"
    "    debiased:  L_d = mean w_i CE_i,  w_i = e_b / (e_b + e_d + 1e-8)\n"
    "    e_b, e_d:  running means of the sample's CE under the two networks,\n"
    "               each divided by the largest of its class\n\n"
    "The original variant keeps a running mean for every training sample (rho times the old mean "
    "plus 1 - rho times the loss; the loss itself on the first visit) and shuffles epochs; the "
    "subpopbench variant puts the losses of the batch in their place and draws uniform batches. A "
    "larger q makes the biased network concentrate more on easy samples. It assumes that the "
    "shortcut is learned faster than the class, and that enough samples contradict it: with very "
    "few of them it stays near ERM. Use it when no attributes are known. Attributes are not used "
    "in training. Every step trains two networks.";

const gn_method gn_method_lff = {
    .name = "lff",
    .paper = "Nam et al. 2020",
    .title = "Learning from Failure: Training Debiased Classifier from Biased Classifier",
    .summary = "upweights samples on which a biased network, trained alongside, fails",
    .description = description,
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
