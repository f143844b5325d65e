/* groupdro.c - distributionally robust optimisation over groups: weights q that grow with the
 * groups' losses. */
#include <math.h>

#include "methods/rules.h"
#include "methods/weighted.h"

typedef enum variant { ORIGINAL, SUBPOPBENCH } variant;

typedef struct groupdro_options {
    int variant;
    double eta, adjustment;
} groupdro_options;

static const gn_option options[] = {
    {"variant", GN_CHOICE, offsetof(groupdro_options, variant), .fallback = "original",
     .choices = "original|subpopbench",
     .help = "original: group-balanced batches, q starts at 1/G; subpopbench: uniform "
             "batches, q starts at 1 and absent groups are ignored"},
    {"eta", GN_REAL, offsetof(groupdro_options, eta), .fallback = "0.01", .min = 0, .max = 10,
     .flags = GN_TUNABLE, .help = "step size of the group weights q"},
    {"adjustment", GN_REAL, offsetof(groupdro_options, adjustment), .fallback = "0", .min = 0,
     .max = 100, .flags = GN_TUNABLE,
     .help = "original: constant C of the generalisation adjustment C / sqrt(n_g)"},
};

typedef struct groupdro_state {
    const gerne_sampler *sampler;
    size_t groups;
    float *q;
    double *losses; /* [groups], of a step */
    bool *present;
    uint32_t *counts;
} groupdro_state;

static gerne_status start(gn_run *run)
{
    const groupdro_options *given = run->options;
    groupdro_state *state = run->state;
    size_t groups = (size_t)run->classes * run->attributes;
    state->groups = groups;
    run->looks_first = true;
    float initial = given->variant == ORIGINAL ? 1.0f / (float)groups : 1.0f;
    GN_TRY(gn_run_table(run, "q", groups, initial, &state->q));
    GN_TRY(gn_run_alloc(run, groups, sizeof *state->losses, &state->losses));
    GN_TRY(gn_run_alloc(run, groups, sizeof *state->present, &state->present));
    GN_TRY(gn_run_alloc(run, groups, sizeof *state->counts, &state->counts));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const groupdro_options *given = run->options;
    groupdro_state *state = run->state;
    (void)k;
    plan->batches[plan->count++] = (gn_request){
        .sampler = state->sampler,
        .draw = given->variant == ORIGINAL ? GERNE_DRAW_GROUPS : GERNE_DRAW_UNIFORM,
    };
    return GERNE_OK;
}

static size_t group_of(const gn_run *run, uint32_t sample)
{
    return (size_t)run->y[sample] * run->attributes + (size_t)run->a[sample];
}

/* The mean loss of each group in the batch; 0 where it is absent. */
static void group_losses(const gn_run *run, const gn_minibatch *batch, groupdro_state *state)
{
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
        if (state->counts[g])
            state->losses[g] /= state->counts[g];
}

/* The original updates all groups (an absent one has loss 0 and keeps its q until q is normalised)
 * with losses that are raised by C / sqrt(n_g). */
static void update_q(const gn_run *run, groupdro_state *state)
{
    const groupdro_options *given = run->options;
    bool original = given->variant == ORIGINAL;
    for (size_t g = 0; g < state->groups; g++) {
        uint64_t size = gerne_groups_count(run->groups, (uint32_t)(g / run->attributes),
                                           (uint32_t)(g % run->attributes));
        state->present[g] = original ? size > 0 : state->counts[g] > 0;
        if (original && given->adjustment > 0 && size > 0)
            state->losses[g] += given->adjustment / sqrt((double)size);
    }
    gn_groupdro_update(state->q, state->losses, state->present, state->groups, given->eta);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    groupdro_state *state = run->state;
    (void)k;
    GN_TRY(gn_weighted_forward(run, 0, batch));
    group_losses(run, batch, state);
    update_q(run, state);
    for (size_t i = 0; i < batch->samples.count; i++) {
        size_t g = group_of(run, batch->indices[i]);
        batch->weights[i] = state->q[g] / (float)state->counts[g];
    }
    GN_TRY(gn_weighted_backward(run, 0, batch, batch->weights, false));
    gn_run_log(run, "loss",
               gn_weighted_sum(batch->weights, batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

static const char description[] =
    "Minimises the loss of the worst group: weights q of the groups grow exponentially with their "
    "losses, and the network is updated on the weighted sum.\n\n"
    "    l_g = mean CE of the samples of group g in the batch\n"
    "    q_g <- q_g exp(eta l_g),  then q <- q / sum_h q_h\n"
    "    L   = sum_g q_g l_g\n\n"
    "The original variant draws every sample of a batch from a random group, starts from q = 1/G "
    "and adds adjustment / sqrt(n_g) to the losses in the update of q, in favour of small groups. "
    "The subpopbench variant draws uniform batches, starts from q = 1 and updates q only for the "
    "groups in the batch. eta is the step size of q. Use it when attributes are known and the "
    "worst group is what counts. A network that can fit every training sample needs strong weight "
    "decay or early stopping: once all training losses vanish, q no longer tells the groups apart. "
    "With unknown attributes the groups are those of method.estimator; without one it is DRO over "
    "classes.";

const gn_method gn_method_groupdro = {
    .name = "groupdro",
    .paper = "Sagawa et al. 2020",
    .title = "Distributionally Robust Neural Networks for Group Shifts: On the Importance of "
             "Regularization for Worst-Case Generalization",
    .summary = "upweights the groups with the highest loss",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(groupdro_options),
    .state_size = sizeof(groupdro_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
