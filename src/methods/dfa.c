/* dfa.c - disentangled feature augmentation: an intrinsic and a bias encoder, whose features both
 * classifiers see side by side. As in LfF the bias classifier learns what is easy and the intrinsic
 * one what it fails on, each into its own encoder alone; later the samples of a batch also swap
 * their bias features. Network 0 has both encoders (copies of the body) and the intrinsic head;
 * network 1 is the bias head. */
#include "methods/dfa.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "methods/bodies.h"
#include "methods/difficulty.h"
#include "methods/rules.h"
#include "methods/weighted.h"

enum { INTRINSIC = GN_DEBIASED, BIAS = GN_BIASED }; /* networks */

/* ---- rules ---- */

void gn_dfa_swap(const float *features, size_t count, size_t half, const uint32_t *partner,
                 float *swapped)
{
    for (size_t j = 0; j < count; j++) {
        memcpy(swapped + 2 * half * j, features + 2 * half * j, half * sizeof *swapped);
        memcpy(swapped + 2 * half * j + half, features + 2 * half * partner[j] + half,
               half * sizeof *swapped);
    }
}

void gn_dfa_collect(const float *gradient, size_t count, size_t half, gn_dfa_half which,
                    const uint32_t *partner, float *sum)
{
    size_t first = which == GN_DFA_BIAS ? half : 0;
    for (size_t j = 0; j < count; j++) {
        const float *from = gradient + 2 * half * j + first;
        float *to = sum + 2 * half * (partner ? partner[j] : j) + first;
        for (size_t k = 0; k < half; k++)
            to[k] += from[k];
    }
}

/* ---- the method ---- */

typedef struct dfa_options {
    double swap_share, lambda_swap, lambda_dis, lambda_swap_b, q, rho, lr_gamma, lr_share;
} dfa_options;

static const gn_option options[] = {
    {"swap_share", GN_REAL, offsetof(dfa_options, swap_share), .fallback = "0.2", .min = 0,
     .max = 1, .flags = GN_TUNABLE,
     .help = "features are swapped after this share of all steps (the paper's 10,000 of 50,000)"},
    {"lambda_swap", GN_REAL, offsetof(dfa_options, lambda_swap), .fallback = "1", .min = 0,
     .max = 1e3, .flags = GN_TUNABLE, .help = "weight of the losses on swapped features"},
    {"lambda_dis", GN_REAL, offsetof(dfa_options, lambda_dis), .fallback = "10", .min = 0,
     .max = 1e3, .flags = GN_TUNABLE | GN_OPEN_MIN, .help = "weight of the bias classifier's loss"},
    {"lambda_swap_b", GN_REAL, offsetof(dfa_options, lambda_swap_b), .fallback = "10", .min = 0,
     .max = 1e3, .flags = GN_TUNABLE, .help = "the same on swapped features"},
    {"q", GN_REAL, offsetof(dfa_options, q), .fallback = "0.7", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "exponent of the generalised cross-entropy of the bias classifier"},
    {"rho", GN_REAL, offsetof(dfa_options, rho), .fallback = "0.7", .min = 0, .max = 1,
     .flags = GN_OPEN_MAX, .help = "memory of the running means of losses"},
    {"lr_gamma", GN_REAL, offsetof(dfa_options, lr_gamma), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "from the first swap on, what the learning rate is multiplied by every lr_share"},
    {"lr_share", GN_REAL, offsetof(dfa_options, lr_share), .fallback = "0.2", .min = 0, .max = 1,
     .flags = GN_OPEN_MIN,
     .help = "share of all steps between two such cuts (the paper's 10,000 of 50,000)"},
};

typedef struct dfa_state {
    gn_difficulty difficulty;
    size_t half;                   /* width of one encoder's features */
    float *swapped, *gradient;     /* [batch][2 half] */
    float *losses[2], *weights[2]; /* [batch] of either classifier */
    int32_t *partner_labels;       /* [batch] */
    uint32_t *partner;             /* [batch] */
} dfa_state;

static gn_model_options twin(const gn_run *run)
{
    gn_model_options model = *run->model;
    model.copies = 2;
    return model;
}

static int stages(const gn_run *run, gn_stage *list)
{
    list[0] = (gn_stage){
        .name = "main",
        .lr_factor = 1,
        .decay_factor = 1,
        .networks = 2,
        .models = {[INTRINSIC] = twin(run), [BIAS] = {.arch = "linear"}},
        .on_features = {[BIAS] = true},
    };
    return 1;
}

static gerne_status check(gn_run *run)
{
    GN_TRY(gn_bodies_check(run));
    if (run->model->copies <= 1)
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method 'dfa' makes its own two copies of the body, but model.copies is set");
    gn_hint(run->ctx, "remove model.copies");
    return GERNE_EUSAGE;
}

static gerne_status start(gn_run *run)
{
    dfa_state *state = run->state;
    size_t batch = run->batch, width;
    gn_model_options model = twin(run);
    GN_TRY(gn_run_model_width(run, &model, &width));
    state->half = width / 2;
    GN_TRY(gn_difficulty_start(run, &state->difficulty));
    GN_TRY(gn_run_alloc(run, batch * width, sizeof(float), &state->swapped));
    GN_TRY(gn_run_alloc(run, batch * width, sizeof(float), &state->gradient));
    for (int i = 0; i < 2; i++) {
        GN_TRY(gn_run_alloc(run, batch, sizeof(float), &state->losses[i]));
        GN_TRY(gn_run_alloc(run, batch, sizeof(float), &state->weights[i]));
    }
    GN_TRY(gn_run_alloc(run, batch, sizeof(int32_t), &state->partner_labels));
    GN_TRY(gn_run_alloc(run, batch, sizeof(uint32_t), &state->partner));
    run->whole = true;
    return gn_shuffled_start(run);
}

/* Cross-entropies of a classifier on features, for the weights of its backward pass. */
static gerne_status classify(gn_run *run, int i, const float *features, const int32_t *labels,
                             size_t n)
{
    dfa_state *state = run->state;
    const gn_cross_entropy terms = {.labels = labels, .count = n};
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    gn_loss_part part = {.count = n, .classes = run->classes, .losses = state->losses[i]};
    GN_TRY(gn_run_head_forward(run, i, features, n, &part.logits));
    loss.evaluate(loss.terms, &part);
    return GERNE_OK;
}

/* Backward of what classify has run, by state->weights, into the classifier's own encoder. */
static gerne_status learn(gn_run *run, int i, const int32_t *labels, size_t n,
                          const uint32_t *partner, bool accumulate)
{
    dfa_state *state = run->state;
    const gn_cross_entropy terms = {.labels = labels, .weights = state->weights[i]};
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    const float *gradient;
    GN_TRY(gn_run_head_backward(run, i, &loss, n, accumulate, state->losses[i], &gradient));
    if (gradient)
        gn_dfa_collect(gradient, n, state->half, i == BIAS ? GN_DFA_BIAS : GN_DFA_INTRINSIC,
                       partner, state->gradient);
    return GERNE_OK;
}

static void weigh_easy(gn_run *run, double lambda, size_t n)
{
    const dfa_options *given = run->options;
    dfa_state *state = run->state;
    for (size_t i = 0; i < n; i++)
        state->weights[BIAS][i] =
            (float)(lambda * (double)gn_gce_factor(state->losses[BIAS][i], given->q) / (double)n);
}

static double loss_of(const dfa_state *state, int i, size_t n)
{
    return gn_weighted_sum(state->weights[i], state->losses[i], n);
}

/* The same classifiers after the samples have swapped their bias features. */
static gerne_status step_swapped(gn_run *run, int64_t k, const gn_minibatch *batch,
                                 const float *features, double sums[2])
{
    const dfa_options *given = run->options;
    dfa_state *state = run->state;
    size_t n = batch->samples.count;
    gn_stream stream = gn_stream_at(run->seed, GN_RNG_METHOD, (uint64_t)k, 0);
    for (size_t i = 0; i < n; i++)
        state->partner[i] = (uint32_t)i;
    gn_random_shuffle(&stream, state->partner, n);
    for (size_t i = 0; i < n; i++) {
        state->partner_labels[i] = batch->samples.labels[state->partner[i]];
        state->weights[INTRINSIC][i] *= (float)given->lambda_swap;
    }
    gn_dfa_swap(features, n, state->half, state->partner, state->swapped);
    GN_TRY(classify(run, INTRINSIC, state->swapped, batch->samples.labels, n));
    GN_TRY(learn(run, INTRINSIC, batch->samples.labels, n, NULL, true));
    GN_TRY(classify(run, BIAS, state->swapped, state->partner_labels, n));
    weigh_easy(run, given->lambda_swap * given->lambda_swap_b, n);
    GN_TRY(learn(run, BIAS, state->partner_labels, n, state->partner, true));
    for (int i = 0; i < 2; i++)
        sums[i] += loss_of(state, i, n);
    return GERNE_OK;
}

static double lr_scale(const gn_run *run, int64_t k, double first_swap)
{
    const dfa_options *given = run->options;
    double since = (double)k - first_swap;
    return since < 0 ? 1
                     : pow(given->lr_gamma, floor(since / (given->lr_share * (double)run->steps)));
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const dfa_options *given = run->options;
    dfa_state *state = run->state;
    size_t n = batch->samples.count;
    const int32_t *labels = batch->samples.labels;
    const float *features;
    double first_swap = given->swap_share * (double)run->steps, sums[2];
    GN_TRY(gn_run_body_forward(run, INTRINSIC, batch, &features));
    GN_TRY(classify(run, INTRINSIC, features, labels, n));
    GN_TRY(classify(run, BIAS, features, labels, n));
    gn_difficulty_weigh(run, &state->difficulty, batch, state->losses, given->rho,
                        state->weights[INTRINSIC]);
    weigh_easy(run, given->lambda_dis, n);
    memset(state->gradient, 0, n * 2 * state->half * sizeof *state->gradient);
    for (int i = 0; i < 2; i++) {
        GN_TRY(learn(run, i, labels, n, NULL, false));
        sums[i] = loss_of(state, i, n);
    }
    if ((double)k > first_swap && given->lambda_swap > 0)
        GN_TRY(step_swapped(run, k, batch, features, sums));
    gn_run_log(run, "loss", sums[INTRINSIC]);
    gn_run_log(run, "L_biased", sums[BIAS]);
    GN_TRY(gn_run_body_backward(run, INTRINSIC, state->gradient, n, false));
    run->lr_scale = lr_scale(run, k, first_swap);
    GN_TRY(gn_run_apply(run, INTRINSIC));
    return gn_run_apply(run, BIAS);
}

static const char description[] =
    "Disentangled feature augmentation: an intrinsic and a bias encoder, two copies of the body, "
    "give features z_i and z_b, and both classifiers see them side by side. As in lff, the bias "
    "classifier learns what is easy and the intrinsic one what the other finds hard, each training "
    "its own encoder only. Later the samples of a batch swap their bias features, which breaks the "
    "correlation with the class.\n\n"
    "    L_dis  = mean w CE(C_i[z_i; z_b], y) + lambda_dis mean GCE(C_b[z_i; z_b], y)\n"
    "    L_swap = mean w CE(C_i[z_i; z'_b], y)\n"
    "             + lambda_swap_b mean GCE(C_b[z_i; z'_b], y')\n"
    "    L      = L_dis, and L_dis + lambda_swap L_swap after swap_share of all steps\n"
    "    z'_b, y': of another sample of the batch;  prediction: argmax C_i[z_i; z_b]\n\n"
    "w and GCE are those of lff, with rho the decay of the running means and q the exponent. From "
    "the first swap on the learning rate is multiplied by lr_gamma every lr_share of all steps, on "
    "top of train.schedule: leave that constant, or set lr_gamma 1, as both together stop training "
    "early. It assumes that the shortcut is learned faster than the class. Attributes are not used "
    "in training. Use it when no attributes are known and the body is trained (model.freeze "
    "none).";

const gn_method gn_method_dfa = {
    .name = "dfa",
    .paper = "Lee et al. 2021",
    .title = "Learning Debiased Representation via Disentangled Feature Augmentation",
    .summary = "separates intrinsic from bias features and swaps the latter between samples",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(dfa_options),
    .state_size = sizeof(dfa_state),
    .plain_batches = true,
    .stages = stages,
    .check = check,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
};
