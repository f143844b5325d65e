/* cnc.c - correct-n-contrast (Zhang et al. 2022): the predictions of a first model are slices; a
 * second network learns features in which a class is alike across slices and apart from the other
 * classes of the same slice.
 *
 *     anchors of slice s     what the first model rightly takes for s
 *     positives of class s   what it takes for something else
 *     negatives of slice s   samples of other classes that it takes for s
 *     easy negatives         anchors of the slice in which the first positive is
 *
 * A unit has m of each; its loss is in cnc.h. A step accumulates the gradients of some units. Units
 * go round over the slices, and in each slice over its anchors. The paper's network is in inference
 * mode but for the weights (model.bn frozen). Where the body does not train, only the
 * cross-entropy of the units acts. */
#include "methods/cnc.h"

#include "base/rng.h"
#include "debias/groups.h"
#include "methods/estimating.h"
#include "methods/two_stage.h"
#include "nn/model.h"

enum { ROLES = 4 };

typedef struct cnc_options {
    double first_epochs, first_decay, tau, lambda;
    int64_t m, units;
} cnc_options;

#define OPTION(key) offsetof(cnc_options, key)

static const gn_option options[] = {
    {"first_epochs", GN_REAL, OPTION(first_epochs), .fallback = "1", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE, .help = "epochs of the first model; 0: those of the run"},
    {"first_decay", GN_REAL, OPTION(first_decay), .fallback = "1", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE,
     .help = "weight decay of the first model, as a multiple of train.weight_decay"},
    {"m", GN_INT, OPTION(m), .fallback = "17", .min = 1, .max = 1e6, .flags = GN_TUNABLE,
     .help = "anchors, positives, negatives and easy negatives of a unit, each; reduced to the "
             "smallest "
             "set of positives or negatives"},
    {"tau", GN_REAL, OPTION(tau), .fallback = "0.1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .help = "temperature of the contrastive loss"},
    {"lambda", GN_REAL, OPTION(lambda), .fallback = "0.75", .min = 0, .max = 1, .flags = GN_TUNABLE,
     .help = "weight of the contrastive loss; that of the cross-entropy is 1 - lambda"},
    {"units", GN_INT, OPTION(units), .fallback = "0", .min = 0, .max = 1e6,
     .help = "units of a step (the paper: 32); 0: as many as fit train.batch"},
};

/* Lists of samples, one after the other: list s is items[starts[s]..starts[s+1]). */
typedef struct lists {
    uint32_t *items, *starts;
} lists;

typedef struct cnc_state {
    float *slices; /* [n]: the first model's predictions, then those in validation */
    lists anchors, positives, negatives;
    size_t m, units, at_once; /* at_once: units of a pass, 1 or all */
    uint32_t *batch;          /* [units][4 m] samples */
    float *weights;           /* [at_once][4 m], equal */
    double *scratch;          /* [4 m] */
} cnc_state;

static int stages(const gn_run *run, gn_stage *list)
{
    const cnc_options *given = run->options;
    int count = gn_first_and_main(given->first_epochs, list);
    list[0].decay_factor = given->first_decay;
    return count;
}

/* ---- the sets ---- */

typedef enum role { ANCHOR, POSITIVE, NEGATIVE } role;

/* The list that a sample is in, or -1. */
static int list_of(role r, int32_t y, int32_t slice)
{
    if (r == ANCHOR)
        return y == slice ? slice : -1;
    if (y == slice)
        return -1;
    return r == POSITIVE ? y : slice;
}

static gerne_status make_lists(gn_run *run, role r, lists *out)
{
    const cnc_state *state = run->state;
    size_t total = 0;
    GN_TRY(gn_run_alloc(run, run->n, sizeof *out->items, &out->items));
    GN_TRY(gn_run_alloc(run, run->classes + 1, sizeof *out->starts, &out->starts));
    for (uint32_t s = 0; s < run->classes; s++) {
        for (size_t i = 0; i < run->n; i++)
            if (list_of(r, run->y[i], (int32_t)state->slices[i]) == (int)s)
                out->items[total++] = (uint32_t)i;
        out->starts[s + 1] = (uint32_t)total;
    }
    return GERNE_OK;
}

static size_t size_of(const lists *l, size_t s)
{
    return l->starts[s + 1] - l->starts[s];
}

/* Every class needs all three sets; m is at most the smallest of positives and negatives. */
static gerne_status check_sets(gn_run *run)
{
    const cnc_options *given = run->options;
    cnc_state *state = run->state;
    const struct {
        const lists *l;
        const char *what;
    } needed[] = {
        {&state->anchors, "the first model is wrong on all of its samples"},
        {&state->positives, "the first model is right on all of its samples"},
        {&state->negatives, "the first model takes no sample of another class for it"},
    };
    char text[GN_GROUP_TEXT];
    state->m = (size_t)given->m;
    for (uint32_t s = 0; s < run->classes; s++)
        for (size_t j = 0; j < sizeof needed / sizeof needed[0]; j++) {
            size_t size = size_of(needed[j].l, s);
            if (size == 0) {
                gn_fail(run->ctx, GERNE_ENOTHING, "cnc: no shortcut found in class %s: %s",
                        gn_class_text(run->groups, s, text), needed[j].what);
                gn_hint(run->ctx, "train the first model shorter or longer (--method.first_epochs, "
                                  "--method.first_decay)");
                return GERNE_ENOTHING;
            }
            if (j > 0 && size < state->m)
                state->m = size;
        }
    if (state->m < (size_t)given->m)
        gn_warn(run->ctx, "cnc: m is %zu instead of %lld, the size of the smallest set", state->m,
                (long long)given->m);
    return GERNE_OK;
}

/* Passes of a small network are faster with all units; the activations of a large one would need
 * much memory, and units that share their statistics would not be units. */
static size_t units_at_once(const gn_run *run, size_t units)
{
    const gn_architecture *network;
    bool small = gn_architecture_find(NULL, run->model->arch, &network) == GERNE_OK &&
                 gn_architecture_is_small(network);
    return small && !run->coupled ? units : 1;
}

static gerne_status start_main(gn_run *run)
{
    const cnc_options *given = run->options;
    cnc_state *state = run->state;
    GN_TRY(make_lists(run, ANCHOR, &state->anchors));
    GN_TRY(make_lists(run, POSITIVE, &state->positives));
    GN_TRY(make_lists(run, NEGATIVE, &state->negatives));
    GN_TRY(check_sets(run));
    size_t unit = ROLES * state->m, fitting = run->batch / unit;
    state->units = given->units ? (size_t)given->units : fitting ? fitting : 1;
    GN_TRY(gn_run_alloc(run, state->units * unit, sizeof *state->batch, &state->batch));
    state->at_once = units_at_once(run, state->units);
    run->whole = true;
    run->pass_samples = state->at_once * unit;
    GN_TRY(gn_run_alloc(run, unit, sizeof *state->scratch, &state->scratch));
    GN_TRY(gn_run_alloc(run, run->pass_samples, sizeof *state->weights, &state->weights));
    for (size_t i = 0; i < run->pass_samples; i++)
        state->weights[i] = (float)((1 - given->lambda) / (double)(unit * state->units));
    /* An epoch draws as many samples as there are, however many a step draws. */
    double share = (double)run->batch / (double)(state->units * unit);
    run->epoch_samples = (size_t)((double)run->n * share + 0.5);
    run->epoch_samples += run->epoch_samples == 0;
    return gn_cells_of_table(run, GN_CELLS_BIASED, state->slices + run->n, run->classes);
}

static gerne_status start(gn_run *run)
{
    cnc_state *state = run->state;
    GN_TRY(gn_run_table(run, "cnc", run->n + gn_val_count(run), 0, &state->slices));
    if (!gn_is_first_stage(run))
        return start_main(run);
    return gn_shuffled_start(run);
}

/* ---- units ---- */

/* count samples of a list, without repeats while it lasts. */
static void take(const gn_run *run, const lists *l, size_t s, uint64_t unit, role r, size_t count,
                 uint32_t *out)
{
    size_t size = size_of(l, s);
    const gn_permutation order = gn_permutation_at(size, run->seed, GN_RNG_METHOD, unit, r);
    for (size_t i = 0; i < count; i++)
        out[i] = l->items[l->starts[s] + gn_permute(&order, i % size)];
}

/* The anchor of this turn goes first; it takes the place of its own repeat. */
static void put_first(uint32_t anchor, size_t m, uint32_t *anchors)
{
    size_t at = 0;
    for (size_t i = 0; i < m; i++)
        if (anchors[i] == anchor)
            at = i;
    anchors[at] = anchors[0];
    anchors[0] = anchor;
}

static void draw_unit(const gn_run *run, uint64_t unit, uint32_t *out)
{
    const cnc_state *state = run->state;
    size_t m = state->m, s = (size_t)(unit % run->classes), size = size_of(&state->anchors, s);
    uint64_t turn = unit / run->classes;
    const gn_permutation order =
        gn_permutation_at(size, run->seed, GN_RNG_METHOD, turn / size, ROLES + s);
    uint32_t first =
        state->anchors.items[state->anchors.starts[s] + gn_permute(&order, turn % size)];
    take(run, &state->anchors, s, unit, ANCHOR, m, out);
    put_first(first, m, out);
    take(run, &state->positives, s, unit, POSITIVE, m, out + m);
    take(run, &state->negatives, s, unit, NEGATIVE, m, out + 2 * m);
    size_t easy = (size_t)state->slices[out[m]];
    take(run, &state->anchors, easy, unit, ROLES - 1, m, out + 3 * m);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const cnc_state *state = run->state;
    if (gn_is_first_stage(run))
        return gn_shuffled_plan(run, k, plan);
    size_t size = ROLES * state->m;
    plan->everywhere = true;
    for (size_t u = 0; u < state->units; u++)
        draw_unit(run, (uint64_t)k * state->units + u, state->batch + u * size);
    plan->batches[plan->count++] =
        (gn_request){.samples = state->batch, .count = state->units * size};
    return GERNE_OK;
}

/* Samples first..first+count-1 of a batch as one of their own. */
static gn_minibatch part_of(const gn_minibatch *batch, size_t first, size_t count)
{
    gn_minibatch part = *batch;
    part.indices += first;
    part.samples.count = count;
    for (int f = 0; f < GN_FIELDS_MAX; f++)
        if (part.samples.fields[f])
            part.samples.fields[f] += first;
    part.samples.labels += first;
    part.samples.weights += first;
    part.samples.place += first;
    part.weights += first;
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        part.losses[i] += first;
        part.predictions[i] += first;
    }
    return part;
}

/* Rows from..from+count-1 of a part. */
static gn_loss_part rows_of(const gn_loss_part *part, size_t from, size_t count)
{
    gn_loss_part rows = *part;
    rows.first += from;
    rows.count = count;
    rows.logits += from * part->classes;
    rows.features += from * part->width;
    rows.losses = part->losses ? part->losses + from : NULL;
    rows.logit_gradient = part->logit_gradient ? part->logit_gradient + from * part->classes : NULL;
    rows.feature_gradient =
        part->feature_gradient ? part->feature_gradient + from * part->width : NULL;
    return rows;
}

/* The value of the loss of the last pass is not kept by gn_run_pass: noted here for the log. */
typedef struct noted_unit {
    gn_cnc_unit unit;
    double *value;
} noted_unit;

static double noted_loss(const void *given, const gn_loss_part *part)
{
    const noted_unit *noted = given;
    const gn_loss loss = gn_cnc_loss(&noted->unit);
    size_t size = ROLES * noted->unit.m;
    *noted->value = 0;
    for (size_t i = 0; i < part->count; i += size) {
        const gn_loss_part unit = rows_of(part, i, size);
        *noted->value += loss.evaluate(loss.terms, &unit);
    }
    return *noted->value;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const cnc_options *given = run->options;
    const cnc_state *state = run->state;
    size_t size = ROLES * state->m;
    double sum = 0;
    (void)k;
    if (gn_is_first_stage(run))
        return gn_plain_step(run, batch);
    for (size_t u = 0; u < state->units; u += state->at_once) {
        gn_minibatch part = part_of(batch, u * size, state->at_once * size);
        double value;
        const noted_unit terms = {{.m = state->m,
                                   .tau = given->tau,
                                   .lambda = given->lambda,
                                   .scale = 1 / (double)state->units,
                                   .labels = part.samples.labels,
                                   .weights = state->weights,
                                   .scratch = state->scratch},
                                  &value};
        const gn_loss loss = {.evaluate = noted_loss, .terms = &terms, .wants_features = true};
        if (u + state->at_once < state->units)
            gn_run_more(run, 0);
        GN_TRY(gn_run_pass(run, 0, &part, &loss, u > 0));
        sum += value;
    }
    gn_run_log(run, "loss", sum);
    gn_run_log(run, "cross_entropy", gn_mean(batch->losses[0], state->units * size));
    return gn_run_apply(run, 0);
}

static gerne_status finish(gn_run *run)
{
    cnc_state *state = run->state;
    GN_TRY(gn_predict_set(run, 0, GN_SET_TRAIN, state->slices));
    return gn_predict_set(run, 0, GN_SET_VALIDATION, state->slices + run->n);
}

static const char description[] =
    "Correct-n-contrast: a first model is trained briefly by ERM; the class s that it predicts is "
    "the slice of a sample. A second network learns features that are alike within a class, across "
    "slices, and unlike between classes, within a slice. A step consists of units of 4 m samples: "
    "anchors (class s, slice s), positives (class s, other slices), negatives (other classes, "
    "slice s) and easy negatives (anchors of the slice of the first positive).\n\n"
    "    c(u, P, N) = -1/m sum_(p in P) log( e(u, p) / sum_(v in P or N) e(u, v) )\n"
    "    e(u, v)    = exp(cos(u, v) / tau),  of the features before the head\n"
    "    L = lambda (c(first anchor, positives, negatives)\n"
    "                + c(first positive, anchors, easy negatives))\n"
    "        + (1 - lambda) mean CE over the unit\n\n"
    "first_epochs and first_decay should give a first model that relies on the shortcut. Every "
    "class needs samples that it classifies correctly and samples that it does not, and samples of "
    "other classes that it takes for it; otherwise the run fails and names the class. m is reduced "
    "to the smallest of these sets, with a warning. units is the number of units in a step; 0 "
    "takes as many as fit train.batch. Slices are predictions, as in the paper's text; its code "
    "clusters features. The paper trains with model.bn frozen; with a frozen body only the "
    "cross-entropy acts. Use it when no attributes are known and the first model makes enough "
    "errors. Attributes are not used in training, and select.metric bias_wga or bias_gba needs "
    "none in validation.";

const gn_method gn_method_cnc = {
    .name = "cnc",
    .paper = "Zhang et al. 2022",
    .title = "Correct-N-Contrast: A Contrastive Approach for Improving Robustness to Spurious "
             "Correlations",
    .summary = "contrasts samples that a first model confuses",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(cnc_options),
    .state_size = sizeof(cnc_state),
    .plain_batches = true,
    .val_cells = 1 << GN_CELLS_BIASED,
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
};
