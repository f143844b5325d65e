#include "metrics/comparison.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

static uint64_t size_of(const gn_pairs *pairs)
{
    return pairs->both + pairs->only_first + pairs->only_second + pairs->neither;
}

static void count_pair(gn_pairs *pairs, bool first, bool second)
{
    pairs->both += first && second;
    pairs->only_first += first && !second;
    pairs->only_second += !first && second;
    pairs->neither += !first && !second;
}

/* A Binomial(n, p) variable from one uniform number: the values are tried from the mode outwards,
 * so that it takes about sqrt(n p (1 - p)) steps and is exact for any n. */
static uint64_t draw_binomial(gn_stream *stream, uint64_t n, double p)
{
    if (n == 0 || !(p > 0))
        return 0;
    if (p >= 1)
        return n;
    double count = (double)n, odds = p / (1 - p), mode = fmin(count, floor((count + 1) * p));
    int sign;
    double at_mode =
        exp(lgamma_r(count + 1, &sign) - lgamma_r(mode + 1, &sign) -
            lgamma_r(count - mode + 1, &sign) + mode * log(p) + (count - mode) * log1p(-p));
    double left = gn_random_uniform(stream) - at_mode, up = mode, down = mode;
    double above = at_mode, below = at_mode;
    while (left >= 0 && (up < count || down > 0)) {
        above *= (count - up) / (up + 1) * odds; /* 0 beyond the end */
        up = fmin(count, up + 1);
        left -= above;
        if (left < 0)
            return (uint64_t)up;
        below *= down / (count - down + 1) / odds;
        down = fmax(0, down - 1);
        left -= below;
        if (left < 0)
            return (uint64_t)down;
        if (above + below == 0) /* what rounding left over, below 1e-12 */
            break;
    }
    return (uint64_t)mode;
}

/* n samples drawn with replacement from the group, counted by kind: a multinomial as a chain of
 * binomials. */
static gn_pairs resample_group(const gn_pairs *pairs, uint64_t seed, uint64_t resample, size_t g)
{
    gn_stream stream = gn_stream_at(seed, GN_RNG_BOOTSTRAP, resample, g);
    uint64_t left = size_of(pairs), kinds = left;
    gn_pairs drawn = {0};
    drawn.both = draw_binomial(&stream, left, (double)pairs->both / (double)kinds);
    left -= drawn.both;
    kinds -= pairs->both;
    if (left > 0)
        drawn.only_first = draw_binomial(&stream, left, (double)pairs->only_first / (double)kinds);
    left -= drawn.only_first;
    kinds -= pairs->only_first;
    if (left > 0)
        drawn.only_second =
            draw_binomial(&stream, left, (double)pairs->only_second / (double)kinds);
    drawn.neither = left - drawn.only_second;
    return drawn;
}

/* Sums over groups that become the two differences. */
typedef struct tally {
    double worst_first, worst_second, sum;
    size_t groups;
} tally;

static void tally_group(tally *t, const gn_pairs *pairs)
{
    double n = (double)size_of(pairs);
    double first = (double)(pairs->both + pairs->only_first) / n;
    double second = (double)(pairs->both + pairs->only_second) / n;
    t->worst_first = t->groups ? fmin(t->worst_first, first) : first;
    t->worst_second = t->groups ? fmin(t->worst_second, second) : second;
    t->sum += first - second;
    t->groups++;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static gn_interval middle_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return (gn_interval){gn_sorted_quantile(values, count, 0.025),
                         gn_sorted_quantile(values, count, 0.975)};
}

static gerne_status bootstrap(gerne_ctx *ctx, uint64_t seed, double *wga, double *gba,
                              gn_comparison *out)
{
    size_t groups = (size_t)out->classes * (size_t)out->attributes;
    for (uint64_t r = 0; r < out->resamples; r++) {
        tally t = {0};
        for (size_t g = 0; g < groups; g++) {
            if (size_of(&out->groups[g]) == 0)
                continue;
            gn_pairs drawn = resample_group(&out->groups[g], seed, r, g);
            tally_group(&t, &drawn);
        }
        wga[r] = t.worst_first - t.worst_second;
        gba[r] = t.sum / (double)t.groups;
        if (r % 64 == 0)
            GN_TRY(gn_progress(
                ctx, &(gerne_progress){
                         .what = "compare", .done = r, .total = out->resamples, .detail = ""}));
    }
    out->wga_ci95 = middle_of(wga, out->resamples);
    out->gba_ci95 = middle_of(gba, out->resamples);
    return GERNE_OK;
}

/* right / n as a fraction of whole numbers, so that the gap is exact. */
typedef struct fraction {
    uint64_t right, n;
} fraction;

static fraction group_score(const gn_pairs *pairs, bool second)
{
    return (fraction){pairs->both + (second ? pairs->only_second : pairs->only_first),
                      size_of(pairs)};
}

static fraction worst_score(const gn_comparison *c, bool second)
{
    fraction worst = {0};
    for (size_t g = 0; g < (size_t)c->classes * (size_t)c->attributes; g++) {
        fraction one = group_score(&c->groups[g], second);
        if (one.n > 0 && (worst.n == 0 || (unsigned __int128)one.right * worst.n <
                                              (unsigned __int128)worst.right * one.n))
            worst = one;
    }
    return worst;
}

/* What the set with the lower worst group lacks, over all its groups, to be as good. */
static uint64_t gap_in_samples(const gn_comparison *c)
{
    bool second_lower = c->wga_difference > 0;
    fraction goal = worst_score(c, !second_lower);
    assert(goal.n > 0); /* there are samples */
    uint64_t gap = 0;
    for (size_t g = 0; g < (size_t)c->classes * (size_t)c->attributes; g++) {
        fraction one = group_score(&c->groups[g], second_lower);
        uint64_t need = (uint64_t)(((unsigned __int128)goal.right * one.n + goal.n - 1) / goal.n);
        gap += need > one.right ? need - one.right : 0;
    }
    return gap;
}

static void judge(gn_comparison *out)
{
    tally t = {0};
    for (size_t g = 0; g < (size_t)out->classes * (size_t)out->attributes; g++)
        if (size_of(&out->groups[g]) > 0)
            tally_group(&t, &out->groups[g]);
    out->wga_difference = t.worst_first - t.worst_second;
    out->gba_difference = t.sum / (double)t.groups;
    out->acc_difference =
        ((double)out->all.only_first - (double)out->all.only_second) / (double)size_of(&out->all);
    out->mcnemar = gn_mcnemar(out->all.only_first, out->all.only_second);
    out->gap_samples = gap_in_samples(out);
}

gerne_status gn_compare(gerne_ctx *ctx, const gn_predictions *first, const gn_predictions *second,
                        uint64_t resamples, uint64_t seed, gn_comparison *out)
{
    *out = (gn_comparison){
        .classes = first->classes, .attributes = first->attributes, .resamples = resamples};
    if (first->count != second->count || first->count == 0 || resamples == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "%zu and %zu predictions with %llu resamples",
                       first->count, second->count, (unsigned long long)resamples);
    size_t groups = (size_t)first->classes * (size_t)first->attributes;
    GN_TRY(gn_alloc(ctx, groups, sizeof *out->groups, "groups", &out->groups));
    for (size_t i = 0; i < first->count; i++) {
        bool one = first->pred[i] == first->y[i], other = second->pred[i] == second->y[i];
        size_t g = (size_t)first->y[i] * (size_t)first->attributes + (size_t)first->a[i];
        count_pair(&out->groups[g], one, other);
        count_pair(&out->all, one, other);
    }
    judge(out);
    double *values = NULL;
    gerne_status status = gn_alloc(ctx, resamples, 2 * sizeof *values, "resamples", &values);
    if (status == GERNE_OK)
        status = bootstrap(ctx, seed, values, values + resamples, out);
    gn_free(values);
    if (status != GERNE_OK)
        gn_comparison_free(out);
    return status;
}

void gn_comparison_free(gn_comparison *comparison)
{
    gn_free(comparison->groups);
    comparison->groups = NULL;
}
