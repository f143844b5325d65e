/* weighted.h - the pass that ERM, Resampling and GERNE share: the gradient of sum_i w_i CE_i over
 * any number of samples, in micro-batches of the network's size, with signed weights. */
#ifndef GN_NN_WEIGHTED_H
#define GN_NN_WEIGHTED_H

#include "nn/network.h"

enum { GN_CHANNELS_MAX = 4 };

/* Samples where they lie: pixels as bytes [height][width][channels], or features as floats. */
typedef struct gn_samples {
    size_t count;
    const uint8_t *const *pixels; /* one pointer a sample, or NULL */
    const float *const *features; /* one pointer a sample, when pixels is NULL */
    float scale[GN_CHANNELS_MAX], shift[GN_CHANNELS_MAX]; /* value = byte * scale + shift */
    const int32_t *labels;
    const float *weights; /* NULL: 1 / count each */
    uint64_t step, place; /* of the first sample, for model.dropout: see gn_network_set_masks */
} gn_samples;

/* What a pass gives back; any may be NULL. */
typedef struct gn_outcome {
    float *losses;        /* [count] */
    int32_t *predictions; /* [count] */
    float *logits;        /* [count][classes] */
    float *features;      /* [count][features] */
} gn_outcome;

/* Puts samples first..first+n-1 into the network's input; the rest of the batch is zero. */
void gn_load_samples(gn_network *network, const gn_samples *samples, size_t first, size_t n);

/* Forward and backward; gradients are replaced, or added to when accumulate is set. A network that
 * couples its samples takes exactly gn_network_batch samples. */
GERNE_CHECKED gerne_status gn_weighted_pass(gerne_ctx *ctx, gn_network *network,
                                            const gn_samples *samples, bool accumulate,
                                            const gn_outcome *outcome);

/* Forward only, in a mode that does not couple samples; labels may be NULL when neither losses nor
 * predictions of a known class are asked for. */
GERNE_CHECKED gerne_status gn_forward_pass(gerne_ctx *ctx, gn_network *network, gn_mode mode,
                                           const gn_samples *samples, const gn_outcome *outcome);

/* The same in inference mode. */
GERNE_CHECKED gerne_status gn_infer(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                                    const gn_outcome *outcome);

#endif
