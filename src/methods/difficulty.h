/* difficulty.h - LfF's weights: how hard samples are for a biased and for a debiased classifier, by
 * running means of their losses that are part of every checkpoint. */
#ifndef GN_METHODS_DIFFICULTY_H
#define GN_METHODS_DIFFICULTY_H

#include "methods/method.h"

enum { GN_DEBIASED, GN_BIASED };

typedef struct gn_difficulty {
    float *means[2];  /* [n] running means of the losses of either */
    float *seen;      /* [n]: 1 after the first visit */
    float *maxima[2]; /* [classes] */
} gn_difficulty;

GERNE_CHECKED gerne_status gn_difficulty_start(gn_run *run, gn_difficulty *difficulty);

/* Takes the losses [count] of both into the means, and fills weights: relative difficulty by means
 * that are divided by the largest of their class, times 1 / count. */
void gn_difficulty_weigh(const gn_run *run, gn_difficulty *difficulty, const gn_minibatch *batch,
                         float *const losses[2], double rho, float *weights);

#endif
