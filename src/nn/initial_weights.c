#include "nn/initial_weights.h"

#include <math.h>

#include "base/rng.h"

static void fill_uniform(float *values, int64_t size, double limit, gn_stream *stream)
{
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((2.0 * gn_random_uniform(stream) - 1.0) * limit);
}

static void fill_normal(float *values, int64_t size, double deviation, gn_stream *stream)
{
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)(deviation * gn_random_normal(stream));
}

/* Within two deviations. */
static void fill_truncated(float *values, int64_t size, double deviation, gn_stream *stream)
{
    for (int64_t i = 0; i < size; i++) {
        double x;
        do
            x = gn_random_normal(stream);
        while (fabs(x) > 2);
        values[i] = (float)(deviation * x);
    }
}

static void fill_constant(float *values, int64_t size, float value)
{
    for (int64_t i = 0; i < size; i++)
        values[i] = value;
}

/* weights: the layer's weight parameter (a bias is drawn like the weights it stands beside). */
static void draw(gn_initialization rule, const gn_parameter *p, const gn_parameter *weights,
                 float *values, gn_stream *stream)
{
    double fan_in = (double)weights->size / (double)weights->dims[0];
    double fan_out = (double)weights->size / (double)weights->dims[weights->ndims > 1 ? 1 : 0];
    bool convolution = p->ndims == 4;
    if (p->role == GN_SCALE || p->role == GN_VARIANCE)
        fill_constant(values, p->size, 1);
    else if (p->role == GN_SHIFT || p->role == GN_MEAN ||
             (rule == GN_INIT_TRUNCATED && p->role == GN_BIAS))
        fill_constant(values, p->size, 0);
    else if (rule == GN_INIT_TRUNCATED)
        fill_truncated(values, p->size, 0.02, stream);
    else if (p->role == GN_WEIGHT && rule == GN_INIT_FAN_OUT && convolution)
        fill_normal(values, p->size, sqrt(2.0 / fan_out), stream);
    else if (p->role == GN_WEIGHT && rule == GN_INIT_FAN_IN)
        fill_normal(values, p->size, sqrt(2.0 / fan_in), stream);
    else
        fill_uniform(values, p->size, 1.0 / sqrt(fan_in), stream);
}

/* The weights of a parameter's layer: its own, or those that it follows. */
static const gn_parameter *weights_of(const gn_store *store, int i)
{
    while (i > 0 && gn_store_parameter(store, i)->role != GN_WEIGHT)
        i--;
    return gn_store_parameter(store, i);
}

typedef struct drawing {
    gerne_ctx *ctx;
    gn_store *store;
    gn_initialization rule;
    uint64_t seed;
    gerne_status status; /* the first that is not GERNE_OK */
} drawing;

/* Only the numbers are drawn side by side: a ctx and a store are for one thread at a time. */
static void draw_parameter(drawing *d, int i)
{
    const gn_parameter *p = gn_store_parameter(d->store, i);
    GN_FREED float *values = NULL;
    gerne_status status;
#pragma omp critical(gn_initial_weights)
    status = gn_alloc(d->ctx, (size_t)p->size, sizeof *values, p->name, &values);
    if (status == GERNE_OK) {
        gn_stream stream = gn_stream_at(d->seed, GN_RNG_INIT, 0, (uint64_t)i);
        draw(d->rule, p, weights_of(d->store, i), values, &stream);
    }
#pragma omp critical(gn_initial_weights)
    {
        if (status == GERNE_OK)
            status = gn_store_set(d->ctx, d->store, i, values);
        if (d->status == GERNE_OK)
            d->status = status;
    }
}

gerne_status gn_draw_weights(gerne_ctx *ctx, gn_store *store, gn_initialization rule, int graph,
                             uint64_t seed)
{
    drawing d = {.ctx = ctx, .store = store, .rule = rule, .seed = seed, .status = GERNE_OK};
    int count = gn_store_count(store);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < count; i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        if (p->role != GN_FIXED && p->graph >= graph)
            draw_parameter(&d, i);
    }
    return d.status;
}
