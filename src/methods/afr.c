/* afr.c - automatic feature reweighting: ERM on a part of the training split; on the rest its head
 * is fine-tuned by full-batch gradient descent, samples that it was unsure of weighing more. */
#include "methods/afr.h"

#include <math.h>
#include <string.h>

#include "methods/subsets.h"
#include "methods/two_stage.h"

typedef struct afr_options {
    double gamma, lambda, held_out, refit_lr;
    int64_t refit_steps;
} afr_options;

static const gn_option options[] = {
    {"gamma", GN_REAL, offsetof(afr_options, gamma), .fallback = "4", .min = 0, .max = 1000,
     .flags = GN_TUNABLE,
     .help = "weights are exp(-gamma p), p the probability of the right class"},
    {"lambda", GN_REAL, offsetof(afr_options, lambda), .fallback = "0", .min = 0, .max = 1000,
     .flags = GN_TUNABLE, .help = "factor of the squared distance from the first head"},
    {"held_out", GN_REAL, offsetof(afr_options, held_out), .fallback = "0.2", .min = 0, .max = 1,
     .flags = GN_OPEN_MIN | GN_OPEN_MAX,
     .help = "share of the training split that is kept for the second stage"},
    {"refit_lr", GN_REAL, offsetof(afr_options, refit_lr), .fallback = "0.01", .min = 0, .max = 100,
     .flags = GN_TUNABLE,
     .help = "learning rate of the second stage; 0: two over the largest curvature of its loss, "
             "which suits features of any scale"},
    {"refit_steps", GN_INT, offsetof(afr_options, refit_steps), .fallback = "500", .min = 1,
     .max = 1000000, .help = "steps of the second stage, each over all its samples"},
};

typedef struct afr_state {
    const gerne_sampler *sampler; /* first stage */
    const uint32_t *map;
    float *all_weights;    /* table [n]: 0 where a sample is not held out */
    gn_linear_head anchor; /* table: the first head */
    gn_featured samples;   /* second stage: those held out */
    float *weights;
    gn_linear_head head;
    gn_afr_scratch scratch;
    double lr;
} afr_state;

void gn_afr_weights(const float *probabilities, const int32_t *y, size_t n, size_t classes,
                    double gamma, size_t *sizes, float *weights)
{
    double sum = 0;
    memset(sizes, 0, classes * sizeof *sizes);
    for (size_t i = 0; i < n; i++)
        sizes[y[i]]++;
    for (size_t i = 0; i < n; i++) {
        double p = (double)probabilities[i * classes + (size_t)y[i]];
        double weight = exp(-gamma * p) * (double)n / (double)sizes[y[i]];
        weights[i] = (float)weight;
        sum += weight;
    }
    for (size_t i = 0; i < n; i++)
        weights[i] = (float)((double)weights[i] / sum);
}

/* One step of the power method: out = sum_i weights[i] <x_i, v> x_i with a 1 after each x_i, for
 * the bias; returns its length, and makes out of length 1. */
static double power_step(const gn_featured *samples, const float *weights, const double *v,
                         double *out)
{
    size_t width = samples->width;
    double length = 0;
    memset(out, 0, (width + 1) * sizeof *out);
    for (size_t i = 0; i < samples->n; i++) {
        const float *x = samples->x + i * width;
        double product = v[width];
        for (size_t j = 0; j < width; j++)
            product += (double)x[j] * v[j];
        product *= (double)weights[i];
        for (size_t j = 0; j < width; j++)
            out[j] += product * (double)x[j];
        out[width] += product;
    }
    for (size_t j = 0; j <= width; j++)
        length += out[j] * out[j];
    length = sqrt(length);
    for (size_t j = 0; length > 0 && j <= width; j++)
        out[j] /= length;
    return length;
}

double gn_afr_curvature(const gn_featured *samples, const float *weights, double lambda,
                        double *scratch)
{
    enum { ROUNDS = 20 };
    double *v = scratch, *next = scratch + samples->width + 1, largest = 0;
    for (size_t j = 0; j <= samples->width; j++)
        v[j] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        largest = power_step(samples, weights, v, next);
        double *swap = v;
        v = next;
        next = swap;
    }
    /* A softmax bends at most by a half; the column of the bias alone gives 1. */
    return fmax(largest, 1) / 2 + 2 * lambda;
}

/* lambda |x - anchor|^2, whose gradient is added; returns it. */
static double pull(const float *x, const float *anchor, size_t count, double lambda,
                   float *gradient)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)x[i] - (double)anchor[i];
        sum += d * d;
        gradient[i] += (float)(2 * lambda * d);
    }
    return lambda * sum;
}

static double squares(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void descend(float *x, const float *gradient, size_t count, double rate)
{
    for (size_t i = 0; i < count; i++)
        x[i] -= (float)(rate * (double)gradient[i]);
}

double gn_afr_step(const gn_featured *samples, const float *weights, const gn_linear_head *anchor,
                   double lambda, double lr, const gn_linear_head *head,
                   const gn_afr_scratch *scratch)
{
    const gn_linear_head *gradient = &scratch->gradient;
    size_t classes = samples->classes, size = classes * samples->width;
    gn_head_logits(samples, head, scratch->logits);
    double value = gn_head_loss(samples, weights, scratch->logits, scratch->losses);
    gn_head_gradient(samples, scratch->logits, gradient);
    value += pull(head->weights, anchor->weights, size, lambda, gradient->weights);
    value += pull(head->bias, anchor->bias, classes, lambda, gradient->bias);
    double length = sqrt(squares(gradient->weights, size) + squares(gradient->bias, classes));
    double rate = length > 1 ? lr / length : lr;
    descend(head->weights, gradient->weights, size, rate);
    descend(head->bias, gradient->bias, classes, rate);
    return value;
}

static int stages(const gn_run *run, gn_stage *list)
{
    const afr_options *given = run->options;
    list[0] = gn_erm_stage();
    list[1] = gn_head_stage("head");
    list[1].start = GN_START_PREVIOUS;
    list[1].steps = given->refit_steps;
    return 2;
}

static gerne_status check(gn_run *run)
{
    const afr_options *given = run->options;
    for (uint32_t y = 0; y < run->classes; y++) {
        uint64_t count = 0;
        for (uint32_t a = 0; a < run->attributes; a++)
            count += gerne_groups_count(run->groups, y, a);
        if (given->held_out * (double)count + 1e-9 >= 1)
            continue;
        gn_fail(run->ctx, GERNE_EUSAGE,
                "method.held_out: %g of the %llu samples of class %u are none: afr has nothing to "
                "fit it on",
                given->held_out, (unsigned long long)count, y);
        gn_hint(run->ctx, "raise --method.held_out");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

/* Which samples the first stage leaves to the second. */
static gerne_status hold_out(gn_run *run, bool **out)
{
    const afr_options *given = run->options;
    const gn_grouped classes = gn_run_by_class(run);
    size_t *sizes;
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *sizes, &sizes));
    GN_TRY(gn_run_alloc(run, run->n, sizeof **out, out));
    gn_permutation order = gn_permutation_at(run->n, run->seed, GN_RNG_METHOD, 0, 0);
    gn_take_share(&classes, &order, given->held_out, sizes, *out);
    return GERNE_OK;
}

static gerne_status start_first(gn_run *run)
{
    afr_state *state = run->state;
    const gerne_groups *groups;
    bool *held;
    uint32_t *map;
    int32_t *y;
    size_t count = 0;
    GN_TRY(hold_out(run, &held));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *map, &map));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *y, &y));
    for (size_t i = 0; i < run->n; i++)
        if (!held[i]) {
            y[count] = run->y[i];
            map[count++] = (uint32_t)i;
        }
    if (count < run->batch)
        return gn_fail(run->ctx, GERNE_EUSAGE,
                       "a batch of %u samples, but method.held_out leaves %zu to the first stage",
                       run->batch, count);
    state->map = map;
    run->epoch_samples = count;
    GN_TRY(gn_run_groups(run, y, NULL, count, 1, &groups));
    return gn_run_sampler(run, groups, &(gerne_sampler_options){.drop_last = true},
                          &state->sampler);
}

static gerne_status start(gn_run *run)
{
    afr_state *state = run->state;
    size_t size = (size_t)run->classes * run->width;
    GN_TRY(gn_run_table(run, "weights", run->n, 0, &state->all_weights));
    GN_TRY(gn_run_table(run, "anchor", size + run->classes, 0, &state->anchor.weights));
    state->anchor.bias = state->anchor.weights + size;
    if (!run->stage->head_only)
        return start_first(run);
    run->epoch_samples = 10 * (size_t)run->batch; /* the head is judged after every tenth step */
    return GERNE_OK;
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const afr_state *state = run->state;
    (void)k;
    if (state->sampler)
        plan->batches[plan->count++] =
            (gn_request){.sampler = state->sampler, .draw = GERNE_DRAW_SHUFFLED, .map = state->map};
    return GERNE_OK;
}

/* The weights of those held out, and the head that the second stage starts from. */
static gerne_status finish(gn_run *run)
{
    const afr_options *given = run->options;
    afr_state *state = run->state;
    size_t classes = run->classes, count = 0, *sizes;
    bool *held;
    float *logits, *weights;
    int32_t *y;
    GN_TRY(hold_out(run, &held));
    GN_TRY(gn_run_alloc(run, run->n * classes, sizeof *logits, &logits));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *weights, &weights));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *y, &y));
    GN_TRY(gn_run_alloc(run, classes, sizeof *sizes, &sizes));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, logits, NULL));
    for (size_t i = 0; i < run->n; i++)
        if (held[i]) {
            memmove(logits + count * classes, logits + i * classes, classes * sizeof *logits);
            y[count++] = run->y[i];
        }
    gn_softmax(logits, count, classes);
    gn_afr_weights(logits, y, count, classes, given->gamma, sizes, weights);
    for (size_t i = 0, at = 0; i < run->n; i++)
        state->all_weights[i] = held[i] ? weights[at++] : 0;
    return gn_run_get_head(run, 0, state->anchor.weights, state->anchor.bias);
}

/* Features of those held out, when the second stage takes its first step in this process. */
static gerne_status infer(gn_run *run)
{
    const afr_options *given = run->options;
    afr_state *state = run->state;
    size_t classes = run->classes, width = run->width, count = 0;
    float *x;
    int32_t *y;
    double *vectors;
    GN_TRY(gn_run_alloc(run, run->n * width, sizeof *x, &x));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *y, &y));
    GN_TRY(gn_run_alloc(run, run->n, sizeof(float), &state->weights));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, NULL, x));
    for (size_t i = 0; i < run->n; i++)
        if (state->all_weights[i] > 0) {
            memmove(x + count * width, x + i * width, width * sizeof *x);
            state->weights[count] = state->all_weights[i];
            y[count++] = run->y[i];
        }
    state->samples = (gn_featured){x, y, count, width, classes};
    GN_TRY(gn_run_alloc(run, 2 * (width + 1), sizeof *vectors, &vectors));
    state->lr = given->refit_lr > 0
                    ? given->refit_lr
                    : 2 / gn_afr_curvature(&state->samples, state->weights, given->lambda, vectors);
    gn_afr_scratch *scratch = &state->scratch;
    GN_TRY(gn_run_alloc(run, classes * width, sizeof(float), &state->head.weights));
    GN_TRY(gn_run_alloc(run, classes, sizeof(float), &state->head.bias));
    GN_TRY(gn_run_alloc(run, classes * width, sizeof(float), &scratch->gradient.weights));
    GN_TRY(gn_run_alloc(run, classes, sizeof(float), &scratch->gradient.bias));
    GN_TRY(gn_run_alloc(run, count * classes, sizeof(float), &scratch->logits));
    return gn_run_alloc(run, count, sizeof(float), &scratch->losses);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const afr_options *given = run->options;
    afr_state *state = run->state;
    (void)k;
    if (!run->stage->head_only)
        return gn_plain_step(run, batch);
    if (!state->samples.x)
        GN_TRY(infer(run));
    GN_TRY(gn_run_get_head(run, 0, state->head.weights, state->head.bias));
    gn_run_log(run, "loss",
               gn_afr_step(&state->samples, state->weights, &state->anchor, given->lambda,
                           state->lr, &state->head, &state->scratch));
    gn_run_log(run, "refit_lr", state->lr);
    return gn_run_set_head(run, 0, state->head.weights, state->head.bias);
}

static const char description[] =
    "Automatic feature reweighting: ERM trains the network on a part of the training split. On the "
    "rest, the fraction held_out of every class, its head is fine-tuned by full-batch gradient "
    "descent, and samples weigh more the less probable the first model finds their class.\n\n"
    "    w_i = exp(-gamma p_i[y_i]) / n_(y_i),  then w <- w / sum_j w_j\n"
    "    L   = sum_i w_i CE_i + lambda (|W - W_0|^2 + |b - b_0|^2)\n\n"
    "p is that of the first model and n_y counts held-out samples; the fit starts from the head "
    "(W_0, b_0) of the first model. refit_steps and refit_lr set its length and learning rate; "
    "gradients are clipped to norm 1. A larger gamma favours hard samples, a larger lambda keeps "
    "the head near its start. It assumes that ERM learns useful features for all groups and is "
    "unsure where the shortcut fails. Attributes are not used in training, but those of the "
    "validation split help to choose gamma and lambda: use it when only that split has them.";

const gn_method gn_method_afr = {
    .name = "afr",
    .paper = "Qiu et al. 2023",
    .title = "Simple and Fast Group Robustness by Automatic Feature Reweighting",
    .summary = "fine-tunes the head of an ERM network on hard, held-out samples",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(afr_options),
    .state_size = sizeof(afr_state),
    .plain_batches = true,
    .stages = stages,
    .check = check,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
};
