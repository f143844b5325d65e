/* group_weights.h - weights of groups by their sizes: the rarer, the heavier. */
#ifndef GN_METHODS_GROUP_WEIGHTS_H
#define GN_METHODS_GROUP_WEIGHTS_H

#include "methods/method.h"

/* r_g of a group with size samples; the weights are G r_g / sum_h r_h. */
typedef enum gn_size_rule {
    GN_BY_SIZE,             /* 1 / n */
    GN_BY_ROOT,             /* 1 / sqrt(n) */
    GN_BY_EFFECTIVE_NUMBER, /* (1 - b) / (1 - b^n) */
} gn_size_rule;

typedef struct gn_weighting {
    gn_size_rule rule;
    double b;       /* of GN_BY_EFFECTIVE_NUMBER */
    bool underflow; /* of it: weight 0 where b^n is lost beside 1 */
} gn_weighting;

/* 0 for an empty group. */
double gn_size_weight(const gn_weighting *weighting, uint64_t size);

/* In place: r_g -> G r_g / sum_h r_h, whose mean is 1. */
void gn_normalize_weights(double *weights, size_t groups);

/* The weights of the run's groups, [classes * attributes], in memory of the stage. GERNE_EUSAGE
 * when all are 0. */
GERNE_CHECKED gerne_status gn_group_weights(gn_run *run, const gn_weighting *weighting,
                                            double **out);

/* batch->weights: those of the samples' groups, over the size of the batch. */
void gn_weigh_by_group(const gn_run *run, const double *weights, gn_minibatch *batch);

#endif
