/* tilted.c - tilted empirical risk minimisation over groups (TERM; Li, Beirami, Sanjabi and Smith,
 * ICLR 2021): a method outside the tree of gerne. docs/plugins.md explains how it is used.
 *
 * In place of the mean of the groups' losses R_g it minimises
 *     R = 1/t log mean_g exp(t R_g),
 * which lies between their mean (t near 0) and the loss of the worst group (t large).
 *
 * One step:
 *     draw a batch in which all groups are equally likely
 *     R_g = (1 - lambda) R_g + lambda (mean loss of the batch's samples in g)
 *     w_g = exp(t R_g) / sum_h exp(t R_h)            the derivative of R by R_g
 *     update with the gradient of sum_g w_g (mean loss of the batch's samples in g)
 */
#include <math.h>

#include "methods/plugin.h"
#include "methods/weighted.h"

typedef struct tilted_options {
    double tilt, lambda;
} tilted_options;

static const gn_option options[] = {
    {"tilt", GN_REAL, offsetof(tilted_options, tilt), .fallback = "1", .min = 0, .max = 100,
     .flags = GN_TUNABLE, .search = "0.3,1,3",
     .help = "how much more groups with a high loss count; 0: all count the same"},
    {"lambda", GN_REAL, offsetof(tilted_options, lambda), .fallback = "0.1", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "weight of the present batch in the running losses of the groups"},
};

typedef struct tilted_state {
    const gerne_sampler *sampler;
    size_t groups;
    float *risk;    /* [groups] R_g: a table, so that it is part of every checkpoint */
    double *losses; /* [groups] mean loss in the present batch */
    size_t *counts; /* [groups] samples in it */
} tilted_state;

static size_t group_of(const gn_run *run, uint32_t sample)
{
    return (size_t)run->y[sample] * run->attributes + (size_t)run->a[sample];
}

/* Enters a stage, also when a run is resumed: memory, tables and samplers are the stage's. */
static gerne_status start(gn_run *run)
{
    tilted_state *state = run->state;
    state->groups = (size_t)run->classes * run->attributes;
    GN_TRY(gn_run_table(run, "risk", state->groups, 0, &state->risk));
    GN_TRY(gn_run_alloc(run, state->groups, sizeof *state->losses, &state->losses));
    GN_TRY(gn_run_alloc(run, state->groups, sizeof *state->counts, &state->counts));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

/* Names the batch of a step. */
static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const tilted_state *state = run->state;
    (void)k;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_GROUPS);
}

/* R_g of the groups in the batch. */
static void update_risk(const gn_run *run, const gn_minibatch *batch, tilted_state *state)
{
    const tilted_options *given = run->options;
    for (size_t g = 0; g < state->groups; g++) {
        state->losses[g] = 0;
        state->counts[g] = 0;
    }
    for (size_t i = 0; i < batch->samples.count; i++) {
        size_t g = group_of(run, batch->indices[i]);
        state->losses[g] += (double)batch->losses[0][i];
        state->counts[g]++;
    }
    for (size_t g = 0; g < state->groups; g++)
        if (state->counts[g]) {
            state->losses[g] /= (double)state->counts[g];
            state->risk[g] += (float)(given->lambda * (state->losses[g] - (double)state->risk[g]));
        }
}

/* w_g spread over the group's samples; groups that are not in the batch have no gradient. */
static void weigh(const gn_run *run, gn_minibatch *batch, const tilted_state *state)
{
    const tilted_options *given = run->options;
    double highest = -INFINITY, sum = 0;
    for (size_t g = 0; g < state->groups; g++)
        if (state->counts[g])
            highest = fmax(highest, (double)state->risk[g]);
    for (size_t g = 0; g < state->groups; g++)
        if (state->counts[g])
            sum += exp(given->tilt * ((double)state->risk[g] - highest));
    for (size_t i = 0; i < batch->samples.count; i++) {
        size_t g = group_of(run, batch->indices[i]);
        double w = exp(given->tilt * ((double)state->risk[g] - highest)) / sum;
        batch->weights[i] = (float)(w / (double)state->counts[g]);
    }
}

/* The weights need the losses of the whole batch: forward and backward are two calls. */
static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    tilted_state *state = run->state;
    (void)k;
    GN_TRY(gn_weighted_forward(run, 0, batch));
    update_risk(run, batch, state);
    weigh(run, batch, state);
    GN_TRY(gn_weighted_backward(run, 0, batch, batch->weights, false));
    gn_run_log(run, "loss",
               gn_weighted_sum(batch->weights, batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

static const char description[] =
    "Minimises a tilted mean of the groups' losses, which lies between their mean (tilt 0) and the "
    "loss of the worst group (a large tilt).\n\n"
    "    R_g <- (1 - lambda) R_g + lambda (mean CE of the samples of group g in the batch)\n"
    "    L   = 1/tilt log mean_g exp(tilt R_g)\n\n"
    "The batches are group-balanced. With unknown attributes the groups are those of "
    "method.estimator; without one they are the classes.";

static const gn_method tilted = {
    .name = "tilted",
    .paper = "Li et al. 2021",
    .title = "Tilted Empirical Risk Minimization",
    .summary = "minimises a tilted mean of the groups' losses, between mean and maximum (TERM)",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(tilted_options),
    .state_size = sizeof(tilted_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};

GN_PLUGIN(&tilted);
