/* shifted.h - cross-entropy of logits with something added to them, for each sample or for all. */
#ifndef GN_METHODS_SHIFTED_H
#define GN_METHODS_SHIFTED_H

#include "methods/weighted.h"

typedef struct gn_shifted_cross_entropy {
    gn_cross_entropy cross_entropy;
    const float *shift; /* [of the batch][classes], no gradient */
    float *room;        /* likewise, for the sums */
    bool common;        /* shift is one row, [classes], for all samples */
} gn_shifted_cross_entropy;

gn_loss gn_shifted_cross_entropy_loss(const gn_shifted_cross_entropy *terms);

/* A step of network 0 with the draw's own weights and a shift for each sample; room as above. */
GERNE_CHECKED gerne_status gn_shifted_step(gn_run *run, gn_minibatch *batch, const float *shift,
                                           float *room);

#endif
