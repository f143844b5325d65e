/* adapt_features.h - what rules see of a network's head at an evaluation: the features of both
 * splits, and the loss L_ext over all training samples in expectation. */
#ifndef GN_METHODS_ADAPT_FEATURES_H
#define GN_METHODS_ADAPT_FEATURES_H

#include "methods/adapt.h"
#include "methods/head_newton.h"

typedef struct gn_adapt_features {
    gn_arena *arena;
    gn_featured train, val;
    float *weights;      /* [train.n], of L_ext; gn_adapt_weigh fills them */
    double l2;           /* of the head */
    gn_head_solver work; /* on train */
    float *head;         /* flat, the network's own */
} gn_adapt_features;

/* Infers features and takes the head of network 0. Close it also after a failure. */
GERNE_CHECKED gerne_status gn_adapt_features_open(gn_run *run, gn_adapt_features *out);
void gn_adapt_features_close(gn_adapt_features *f);

/* Weights of the training samples at these s [classes]: their sum is 1, classes are balanced. */
void gn_adapt_weigh(gn_run *run, const double *s, double *scratch, float *weights);

#endif
