/* adapt_features.h - what rules see of a network's head at an evaluation: the features of the
 * validation split and of some training samples, and the loss L_ext of these.
 *
 * Every group gives as many training samples as it has, but not more than GN_GROUP_SAMPLES: the
 * weights of L_ext are those of groups, so that small groups count whole and large ones, of which
 * there is plenty, do not cost more than they tell. */
#ifndef GN_METHODS_ADAPT_FEATURES_H
#define GN_METHODS_ADAPT_FEATURES_H

#include "methods/adapt.h"
#include "methods/head_newton.h"

enum { GN_GROUP_SAMPLES = 1000 };

typedef struct gn_adapt_features {
    gn_arena *arena;
    gn_featured train, val;
    int32_t *group;      /* [train.n] */
    size_t *sizes;       /* [groups], in train */
    float *weights;      /* [train.n], of L_ext; gn_adapt_weigh fills them */
    double l2;           /* of the head */
    gn_head_solver work; /* on train */
    float *head;         /* flat, the network's own */
} gn_adapt_features;

/* Infers features and takes the head of network 0. Close it also after a failure. */
GERNE_CHECKED gerne_status gn_adapt_features_open(gn_run *run, gn_adapt_features *out);
void gn_adapt_features_close(gn_adapt_features *f);
GN_LOCAL_STRUCT(gn_adapt_features, gn_adapt_features_close)

/* Weights of these training samples at s [classes]: their sum is 1, classes are balanced. scratch
 * is [groups]. */
void gn_adapt_weigh(const gn_run *run, const gn_adapt_features *f, const double *s, double *scratch,
                    float *weights);

#endif
