/* erm.c - empirical risk minimisation: the mean loss, over all samples or class by class. */
#include "methods/extrapolation.h"

typedef enum balance { BALANCE_NONE, BALANCE_CLASS } balance;

typedef struct erm_options {
    int balance;
} erm_options;

typedef struct erm_state {
    const gerne_sampler *sampler;
    gn_extrapolation by_class;
} erm_state;

static const gn_option options[] = {
    {"balance", GN_CHOICE, offsetof(erm_options, balance), .fallback = "none",
     .choices = "none|class",
     .help = "draw batches from the data as it is, or with equally many samples of each class"},
};

static gerne_status start(gn_run *run)
{
    const erm_options *given = run->options;
    erm_state *state = run->state;
    if (given->balance == BALANCE_CLASS)
        return gn_extrapolation_start(run, &state->by_class,
                                      &(gn_extrapolation_options){.c = 1, .beta = -1});
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.drop_last = true}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const erm_options *given = run->options;
    erm_state *state = run->state;
    (void)k;
    if (given->balance == BALANCE_CLASS)
        return gn_extrapolation_plan(run, &state->by_class, plan);
    plan->batches[plan->count++] =
        (gn_request){.sampler = state->sampler, .draw = GERNE_DRAW_SHUFFLED};
    return GERNE_OK;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batches)
{
    const erm_options *given = run->options;
    erm_state *state = run->state;
    (void)k;
    if (given->balance == BALANCE_CLASS)
        return gn_extrapolation_step(run, &state->by_class, batches);
    return gn_plain_step(run, batches);
}

static const char description[] =
    "Empirical risk minimisation: the mean cross-entropy of shuffled batches. Use it as the "
    "baseline that other methods are compared with.\n\n"
    "    L = mean CE_i\n\n"
    "It assumes that new data are distributed like the training data. Where an attribute predicts "
    "the class in training, the network relies on the attribute and fails on the groups that "
    "contradict it. With balance class, batches have equally many samples of every class, drawn "
    "uniformly inside the class, which is gerne with beta = -1. Attributes are not used in "
    "training.";

const gn_method gn_method_erm = {
    .name = "erm",
    .paper = "Vapnik 1991",
    .title = "Principles of Risk Minimization for Learning Theory",
    .summary = "minimises the average training loss (baseline)",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(erm_options),
    .state_size = sizeof(erm_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
