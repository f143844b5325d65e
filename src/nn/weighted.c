#include "nn/weighted.h"

#include <string.h>

#include "nn/loss.h"

/* The hot loop of small networks; compiled for wide vectors too and chosen at run time. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GN_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define GN_WIDE
#endif

/* [pixel][channel] bytes -> [channel][pixel] floats. */
GN_WIDE static void unpack_planes(const uint8_t *restrict bytes, size_t pixels, size_t channels,
                                  size_t channel, float scale, float shift, float *restrict out)
{
    if (channels == 3) {
        for (size_t i = 0; i < pixels; i++)
            out[i] = (float)bytes[3 * i + channel] * scale + shift;
        return;
    }
    for (size_t i = 0; i < pixels; i++)
        out[i] = (float)bytes[channels * i + channel] * scale + shift;
}

void gn_load_samples(gn_network *network, const gn_samples *samples, size_t first, size_t n)
{
    float *input = gn_network_input(network);
    size_t size = (size_t)gn_network_input_size(network);
    size_t batch = (size_t)gn_network_batch(network);
    gn_sample_shape shape = gn_network_shape(network);
    size_t channels = (size_t)shape.channels, pixels = size / (channels ? channels : 1);
    gn_network_set_masks(network, samples->step, samples->place + first);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < batch; i++) {
        float *row = input + i * size;
        if (i >= n)
            memset(row, 0, size * sizeof *row);
        else if (samples->pixels)
            for (size_t c = 0; c < channels; c++)
                unpack_planes(samples->pixels[first + i], pixels, channels, c, samples->scale[c],
                              samples->shift[c], row + c * pixels);
        else
            memcpy(row, samples->features[first + i], size * sizeof *row);
    }
}

static void take_outcome(gn_network *network, size_t first, size_t n, const gn_outcome *outcome)
{
    size_t classes = (size_t)gn_network_classes(network);
    size_t features = (size_t)gn_network_feature_count(network);
    if (outcome->logits)
        memcpy(outcome->logits + first * classes, gn_logits(network), n * classes * sizeof(float));
    if (outcome->features)
        memcpy(outcome->features + first * features, gn_features(network),
               n * features * sizeof(float));
}

static void take_losses(gn_network *network, const gn_samples *samples, size_t first, size_t n,
                        const gn_outcome *outcome, float *gradient)
{
    gn_cross_entropy(gn_logits(network), n, (size_t)gn_network_classes(network),
                     samples->labels + first, samples->weights ? samples->weights + first : NULL,
                     outcome->losses ? outcome->losses + first : NULL,
                     outcome->predictions ? outcome->predictions + first : NULL, gradient);
}

/* Without weights every sample counts 1 / count; padding counts nothing. */
static void finish_gradient(gn_network *network, const gn_samples *samples, size_t n)
{
    size_t classes = (size_t)gn_network_classes(network);
    float *gradient = gn_logit_gradient(network);
    if (!samples->weights) {
        float weight = 1.0f / (float)samples->count;
        for (size_t i = 0; i < n * classes; i++)
            gradient[i] *= weight;
    }
    size_t batch = (size_t)gn_network_batch(network);
    memset(gradient + n * classes, 0, (batch - n) * classes * sizeof *gradient);
}

static gerne_status check(gerne_ctx *ctx, const gn_network *network, const gn_samples *samples)
{
    size_t batch = (size_t)gn_network_batch(network);
    if (gn_network_couples_samples(network) && samples->count != batch)
        return gn_fail(ctx, GERNE_EINTERNAL,
                       "a batch of %zu samples on a network that was built for %zu", samples->count,
                       batch);
    return GERNE_OK;
}

gerne_status gn_weighted_pass(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                              bool accumulate, const gn_outcome *outcome)
{
    GN_TRY(check(ctx, network, samples));
    GN_TRY(gn_network_set_mode(ctx, network, GN_MODE_TRAIN));
    size_t batch = (size_t)gn_network_batch(network);
    for (size_t first = 0; first < samples->count; first += batch) {
        size_t n = samples->count - first < batch ? samples->count - first : batch;
        bool add = accumulate || first > 0;
        gn_load_samples(network, samples, first, n);
        GN_TRY(gn_body_forward(ctx, network));
        GN_TRY(gn_head_forward(ctx, network, NULL));
        take_outcome(network, first, n, outcome);
        take_losses(network, samples, first, n, outcome, gn_logit_gradient(network));
        finish_gradient(network, samples, n);
        GN_TRY(gn_head_backward(ctx, network, add));
        GN_TRY(gn_body_backward(ctx, network, NULL, add));
    }
    return GERNE_OK;
}

gerne_status gn_forward_pass(gerne_ctx *ctx, gn_network *network, gn_mode mode,
                             const gn_samples *samples, const gn_outcome *outcome)
{
    GN_TRY(gn_network_set_mode(ctx, network, mode));
    size_t batch = (size_t)gn_network_batch(network);
    for (size_t first = 0; first < samples->count; first += batch) {
        size_t n = samples->count - first < batch ? samples->count - first : batch;
        gn_load_samples(network, samples, first, n);
        GN_TRY(gn_body_forward(ctx, network));
        GN_TRY(gn_head_forward(ctx, network, NULL));
        take_outcome(network, first, n, outcome);
        if (samples->labels)
            take_losses(network, samples, first, n, outcome, NULL);
    }
    return GERNE_OK;
}

gerne_status gn_infer(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                      const gn_outcome *outcome)
{
    return gn_forward_pass(ctx, network, GN_MODE_INFER, samples, outcome);
}
