/* self.c - last-layer retraining with few or no group labels. ERM with class-balanced batches; then
 * the head is fine-tuned on those samples of one half of the validation split on which the model
 * disagrees most with an earlier or a thinned self (SELF), or trained anew on all of that half,
 * class-balanced. */
#include "methods/self.h"

#include <math.h>

#include "methods/linear_head.h"
#include "methods/subsets.h"
#include "methods/two_stage.h"

typedef enum variant { EARLY_STOP, DROPOUT, MISCLASSIFICATION, CLASS_BALANCED } variant;

typedef struct self_options {
    int variant;
    double early, dropout, refit_lr, refit_epochs;
    int64_t points, refit_steps;
} self_options;

static const gn_option options[] = {
    {"variant", GN_CHOICE, offsetof(self_options, variant), .fallback = "early_stop",
     .choices = "early_stop|dropout|misclassification|class_balanced",
     .help =
         "fine-tune on the samples with the most disagreement with an early checkpoint, or with "
         "features dropped, or with the largest loss; class_balanced: a fresh head on all"},
    {"early", GN_REAL, offsetof(self_options, early), .fallback = "0.1", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "early_stop: when the early checkpoint is taken, as a share of the first stage"},
    {"dropout", GN_REAL, offsetof(self_options, dropout), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX, .help = "dropout: share of features dropped"},
    {"points", GN_INT, offsetof(self_options, points), .fallback = "0", .min = 0, .max = 1000000,
     .flags = GN_TUNABLE,
     .help = "samples to fine-tune on (the paper tries 20, 100 and 500); 0: 50 for each class, but "
             "at most half of those that it may choose from"},
    {"refit_lr", GN_REAL, offsetof(self_options, refit_lr), .fallback = "0", .min = 0, .max = 100,
     .flags = GN_TUNABLE,
     .help = "learning rate of fine-tuning (the paper tries 0.0001 to 0.01); 0: train.lr"},
    {"refit_steps", GN_INT, offsetof(self_options, refit_steps), .fallback = "250", .min = 1,
     .max = 1000000, .help = "steps of fine-tuning"},
    {"refit_epochs", GN_REAL, offsetof(self_options, refit_epochs), .fallback = "100", .min = 0,
     .max = 1e6, .flags = GN_OPEN_MIN,
     .help = "class_balanced: epochs of the head, with the rate of the first stage"},
};

typedef struct self_state {
    /* What batches are drawn from: samples by class, of the classes that have any. */
    uint32_t *pool;
    size_t *first; /* [present + 1] */
    size_t present;
    uint32_t *drawn; /* [batch], of a step */
    float *early;    /* table [validation][classes]: early logits */
    float *scores;   /* table [validation] */
} self_state;

void gn_disagreement(const float *early, const float *final, size_t n, size_t classes,
                     float *scores)
{
    const double least = 1e-30;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < classes; k++) {
            double p = (double)early[i * classes + k], q = (double) final[i * classes + k];
            if (p > 0)
                sum += p * log(p / fmax(q, least));
        }
        scores[i] = (float)(sum / (double)classes);
    }
}

/* Heap sort: no memory, and never slow. The root is what should come last. */
static bool comes_first(const float *scores, uint32_t a, uint32_t b)
{
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

static void sift(const float *scores, uint32_t *items, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && comes_first(scores, items[child], items[child + 1]))
            child++;
        if (!comes_first(scores, items[root], items[child]))
            return;
        uint32_t item = items[root];
        items[root] = items[child];
        items[child] = item;
    }
}

void gn_highest_first(const float *scores, uint32_t *items, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(scores, items, i, count);
    for (size_t end = count; end-- > 1;) {
        uint32_t item = items[0];
        items[0] = items[end];
        items[end] = item;
        sift(scores, items, 0, end);
    }
}

static int stages(const gn_run *run, gn_stage *list)
{
    const self_options *given = run->options;
    bool fresh = given->variant == CLASS_BALANCED;
    list[0] = gn_erm_stage();
    list[1] = gn_head_stage("head");
    list[1].on_validation = true;
    list[1].start = fresh ? GN_START_PREVIOUS_BODY : GN_START_PREVIOUS;
    list[1].steps = fresh ? 0 : given->refit_steps;
    list[1].epochs = fresh ? given->refit_epochs : 0;
    list[1].lr = fresh ? 0 : given->refit_lr;
    return 2;
}

static gerne_status check(gn_run *run)
{
    const self_options *given = run->options;
    size_t half = gn_run_labelled(run, GN_SET_VALIDATION).n / 2;
    if (given->variant == CLASS_BALANCED || half == 0 || (size_t)given->points <= half)
        return GERNE_OK; /* without validation samples the run says so itself */
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method.points: %lld samples, but half of the validation split has %zu",
            (long long)given->points, half);
    gn_hint(run->ctx, "lower --method.points, or hold out more with --data.val");
    return GERNE_EUSAGE;
}

/* Sorts the items into the pool by class. */
static gerne_status make_pool(gn_run *run, const uint32_t *items, size_t count)
{
    self_state *state = run->state;
    size_t at = 0;
    GN_TRY(gn_run_alloc(run, count + 1, sizeof *state->pool, &state->pool));
    GN_TRY(gn_run_alloc(run, (size_t)run->classes + 1, sizeof *state->first, &state->first));
    GN_TRY(gn_run_alloc(run, run->batch, sizeof *state->drawn, &state->drawn));
    for (uint32_t y = 0; y < run->classes; y++) {
        state->first[state->present] = at;
        for (size_t i = 0; i < count; i++)
            if (run->y[items ? items[i] : i] == (int32_t)y)
                state->pool[at++] = items ? items[i] : (uint32_t)i;
        state->present += at > state->first[state->present];
    }
    state->first[state->present] = at;
    if (state->present < run->classes)
        gn_warn(run->ctx, "self: %u of %u classes are among the %zu samples to fine-tune on",
                (unsigned)state->present, run->classes, count);
    return GERNE_OK;
}

/* How many of so many samples the head is fine-tuned on. */
static size_t points_of(const gn_run *run, size_t count)
{
    const self_options *given = run->options;
    size_t usual = 50 * (size_t)run->classes, most = count > 1 ? count / 2 : count;
    if (given->points)
        return (size_t)given->points < count ? (size_t)given->points : count;
    return usual < most ? usual : most;
}

/* The half of the validation split that the head is trained on, and its best samples. The other
 * half selects. */
static gerne_status choose_samples(gn_run *run)
{
    const self_options *given = run->options;
    const self_state *state = run->state;
    const gn_grouped classes = gn_run_by_class(run);
    size_t *sizes, count = 0;
    uint32_t *items;
    bool *half;
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *sizes, &sizes));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *items, &items));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *half, &half));
    gn_permutation order = gn_permutation_at(run->n, run->seed, GN_RNG_METHOD, 0, 0);
    gn_take_share(&classes, &order, 0.5, sizes, half);
    for (size_t i = 0; i < run->n; i++)
        if (half[i])
            items[count++] = (uint32_t)i;
    run->epoch_samples = count;
    for (size_t i = 0; i < run->n; i++)
        half[i] = !half[i];
    GN_TRY(gn_run_judge_on(run, half));
    if (given->variant != CLASS_BALANCED) {
        gn_highest_first(state->scores, items, count);
        count = points_of(run, count);
    }
    if (count == 0)
        return gn_fail(run->ctx, GERNE_EUSAGE, "half of the validation split has no samples");
    return make_pool(run, items, count);
}

static gerne_status start(gn_run *run)
{
    self_state *state = run->state;
    size_t n = gn_run_labelled(run, GN_SET_VALIDATION).n;
    GN_TRY(gn_run_table(run, "early", n * run->classes, 0, &state->early));
    GN_TRY(gn_run_table(run, "self_scores", n, 0, &state->scores));
    return run->stage->head_only ? choose_samples(run) : make_pool(run, NULL, run->n);
}

/* Every sample of a batch is of a uniform class, and uniform inside it. */
static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const self_state *state = run->state;
    gn_stream stream = gn_stream_at(run->seed, GN_RNG_METHOD, (uint64_t)k, 1);
    for (uint32_t i = 0; i < run->batch; i++) {
        size_t c = (size_t)gn_random_below(&stream, state->present);
        size_t size = state->first[c + 1] - state->first[c];
        state->drawn[i] = state->pool[state->first[c] + gn_random_below(&stream, size)];
    }
    plan->batches[plan->count++] = (gn_request){.samples = state->drawn, .count = run->batch};
    return GERNE_OK;
}

static bool is_early(const gn_run *run, int64_t k)
{
    const self_options *given = run->options;
    int64_t at = (int64_t)ceil(given->early * (double)run->steps - 1e-9);
    return !run->stage->head_only && given->variant == EARLY_STOP && k + 1 == (at < 1 ? 1 : at);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    self_state *state = run->state;
    GN_TRY(gn_plain_step(run, batch));
    return is_early(run, k) ? gn_run_infer(run, 0, GN_SET_VALIDATION, state->early, NULL)
                            : GERNE_OK;
}

/* The final head on features of which some are zero and the others scaled up. */
static gerne_status infer_dropped(gn_run *run, gn_featured *samples)
{
    const self_options *given = run->options;
    self_state *state = run->state;
    gn_linear_head head;
    float *x;
    GN_TRY(gn_run_alloc(run, samples->n * run->width, sizeof *x, &x));
    GN_TRY(gn_run_alloc(run, run->classes * run->width, sizeof(float), &head.weights));
    GN_TRY(gn_run_alloc(run, run->classes, sizeof(float), &head.bias));
    GN_TRY(gn_run_infer(run, 0, GN_SET_VALIDATION, NULL, x));
    for (size_t i = 0; i < samples->n; i++) {
        gn_stream stream = gn_stream_at(run->seed, GN_RNG_METHOD, i, 2);
        for (size_t j = 0; j < run->width; j++) {
            bool drop = gn_random_uniform(&stream) < given->dropout;
            x[i * run->width + j] *= drop ? 0.0f : (float)(1 / (1 - given->dropout));
        }
    }
    samples->x = x;
    GN_TRY(gn_run_get_head(run, 0, head.weights, head.bias));
    gn_head_logits(samples, &head, state->early);
    return GERNE_OK;
}

static gerne_status finish(gn_run *run)
{
    const self_options *given = run->options;
    self_state *state = run->state;
    gn_labelled split = gn_run_labelled(run, GN_SET_VALIDATION);
    gn_featured samples = {NULL, split.y, split.n, run->width, run->classes};
    float *logits;
    GN_TRY(gn_run_alloc(run, split.n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_infer(run, 0, GN_SET_VALIDATION, logits, NULL));
    if (given->variant == MISCLASSIFICATION) {
        gn_head_loss(&samples, NULL, logits, state->scores);
        return GERNE_OK;
    }
    if (given->variant == DROPOUT)
        GN_TRY(infer_dropped(run, &samples));
    gn_softmax(logits, split.n, run->classes);
    gn_softmax(state->early, split.n, run->classes);
    gn_disagreement(state->early, logits, split.n, run->classes, state->scores);
    return GERNE_OK;
}

static const char description[] =
    "Selective last-layer fine-tuning: ERM on class-balanced batches; then the head is fine-tuned, "
    "again class-balanced, on those samples of one half of the validation split on which the model "
    "disagrees most with an earlier or thinned self.\n\n"
    "    score_i = 1/K sum_k p'_i[k] log(p'_i[k] / p_i[k])\n"
    "    L = mean CE_i over the samples with the largest scores\n\n"
    "p is the final model; p' is the model after the fraction early of the first stage (variant "
    "early_stop), or the final one with the fraction dropout of its features dropped (dropout); "
    "variant misclassification scores by CE_i. The head is trained on the points highest scores, "
    "for refit_steps at refit_lr. Variant class_balanced trains a fresh head on the whole half "
    "instead, for refit_epochs at the learning rate of the run. It assumes that ERM learns useful "
    "features for all groups and changes its mind on the rare ones. Use it when no attributes are "
    "known: it needs labels in validation, but no attributes. The other half of the validation "
    "split selects the checkpoint.";

const gn_method gn_method_self = {
    .name = "self",
    .paper = "LaBonte et al. 2023",
    .title = "Towards Last-layer Retraining for Group Robustness with Fewer Annotations",
    .summary = "fine-tunes the head of an ERM network on a few validation samples",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .validation = GN_VALIDATION_FITS_LABELS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(self_options),
    .state_size = sizeof(self_state),
    .plain_batches = true,
    .stages = stages,
    .check = check,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
};
