/* focal.c - focal loss: samples that are easy already count little, (1 - p)^gamma of their
 * cross-entropy. The factor is part of the loss and differentiated with it. */
#include "methods/rules.h"
#include "methods/weighted.h"

typedef struct focal_options {
    double gamma;
} focal_options;

static const gn_option options[] = {
    {"gamma", GN_REAL, offsetof(focal_options, gamma), .fallback = "1", .min = 0, .max = 100,
     .flags = GN_TUNABLE, .help = "exponent of 1 - p: 0 is plain cross-entropy"},
};

typedef struct focal_terms {
    gn_cross_entropy terms;
    double gamma;
    float *cross_entropies; /* [batch], scratch */
} focal_terms;

typedef struct focal_state {
    const gerne_sampler *sampler;
    focal_terms focal;
} focal_state;

static double evaluate(const void *given, const gn_loss_part *part)
{
    const focal_terms *focal = given;
    const gn_loss cross_entropy = gn_cross_entropy_loss(&focal->terms);
    gn_loss_part plain = *part;
    plain.losses = focal->cross_entropies + part->first;
    cross_entropy.evaluate(cross_entropy.terms, &plain);
    double value = 0;
    for (size_t i = 0; i < part->count; i++) {
        float loss = gn_focal_loss(plain.losses[i], focal->gamma);
        float slope = gn_focal_slope(plain.losses[i], focal->gamma);
        value += (double)focal->terms.weights[part->first + i] * (double)loss;
        if (part->losses)
            part->losses[i] = loss;
        for (size_t k = 0; part->logit_gradient && k < part->classes; k++)
            part->logit_gradient[i * part->classes + k] *= slope;
    }
    return value;
}

static gerne_status start(gn_run *run)
{
    const focal_options *given = run->options;
    focal_state *state = run->state;
    state->focal.gamma = given->gamma;
    GN_TRY(gn_run_alloc(run, run->batch, sizeof(float), &state->focal.cross_entropies));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const focal_state *state = run->state;
    (void)k;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_UNIFORM);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    focal_state *state = run->state;
    (void)k;
    state->focal.terms = gn_samples_terms(&batch->samples);
    const gn_loss loss = {.evaluate = evaluate, .terms = &state->focal};
    GN_TRY(gn_run_pass(run, 0, batch, &loss, false));
    gn_run_log(run, "loss", gn_mean(batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

static const char description[] =
    "Focal loss: the cross-entropy of a sample is multiplied by a factor that vanishes as the "
    "probability of its class approaches 1. Batches are uniform; the factor is differentiated "
    "too.\n\n"
    "    L = mean (1 - p_i[y_i])^gamma CE_i\n\n"
    "gamma = 0 is ERM; the larger gamma, the less easy samples count. It knows no groups: it helps "
    "as far as the samples of rare groups are the hard ones, and mislabelled samples gain weight "
    "as well. Use it as a baseline. Attributes are not used in training.";

const gn_method gn_method_focal = {
    .name = "focal",
    .paper = "Lin et al. 2017",
    .title = "Focal Loss for Dense Object Detection",
    .summary = "gives less weight to samples that are already classified well",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(focal_options),
    .state_size = sizeof(focal_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
