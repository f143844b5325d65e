/* sampler.c - batches as pure functions of (seed, step).
 *
 * A batch by law is drawn in two moves: how many samples each group gives, then which. The second
 * takes the first positions of a permutation keyed by (seed, step, group), so that two batches that
 * use the same key share as many samples as they can, and two that do not are independent. */
#include "debias/sampler.h"

#include <assert.h>
#include <math.h>

#include "base/arguments.h"
#include "base/rng.h"
#include "debias/bounds.h"

enum { PER_CLASS_LIMIT = 1 << 24 };
static const uint64_t BATCH_LIMIT = (uint64_t)1 << 30; /* two of them fit 32 bits */

/* Separate uses of one (seed, step); part of what "the same seed" means. */
typedef enum draw_key {
    COMPOSE_BIASED = 1,      /* which groups the samples of a biased batch come from */
    COMPOSE_LESS_BIASED = 2, /* how the odd samples of a less biased batch fall */
    PICK_BIASED = 3,         /* which samples of a group */
    PICK_LESS_BIASED = 4,
} draw_key;

static uint64_t key_index(draw_key key, uint64_t pass, uint64_t cell)
{
    return (uint64_t)key << 60 | pass << 32 | cell;
}

/* ---- making a sampler ---- */

/* A product such as 0.29 * 100 is a whole number for all that matters. */
double gn_snap(double x)
{
    double whole = nearbyint(x);
    return fabs(x - whole) <= 1e-9 * fmax(1, fabs(x)) ? whole : x;
}

static gerne_status check_options(gerne_ctx *ctx, const gerne_groups *groups,
                                  const gerne_sampler_options *o)
{
    if (!groups->members)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "these groups were created from counts: there are no samples to draw");
    if (o->per_class == 0 && o->batch == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "the batch size is zero");
    if (o->per_class > PER_CLASS_LIMIT)
        return gn_fail(ctx, GERNE_EUSAGE, "%u samples per class are more than %d", o->per_class,
                       PER_CLASS_LIMIT);
    if ((uint64_t)o->per_class * groups->classes > BATCH_LIMIT || o->batch > BATCH_LIMIT)
        return gn_fail(ctx, GERNE_EUSAGE, "a batch of more than %llu samples",
                       (unsigned long long)BATCH_LIMIT);
    if (o->drop_last && o->batch > groups->total)
        return gn_fail(ctx, GERNE_EUSAGE, "a batch of %u samples, but there are only %llu",
                       o->batch, (unsigned long long)groups->total);
    if (o->per_class == 0)
        return GERNE_OK;
    GN_TRY(gn_check_c(ctx, o->c));
    return isfinite(o->beta) ? GERNE_OK : gn_fail(ctx, GERNE_EUSAGE, "beta is not finite");
}

/* The number of samples that each group gives to a batch, on average. */
static gerne_status fill_expected(gerne_ctx *ctx, gerne_sampler *s, gerne_law law, double *expected)
{
    const gerne_groups *groups = s->groups;
    GN_TRY(gerne_law_fill(ctx, groups, law, s->options.c, 0, expected));
    for (uint32_t y = 0; y < groups->classes; y++) {
        double *row = expected + gn_group_id(groups, y, 0), sum = 0, rounded = 0;
        const uint64_t *counts = groups->counts + gn_group_id(groups, y, 0);
        for (uint32_t a = 0; a < groups->attributes; a++)
            sum += row[a] = counts[a] ? row[a] : 0; /* what is empty cannot be drawn */
        if (groups->present[y] == groups->attributes || !groups->keep_empty)
            sum = 1;
        for (uint32_t a = 0; a < groups->attributes; a++) {
            row[a] = gn_snap(row[a] / sum * s->options.per_class);
            rounded += row[a] = s->options.rounded ? round(row[a]) : row[a];
        }
        if (rounded < 0.5) {
            char text[GN_GROUP_TEXT];
            gn_fail(ctx, GERNE_EUSAGE, "rounding leaves no sample of class %s in a batch",
                    gn_class_text(groups, y, text));
            gn_hint(ctx, "use more than %u samples per class, or exact rounding",
                    s->options.per_class);
            return GERNE_EUSAGE;
        }
    }
    return GERNE_OK;
}

static gerne_status fill_tables(gerne_ctx *ctx, gerne_sampler *s)
{
    size_t cells = (size_t)s->groups->classes * s->groups->attributes;
    GN_TRY(gn_alloc(ctx, cells, sizeof *s->present, "a sampler", &s->present));
    for (size_t g = 0; g < cells; g++)
        if (s->groups->counts[g])
            s->present[s->present_count++] = (uint32_t)g;
    if (s->options.per_class == 0)
        return GERNE_OK;
    GN_TRY(gn_alloc(ctx, cells, sizeof *s->biased, "a sampler", &s->biased));
    GN_TRY(gn_alloc(ctx, cells, sizeof *s->less_biased, "a sampler", &s->less_biased));
    GN_TRY(fill_expected(ctx, s, GERNE_LAW_BIASED, s->biased));
    return fill_expected(ctx, s, GERNE_LAW_LESS_BIASED, s->less_biased);
}

gerne_status gerne_sampler_new(gerne_ctx *ctx, const gerne_groups *groups,
                               const gerne_sampler_options *options, gerne_sampler **out)
{
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, groups);
    GN_NEEDS(ctx, options);
    GN_TRY(check_options(ctx, groups, options));
    GN_LOCAL(gerne_sampler) *sampler = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *sampler, "a sampler", &sampler));
    sampler->groups = groups;
    sampler->options = *options;
    GN_TRY(fill_tables(ctx, sampler));
    return gn_give(&sampler, out);
}

void gerne_sampler_close(gerne_sampler *sampler)
{
    if (!sampler)
        return;
    gn_free(sampler->biased);
    gn_free(sampler->less_biased);
    gn_free(sampler->present);
    gn_free(sampler);
}

/* ---- how many samples of each group ---- */

static uint32_t attribute_at(const gerne_groups *groups, uint32_t y, uint64_t member)
{
    const uint64_t *starts = groups->starts + gn_group_id(groups, y, 0);
    uint32_t low = 0, high = groups->attributes; /* starts[low] <= member < starts[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (starts[middle] <= member)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Draws from the class without looking at attributes: whole passes give every sample once, the rest
 * is what the first positions of a permutation of the class fall on. */
static void compose_biased(const gerne_sampler *s, uint64_t step, uint32_t y, uint32_t *row)
{
    const gerne_groups *groups = s->groups;
    uint64_t all = groups->class_counts[y];
    uint32_t passes = (uint32_t)(s->options.per_class / all);
    uint32_t rest = (uint32_t)(s->options.per_class % all);
    for (uint32_t a = 0; a < groups->attributes; a++)
        row[a] = passes * (uint32_t)(passes ? gerne_groups_count(groups, y, a) : 0);
    uint64_t first = groups->starts[gn_group_id(groups, y, 0)];
    if (groups->present[y] == 1) {
        row[attribute_at(groups, y, first)] += rest;
        return;
    }
    gn_permutation order =
        gn_permutation_at(all, s->options.seed, GN_RNG_DRAW, step, key_index(COMPOSE_BIASED, 0, y));
    for (uint32_t i = 0; i < rest; i++)
        row[attribute_at(groups, y, first + gn_permute(&order, i))]++;
}

/* The whole part of what is expected, and the fractions by systematic sampling: every group gets
 * its extra sample with the probability of its fraction, and the class always has its size. */
static void compose_less_biased(const gerne_sampler *s, uint64_t step, uint32_t y, uint32_t *row)
{
    const double *expected = s->less_biased + gn_group_id(s->groups, y, 0);
    uint32_t left = s->options.per_class, last = 0;
    for (uint32_t a = 0; a < s->groups->attributes; a++) {
        row[a] = (uint32_t)expected[a];
        left -= row[a];
        if (expected[a] > row[a])
            last = a;
    }
    if (left == 0)
        return;
    gn_stream stream =
        gn_stream_at(s->options.seed, GN_RNG_DRAW, step, key_index(COMPOSE_LESS_BIASED, 0, y));
    double start = gn_random_uniform(&stream), sum = 0, before = 0;
    for (uint32_t a = 0; a <= last; a++) {
        sum += expected[a] - floor(expected[a]);
        /* The fractions add up to a whole number but for rounding. */
        double after = a == last ? left : fmin(ceil(sum - start), left);
        row[a] += (uint32_t)(after - before);
        before = after;
    }
}

static void compose_rounded(const gerne_groups *groups, const double *expected, uint32_t y,
                            uint32_t *row)
{
    for (uint32_t a = 0; a < groups->attributes; a++)
        row[a] = (uint32_t)expected[gn_group_id(groups, y, a)];
}

uint32_t gn_sampler_compose(const gerne_sampler *s, gerne_law law, uint64_t step,
                            uint32_t *per_group)
{
    uint32_t total = 0;
    for (uint32_t y = 0; y < s->groups->classes; y++) {
        uint32_t *row = per_group + gn_group_id(s->groups, y, 0);
        if (s->options.rounded)
            compose_rounded(s->groups, law == GERNE_LAW_BIASED ? s->biased : s->less_biased, y,
                            row);
        else if (law == GERNE_LAW_BIASED)
            compose_biased(s, step, y, row);
        else
            compose_less_biased(s, step, y, row);
        for (uint32_t a = 0; a < s->groups->attributes; a++)
            total += row[a];
    }
    return total;
}

/* ---- which samples ---- */

/* count samples of a group: whole passes as they stand, the rest from a permutation. */
static uint32_t *pick(const gerne_sampler *s, draw_key key, uint64_t step, size_t g, uint32_t count,
                      uint32_t *out)
{
    uint64_t size = s->groups->counts[g], pass = 0;
    const uint32_t *members = s->groups->members + s->groups->starts[g];
    for (; count >= size; pass++, count -= (uint32_t)size)
        for (uint64_t i = 0; i < size; i++)
            *out++ = members[i];
    if (count == 0)
        return out;
    gn_permutation order =
        gn_permutation_at(size, s->options.seed, GN_RNG_DRAW, step, key_index(key, pass, g));
    for (uint32_t i = 0; i < count; i++)
        *out++ = members[gn_permute(&order, i)];
    return out;
}

void gn_sampler_pick(const gerne_sampler *s, gerne_law law, uint64_t step,
                     const uint32_t *per_group, uint32_t *out)
{
    /* Shared or not, a batch that is used alone is drawn from its own keys. */
    bool both = s->options.beta != 0 && s->options.beta != -1;
    bool shared = s->options.share_majority && both;
    draw_key key = law == GERNE_LAW_BIASED || shared ? PICK_BIASED : PICK_LESS_BIASED;
    for (size_t i = 0; i < s->present_count; i++) {
        size_t g = s->present[i];
        if (per_group[g])
            out = pick(s, key, step, g, per_group[g], out);
    }
}

/* ---- plain batches ---- */

void gn_sampler_plain(const gerne_sampler *s, gerne_draw draw, uint64_t step, uint32_t *out)
{
    uint64_t n = s->groups->total, seed = s->options.seed;
    uint32_t batch = s->options.batch;
    gn_stream stream = gn_stream_at(seed, GN_RNG_SHUFFLE, step, (uint64_t)draw);
    if (draw != GERNE_DRAW_SHUFFLED) {
        for (uint32_t i = 0; i < batch; i++) {
            if (draw == GERNE_DRAW_UNIFORM) {
                out[i] = (uint32_t)gn_random_below(&stream, n);
                continue;
            }
            size_t g = s->present[gn_random_below(&stream, s->present_count)];
            out[i] = s->groups->members[s->groups->starts[g] +
                                        gn_random_below(&stream, s->groups->counts[g])];
        }
        return;
    }
    /* Unsigned arithmetic wraps round after 2^64 samples, which no run draws. */
    uint64_t per_epoch = s->options.drop_last ? n - n % batch : n;
    uint64_t at = step * batch % per_epoch, epoch = step * batch / per_epoch;
    gn_permutation order =
        gn_permutation_at(n, seed, GN_RNG_SHUFFLE, epoch, (uint64_t)GERNE_DRAW_SHUFFLED);
    for (uint32_t i = 0; i < batch; i++, at++) {
        if (at == per_epoch) {
            at = 0;
            order =
                gn_permutation_at(n, seed, GN_RNG_SHUFFLE, ++epoch, (uint64_t)GERNE_DRAW_SHUFFLED);
        }
        out[i] = (uint32_t)gn_permute(&order, at);
    }
}
