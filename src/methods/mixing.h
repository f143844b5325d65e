/* mixing.h - batches whose samples are made of two: pairs of a batch's own samples, decided in the
 * step.
 *
 *     start   gn_mixing_start(run, run->batch, &state->mixing)
 *     plan    plan->everywhere = true
 *     step    fill state->mixing.pairs[0..count-1]
 *             gn_plain_step(run, gn_mix(&state->mixing, batch, count, GN_MIX_WHOLE))
 */
#ifndef GN_METHODS_MIXING_H
#define GN_METHODS_MIXING_H

#include "base/rng.h"
#include "methods/method.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

/* One mixed sample. */
typedef struct gn_pair {
    uint32_t own, other; /* places in the batch */
    float share;         /* of own in the target; in the input too, unless boxes are cut */
    gn_box box;          /* that other fills, when boxes are cut */
} gn_pair;

typedef enum gn_mix_operator {
    GN_MIX_WHOLE, /* mixup: share times own, plus the rest of other */
    GN_MIX_BOXES, /* cutmix: own outside its box, other inside; of pictures alone */
} gn_mix_operator;

/* Memory of a stage for mixed batches. */
typedef struct gn_mixing {
    size_t capacity;
    gn_pair *pairs; /* [capacity], for the method to fill */
    const void **own[GN_FIELDS_MAX], **other[GN_FIELDS_MAX];
    uint32_t *indices;
    int32_t *labels, *other_labels;
    float *draw_weights, *share;
    gn_box *boxes;
    gn_mixture mixture;
    gn_minibatch batch;
} gn_mixing;

/* GERNE_EUSAGE when a batch has one sample, which has no partner; a method's check. */
GERNE_CHECKED gerne_status gn_check_pairs(gn_run *run);

/* capacity: samples of a mixed batch at most. */
GERNE_CHECKED gerne_status gn_mixing_start(gn_run *run, size_t capacity, gn_mixing *mixing);

/* The batch of mixing->pairs[0..count-1], whose places are those of batch; each counts 1 / count.
 * Indices are those of the own samples. Borrowed until the next call; allocates nothing. */
gn_minibatch *gn_mix(gn_mixing *mixing, const gn_minibatch *batch, size_t count,
                     gn_mix_operator how);

/* The box of a cutmix whose sides are sqrt(1 - lambda) of the picture's, around a centre, cut off
 * at the edges; *share is what remains uncovered. */
gn_box gn_cutmix_box(double lambda, uint32_t height, uint32_t width, uint32_t row, uint32_t column,
                     float *share);

#pragma GCC visibility pop

#endif
