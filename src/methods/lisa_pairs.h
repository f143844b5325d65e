/* lisa_pairs.h - which samples of a batch LISA mixes: a pure function of their labels and of random
 * numbers. */
#ifndef GN_METHODS_LISA_PAIRS_H
#define GN_METHODS_LISA_PAIRS_H

#include "methods/mixing.h"

typedef struct gn_lisa_batch {
    size_t count;
    const int32_t *y, *a; /* [count] */
    uint32_t classes, attributes;
    bool same_label; /* else: the same attribute, and labels that differ */
    double alpha;    /* of the beta distribution */
    gn_mix_operator how;
    uint32_t height, width;   /* of pictures, for boxes */
    uint32_t *starts, *order; /* scratch: [classes * attributes + 1], [count] */
} gn_lisa_batch;

/* Sweeps over the classes (or the attributes) until there are wanted pairs or more; shuffles them
 * and keeps wanted in pairs, which has room for wanted + count. False when no sample has a partner:
 * then they are samples of the batch paired with themselves, that is, not mixed. wanted <= count.
 */
bool gn_lisa_pairs(const gn_lisa_batch *batch, gn_stream *stream, size_t wanted, gn_pair *pairs);

#endif
