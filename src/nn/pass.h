/* pass.h - a batch through a network: loaded, forward, loss, backward; in micro-batches of the
 * network's size, any number of samples at a time.
 *
 *     gn_pass_step(ctx, network, &samples, loss, false, &outcome)    forward and backward
 *     gn_pass_forward(ctx, network, GN_MODE_INFER, &samples, loss, &outcome)
 *
 * Losses whose terms need all logits of the batch first run gn_pass_forward in GN_MODE_TRAIN, then
 * gn_pass_backward: what fits the network is not computed a second time.
 */
#ifndef GN_NN_PASS_H
#define GN_NN_PASS_H

#include "nn/loss.h"
#include "nn/network.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

enum { GN_CHANNELS_MAX = 4 };

/* The rectangle that a cutmix takes from the other picture: rows top..bottom-1, columns
 * left..right-1; empty when bottom is 0. */
typedef struct gn_box {
    uint16_t top, left, bottom, right;
} gn_box;

/* Inputs made of two sources. Without boxes sample i is share[i] times its own source and the rest
 * of the other one; with boxes it is its own source outside its box. */
typedef struct gn_mixture {
    const void *const *fields[GN_FIELDS_MAX]; /* the other sources, one pointer a sample */
    const int32_t *labels;                    /* of the other sources */
    const float *share;                       /* of the own source in the target */
    const gn_box *boxes;                      /* or NULL */
} gn_mixture;

/* Samples where they lie: by field of the network's shape one pointer a sample. Pixels are bytes
 * [height][width][channels], features floats or halves, tokens and their number int32_t. */
typedef struct gn_samples {
    size_t count;
    const void *const *fields[GN_FIELDS_MAX];
    float scale[GN_CHANNELS_MAX], shift[GN_CHANNELS_MAX]; /* of pixels: byte * scale + shift */
    const int32_t *labels;
    const float *weights;      /* NULL: equal ones that sum to 1 */
    const gn_mixture *mixture; /* or NULL */
    uint64_t step, place; /* of the first sample, for model.dropout: see gn_network_set_masks */
    bool in_pairs;        /* samples 2i and 2i+1 run at once, in a network of at least two */
} gn_samples;

/* The cross-entropy that the samples' own labels, weights and mixture ask for. */
gn_cross_entropy gn_samples_terms(const gn_samples *samples);

/* What a pass gives back; any may be NULL. */
typedef struct gn_outcome {
    float *losses;        /* [count] */
    double *value;        /* of the loss, with losses */
    int32_t *predictions; /* [count] */
    float *logits;        /* [count][classes] */
    float *features;      /* [count][features] */
} gn_outcome;

/* Whether the samples run at once: those of this process. */
bool gn_pass_fits(const gn_network *network, const gn_samples *samples);

/* How many of the rest samples from first on run at once. */
size_t gn_pass_next(const gn_network *network, const gn_samples *samples, size_t first,
                    size_t rest);

/* One micro-batch: samples first..first+n-1 into the network's input (the rest of the batch is
 * zero), then forward in the network's present mode; without the head when body_only. */
GERNE_CHECKED gerne_status gn_pass_part(gerne_ctx *ctx, gn_network *network,
                                        const gn_samples *samples, size_t first, size_t n,
                                        bool body_only);

/* Where several processes share the run, the calls below take the whole batch on each of them and
 * run its share; losses and predictions of all samples come back: see split_pass.h.
 *
 * In the calls below a loss that is NULL is the cross-entropy of gn_samples_terms, or none where
 * samples have no labels. A training pass of a network that couples its samples takes exactly
 * gn_network_batch samples.
 *
 * Texts are packed in the order in which they come, so that lengths only decide where a batch is
 * cut: the gradient is a sum over micro-batches, and its last bits depend on that. Features and
 * logits of a text do not depend on the others but for the last bits of the matrix products. */

/* Forward only. */
GERNE_CHECKED gerne_status gn_pass_forward(gerne_ctx *ctx, gn_network *network, gn_mode mode,
                                           const gn_samples *samples, const gn_loss *loss,
                                           const gn_outcome *outcome);

/* The gradient of the loss; gradients are replaced, or added to when accumulate is set. Texts with
 * a mixture are mixed in front of the head: see mixed_texts.h. */
GERNE_CHECKED gerne_status gn_pass_step(gerne_ctx *ctx, gn_network *network,
                                        const gn_samples *samples, const gn_loss *loss,
                                        bool accumulate, const gn_outcome *outcome);

/* The same after gn_pass_forward of the same samples in GN_MODE_TRAIN, without another pass of this
 * network in between. */
GERNE_CHECKED gerne_status gn_pass_backward(gerne_ctx *ctx, gn_network *network,
                                            const gn_samples *samples, const gn_loss *loss,
                                            bool accumulate, const gn_outcome *outcome);

#pragma GCC visibility pop

#endif
