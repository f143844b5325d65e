/* winograd_kernels.h - Winograd's algorithm for 3x3 kernels: results in tiles of 4 x 4.
 *
 * A tile of 4 x 4 results depends on 6 x 6 numbers of the source. Both, and the weights, are
 * spread to 36 points, at each of which a convolution is a matrix product over the channels: 36
 * multiplications where there were 144. Images are in blocks of `lanes` channels. */
#ifndef GN_ENGINE_WINOGRAD_KERNELS_H
#define GN_ENGINE_WINOGRAD_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum { GN_TILE = 4, GN_POINTS = 36, GN_TAPS = 9 };

/* Images of a convolution, and how many tiles cover one. */
typedef struct gn_tiling {
    int64_t height, width, rows, columns;
} gn_tiling;

/* The kernels for one kind of processor. Weights lie tap by tap as [input][output]; numbers of a
 * point as [tile][channel], those of different points `stride` apart. */
typedef struct gn_winograd {
    int lanes;

    /* One tile, of all channels: what a convolution reads, and the gradient of what it writes. */
    void (*spread_source)(const float *images, const gn_tiling *tiling, int64_t channels,
                          int64_t tile, float *points, int64_t stride);
    void (*spread_result)(const float *images, const gn_tiling *tiling, int64_t channels,
                          int64_t tile, float *points, int64_t stride);
    void (*gather_result)(const float *points, int64_t stride, const gn_tiling *tiling,
                          int64_t channels, int64_t tile, float *images);

    /* One input channel of the weights; turned: one output channel of the convolution that makes
     * the source's gradient, its input. Of a point as [panel of 2 x lanes][input][lane]. */
    void (*spread_weights)(const float *taps, int64_t inputs, int64_t outputs, int64_t input,
                           float *points);
    void (*spread_turned)(const float *taps, int64_t inputs, int64_t outputs, int64_t output,
                          float *points);

    /* At one point: result[tile][output] = sum of source[tile][input] weights[input][output]. */
    void (*multiply)(const float *source, const float *weights, int64_t inputs, int64_t outputs,
                     int64_t tiles, float *result);
    /* At one point: sums[input][output] += sum of source[tile][input] result[tile][output]. */
    void (*correlate)(const float *source, const float *result, int64_t inputs, int64_t outputs,
                      int64_t tiles, float *sums);
    /* One input channel of such sums, as the gradient of the weights. */
    void (*gather_weights)(const float *sums, int64_t inputs, int64_t outputs, int64_t input,
                           bool add, float *taps);
} gn_winograd;

extern const gn_winograd gn_winograd_8, gn_winograd_16; /* for AVX2 with FMA; for AVX-512 */

#endif
