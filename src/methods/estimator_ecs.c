/* estimator_ecs.c - easy and hard samples of ECS+GA (Zhao et al. 2023): two peers learn what both
 * are sure of and, after the first epoch, a little against what only one is sure of. A sample whose
 * mean probability of its class, over all visits and both peers, is low is hard.
 *
 * Hard samples never teach the peers anything, so that the class which these take one for is that
 * of its shortcut: with ecs_groups classes it becomes the attribute, and hard samples of different
 * shortcuts are balanced like known groups (ours, not in the paper). */
#include <math.h>

#include "methods/estimating.h"
#include "methods/group_rules.h"
#include "methods/weighted.h"

enum { PEERS = 2 };

static const double punishment = -1e-4;

typedef struct ecs_options {
    gn_estimator_budget budget;
    double eta, hard;
    int groups;
} ecs_options;

enum { GROUPS_HARD, GROUPS_CLASSES };

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
    {"ecs_groups", GN_CHOICE, offsetof(ecs_options, groups), .fallback = "hard",
     .choices = "hard|classes",
     .help =
         "attributes unknown: hard: two groups in a class, hard and easy; classes: hard samples "
         "are grouped by the class that the peers take them for"},
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

/* The class that the peers take every sample for, by the sum of their probabilities: training, then
 * validation. */
static gerne_status taken_for(gn_run *run, float **out)
{
    return gn_run_table(run, "ecs", run->n + gn_val_count(run), 0, out);
}

/* A hard training sample is taken for another class than its own, an easy one for its own. */
static void settle_training(gn_run *run, const float *sums, const float *visits,
                            const float *probabilities, float *classes)
{
    const ecs_options *given = run->options;
    for (size_t i = 0; i < run->n; i++) { /* never visited is not known to be hard */
        double score = visits[i] > 0 ? 1 - (double)sums[i] / (double)visits[i] : 0;
        classes[i] = (float)run->y[i];
        if (score >= given->hard)
            classes[i] = (float)gn_other_class(probabilities + i * run->classes, run->classes,
                                               (size_t)run->y[i]);
    }
}

static gerne_status finish(gn_run *run)
{
    size_t val = gn_val_count(run), n = run->n > val ? run->n : val;
    float *sums, *visits, *classes, *logits, *probabilities;
    GN_TRY(tables_of(run, &sums, &visits));
    GN_TRY(taken_for(run, &classes));
    GN_TRY(gn_run_alloc(run, n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_alloc(run, n * run->classes, sizeof *probabilities, &probabilities));
    GN_TRY(gn_sum_probabilities(run, PEERS, GN_SET_TRAIN, logits, probabilities));
    settle_training(run, sums, visits, probabilities, classes);
    GN_TRY(gn_sum_probabilities(run, PEERS, GN_SET_VALIDATION, logits, probabilities));
    for (size_t i = 0; i < val; i++)
        classes[run->n + i] =
            (float)gn_argmax_float(probabilities + i * run->classes, run->classes);
    return GERNE_OK;
}

static gerne_status groups(gn_run *run)
{
    static const char *const names[GN_TWO_ATTRIBUTES] = {"hard", "easy"};
    const ecs_options *given = run->options;
    const gn_labelled val = gn_run_labelled(run, GN_SET_VALIDATION);
    float *classes, *easy;
    GN_TRY(taken_for(run, &classes));
    GN_TRY(gn_cells_of_table(run, GN_CELLS_BIASED, classes + run->n, run->classes));
    if (given->groups == GROUPS_CLASSES) {
        GN_TRY(gn_cells_of_table(run, GN_CELLS_INFERRED, classes + run->n, run->classes));
        return gn_regroup_by_class(run, classes);
    }
    GN_TRY(gn_run_alloc(run, run->n + val.n, sizeof *easy, &easy));
    gn_mark_right(classes, run->y, run->n, easy);
    gn_mark_right(classes + run->n, val.y, val.n, easy + run->n);
    GN_TRY(gn_cells_of_table(run, GN_CELLS_INFERRED, easy + run->n, GN_TWO_ATTRIBUTES));
    return gn_regroup_in_two(run, easy, names);
}

static uint32_t attributes_found(const gn_run *run)
{
    const ecs_options *given = run->options;
    return given->groups == GROUPS_CLASSES ? run->classes : GN_TWO_ATTRIBUTES;
}

static const char description[] =
    "Bias-conflicting scoring: two peers are trained on the samples that both are confident of, "
    "and are thus kept from learning the others; after the first epoch a sample that only one of "
    "them is confident of counts slightly against that one. Samples whose class both find "
    "improbable over all epochs are 'hard', the others 'easy'.\n\n"
    "    confident:  p_i[y_i] > eta max_j p_j[y_j],  j: its class in the batch\n"
    "    weight:     1 if both are, else 0; -1e-4 if a peer alone is, from epoch 2\n"
    "    score_i:    1 - mean of p_i[y_i] over all visits and both peers\n"
    "    hard:       score_i >= ecs_hard\n"
    "    classes:    a_i = argmax_{k != y_i} p_i[k] + p'_i[k] if hard, else y_i\n\n"
    "ecs_eta is eta (in the paper 0.5 for C-MNIST, 0.1 for C-CIFAR-10, 0.9 for Waterbirds and "
    "CelebA), estimator_epochs the length and estimator_lr the learning rate relative to train.lr. "
    "It assumes that samples that contradict the shortcut stay hard while both peers keep to easy "
    "ones. Use it where the errors of one model are too noisy. Peers that see augmented pictures "
    "(estimator_augment) memorise less and find more. With ecs_groups classes, which is not in "
    "the paper, the class that the peers take a hard sample for is its attribute; this assumes as "
    "many attributes as classes, each of which goes with one class, C-MNIST for "
    "example; groups may be empty then. A class without hard samples, or with nothing else, ends "
    "the run with an error that names it. Samples of the validation split are grouped by what the "
    "peers predict, so that select.metric inferred_wga, inferred_gba, bias_wga and bias_gba are "
    "available.";

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
    .val_cells = 1 << GN_CELLS_INFERRED | 1 << GN_CELLS_BIASED,
    .stages = stages,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
    .finish = finish,
    .attributes_found = attributes_found,
    .groups = groups,
};
