/* bsoftmax.h - cross-entropy of logits that are raised by constants. */
#ifndef GN_METHODS_BSOFTMAX_H
#define GN_METHODS_BSOFTMAX_H

#include "methods/method.h"

typedef struct gn_raised_cross_entropy {
    gn_cross_entropy terms;
    float *raise;  /* [classes], added to the logits */
    float *logits; /* [batch][classes], scratch */
} gn_raised_cross_entropy;

gn_loss gn_raised_cross_entropy_loss(const gn_raised_cross_entropy *terms);

/* raise[y] = log n_y over all attributes; -infinity for a class without samples. */
void gn_log_class_sizes(const gerne_groups *groups, uint32_t classes, uint32_t attributes,
                        float *raise);

#endif
