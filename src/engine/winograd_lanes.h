/* winograd_lanes.h - the kernels of winograd_kernels.h, for vectors of LANES numbers; included once
 * for each kind of processor.
 *
 * The points are 0, 1, -1, 2, -2 and infinity along each side. */
#include <string.h>

#ifdef __x86_64__
#define INSIDE static inline __attribute__((always_inline, target(PROCESSOR)))
#define KERNEL __attribute__((target(PROCESSOR))) static
#else
#define INSIDE static inline __attribute__((always_inline))
#define KERNEL static
#endif

enum { SIDE = 6, TAP_SIDE = 3, PANEL = 2 * LANES };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

INSIDE lanes load(const float *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

INSIDE void store(float *to, lanes v)
{
    memcpy(to, &v, sizeof v);
}

/* ---- along one side; from and to have steps of their own ---- */

INSIDE void spread_six(const lanes *d, int step, lanes *to, int to_step)
{
    lanes even = d[4 * step] - 4 * d[2 * step], odd = d[3 * step] - 4 * d[step];
    lanes even2 = d[4 * step] - d[2 * step], odd2 = 2 * (d[3 * step] - d[step]);
    to[0] = 4 * d[0] - 5 * d[2 * step] + d[4 * step];
    to[to_step] = even + odd;
    to[2 * to_step] = even - odd;
    to[3 * to_step] = even2 + odd2;
    to[4 * to_step] = even2 - odd2;
    to[5 * to_step] = 4 * d[step] - 5 * d[3 * step] + d[5 * step];
}

INSIDE void gather_four(const lanes *m, int step, lanes *to, int to_step)
{
    lanes sum = m[step] + m[2 * step], difference = m[step] - m[2 * step];
    lanes sum2 = m[3 * step] + m[4 * step], difference2 = m[3 * step] - m[4 * step];
    to[0] = m[0] + sum + sum2;
    to[to_step] = difference + 2 * difference2;
    to[2 * to_step] = sum + 4 * sum2;
    to[3 * to_step] = difference + 8 * difference2 + m[5 * step];
}

/* The transpose of gather_four. */
INSIDE void spread_four(const lanes *y, int step, lanes *to, int to_step)
{
    lanes even = y[0] + y[2 * step], odd = y[step] + y[3 * step];
    lanes even2 = y[0] + 4 * y[2 * step], odd2 = 2 * y[step] + 8 * y[3 * step];
    to[0] = y[0];
    to[to_step] = even + odd;
    to[2 * to_step] = even - odd;
    to[3 * to_step] = even2 + odd2;
    to[4 * to_step] = even2 - odd2;
    to[5 * to_step] = y[3 * step];
}

INSIDE void spread_three(const lanes *g, int step, lanes *to, int to_step)
{
    lanes even = (g[0] + g[2 * step]) * (1.0F / 6), odd = g[step] * (1.0F / 6);
    lanes even2 = g[0] * (1.0F / 24) + g[2 * step] * (1.0F / 6), odd2 = g[step] * (1.0F / 12);
    to[0] = g[0] * 0.25F;
    to[to_step] = -even - odd;
    to[2 * to_step] = odd - even;
    to[3 * to_step] = even2 + odd2;
    to[4 * to_step] = even2 - odd2;
    to[5 * to_step] = g[2 * step];
}

/* The transpose of spread_three. */
INSIDE void gather_three(const lanes *u, int step, lanes *to, int to_step)
{
    lanes sum = (u[step] + u[2 * step]) * (1.0F / 6);
    lanes difference = (u[2 * step] - u[step]) * (1.0F / 6);
    lanes sum2 = u[3 * step] + u[4 * step], difference2 = u[3 * step] - u[4 * step];
    to[0] = u[0] * 0.25F - sum + sum2 * (1.0F / 24);
    to[to_step] = difference + difference2 * (1.0F / 12);
    to[2 * to_step] = sum2 * (1.0F / 6) - sum + u[5 * step];
}

/* ---- tiles ---- */

/* Where a tile lies: the pixels of it that the image has. */
typedef struct place {
    int64_t image, row, column; /* of its first number, perhaps outside */
    int first_row, end_row, first_column, end_column;
} place;

INSIDE place place_of(const gn_tiling *t, int64_t tile, int side, int before)
{
    place p = {.image = tile / (t->rows * t->columns)};
    int64_t within = tile % (t->rows * t->columns);
    p.row = within / t->columns * GN_TILE - before;
    p.column = within % t->columns * GN_TILE - before;
    p.first_row = p.row < 0 ? 1 : 0;
    p.first_column = p.column < 0 ? 1 : 0;
    p.end_row = p.row + side > t->height ? (int)(t->height - p.row) : side;
    p.end_column = p.column + side > t->width ? (int)(t->width - p.column) : side;
    return p;
}

INSIDE int64_t offset_of(const gn_tiling *t, const place *p, int64_t channels, int64_t channel)
{
    int64_t plane = (p->image * channels + channel) * t->height * t->width;
    return plane + (p->row * t->width + p->column) * LANES;
}

/* Zeros outside of the image. */
INSIDE void read_tile(const float *images, const gn_tiling *t, const place *p, int side,
                      int64_t channels, int64_t channel, lanes *tile)
{
    const float *from = images + offset_of(t, p, channels, channel);
    for (int r = 0; r < side; r++, from += t->width * LANES) {
        bool row_is_there = r >= p->first_row && r < p->end_row;
        for (int c = 0; c < side; c++) {
            bool is_there = row_is_there && c >= p->first_column && c < p->end_column;
            tile[r * side + c] = is_there ? load(from + c * LANES) : (lanes){0};
        }
    }
}

INSIDE void write_tile(const lanes *tile, const gn_tiling *t, const place *p, int64_t channels,
                       int64_t channel, float *images)
{
    float *to = images + offset_of(t, p, channels, channel);
    for (int r = 0; r < GN_TILE; r++, to += t->width * LANES)
        for (int c = 0; c < GN_TILE; c++)
            if (r < p->end_row && c < p->end_column)
                store(to + c * LANES, tile[r * GN_TILE + c]);
}

KERNEL void spread_source(const float *images, const gn_tiling *t, int64_t channels, int64_t tile,
                          float *points, int64_t stride)
{
    const place p = place_of(t, tile, SIDE, 1);
    for (int64_t channel = 0; channel < channels; channel += LANES) {
        lanes in[SIDE * SIDE], half[SIDE * SIDE], out[SIDE];
        read_tile(images, t, &p, SIDE, channels, channel, in);
        for (int c = 0; c < SIDE; c++)
            spread_six(in + c, SIDE, half + c, SIDE);
        for (int r = 0; r < SIDE; r++) {
            spread_six(half + r * SIDE, 1, out, 1);
            for (int c = 0; c < SIDE; c++)
                store(points + (r * SIDE + c) * stride + channel, out[c]);
        }
    }
}

KERNEL void spread_result(const float *images, const gn_tiling *t, int64_t channels, int64_t tile,
                          float *points, int64_t stride)
{
    const place p = place_of(t, tile, GN_TILE, 0);
    for (int64_t channel = 0; channel < channels; channel += LANES) {
        lanes in[GN_TILE * GN_TILE], half[SIDE * GN_TILE], out[SIDE];
        read_tile(images, t, &p, GN_TILE, channels, channel, in);
        for (int c = 0; c < GN_TILE; c++)
            spread_four(in + c, GN_TILE, half + c, GN_TILE);
        for (int r = 0; r < SIDE; r++) {
            spread_four(half + r * GN_TILE, 1, out, 1);
            for (int c = 0; c < SIDE; c++)
                store(points + (r * SIDE + c) * stride + channel, out[c]);
        }
    }
}

KERNEL void gather_result(const float *points, int64_t stride, const gn_tiling *t, int64_t channels,
                          int64_t tile, float *images)
{
    const place p = place_of(t, tile, GN_TILE, 0);
    for (int64_t channel = 0; channel < channels; channel += LANES) {
        lanes in[SIDE], half[GN_TILE * SIDE], out[GN_TILE * GN_TILE];
        for (int c = 0; c < SIDE; c++) {
            for (int r = 0; r < SIDE; r++)
                in[r] = load(points + (r * SIDE + c) * stride + channel);
            gather_four(in, 1, half + c, SIDE);
        }
        for (int r = 0; r < GN_TILE; r++)
            gather_four(half + r * SIDE, 1, out + r * GN_TILE, 1);
        write_tile(out, t, &p, channels, channel, images);
    }
}

/* ---- weights ---- */

/* One channel that is read, LANES that are written from `first` on. */
INSIDE void store_points(const lanes *g, int64_t inputs, int64_t outputs, int64_t input,
                         int64_t first, float *points)
{
    lanes half[SIDE * TAP_SIDE], out[SIDE];
    float *to = points + (first / PANEL * inputs + input) * PANEL + first % PANEL;
    for (int c = 0; c < TAP_SIDE; c++)
        spread_three(g + c, TAP_SIDE, half + c, TAP_SIDE);
    for (int r = 0; r < SIDE; r++) {
        spread_three(half + r * TAP_SIDE, 1, out, 1);
        for (int c = 0; c < SIDE; c++)
            store(to + (r * SIDE + c) * inputs * outputs, out[c]);
    }
}

KERNEL void spread_weights(const float *taps, int64_t inputs, int64_t outputs, int64_t input,
                           float *points)
{
    for (int64_t o = 0; o < outputs; o += LANES) {
        lanes g[GN_TAPS];
        for (int tap = 0; tap < GN_TAPS; tap++)
            g[tap] = load(taps + (tap * inputs + input) * outputs + o);
        store_points(g, inputs, outputs, input, o, points);
    }
}

KERNEL void spread_turned(const float *taps, int64_t inputs, int64_t outputs, int64_t output,
                          float *points)
{
    for (int64_t i = 0; i < inputs; i += LANES) {
        lanes g[GN_TAPS];
        for (int tap = 0; tap < GN_TAPS; tap++)
            for (int lane = 0; lane < LANES; lane++)
                g[GN_TAPS - 1 - tap][lane] = taps[(tap * inputs + i + lane) * outputs + output];
        store_points(g, outputs, inputs, output, i, points);
    }
}

KERNEL void gather_weights(const float *sums, int64_t inputs, int64_t outputs, int64_t input,
                           bool add, float *taps)
{
    for (int64_t o = 0; o < outputs; o += LANES) {
        lanes in[SIDE], half[TAP_SIDE * SIDE], out[TAP_SIDE];
        for (int c = 0; c < SIDE; c++) {
            for (int r = 0; r < SIDE; r++)
                in[r] = load(sums + ((r * SIDE + c) * inputs + input) * outputs + o);
            gather_three(in, 1, half + c, SIDE);
        }
        for (int r = 0; r < TAP_SIDE; r++) {
            gather_three(half + r * SIDE, 1, out, 1);
            for (int c = 0; c < TAP_SIDE; c++) {
                float *to = taps + ((r * TAP_SIDE + c) * inputs + input) * outputs + o;
                store(to, add ? load(to) + out[c] : out[c]);
            }
        }
    }
}

/* ---- products ---- */

/* A block of tiles by a panel of outputs, in registers. */
INSIDE void multiply_block(const float *source, const float *weights, int64_t inputs,
                           int64_t outputs, int tiles, float *result)
{
    lanes sums[TILES][2];
    for (int t = 0; t < tiles; t++)
        sums[t][0] = sums[t][1] = (lanes){0};
    for (int64_t i = 0; i < inputs; i++) {
        lanes left = load(weights + i * PANEL), right = load(weights + i * PANEL + LANES);
        for (int t = 0; t < tiles; t++) {
            sums[t][0] += source[t * inputs + i] * left;
            sums[t][1] += source[t * inputs + i] * right;
        }
    }
    for (int t = 0; t < tiles; t++) {
        store(result + t * outputs, sums[t][0]);
        store(result + t * outputs + LANES, sums[t][1]);
    }
}

KERNEL void multiply(const float *source, const float *weights, int64_t inputs, int64_t outputs,
                     int64_t tiles, float *result)
{
    for (int64_t o = 0; o < outputs; o += PANEL, weights += PANEL * inputs) {
        int64_t t = 0;
        for (; t + TILES <= tiles; t += TILES)
            multiply_block(source + t * inputs, weights, inputs, outputs, TILES,
                           result + t * outputs + o);
        for (; t + 4 <= tiles; t += 4)
            multiply_block(source + t * inputs, weights, inputs, outputs, 4,
                           result + t * outputs + o);
        for (; t < tiles; t++)
            multiply_block(source + t * inputs, weights, inputs, outputs, 1,
                           result + t * outputs + o);
    }
}

KERNEL void correlate(const float *source, const float *result, int64_t inputs, int64_t outputs,
                      int64_t tiles, float *sums)
{
    for (int64_t i = 0; i < inputs; i += INPUTS)
        for (int64_t o = 0; o < outputs; o += PANEL) {
            lanes block[INPUTS][2];
            for (int k = 0; k < INPUTS; k++)
                block[k][0] = block[k][1] = (lanes){0};
            for (int64_t t = 0; t < tiles; t++) {
                const float *from = source + t * inputs + i;
                lanes left = load(result + t * outputs + o);
                lanes right = load(result + t * outputs + o + LANES);
                for (int k = 0; k < INPUTS; k++) {
                    block[k][0] += from[k] * left;
                    block[k][1] += from[k] * right;
                }
            }
            for (int k = 0; k < INPUTS; k++) {
                float *to = sums + (i + k) * outputs + o;
                store(to, load(to) + block[k][0]);
                store(to + LANES, load(to + LANES) + block[k][1]);
            }
        }
}

const gn_winograd KERNELS = {
    .lanes = LANES,
    .spread_source = spread_source,
    .spread_result = spread_result,
    .gather_result = gather_result,
    .spread_weights = spread_weights,
    .spread_turned = spread_turned,
    .multiply = multiply,
    .correlate = correlate,
    .gather_weights = gather_weights,
};
