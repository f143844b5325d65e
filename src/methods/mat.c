/* mat.c - memorisation-aware training (Bayat et al. 2025): what a network that has not seen a
 * sample says of it shifts the logits, so that the one that trains need not learn that again.
 *
 *     u_i = softmax(o_i / T), o_i the held-out logits of estimator xrm
 *     J[k][y] = mean over the batch of u_i[k] [y_i = y],  R = J, its rows normalised
 *     loss = mean CE(z_i + log(u_i R + 1e-6), y_i); z alone predicts */
#include "methods/estimator_xrm.h"
#include "methods/group_rules.h"
#include "methods/shifted.h"
#include "methods/weighted.h"

typedef struct mat_options {
    double temperature;
} mat_options;

static const gn_option options[] = {
    {"temperature", GN_REAL, offsetof(mat_options, temperature), .fallback = "0.01", .min = 0,
     .max = 1e3, .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help =
         "temperature of the softmax over held-out logits (the paper searches 0.001, 0.01, 0.1)"},
};

typedef struct mat_state {
    float *held_out;             /* [n][classes]: u */
    double *shares;              /* [classes][classes]: of a batch */
    float *drawn, *shift, *room; /* [batch][classes] */
} mat_state;

static gerne_status check(gn_run *run)
{
    if (run->estimator == &gn_estimator_xrm)
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method 'mat' needs the held-out predictions of estimator 'xrm', but method.estimator "
            "is '%s'",
            run->estimator ? run->estimator->name : "none");
    gn_hint(run->ctx, "use --method.estimator xrm, or leave it out");
    return GERNE_EUSAGE;
}

static gerne_status start(gn_run *run)
{
    const mat_options *given = run->options;
    mat_state *state = run->state;
    size_t all = run->n * run->classes, drawn = (size_t)run->batch * run->classes;
    const float *logits;
    GN_TRY(gn_xrm_held_out(run, &logits));
    GN_TRY(gn_run_alloc(run, all, sizeof(float), &state->held_out));
    for (size_t i = 0; i < all; i++)
        state->held_out[i] = (float)((double)logits[i] / given->temperature);
    gn_softmax(state->held_out, run->n, run->classes);
    GN_TRY(gn_run_alloc(run, (size_t)run->classes * run->classes, sizeof(double), &state->shares));
    GN_TRY(gn_run_alloc(run, drawn, sizeof(float), &state->drawn));
    GN_TRY(gn_run_alloc(run, drawn, sizeof(float), &state->shift));
    GN_TRY(gn_run_alloc(run, drawn, sizeof(float), &state->room));
    return gn_shuffled_start(run);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    mat_state *state = run->state;
    size_t n = batch->samples.count, classes = run->classes;
    (void)k;
    gn_take_rows(state->held_out, batch->indices, n, classes, state->drawn);
    gn_mat_shift(state->drawn, batch->samples.labels, n, classes, state->shares, state->shift);
    return gn_shifted_step(run, batch, state->shift, state->room);
}

static const char description[] =
    "Memorisation-aware training: estimator xrm runs first. What its network that was not trained "
    "on a sample predicts for it shifts the logits in training; the shortcut is explained by the "
    "shift, and the network is left with learning the rest.\n\n"
    "    u_i = softmax(o_i / T),  o_i: held-out logits of xrm\n"
    "    J[k, y] = mean u_i[k] [y_i = y],  R = J with rows that sum to 1\n"
    "    L = mean CE(z_i + log(u_i R + 1e-6), y_i);  prediction: argmax z\n\n"
    "temperature is T; the smaller it is, the more u_i is a single class. Batches are shuffled "
    "epochs. Attributes are not used in training, known or not: xrm always runs, and its options "
    "(estimator_epochs, estimator_lr) belong to the run. Use it when no attributes are known and "
    "xrm finds the shortcut; it trains the two networks of xrm and then its own.";

const gn_method gn_method_mat = {
    .name = "mat",
    .paper = "Bayat et al. 2025",
    .title = "The Pitfalls of Memorization: When Memorization Hurts Generalization",
    .summary = "shifts logits by predictions of a network that has not seen the sample",
    .description = description,
    .attributes = GN_ATTRIBUTES_ESTIMATED,
    .default_estimator = "xrm",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(mat_options),
    .state_size = sizeof(mat_state),
    .plain_batches = true,
    .check = check,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
};
