/* batch.c - from draws to weighted batches: the extrapolation of the paper as one list of distinct
 * samples with signed weights. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arguments.h"
#include "debias/sampler.h"

struct gerne_batch {
    size_t count;
    uint32_t *samples;
    float *weights, *biased, *less_biased;
    size_t capacity[4]; /* of the four above */
    double realised_bound;
    /* while drawing */
    uint32_t *drawn, *times, *slots, *groups_b, *groups_lb;
    size_t drawn_capacity, times_capacity, slots_capacity, b_capacity, lb_capacity;
};

gerne_status gerne_batch_new(gerne_ctx *ctx, gerne_batch **out)
{
    GN_NEEDS(ctx, out);
    return gn_alloc(ctx, 1, sizeof **out, "a batch", out);
}

void gerne_batch_close(gerne_batch *batch)
{
    if (!batch)
        return;
    void *const blocks[] = {batch->samples,     batch->weights,  batch->biased,
                            batch->less_biased, batch->drawn,    batch->times,
                            batch->slots,       batch->groups_b, batch->groups_lb};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        gn_free(blocks[i]);
    gn_free(batch);
}

static gerne_status make_room(gerne_ctx *ctx, gerne_batch *b, size_t count)
{
    GN_TRY(gn_grow(ctx, &b->samples, &b->capacity[0], count, sizeof *b->samples, "a batch"));
    GN_TRY(gn_grow(ctx, &b->weights, &b->capacity[1], count, sizeof *b->weights, "a batch"));
    GN_TRY(gn_grow(ctx, &b->biased, &b->capacity[2], count, sizeof *b->biased, "a batch"));
    return gn_grow(ctx, &b->less_biased, &b->capacity[3], count, sizeof *b->less_biased, "a batch");
}

static gerne_status room_for_groups(gerne_ctx *ctx, const gerne_sampler *s, gerne_batch *b)
{
    size_t cells = (size_t)s->groups->classes * s->groups->attributes;
    GN_TRY(gn_grow(ctx, &b->groups_b, &b->b_capacity, cells, sizeof *b->groups_b, "a batch"));
    return gn_grow(ctx, &b->groups_lb, &b->lb_capacity, cells, sizeof *b->groups_lb, "a batch");
}

/* A plain mean over the samples as drawn, repeats and all. */
static void weigh_equally(gerne_batch *b, size_t count, gerne_draw draw)
{
    b->count = count;
    b->realised_bound = INFINITY;
    for (size_t i = 0; i < count; i++) {
        b->weights[i] = (float)(1.0 / (double)count);
        b->biased[i] = draw == GERNE_DRAW_BIASED ? b->weights[i] : 0;
        b->less_biased[i] = draw == GERNE_DRAW_LESS_BIASED ? b->weights[i] : 0;
    }
}

static gerne_status draw_plain(gerne_ctx *ctx, const gerne_sampler *s, gerne_draw draw,
                               uint64_t step, gerne_batch *b)
{
    if (s->options.batch == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "this sampler has no size for plain batches");
    GN_TRY(make_room(ctx, b, s->options.batch));
    gn_sampler_plain(s, draw, step, b->samples);
    weigh_equally(b, s->options.batch, draw);
    return GERNE_OK;
}

static gerne_status draw_one(gerne_ctx *ctx, const gerne_sampler *s, gerne_draw draw, uint64_t step,
                             gerne_batch *b)
{
    gerne_law law = draw == GERNE_DRAW_BIASED ? GERNE_LAW_BIASED : GERNE_LAW_LESS_BIASED;
    GN_TRY(room_for_groups(ctx, s, b));
    uint32_t count = gn_sampler_compose(s, law, step, b->groups_b);
    GN_TRY(make_room(ctx, b, count));
    gn_sampler_pick(s, law, step, b->groups_b, b->samples);
    weigh_equally(b, count, draw);
    return GERNE_OK;
}

/* ---- the extrapolated batch ---- */

/* For each class the share of a group is its part of the class's samples in that batch. */
static double realised_bound(const gerne_groups *groups, const uint32_t *b, const uint32_t *lb)
{
    double bound = INFINITY;
    for (uint32_t y = 0; y < groups->classes; y++) {
        size_t row = gn_group_id(groups, y, 0);
        double all_b = 0, all_lb = 0;
        for (uint32_t a = 0; a < groups->attributes; a++) {
            all_b += b[row + a];
            all_lb += lb[row + a];
        }
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double p_b = b[row + a] / all_b, p_lb = lb[row + a] / all_lb;
            if (p_b > p_lb)
                bound = fmin(bound, p_lb / (p_b - p_lb));
        }
    }
    return bound;
}

/* Lists every distinct sample once, in order of first appearance, and counts how often it was drawn
 * into either batch: times[2 i] and times[2 i + 1]. */
static void coalesce(gerne_batch *b, uint32_t count_b, uint32_t count_lb, size_t slot_count)
{
    memset(b->slots, 0, slot_count * sizeof *b->slots);
    unsigned shift = 32 - (unsigned)__builtin_ctzll(slot_count);
    size_t mask = slot_count - 1;
    b->count = 0;
    for (uint32_t i = 0; i < count_b + count_lb; i++) {
        uint32_t sample = b->drawn[i];
        size_t slot = sample * 0x9e3779b1u >> shift;
        while (b->slots[slot] && b->samples[b->slots[slot] - 1] != sample)
            slot = (slot + 1) & mask;
        if (!b->slots[slot]) {
            b->samples[b->count] = sample;
            b->times[2 * b->count] = b->times[2 * b->count + 1] = 0;
            b->slots[slot] = (uint32_t)++b->count;
        }
        b->times[2 * (size_t)(b->slots[slot] - 1) + (i >= count_b)]++;
    }
}

/* (1 + beta) m_lb / |B_lb| - beta m_b / |B_b|; 0 where the two cancel but for rounding. */
static double signed_weight(double beta, double m_b, double m_lb, double size_b, double size_lb)
{
    double plus = (1 + beta) * m_lb, minus = beta * m_b, size = size_b;
    if (size_b == 0 || size_lb == 0) { /* only one batch was drawn */
        size = size_b + size_lb;
    } else if (size_b != size_lb) {
        plus /= size_lb;
        minus /= size_b;
        size = 1;
    }
    double difference = plus - minus;
    return fabs(difference) <= 1e-12 * (fabs(plus) + fabs(minus)) ? 0 : difference / size;
}

static void weigh(gerne_batch *b, double beta, uint32_t count_b, uint32_t count_lb)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        uint32_t m_b = b->times[2 * i], m_lb = b->times[2 * i + 1];
        double weight = signed_weight(beta, m_b, m_lb, count_b, count_lb);
        if (weight == 0)
            continue;
        b->samples[kept] = b->samples[i];
        b->weights[kept] = (float)weight;
        b->biased[kept] = count_b ? (float)((double)m_b / count_b) : 0;
        b->less_biased[kept] = count_lb ? (float)((double)m_lb / count_lb) : 0;
        kept++;
    }
    b->count = kept;
}

static gerne_status draw_extrapolated(gerne_ctx *ctx, const gerne_sampler *s, uint64_t step,
                                      gerne_batch *b)
{
    bool with_b = s->options.beta != 0, with_lb = s->options.beta != -1;
    GN_TRY(room_for_groups(ctx, s, b));
    uint32_t count_b = with_b ? gn_sampler_compose(s, GERNE_LAW_BIASED, step, b->groups_b) : 0;
    uint32_t count_lb =
        with_lb ? gn_sampler_compose(s, GERNE_LAW_LESS_BIASED, step, b->groups_lb) : 0;
    size_t count = (size_t)count_b + count_lb, slot_count = 64;
    while (slot_count < 2 * count)
        slot_count *= 2;
    GN_TRY(make_room(ctx, b, count));
    GN_TRY(gn_grow(ctx, &b->drawn, &b->drawn_capacity, count, sizeof *b->drawn, "a batch"));
    GN_TRY(gn_grow(ctx, &b->times, &b->times_capacity, 2 * count, sizeof *b->times, "a batch"));
    GN_TRY(gn_grow(ctx, &b->slots, &b->slots_capacity, slot_count, sizeof *b->slots, "a batch"));
    if (with_b)
        gn_sampler_pick(s, GERNE_LAW_BIASED, step, b->groups_b, b->drawn);
    if (with_lb)
        gn_sampler_pick(s, GERNE_LAW_LESS_BIASED, step, b->groups_lb, b->drawn + count_b);
    coalesce(b, count_b, count_lb, slot_count);
    weigh(b, s->options.beta, count_b, count_lb);
    b->realised_bound =
        with_b && with_lb ? realised_bound(s->groups, b->groups_b, b->groups_lb) : INFINITY;
    return GERNE_OK;
}

gerne_status gerne_sampler_draw(gerne_ctx *ctx, const gerne_sampler *sampler, gerne_draw draw,
                                uint64_t step, gerne_batch *batch)
{
    GN_NEEDS(ctx, sampler);
    GN_NEEDS(ctx, batch);
    batch->count = 0;
    switch (draw) {
    case GERNE_DRAW_SHUFFLED:
    case GERNE_DRAW_UNIFORM:
    case GERNE_DRAW_GROUPS:
        return draw_plain(ctx, sampler, draw, step, batch);
    case GERNE_DRAW_BIASED:
    case GERNE_DRAW_LESS_BIASED:
    case GERNE_DRAW_EXTRAPOLATED:
        break;
    default:
        return gn_fail(ctx, GERNE_EUSAGE, "%d is not a kind of draw", (int)draw);
    }
    if (sampler->options.per_class == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "this sampler has no size per class");
    if (draw == GERNE_DRAW_EXTRAPOLATED)
        return draw_extrapolated(ctx, sampler, step, batch);
    return draw_one(ctx, sampler, draw, step, batch);
}

size_t gerne_batch_size(const gerne_batch *batch)
{
    return batch ? batch->count : 0;
}

const uint32_t *gerne_batch_samples(const gerne_batch *batch)
{
    return batch ? batch->samples : NULL;
}

const float *gerne_batch_weights(const gerne_batch *batch)
{
    return batch ? batch->weights : NULL;
}

const float *gerne_batch_biased_weights(const gerne_batch *batch)
{
    return batch ? batch->biased : NULL;
}

const float *gerne_batch_less_biased_weights(const gerne_batch *batch)
{
    return batch ? batch->less_biased : NULL;
}

double gerne_batch_realised_bound(const gerne_batch *batch)
{
    return batch ? batch->realised_bound : INFINITY;
}
