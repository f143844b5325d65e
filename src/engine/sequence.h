/* sequence.h - what the routines of transformer layers share: the samples of a sequence, and masks
 * of dropout. */
#ifndef GN_ENGINE_SEQUENCE_H
#define GN_ENGINE_SEQUENCE_H

#include "base/rng.h"
#include "engine/internal.h"

/* Where the tokens of the samples lie in a program. */
typedef struct gn_layout {
    const int32_t *spans; /* [samples][2] of packed sequences, else NULL */
    int64_t samples;
    int64_t length; /* of even sequences */
    int64_t rows;   /* of all, padding behind the last sample included */
} gn_layout;

typedef struct gn_span {
    int64_t start, count;
} gn_span;

/* spans: tensor of a call, or -1; node: a sequence. */
gn_layout gn_layout_of(const gn_program *program, int spans, const gn_node *node);
gn_span gn_span_of(const gn_layout *layout, int64_t sample);
int64_t gn_rows_used(const gn_layout *layout); /* those behind them belong to no sample */

/* The tensors of spans and keys, for calls; -1 where the layer does without. */
int gn_span_tensor(const gn_compiler *c, const gn_node *node, const gn_sequence *sequence);
int gn_key_tensor(const gn_compiler *c, const gn_node *node, const gn_sequence *sequence);
/* Whether the layer draws masks in this program. */
bool gn_drops(const gn_compiler *c, const gn_node *node, const gn_sequence *sequence);

/* Masks of one layer: 0 with the probability of the rate, else 1 / (1 - rate). The rate is that of
 * 16 random bits. */
typedef struct gn_masks {
    const int32_t *keys; /* [samples][4]; NULL: nothing is dropped */
    uint64_t layer;      /* its number among those that draw masks */
    uint32_t threshold;
    float kept;
} gn_masks;

gn_masks gn_masks_of(const gn_program *program, int keys, uint64_t layer, double rate);
/* The masks of a row of numbers, piece by piece; row counts those of a sample, in any way of the
 * layer's own. Every piece of a row, of GN_MASK_PIECE numbers but for the last, has its own key. */
enum { GN_MASK_PIECE = 256 };
gn_stream gn_mask_start(const gn_masks *masks, int64_t sample, uint64_t row);
void gn_mask_next(const gn_masks *masks, gn_stream *stream, int64_t count, float *mask);

#endif
