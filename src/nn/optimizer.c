#include "nn/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define OPTION(key) offsetof(gn_optimizer_options, key)

const gn_option gn_optimizer_option_table[] = {
    {"optimizer", GN_CHOICE, OPTION(optimizer), .fallback = "sgd", .choices = "sgd|adam|adamw",
     .help = "optimiser"},
    {"lr", GN_REAL, OPTION(lr), .fallback = "0.01", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE | GN_LOG, .search_factor = 3.1622776601683795, /* half a decade */
     .help = "learning rate; adam and adamw usually need a tenth of sgd's"},
    {"momentum", GN_REAL, OPTION(momentum), .fallback = "0.9", .min = 0, .max = 1,
     .when = "optimizer sgd", .flags = GN_LENIENT | GN_TUNABLE | GN_OPEN_MAX,
     .help = "momentum of sgd"},
    {"weight_decay", GN_REAL, OPTION(weight_decay), .fallback = "0", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE | GN_LOG, .help = "weight decay: L2 in sgd and adam, decoupled in adamw"},
    {"schedule", GN_CHOICE, OPTION(schedule), .fallback = "constant",
     .choices = "constant|linear|step|cosine", .help = "learning-rate schedule"},
    {"schedule_every", GN_INT, OPTION(schedule_every), .fallback = "10000", .min = 1, .max = 1e15,
     .when = "schedule step", .flags = GN_LENIENT,
     .help = "schedule step: steps between two changes"},
    {"schedule_factor", GN_REAL, OPTION(schedule_factor), .fallback = "0.5", .min = 0, .max = 1,
     .when = "schedule step", .flags = GN_LENIENT | GN_OPEN_MIN,
     .help = "schedule step: factor on the learning rate at each change"},
    {"warmup", GN_REAL, OPTION(warmup), .min = 0, .max = 1, .flags = GN_OPEN_MAX,
     .help = "share of the steps during which the learning rate rises from 0 (default: 0)"},
    {"compat_bert_decay", GN_BOOL, OPTION(compat_bert_decay), .when = "optimizer adamw",
     .flags = GN_LENIENT,
     .help = "adamw on a transformer: decay biases and norms instead of matrices, as SubpopBench "
             "does"},
    {"clip", GN_REAL, OPTION(clip), .fallback = "0", .min = 0, .max = 1e9,
     .help = "gradient clipping: maximum norm; 0 is no limit"},
};
const size_t gn_optimizer_option_count =
    sizeof gn_optimizer_option_table / sizeof gn_optimizer_option_table[0];

double gn_learning_rate(const gn_optimizer_options *o, int64_t step, int64_t total)
{
    int64_t rising = (int64_t)ceil(o->warmup * (double)total);
    if (step < rising)
        return o->lr * (double)step / (double)rising;
    double done = total > rising ? (double)(step - rising) / (double)(total - rising) : 0;
    switch (o->schedule) {
    case GN_SCHEDULE_LINEAR:
        return o->lr * (1 - done);
    case GN_SCHEDULE_STEP:
        return o->lr * pow(o->schedule_factor, (double)(step / o->schedule_every));
    case GN_SCHEDULE_COSINE:
        return o->lr * 0.5 * (1 + cos(3.14159265358979323846 * done));
    default:
        return o->lr;
    }
}

struct gn_optimizer {
    gn_optimizer_options options;
    gn_block block;
    float *state; /* the momentum, or the two moments one after the other */
    size_t state_size;
    int64_t steps;
    gn_stretch whole, *stretches; /* NULL: the whole block */
    size_t stretch_count;
};

gerne_status gn_optimizer_new(gerne_ctx *ctx, const gn_optimizer_options *options, gn_block block,
                              gn_optimizer **out)
{
    GN_TRY(gn_alloc(ctx, 1, sizeof **out, "the optimiser", out));
    gn_optimizer *o = *out;
    o->options = *options;
    o->block = block;
    o->whole = (gn_stretch){0, block.size, true};
    bool plain = options->optimizer == GN_SGD && options->momentum == 0;
    o->state_size = plain ? 0 : options->optimizer == GN_SGD ? block.size : 2 * block.size;
    gerne_status status =
        gn_alloc_aligned(ctx, o->state_size, sizeof(float), "the optimiser's state", &o->state);
    if (status != GERNE_OK) {
        gn_free(o);
        *out = NULL;
    }
    return status;
}

void gn_optimizer_close(gn_optimizer *o)
{
    if (!o)
        return;
    gn_free(o->state);
    gn_free(o->stretches);
    gn_free(o);
}

gerne_status gn_optimizer_set_decay(gerne_ctx *ctx, gn_optimizer *o, const gn_stretch *stretches,
                                    size_t count)
{
    gn_stretch *copy;
    GN_TRY(gn_alloc(ctx, count, sizeof *copy, "the optimiser", &copy));
    memcpy(copy, stretches, count * sizeof *copy);
    gn_free(o->stretches);
    o->stretches = copy;
    o->stretch_count = count;
    return GERNE_OK;
}

float *gn_optimizer_state(gn_optimizer *o, size_t *size)
{
    *size = o->state_size;
    return o->state;
}

int64_t gn_optimizer_steps(const gn_optimizer *o)
{
    return o->steps;
}

void gn_optimizer_set_steps(gn_optimizer *o, int64_t steps)
{
    o->steps = steps;
}

double gn_gradient_norm(gn_block block)
{
    /* Partial sums over fixed pieces, added in order. */
    enum { PIECES = 256 };
    double partial[PIECES];
    size_t piece = (block.size + PIECES - 1) / PIECES;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < PIECES; p++) {
        double sum = 0;
        size_t end = (p + 1) * piece < block.size ? (p + 1) * piece : block.size;
        for (size_t i = p * piece; i < end; i++)
            sum += (double)block.gradients[i] * (double)block.gradients[i];
        partial[p] = sum;
    }
    double sum = 0;
    for (size_t p = 0; p < PIECES; p++)
        sum += partial[p];
    return sqrt(sum);
}

static void clip(gn_block block, double limit)
{
    double norm = gn_gradient_norm(block);
    if (norm <= limit)
        return;
    float factor = (float)(limit / (norm + 1e-6)); /* PyTorch's clip_grad_norm_ */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < block.size; i++)
        block.gradients[i] *= factor;
}

static double decay_of(const gn_optimizer *o, const gn_stretch *s)
{
    return s->decays ? o->options.weight_decay : 0;
}

static void step_sgd(gn_optimizer *o, double lr, const gn_stretch *s)
{
    float *restrict x = o->block.values + s->first;
    float *restrict m = o->state_size ? o->state + s->first : NULL;
    const float *restrict g = o->block.gradients + s->first;
    const float rate = (float)lr, decay = (float)decay_of(o, s);
    size_t n = s->count;
    if (!m) {
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < n; i++)
            x[i] -= rate * (g[i] + decay * x[i]);
        return;
    }
    const float momentum = (float)o->options.momentum;
    /* The state starts at zero, which makes the first step m = d as it should be. */
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        m[i] = momentum * m[i] + (g[i] + decay * x[i]);
        x[i] -= rate * m[i];
    }
}

static void step_adam(gn_optimizer *o, double lr, const gn_stretch *s)
{
    float *restrict x = o->block.values + s->first, *restrict m = o->state + s->first;
    float *restrict v = o->state + o->block.size + s->first;
    const float *restrict g = o->block.gradients + s->first;
    const float b1 = 0.9f, b2 = 0.999f, decay = (float)decay_of(o, s);
    double t = (double)(o->steps + 1);
    const float rate = (float)(lr / (1 - pow(0.9, t)));
    const float root = (float)(1 / sqrt(1 - pow(0.999, t)));
    size_t n = s->count;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        float d = g[i] + decay * x[i];
        m[i] = b1 * m[i] + (1 - b1) * d;
        v[i] = b2 * v[i] + (1 - b2) * d * d;
        x[i] -= rate * m[i] / (sqrtf(v[i]) * root + 1e-8f);
    }
}

/* The decay acts on the parameter that the moments have already moved. */
static void step_adamw(gn_optimizer *o, double lr, const gn_stretch *s)
{
    float *restrict x = o->block.values + s->first, *restrict m = o->state + s->first;
    float *restrict v = o->state + o->block.size + s->first;
    const float *restrict g = o->block.gradients + s->first;
    const float b1 = 0.9f, b2 = 0.999f;
    double t = (double)(o->steps + 1);
    const float rate = (float)(lr * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t)));
    const float decay = (float)(lr * decay_of(o, s));
    size_t n = s->count;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
        x[i] -= rate * m[i] / (sqrtf(v[i]) + 1e-8f);
        x[i] -= decay * x[i];
    }
}

void gn_optimizer_step(gn_optimizer *o, double lr)
{
    if (o->options.clip > 0)
        clip(o->block, o->options.clip);
    const gn_stretch *stretches = o->stretches ? o->stretches : &o->whole;
    for (size_t i = 0; i < (o->stretches ? o->stretch_count : 1); i++) {
        if (o->options.optimizer == GN_SGD)
            step_sgd(o, lr, &stretches[i]);
        else if (o->options.optimizer == GN_ADAM)
            step_adam(o, lr, &stretches[i]);
        else
            step_adamw(o, lr, &stretches[i]);
    }
    o->steps++;
}
