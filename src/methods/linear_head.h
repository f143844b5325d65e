/* linear_head.h - a head on features that are kept in memory, apart from any network. */
#ifndef GN_METHODS_LINEAR_HEAD_H
#define GN_METHODS_LINEAR_HEAD_H

#include <stddef.h>
#include <stdint.h>

/* Features of samples, and their classes. */
typedef struct gn_featured {
    const float *x;   /* [n][width] */
    const int32_t *y; /* [n] */
    size_t n, width, classes;
} gn_featured;

typedef struct gn_linear_head {
    float *weights; /* [classes][width] */
    float *bias;    /* [classes] */
} gn_linear_head;

/* logits [n][classes] */
void gn_head_logits(const gn_featured *samples, const gn_linear_head *head, float *logits);

/* The loss sum_i weights[i] CE_i (equal weights 1/n when NULL) of the samples whose logits these
 * are; turns the logits into its gradient by them. */
double gn_head_loss(const gn_featured *samples, const float *weights, float *logits, float *losses);

/* The gradient of a loss by the head from its gradient by the logits. */
void gn_head_gradient(const gn_featured *samples, const float *logit_gradient,
                      const gn_linear_head *gradient);

#endif
