/* cnc.h - the parts of correct-n-contrast that need no network. */
#ifndef GN_METHODS_CNC_H
#define GN_METHODS_CNC_H

#include "nn/loss.h"

/* A unit of 4 m samples: m anchors, m positives, m negatives, m easy negatives. With s the cosine
 * of two feature vectors,
 *
 *     L1 = -1/m sum_{p in P} log(e^{s(a1,p)/tau} / sum_{v in N and P} e^{s(a1,v)/tau})
 *     L2 = the same around p1: the anchors are its positives, the easy negatives its negatives
 *     L = lambda (L1 + L2) + (1 - lambda) mean CE over the 4 m samples
 *
 * times scale; losses are the samples' cross-entropies. A unit runs whole. */
typedef struct gn_cnc_unit {
    size_t m;
    double tau, lambda, scale;
    const int32_t *labels; /* [4 m] */
    const float *weights;  /* [4 m]: scale (1 - lambda) / (4 m) each */
    double *scratch;       /* [4 m] */
} gn_cnc_unit;

gn_loss gn_cnc_loss(const gn_cnc_unit *unit);

#endif
