/* paired.c - two runs that predicted the same samples: how much better is one, and is it luck? */
#include <math.h>
#include <string.h>

#include "base/statistics.h"
#include "report/sections.h"

/* Samples of a group that only one of the two got right. */
typedef struct discord {
    uint64_t n, right_first, right_other, only_first, only_other;
} discord;

static bool same_samples(const gn_run_record *first, const gn_run_record *other)
{
    if (first->row_count != other->row_count || first->row_count == 0 ||
        first->classes != other->classes || first->attributes != other->attributes)
        return false;
    for (size_t i = 0; i < first->row_count; i++)
        if (first->rows[i].index != other->rows[i].index ||
            first->rows[i].group != other->rows[i].group)
            return false;
    return true;
}

static void tally(const gn_run_record *first, const gn_run_record *other, discord *groups)
{
    for (size_t i = 0; i < first->row_count; i++) {
        uint32_t group = first->rows[i].group, y = group / first->attributes;
        bool one = first->rows[i].pred == y, two = other->rows[i].pred == y;
        discord *d = &groups[group];
        d->n++;
        d->right_first += one;
        d->right_other += two;
        d->only_first += one && !two;
        d->only_other += two && !one;
    }
}

/* The variance of a paired difference of shares is that of a variable with values -1, 0, 1; groups
 * are independent of each other. */
static void summarise(const discord *groups, size_t count, gn_paired *out)
{
    double sum = 0, variance = 0, used = 0, worst_first = INFINITY, worst_other = INFINITY;
    uint64_t right_first = 0, right_other = 0;
    for (size_t g = 0; g < count; g++) {
        const discord *d = &groups[g];
        if (!d->n)
            continue;
        double n = (double)d->n, gain = (double)d->only_other - (double)d->only_first;
        double discordant = (double)d->only_other + (double)d->only_first;
        sum += gain / n;
        variance += (discordant - gain * gain / n) / (n * n);
        used++;
        worst_first = fmin(worst_first, (double)d->right_first / n);
        worst_other = fmin(worst_other, (double)d->right_other / n);
        out->n += d->n;
        out->only_first += d->only_first;
        out->only_other += d->only_other;
        right_first += d->right_first;
        right_other += d->right_other;
    }
    double error = 1.959963984540054 * sqrt(fmax(variance, 0)) / used;
    out->gba = sum / used;
    out->gba_lo = fmax(out->gba - error, -1);
    out->gba_hi = fmin(out->gba + error, 1);
    out->wga = worst_other - worst_first;
    out->acc = ((double)right_other - (double)right_first) / (double)out->n;
    out->mcnemar = gn_mcnemar(out->only_first, out->only_other);
    out->there = true;
}

gerne_status gn_paired_difference(const gn_run_record *first, const gn_run_record *other,
                                  gn_paired *out)
{
    discord *groups;
    size_t count = (size_t)first->classes * first->attributes;
    *out = (gn_paired){0};
    if (!same_samples(first, other))
        return GERNE_OK;
    GN_TRY(gn_alloc(first->ctx, count, sizeof *groups, "a comparison", &groups));
    tally(first, other, groups);
    summarise(groups, count, out);
    gn_free(groups);
    return GERNE_OK;
}
