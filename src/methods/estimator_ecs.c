/* estimator_ecs.c - easy and hard samples of ECS+GA (Zhao et al. 2023): two peers learn what both
 * are sure of and, after the first epoch, a little against what only one is sure of. A sample whose
 * mean probability of its class, over all visits and both peers, is low is hard. */
#include <math.h>

#include "methods/estimating.h"
#include "methods/group_rules.h"
#include "methods/weighted.h"

enum { PEERS = 2 };

static const double punishment = -1e-4;

typedef struct ecs_options {
    gn_estimator_budget budget;
    double eta, hard;
} ecs_options;

static const gn_option options[] = {
    GN_ESTIMATOR_BUDGET(ecs_options, "50"),
    {"ecs_eta", GN_REAL, offsetof(ecs_options, eta), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX,
     .help = "attributes unknown: a peer is confident of a sample whose probability exceeds this "
             "fraction of the largest in its batch and class"},
    {"ecs_hard", GN_REAL, offsetof(ecs_options, hard), .fallback = "0.8", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX,
     .help =
         "attributes unknown: lowest score of a hard sample, 1 minus the mean probability of its "
         "class"},
};

typedef struct ecs_state {
    float *sums, *visits; /* [n]: of the probabilities of the right class */
    float *weights[PEERS], *maxima;
} ecs_state;

static int stages(const gn_run *run, gn_stage *list)
{
    const ecs_options *given = run->options;
    list[0] = gn_estimator_stage("ecs", &given->budget);
    list[0].networks = PEERS;
    return 1;
}

static gerne_status tables_of(gn_run *run, float **sums, float **visits)
{
    GN_TRY(gn_run_table(run, "ecs sums", run->n, 0, sums));
    return gn_run_table(run, "ecs visits", run->n, 0, visits);
}

static gerne_status start(gn_run *run)
{
    ecs_state *state = run->state;
    GN_TRY(tables_of(run, &state->sums, &state->visits));
    for (int net = 0; net < PEERS; net++)
        GN_TRY(gn_run_alloc(run, run->batch, sizeof(float), &state->weights[net]));
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *state->maxima, &state->maxima));
    return gn_shuffled_start(run);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const ecs_options *given = run->options;
    ecs_state *state = run->state;
    size_t n = batch->samples.count;
    bool first_epoch = (uint64_t)k * run->batch < run->n;
    for (int net = 0; net < PEERS; net++) {
        GN_TRY(gn_weighted_forward(run, net, batch));
        for (size_t i = 0; i < n; i++) {
            state->sums[batch->indices[i]] += expf(-batch->losses[net][i]);
            state->visits[batch->indices[i]]++;
        }
    }
    const float *const losses[PEERS] = {batch->losses[0], batch->losses[1]};
    gn_ecs_weights(losses, batch->samples.labels, n, run->classes, given->eta,
                   first_epoch ? 0 : punishment, state->maxima, state->weights);
    for (int net = 0; net < PEERS; net++) {
        GN_TRY(gn_weighted_backward(run, net, batch, state->weights[net], false));
        double value = gn_weighted_sum(state->weights[net], batch->losses[net], n);
        gn_run_log(run, net == 0 ? "loss" : "loss_peer", isnan(value) ? 0 : value);
        GN_TRY(gn_run_apply(run, net));
    }
    return GERNE_OK;
}

static gerne_status groups(gn_run *run)
{
    static const char *const names[GN_TWO_ATTRIBUTES] = {"hard", "easy"};
    const ecs_options *given = run->options;
    float *sums, *visits, *easy;
    GN_TRY(tables_of(run, &sums, &visits));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *easy, &easy));
    for (size_t i = 0; i < run->n; i++) { /* never visited is not known to be hard */
        double score = visits[i] > 0 ? 1 - (double)sums[i] / (double)visits[i] : 0;
        easy[i] = score < given->hard;
    }
    return gn_regroup_in_two(run, easy, names);
}

static const char description[] =
    "Bias-conflicting scoring: two peers are trained on the samples that both are confident of, "
    "and are thus kept from learning the others; after the first epoch a sample that only one of "
    "them is confident of counts slightly against that one. Samples whose class both find "
    "improbable over all epochs are 'hard', the others 'easy'.\n\n"
    "    confident:  p_i[y_i] > eta max_j p_j[y_j],  j: its class in the batch\n"
    "    weight:     1 if both are, else 0; -1e-4 if a peer alone is, from epoch 2\n"
    "    score_i:    1 - mean of p_i[y_i] over all visits and both peers\n"
    "    hard:       score_i >= ecs_hard\n\n"
    "ecs_eta is eta (in the paper 0.5 for C-MNIST, 0.1 for C-CIFAR-10, 0.9 for Waterbirds and "
    "CelebA), estimator_epochs the length and estimator_lr the learning rate relative to train.lr. "
    "It assumes that samples that contradict the shortcut stay hard while both peers keep to easy "
    "ones. Use it where the errors of one model are too noisy. A class without hard samples, or "
    "with nothing else, ends the run with an error that names it. It gives no groups of the "
    "validation split.";

const gn_method gn_estimator_ecs = {
    .name = "ecs",
    .paper = "Zhao et al. 2023",
    .title =
        "Combating Unknown Bias with Effective Bias-Conflicting Scoring and Gradient Alignment",
    .summary = "the samples whose class two peer networks find improbable on average",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(ecs_options),
    .state_size = sizeof(ecs_state),
    .plain_batches = true,
    .stages = stages,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
    .attributes_found = gn_finds_two,
    .groups = groups,
};
