/* hard.c - how many samples of each class are hard, by the two modes of their scores. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "debias/pseudo.h"

static const double clear_distance = 3, least_distance = 1;

static uint64_t size_of(const gerne_pseudo *pseudo, uint32_t y)
{
    return pseudo->starts[y + 1] - pseudo->starts[y];
}

static void judge_class(const double *sorted, uint64_t n, gn_hard *out)
{
    *out = (gn_hard){.precision = (double)NAN};
    if (n < 2 || sorted[0] == sorted[n - 1])
        return;
    out->fit = gn_modes_fit(sorted, n);
    out->count = gn_modes_count(&out->fit, sorted, n, &out->precision);
    if (out->count == 0 || 2 * out->count > n)
        return; /* the larger part of a class is no minority */
    if (gn_modes_distance(&out->fit) > clear_distance)
        out->from = GN_HARD_CLEAR;
    else if (gn_modes_pooled_distance(&out->fit) >= least_distance)
        out->from = GN_HARD_UNCLEAR;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* The median share of hard samples over the clear classes; NaN unless these are the most. */
static double usual_share(const gerne_pseudo *pseudo, const gn_hard *hard, double *shares)
{
    size_t clear = 0;
    for (uint32_t y = 0; y < pseudo->classes; y++)
        if (hard[y].from == GN_HARD_CLEAR)
            shares[clear++] = (double)hard[y].count / (double)size_of(pseudo, y);
    if (2 * clear <= pseudo->classes)
        return (double)NAN;
    qsort(shares, clear, sizeof *shares, ascending);
    return (shares[(clear - 1) / 2] + shares[clear / 2]) / 2;
}

static void borrow(const gerne_pseudo *pseudo, double share, gn_hard *hard)
{
    for (uint32_t y = 0; y < pseudo->classes; y++) {
        uint64_t n = size_of(pseudo, y);
        if (hard[y].from == GN_HARD_CLEAR || n < 2)
            continue;
        uint64_t count = (uint64_t)llround(share * (double)n);
        hard[y].from = GN_HARD_OTHERS;
        hard[y].count = count < 1 ? 1 : count < n ? count : n - 1;
        hard[y].precision = (double)NAN;
    }
}

gerne_status gn_hard_find(gerne_ctx *ctx, const gerne_pseudo *pseudo, const float *scores,
                          gn_hard *out)
{
    double *sorted, *shares;
    GN_TRY(gn_alloc(ctx, pseudo->n + 1, sizeof *sorted, "scores", &sorted));
    gerne_status status = gn_alloc(ctx, pseudo->classes, sizeof *shares, "scores", &shares);
    if (status != GERNE_OK) {
        gn_free(sorted);
        return status;
    }
    for (size_t i = 0; i < pseudo->n; i++)
        sorted[i] = (double)scores[pseudo->order[i]];
    for (uint32_t y = 0; y < pseudo->classes; y++)
        judge_class(sorted + pseudo->starts[y], size_of(pseudo, y), &out[y]);
    double share = usual_share(pseudo, out, shares);
    if (!isnan(share))
        borrow(pseudo, share, out);
    for (uint32_t y = 0; y < pseudo->classes; y++)
        if (out[y].from == GN_HARD_NOTHING)
            out[y].count = 0;
    gn_free(sorted);
    gn_free(shares);
    return GERNE_OK;
}

void gn_hard_assign(const gerne_pseudo *pseudo, const gn_hard *hard, int32_t *a)
{
    for (uint32_t y = 0; y < pseudo->classes; y++)
        for (uint64_t i = pseudo->starts[y]; i < pseudo->starts[y + 1]; i++)
            a[pseudo->order[i]] = i >= pseudo->starts[y] + hard[y].count;
}
