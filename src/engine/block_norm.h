/* block_norm.h - batch normalisation with the addition and the ReLU that follow it, on images whose
 * channels lie in blocks of 8 or 16, as the convolutions like them.
 *
 *     y = relu((x - mean) * scale / deviation + shift + beside)
 *
 * One pass over memory where three kernels take three. Sums are those of each sample's plane, added
 * in the order of the samples: the same bits for any number of threads. */
#ifndef GN_ENGINE_BLOCK_NORM_H
#define GN_ENGINE_BLOCK_NORM_H

#include <stdbool.h>
#include <stdint.h>

enum { GN_LANES = 16 };

typedef struct gn_block_norm {
    int64_t samples, channels, pixels; /* pixels of a plane */
    int64_t block;                     /* channels that lie together: 8 or 16 */
    float epsilon;
    bool trains; /* the statistics are those of this batch */
    bool relu;
    const float *x, *scale, *shift;
    float *mean, *variance;
    double *sums;        /* two of each channel of each sample, to work in */
    const float *beside; /* forward: what is added, or NULL */
    float *y;            /* forward */
    /* backward: the gradient of y comes in one part or two */
    const float *parts[2];
    const float *result; /* y, where something was added; else NULL, and x tells where ReLU cuts */
    float *by_beside;    /* the gradient of what was added, or NULL; may be one of the parts */
    float *by_x;         /* may be one of the parts */
    float *by_scale, *by_shift;
} gn_block_norm;

/* Forward finds mean and variance first where the statistics train. */
void gn_block_norm_forward(const gn_block_norm *n);
void gn_block_norm_backward(const gn_block_norm *n);

#endif
