#include "engine/block_norm.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/vector.h"

/* Sixteen numbers at once; blocks of eight channels go through as two pixels. */
typedef float lanes __attribute__((vector_size(GN_LANES * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(GN_LANES * sizeof(float))));

/* What belongs to the channels of a block, twice over where a block has eight. */
typedef struct channels {
    float mean[GN_LANES], factor[GN_LANES], shift[GN_LANES];
    float by_mean[GN_LANES], by_spread[GN_LANES]; /* backward: what the statistics take away */
} channels;

enum { STRIP = 64 }; /* vectors that are added in fp32 before a sum in double takes them */

/* ---- a plane of a block ---- */

static inline __attribute__((always_inline)) lanes load(const float *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline __attribute__((always_inline)) void store(float *to, lanes v)
{
    memcpy(to, &v, sizeof v);
}

/* The last pixel of an odd number of pixels with blocks of eight: half a vector. */
static inline __attribute__((always_inline)) lanes load_half(const float *from)
{
    lanes v = {0};
    memcpy(&v, from, sizeof v / 2);
    return v;
}

static inline __attribute__((always_inline)) void store_half(float *to, lanes v)
{
    memcpy(to, &v, sizeof v / 2);
}

static inline __attribute__((always_inline)) lanes where(mask m, lanes v)
{
    return (lanes)((mask)v & m);
}

static inline __attribute__((always_inline)) void add_strip(lanes *strip, double *sum)
{
    for (int i = 0; i < GN_LANES; i++)
        sum[i] += (double)(*strip)[i];
    *strip = (lanes){0};
}

/* Sums of x - pivot and of its square. */
GN_WIDEST static void sum_plane(const float *restrict x, const float *restrict pivot, int64_t count,
                                double *restrict sums)
{
    lanes p = load(pivot), first = {0}, second = {0};
    int64_t i = 0, end = count / GN_LANES * GN_LANES;
    while (i < end) {
        int64_t stop = i + STRIP * GN_LANES < end ? i + STRIP * GN_LANES : end;
        for (; i < stop; i += GN_LANES) {
            lanes v = load(x + i) - p;
            first += v;
            second += v * v;
        }
        add_strip(&first, sums);
        add_strip(&second, sums + GN_LANES);
    }
    for (; i < count; i++) {
        float v = x[i] - pivot[i - end];
        sums[i - end] += (double)v;
        sums[GN_LANES + i - end] += (double)(v * v);
    }
}

static inline __attribute__((always_inline)) lanes normalized(lanes x, lanes beside,
                                                              const channels *c, bool relu)
{
    lanes y = (x - load(c->mean)) * load(c->factor) + load(c->shift) + beside;
    return relu ? where(~(y < 0), y) : y; /* NaN stays NaN: a run that diverges must show it */
}

GN_WIDEST static void normalize_plane(const float *x, const float *beside, const channels *c,
                                      bool relu, int64_t count, float *y)
{
    int64_t i = 0, end = count / GN_LANES * GN_LANES;
    for (; i < end; i += GN_LANES)
        store(y + i, normalized(load(x + i), beside ? load(beside + i) : (lanes){0}, c, relu));
    if (i < count)
        store_half(y + i, normalized(load_half(x + i), beside ? load_half(beside + i) : (lanes){0},
                                     c, relu));
}

/* The gradient behind the ReLU. */
static inline __attribute__((always_inline)) lanes
behind(lanes x, lanes dy, lanes result, bool from_result, const channels *c, bool relu)
{
    if (!relu)
        return dy;
    lanes y = from_result ? result : (x - load(c->mean)) * load(c->factor) + load(c->shift);
    return where(y > 0, dy);
}

typedef struct plane {
    const float *x, *first, *second, *result;
    float *by_beside, *by_x;
} plane;

/* The gradient of the sum in front of the ReLU; its own sum, and that of its product with x - mean.
 * scaled: by_x is complete, the statistics do not depend on x. */

GN_WIDEST static void gather_plane(const plane *p, const channels *c, bool relu, bool scaled,
                                   int64_t count, double *restrict sums)
{
    lanes mean = load(c->mean), factor = load(c->factor), first = {0}, second = {0};
    int64_t i = 0, end = count / GN_LANES * GN_LANES;
    while (i < end) {
        int64_t stop = i + STRIP * GN_LANES < end ? i + STRIP * GN_LANES : end;
        for (; i < stop; i += GN_LANES) {
            lanes x = load(p->x + i), dy = load(p->first + i);
            if (p->second)
                dy += load(p->second + i);
            dy = behind(x, dy, p->result ? load(p->result + i) : x, p->result, c, relu);
            first += dy;
            second += dy * (x - mean);
            if (p->by_beside)
                store(p->by_beside + i, dy);
            if (p->by_x)
                store(p->by_x + i, scaled ? dy * factor : dy);
        }
        add_strip(&first, sums);
        add_strip(&second, sums + GN_LANES);
    }
    if (i == count)
        return;
    lanes x = load_half(p->x + i), dy = load_half(p->first + i);
    if (p->second)
        dy += load_half(p->second + i);
    dy = behind(x, dy, p->result ? load_half(p->result + i) : x, p->result, c, relu);
    lanes product = dy * (x - mean);
    for (int j = 0; j < GN_LANES / 2; j++) {
        sums[j] += (double)dy[j];
        sums[GN_LANES + j] += (double)product[j];
    }
    if (p->by_beside)
        store_half(p->by_beside + i, dy);
    if (p->by_x)
        store_half(p->by_x + i, scaled ? dy * factor : dy);
}

static inline __attribute__((always_inline)) lanes finished(lanes x, lanes dy, const channels *c)
{
    return (dy - load(c->by_mean) - (x - load(c->mean)) * load(c->by_spread)) * load(c->factor);
}

/* The gradient of x: less what changes the statistics. */
GN_WIDEST static void finish_plane(const float *x, const float *dy, const channels *c,
                                   int64_t count, float *dx)
{
    int64_t i = 0, end = count / GN_LANES * GN_LANES;
    for (; i < end; i += GN_LANES)
        store(dx + i, finished(load(x + i), load(dy + i), c));
    if (i < count)
        store_half(dx + i, finished(load_half(x + i), load_half(dy + i), c));
}

/* ---- a block of channels of all samples ---- */

static int64_t plane_size(const gn_block_norm *n)
{
    return n->pixels * n->block;
}

static int64_t plane_at(const gn_block_norm *n, int64_t block, int64_t sample)
{
    return (sample * (n->channels / n->block) + block) * plane_size(n);
}

static double *sums_at(const gn_block_norm *n, int64_t block, int64_t sample)
{
    return n->sums + (block * n->samples + sample) * 2 * GN_LANES;
}

static const float *moved(const float *from, int64_t offset)
{
    return from ? from + offset : NULL;
}

/* Both halves of the lanes hold the same channels in blocks of eight. */
static void fold(const gn_block_norm *n, int64_t block, double *first, double *second)
{
    memset(first, 0, GN_LANES * sizeof *first);
    memset(second, 0, GN_LANES * sizeof *second);
    for (int64_t s = 0; s < n->samples; s++) {
        const double *sums = sums_at(n, block, s);
        for (int64_t i = 0; i < GN_LANES; i++) {
            first[i % n->block] += sums[i];
            second[i % n->block] += sums[GN_LANES + i];
        }
    }
}

static double deviation_of(const gn_block_norm *n, int64_t channel)
{
    return sqrt((double)n->variance[channel] + (double)n->epsilon);
}

static void find_channels(const gn_block_norm *n, int64_t block, channels *c)
{
    for (int64_t i = 0; i < GN_LANES; i++) {
        int64_t channel = block * n->block + i % n->block;
        c->mean[i] = n->mean[channel];
        c->factor[i] = (float)((double)n->scale[channel] / deviation_of(n, channel));
        c->shift[i] = n->shift[channel];
    }
}

static void sum_sample(const gn_block_norm *n, const channels *c, int64_t block, int64_t sample)
{
    double *sums = sums_at(n, block, sample);
    memset(sums, 0, 2 * GN_LANES * sizeof *sums);
    sum_plane(n->x + plane_at(n, block, sample), c->mean, plane_size(n), sums);
}

/* The first pixel of the batch stands for the mean, which it is near: sums of squares lose no
 * digits. */
static void find_pivot(const gn_block_norm *n, int64_t block, channels *c)
{
    const float *x = n->x + plane_at(n, block, 0);
    for (int64_t i = 0; i < GN_LANES; i++)
        c->mean[i] = x[i % n->block];
}

static void settle_statistics(const gn_block_norm *n, int64_t block)
{
    double first[GN_LANES], second[GN_LANES], count = (double)(n->samples * n->pixels);
    channels pivot;
    find_pivot(n, block, &pivot);
    fold(n, block, first, second);
    for (int64_t i = 0; i < n->block; i++) {
        double apart = first[i] / count, variance = second[i] / count - apart * apart;
        n->mean[block * n->block + i] = (float)((double)pivot.mean[i] + apart);
        n->variance[block * n->block + i] = (float)(variance > 0 || isnan(variance) ? variance : 0);
    }
}

static void normalize_sample(const gn_block_norm *n, const channels *c, int64_t block,
                             int64_t sample)
{
    int64_t at = plane_at(n, block, sample);
    normalize_plane(n->x + at, moved(n->beside, at), c, n->relu, plane_size(n), n->y + at);
}

static void gather_sample(const gn_block_norm *n, const channels *c, int64_t block, int64_t sample)
{
    int64_t at = plane_at(n, block, sample);
    double *sums = sums_at(n, block, sample);
    /* Where the statistics train, the gradient waits for its correction in by_beside, or in by_x.
     */
    plane p = {.x = n->x + at,
               .first = n->parts[0] + at,
               .second = moved(n->parts[1], at),
               .result = moved(n->result, at),
               .by_beside = n->by_beside ? n->by_beside + at : NULL,
               .by_x = n->trains && n->by_beside ? NULL : n->by_x + at};
    memset(sums, 0, 2 * GN_LANES * sizeof *sums);
    gather_plane(&p, c, n->relu, !n->trains, plane_size(n), sums);
}

static void settle_gradients(const gn_block_norm *n, int64_t block)
{
    double first[GN_LANES], second[GN_LANES];
    fold(n, block, first, second);
    for (int64_t i = 0; i < n->block; i++) {
        int64_t channel = block * n->block + i;
        n->by_shift[channel] = (float)first[i];
        n->by_scale[channel] = (float)(second[i] / deviation_of(n, channel));
    }
}

static void find_corrections(const gn_block_norm *n, int64_t block, channels *c)
{
    double count = (double)(n->samples * n->pixels);
    find_channels(n, block, c);
    for (int64_t i = 0; i < GN_LANES; i++) {
        int64_t channel = block * n->block + i % n->block;
        c->by_mean[i] = (float)((double)n->by_shift[channel] / count);
        c->by_spread[i] = (float)((double)n->by_scale[channel] / deviation_of(n, channel) / count);
    }
}

static void finish_sample(const gn_block_norm *n, const channels *c, int64_t block, int64_t sample)
{
    int64_t at = plane_at(n, block, sample);
    finish_plane(n->x + at, (n->by_beside ? n->by_beside : n->by_x) + at, c, plane_size(n),
                 n->by_x + at);
}

/* ---- all blocks ---- */

/* What is done to every sample of a block, with what is found for the block first. */
typedef struct sweep {
    void (*find)(const gn_block_norm *n, int64_t block, channels *c);
    void (*sample)(const gn_block_norm *n, const channels *c, int64_t block, int64_t sample);
} sweep;

static const sweep sum = {find_pivot, sum_sample}, normalize = {find_channels, normalize_sample},
                   gather = {find_channels, gather_sample},
                   finish = {find_corrections, finish_sample};

static bool blocks_fill_threads(int64_t blocks)
{
#ifdef _OPENMP
    return blocks >= omp_get_max_threads();
#else
    return blocks > 0;
#endif
}

static void sweep_block(const gn_block_norm *n, const sweep *s, int64_t block)
{
    channels c;
    s->find(n, block, &c);
    for (int64_t sample = 0; sample < n->samples; sample++)
        s->sample(n, &c, block, sample);
}

/* More threads than blocks share the samples of each. */
static void sweep_planes(const gn_block_norm *n, const sweep *s)
{
    int64_t planes = n->channels / n->block * n->samples;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < planes; i++) {
        channels c;
        s->find(n, i / n->samples, &c);
        s->sample(n, &c, i / n->samples, i % n->samples);
    }
}

/* One sweep, what it finds for a block, another sweep; any but the first may be NULL. A thread that
 * does all of a block has it in its cache the second time. Either way the sums are the same. */
static void run(const gn_block_norm *n, const sweep *first,
                void (*settle)(const gn_block_norm *n, int64_t block), const sweep *second)
{
    int64_t blocks = n->channels / n->block;
    if (blocks_fill_threads(blocks)) {
#pragma omp parallel for schedule(static)
        for (int64_t block = 0; block < blocks; block++) {
            sweep_block(n, first, block);
            if (settle)
                settle(n, block);
            if (second)
                sweep_block(n, second, block);
        }
        return;
    }
    sweep_planes(n, first);
    for (int64_t block = 0; settle && block < blocks; block++)
        settle(n, block);
    if (second)
        sweep_planes(n, second);
}

void gn_block_norm_forward(const gn_block_norm *n)
{
    if (n->trains)
        run(n, &sum, settle_statistics, &normalize);
    else
        run(n, &normalize, NULL, NULL);
}

void gn_block_norm_backward(const gn_block_norm *n)
{
    run(n, &gather, settle_gradients, n->trains ? &finish : NULL);
}
