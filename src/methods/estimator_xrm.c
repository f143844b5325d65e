/* estimator_xrm.c - cross risk minimisation (Pezeshki et al. 2024): groups without any attribute.
 *
 * Two networks train on random halves of the data. What the network that does not see a sample
 * says of it with confidence replaces its label from then on, so that both come to lean on the
 * shortcut and to fail, out of sample, where it fails:
 *
 *     h_i, o_i = logits of sample i by its own network and by the other
 *     loss = sum over classes of the mean of CE(h_i, y~_i)
 *     y~_i <- argmax o_i with probability (max softmax(o_i) - 1/K) K / (K - 1)
 *
 * At the end a sample of either split is "wrong" when either network mistakes its true label.
 *
 * Networks that learn slowly flip what they do not know yet, and whole classes may merge: the paper
 * trains bodies with Adam, and heads on features with SGD. */
#include "methods/estimator_xrm.h"

#include <math.h>

#include "base/rng.h"
#include "methods/estimating.h"
#include "methods/group_rules.h"
#include "methods/weighted.h"

enum { TWINS = 2 };

typedef struct xrm_options {
    gn_estimator_budget budget;
} xrm_options;

static const gn_option options[] = {GN_ESTIMATOR_BUDGET(xrm_options, "0")};

/* The parts of the table that the stage leaves. */
typedef struct xrm_table {
    float *held_out; /* [n][classes] logits of the network that was not trained on a sample */
    float *right;    /* [n], then those of the validation split: 1 where both are right */
    float *flipped;  /* [1]: share of labels that are not the true ones at the end */
} xrm_table;

typedef struct xrm_state {
    uint8_t *half;            /* [n]: the network that trains on it */
    float *labels;            /* [n]: the flipped label; -1: still the true one */
    int32_t *batch_labels;    /* of a step */
    float *confidence[TWINS]; /* of a step: max softmax */
    size_t *class_counts;
} xrm_state;

static gerne_status table_of(gn_run *run, xrm_table *out)
{
    size_t n = run->n, logits = n * run->classes, val = gn_val_count(run);
    float *all;
    GN_TRY(gn_run_table(run, "xrm", logits + n + val + 1, 0, &all));
    *out = (xrm_table){all, all + logits, all + logits + n + val};
    return GERNE_OK;
}

gerne_status gn_xrm_held_out(gn_run *run, const float **logits)
{
    xrm_table table;
    GN_TRY(table_of(run, &table));
    *logits = table.held_out;
    return GERNE_OK;
}

static int stages(const gn_run *run, gn_stage *list)
{
    const xrm_options *given = run->options;
    list[0] = gn_estimator_stage("xrm", &given->budget);
    list[0].networks = TWINS;
    list[0].table = "xrm";
    return 1;
}

static gerne_status start(gn_run *run)
{
    xrm_state *state = run->state;
    xrm_table made;
    GN_TRY(table_of(run, &made));
    GN_TRY(gn_run_table(run, "xrm labels", run->n, -1, &state->labels));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *state->half, &state->half));
    for (size_t i = 0; i < run->n; i++) {
        gn_stream coin = gn_stream_at(run->seed, GN_RNG_METHOD, 0, i);
        state->half[i] = gn_random_uniform(&coin) < 0.5;
    }
    GN_TRY(gn_run_alloc(run, run->batch, sizeof *state->batch_labels, &state->batch_labels));
    for (int net = 0; net < TWINS; net++)
        GN_TRY(gn_run_alloc(run, run->batch, sizeof(float), &state->confidence[net]));
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *state->class_counts, &state->class_counts));
    return gn_shuffled_start(run);
}

/* Cross-entropy that also notes how sure the network is of what it predicts. */
typedef struct noted_terms {
    gn_cross_entropy cross_entropy;
    float *confidence; /* [of the batch] */
} noted_terms;

static double noted_cross_entropy(const void *given, const gn_loss_part *part)
{
    const noted_terms *terms = given;
    const gn_loss plain = gn_cross_entropy_loss(&terms->cross_entropy);
    for (size_t i = 0; i < part->count; i++)
        terms->confidence[part->first + i] =
            gn_confidence(part->logits + i * part->classes, part->classes);
    return plain.evaluate(plain.terms, part);
}

static gerne_status train_twin(gn_run *run, int net, gn_minibatch *batch)
{
    xrm_state *state = run->state;
    size_t n = batch->samples.count;
    gn_xrm_weights(state->batch_labels, n, run->classes, state->class_counts, batch->weights);
    for (size_t i = 0; i < n; i++)
        if (state->half[batch->indices[i]] != net)
            batch->weights[i] = 0;
    const noted_terms terms = {{state->batch_labels, batch->weights, n, NULL, NULL},
                               state->confidence[net]};
    const gn_loss loss = {.evaluate = noted_cross_entropy, .terms = &terms};
    GN_TRY(gn_run_pass(run, net, batch, &loss, false));
    double value = gn_weighted_sum(batch->weights, batch->losses[net], n);
    gn_run_log(run, net == 0 ? "loss" : "loss_twin", isnan(value) ? 0 : value);
    return GERNE_OK;
}

static void flip_labels(gn_run *run, int64_t k, const gn_minibatch *batch)
{
    xrm_state *state = run->state;
    for (size_t i = 0; i < batch->samples.count; i++) {
        uint32_t sample = batch->indices[i];
        int other = 1 - state->half[sample];
        gn_stream coin = gn_stream_at(run->seed, GN_RNG_METHOD, (uint64_t)k + 1, i);
        if (gn_random_uniform(&coin) <
            gn_xrm_flip_probability((double)state->confidence[other][i], run->classes))
            state->labels[sample] = (float)batch->predictions[other][i];
    }
}

/* Heads of zeros say nothing with confidence, so that nothing is flipped before it is learnt. */
static gerne_status clear_head(gn_run *run, int net)
{
    size_t width = gn_run_width(run, net);
    float *zeros;
    GN_TRY(gn_run_alloc(run, (width + 1) * run->classes, sizeof *zeros, &zeros));
    return gn_run_set_head(run, net, zeros, zeros + width * run->classes);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    xrm_state *state = run->state;
    for (int net = 0; k == 0 && net < TWINS; net++)
        GN_TRY(clear_head(run, net));
    for (size_t i = 0; i < batch->samples.count; i++) {
        float label = state->labels[batch->indices[i]];
        state->batch_labels[i] = label < 0 ? batch->samples.labels[i] : (int32_t)label;
    }
    for (int net = 0; net < TWINS; net++)
        GN_TRY(train_twin(run, net, batch));
    for (int net = 0; net < TWINS; net++)
        GN_TRY(gn_run_apply(run, net));
    flip_labels(run, k, batch);
    return GERNE_OK;
}

/* right [samples of the set] loses the samples that network net gets wrong. */
static void judge_set(const gn_labelled *set, const float *logits, size_t classes, float *right)
{
    for (size_t i = 0; i < set->n; i++)
        if (gn_argmax_float(logits + i * classes, classes) != (size_t)set->y[i])
            right[i] = 0;
}

static gerne_status finish(gn_run *run)
{
    const xrm_state *state = run->state;
    const gn_labelled train = gn_run_labelled(run, GN_SET_TRAIN);
    const gn_labelled val = gn_run_labelled(run, GN_SET_VALIDATION);
    size_t classes = run->classes, largest = train.n > val.n ? train.n : val.n, flipped = 0;
    xrm_table table;
    float *logits;
    GN_TRY(table_of(run, &table));
    GN_TRY(gn_run_alloc(run, largest * classes, sizeof *logits, &logits));
    for (size_t i = 0; i < train.n + val.n; i++)
        table.right[i] = 1;
    for (int net = 0; net < TWINS; net++) {
        GN_TRY(gn_run_infer(run, net, GN_SET_TRAIN, logits, NULL));
        judge_set(&train, logits, classes, table.right);
        for (size_t i = 0; i < train.n; i++)
            for (size_t c = 0; c < classes && state->half[i] != net; c++)
                table.held_out[i * classes + c] = logits[i * classes + c];
        GN_TRY(gn_run_infer(run, net, GN_SET_VALIDATION, logits, NULL));
        judge_set(&val, logits, classes, table.right + train.n);
    }
    for (size_t i = 0; i < train.n; i++)
        flipped += state->labels[i] >= 0 && (int32_t)state->labels[i] != run->y[i];
    *table.flipped = (float)((double)flipped / (double)train.n);
    return GERNE_OK;
}

static gerne_status groups(gn_run *run)
{
    static const char *const names[GN_TWO_ATTRIBUTES] = {"wrong", "right"};
    xrm_table table;
    GN_TRY(table_of(run, &table));
    run->pseudo.flipped = (double)*table.flipped;
    gn_log(run->ctx, GERNE_LOG_INFO, "xrm: %.2f %% of the labels are flipped",
           100 * run->pseudo.flipped);
    GN_TRY(gn_cells_of_table(run, GN_CELLS_INFERRED, table.right + run->n, GN_TWO_ATTRIBUTES));
    return gn_regroup_in_two(run, table.right, names);
}

static const char description[] =
    "Cross risk minimisation: two networks are trained, each on a random half of the training "
    "samples. The class that the network not trained on a sample is confident of may replace the "
    "label, so that both networks come to rely on the shortcut and to fail, on samples that they "
    "have not seen, where it fails.\n\n"
    "    h_i, o_i: logits of the sample's own network and of the other one\n"
    "    L = sum over classes k of mean CE(h_i, k) over samples with label k\n"
    "    label_i <- argmax o_i with probability (max softmax(o_i) - 1/K) K / (K - 1)\n"
    "    a_i = wrong if either network misclassifies the true y_i, else right\n\n"
    "Labels are flipped after every step, and the share of flipped ones is logged at the end; "
    "heads start from zero. estimator_epochs (0: as long as the run) and estimator_lr set its "
    "budget, estimator_augment changes its training images; networks that learn too slowly flip "
    "labels that they do not know yet, and classes may "
    "merge: the paper trains whole networks with adam, heads on features with sgd. Use it when "
    "validation has no attributes either: its samples get groups as well, and select.metric "
    "inferred_wga and inferred_gba are available.";

const gn_method gn_estimator_xrm = {
    .name = "xrm",
    .paper = "Pezeshki et al. 2024",
    .title = "Discovering Environments with XRM",
    .summary = "the samples that either of two cross-trained networks misclassifies",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(xrm_options),
    .state_size = sizeof(xrm_state),
    .plain_batches = true,
    .val_cells = 1 << GN_CELLS_INFERRED,
    .stages = stages,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
    .finish = finish,
    .attributes_found = gn_finds_two,
    .groups = groups,
};
