/* corrupt_blur.c - Gaussian smoothing, and the corruptions that blur. */
#include <math.h>
#include <string.h>

#include "data/corrupt.h"

enum { TAPS_MAX = 2 * 64 + 1 };

size_t gn_border_index(ptrdiff_t i, size_t n, gn_border border)
{
    ptrdiff_t size = (ptrdiff_t)n;
    if (i >= 0 && i < size)
        return (size_t)i;
    if (border == GN_BORDER_EDGE || size == 1)
        return i < 0 ? 0 : n - 1;
    ptrdiff_t period = border == GN_BORDER_REFLECT ? 2 * size : 2 * size - 2;
    ptrdiff_t within = (i % period + period) % period;
    if (within < size)
        return (size_t)within;
    return (size_t)(border == GN_BORDER_REFLECT ? period - 1 - within : period - within);
}

/* The weighted sum along a column (down) or a row of one pixel's neighbours. */
static double sum_of_taps(const double *from, size_t channels, size_t at, const double *taps,
                          ptrdiff_t radius, gn_border border, bool down)
{
    size_t c = at % channels, x = at / channels % GN_SIDE, y = at / channels / GN_SIDE;
    double total = 0;
    for (ptrdiff_t k = -radius; k <= radius; k++) {
        size_t row = down ? gn_border_index((ptrdiff_t)y + k, GN_SIDE, border) : y;
        size_t column = down ? x : gn_border_index((ptrdiff_t)x + k, GN_SIDE, border);
        total += taps[k + radius] * from[(row * GN_SIDE + column) * channels + c];
    }
    return total;
}

void gn_smooth(double *values, double *spare, size_t channels, double sigma, double truncate,
               gn_border border)
{
    ptrdiff_t radius = (ptrdiff_t)(truncate * sigma + 0.5);
    double taps[TAPS_MAX], sum = 0;
    if (radius < 1)
        return;
    for (ptrdiff_t k = -radius; k <= radius; k++)
        sum += taps[k + radius] = exp(-0.5 * (double)(k * k) / (sigma * sigma));
    for (size_t at = 0; at < GN_SIDE * GN_SIDE * channels; at++)
        spare[at] = sum_of_taps(values, channels, at, taps, radius, border, true) / sum;
    for (size_t at = 0; at < GN_SIDE * GN_SIDE * channels; at++)
        values[at] = sum_of_taps(spare, channels, at, taps, radius, border, false) / sum;
}

double gn_bilinear(const double *values, size_t channels, size_t c, double y, double x,
                   gn_border border)
{
    double top = floor(y), left = floor(x), v = y - top, u = x - left, sum = 0;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++) {
            size_t row = gn_border_index((ptrdiff_t)top + dy, GN_SIDE, border);
            size_t column = gn_border_index((ptrdiff_t)left + dx, GN_SIDE, border);
            sum += (dy ? v : 1 - v) * (dx ? u : 1 - u) *
                   values[(row * GN_SIDE + column) * channels + c];
        }
    return sum;
}

void gn_gaussian_blur(gn_easel *easel, int severity, gn_noise *noise)
{
    (void)noise;
    static const double c[] = {0.4, 0.6, 0.7, 0.8, 1.0};
    gn_smooth(easel->value, easel->spare, GN_CHANNELS, c[severity], 4, GN_BORDER_EDGE);
}

/* ---- defocus ---- */

enum { DISK = 17, REACH = DISK / 2 };

/* A disk on the whole numbers, smoothed by a 3 x 3 Gaussian. */
static void disk_kernel(double radius, double blur, double kernel[DISK][DISK])
{
    double disk[DISK][DISK], total = 0, side = exp(-0.5 / (blur * blur)), taps[3];
    for (int y = 0; y < DISK; y++)
        for (int x = 0; x < DISK; x++)
            total += disk[y][x] =
                (y - REACH) * (y - REACH) + (x - REACH) * (x - REACH) <= radius * radius;
    taps[0] = taps[2] = side / (1 + 2 * side);
    taps[1] = 1 / (1 + 2 * side);
    for (int y = 0; y < DISK; y++)
        for (int x = 0; x < DISK; x++) {
            kernel[y][x] = 0;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++) {
                    size_t row = gn_border_index(y + j, DISK, GN_BORDER_MIRROR);
                    size_t column = gn_border_index(x + i, DISK, GN_BORDER_MIRROR);
                    kernel[y][x] += taps[j + 1] * taps[i + 1] * disk[row][column] / total;
                }
        }
}

void gn_defocus_blur(gn_easel *easel, int severity, gn_noise *noise)
{
    (void)noise;
    static const double c[][2] = {{0.3, 0.4}, {0.4, 0.5}, {0.5, 0.6}, {1, 0.2}, {1.5, 0.1}};
    double kernel[DISK][DISK];
    disk_kernel(c[severity][0], c[severity][1], kernel);
    memcpy(easel->spare, easel->value, sizeof easel->value);
    for (int y = 0; y < GN_SIDE; y++)
        for (int x = 0; x < GN_SIDE; x++) {
            double sums[GN_CHANNELS] = {0};
            for (int j = -REACH; j <= REACH; j++)
                for (int i = -REACH; i <= REACH; i++) {
                    double weight = kernel[j + REACH][i + REACH];
                    if (weight == 0)
                        continue;
                    size_t row = gn_border_index(y + j, GN_SIDE, GN_BORDER_MIRROR);
                    size_t column = gn_border_index(x + i, GN_SIDE, GN_BORDER_MIRROR);
                    for (size_t ch = 0; ch < GN_CHANNELS; ch++)
                        sums[ch] +=
                            weight * easel->spare[(row * GN_SIDE + column) * GN_CHANNELS + ch];
                }
            memcpy(easel->value + (size_t)(y * GN_SIDE + x) * GN_CHANNELS, sums, sizeof sums);
        }
}

/* ---- glass ---- */

/* The benchmark swaps pixels through views of one array, which copies one way only; so do we. */
void gn_glass_blur(gn_easel *easel, int severity, gn_noise *noise)
{
    static const struct {
        double sigma;
        int reach, rounds;
    } c[] = {{0.05, 1, 1}, {0.25, 1, 1}, {0.4, 1, 1}, {0.25, 1, 2}, {0.4, 1, 2}};
    double sigma = c[severity].sigma;
    int reach = c[severity].reach;
    gn_smooth(easel->value, easel->spare, GN_CHANNELS, sigma, 4, GN_BORDER_EDGE);
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->bytes[i] = (uint8_t)(easel->value[i] * 255);
    for (int round = 0; round < c[severity].rounds; round++)
        for (int y = GN_SIDE - reach; y > reach; y--)
            for (int x = GN_SIDE - reach; x > reach; x--) {
                int dx = (int)gn_noise_below(noise, 2 * (size_t)reach) - reach;
                int dy = (int)gn_noise_below(noise, 2 * (size_t)reach) - reach;
                memcpy(easel->bytes + (y * GN_SIDE + x) * GN_CHANNELS,
                       easel->bytes + ((y + dy) * GN_SIDE + x + dx) * GN_CHANNELS, GN_CHANNELS);
            }
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->value[i] = easel->bytes[i] / 255.0;
    gn_smooth(easel->value, easel->spare, GN_CHANNELS, sigma, 4, GN_BORDER_EDGE);
}

/* ---- motion and zoom ---- */

void gn_motion_blur(const double *from, size_t channels, double radius, double sigma, double angle,
                    double *to)
{
    double taps[TAPS_MAX], sum = 0, turn = angle * 3.14159265358979323846 / 180;
    size_t count = 2 * (size_t)ceil(radius) + 1;
    ptrdiff_t across[TAPS_MAX], down[TAPS_MAX];
    for (size_t i = 0; i < count; i++) {
        double k = (double)i;
        sum += taps[i] = exp(-k * k / (2 * sigma * sigma));
        across[i] = (ptrdiff_t)ceil(k * cos(turn) - 0.5);
        down[i] = (ptrdiff_t)ceil(k * sin(turn) - 0.5);
    }
    for (ptrdiff_t y = 0; y < GN_SIDE; y++)
        for (ptrdiff_t x = 0; x < GN_SIDE; x++)
            for (size_t c = 0; c < channels; c++) {
                double total = 0;
                for (size_t i = 0; i < count; i++) {
                    size_t row = gn_border_index(y + down[i], GN_SIDE, GN_BORDER_EDGE);
                    size_t column = gn_border_index(x + across[i], GN_SIDE, GN_BORDER_EDGE);
                    total += taps[i] * from[(row * GN_SIDE + column) * channels + c];
                }
                *to++ = total / sum;
            }
}

void gn_motion(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[][2] = {{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}};
    double angle = gn_noise_between(noise, -45, 45);
    memcpy(easel->spare, easel->value, sizeof easel->value);
    gn_motion_blur(easel->spare, GN_CHANNELS, c[severity][0], c[severity][1], angle, easel->value);
}

void gn_clipped_zoom(const double *from, size_t channels, double factor, double *to)
{
    size_t side = (size_t)ceil(GN_SIDE / factor), first = (GN_SIDE - side) / 2;
    size_t large = (size_t)nearbyint((double)side * factor), trim = (large - GN_SIDE) / 2;
    double step = large > 1 ? (double)(side - 1) / (double)(large - 1) : 0;
    for (size_t y = 0; y < GN_SIDE; y++)
        for (size_t x = 0; x < GN_SIDE; x++)
            for (size_t c = 0; c < channels; c++)
                *to++ = gn_bilinear(from, channels, c, (double)first + (double)(y + trim) * step,
                                    (double)first + (double)(x + trim) * step, GN_BORDER_EDGE);
}

void gn_zoom_blur(gn_easel *easel, int severity, gn_noise *noise)
{
    (void)noise;
    /* The factors of numpy.arange(1, limit, 0.01) for limits 1.06 to 1.26, to the last bit: where
     * the enlarged side falls between two whole numbers that bit decides. */
    static const double step = (1.0 + 0.01) - 1.0;
    static const int counts[] = {7, 12, 16, 21, 26};
    double *sum = easel->spare, zoomed[GN_PICTURE];
    memcpy(sum, easel->value, sizeof easel->value);
    for (int i = 0; i < counts[severity]; i++) {
        gn_clipped_zoom(easel->value, GN_CHANNELS, 1 + step * i, zoomed);
        for (size_t k = 0; k < GN_PICTURE; k++)
            sum[k] += zoomed[k];
    }
    for (size_t k = 0; k < GN_PICTURE; k++)
        easel->value[k] = sum[k] / (counts[severity] + 1);
}
