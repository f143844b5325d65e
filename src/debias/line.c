#include "debias/line.h"

#include <math.h>

#include "debias/groups.h"

static double target_of(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    return gn_target_part(groups, y, a, 1);
}

/* An empty group has no place in the class unless the paper is taken to the letter. */
static bool is_absent(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    return gerne_groups_count(groups, y, a) == 0 && !groups->keep_empty;
}

/* From integers, so that equal shares are seen to be equal. */
static bool balanced_ends(const gerne_groups *groups, uint32_t y, uint32_t a, double *at_zero,
                          double *at_one)
{
    uint64_t count = gerne_groups_count(groups, y, a), all = groups->class_counts[y];
    uint32_t divisor = gn_groups_divisor(groups, y);
    __int128 excess = (__int128)count * divisor - all; /* of alpha over 1/A, times A |X_y| */
    if (divisor == 1 || excess == 0)
        return false;
    *at_zero = (double)((__int128)count * divisor) / (double)excess;
    *at_one = -(double)((__int128)(all - count) * divisor) / (double)excess;
    return true;
}

bool gn_group_ends(const gerne_groups *groups, uint32_t y, uint32_t a, double *at_zero,
                   double *at_one)
{
    if (is_absent(groups, y, a))
        return false;
    if (!groups->target)
        return balanced_ends(groups, y, a, at_zero, at_one);
    double alpha = gerne_groups_alpha(groups, y, a);
    double excess = alpha - groups->target[gn_group_id(groups, y, a)];
    if (fabs(excess) <= 1e-12)
        return false;
    *at_zero = alpha / excess;
    *at_one = (alpha - 1) / excess;
    return true;
}

gn_s_bounds gn_s_bounds_of_class(const gerne_groups *groups, uint32_t y)
{
    gn_s_bounds out = {.lower = -INFINITY, .upper = INFINITY, .y = y};
    for (uint32_t a = 0; a < groups->attributes; a++) {
        double at_zero, at_one;
        if (!gn_group_ends(groups, y, a, &at_zero, &at_one))
            continue;
        /* A share above its target falls to 0, and then none can exceed 1: they add up to 1. */
        if (at_zero > at_one && at_zero < out.upper) {
            out.upper = at_zero;
            out.binds = true;
            out.a = a;
        }
        out.lower = fmax(out.lower, fmin(at_zero, at_one));
    }
    return out;
}

gn_s_bounds gn_s_bounds_of(const gerne_groups *groups)
{
    gn_s_bounds out = {.lower = -INFINITY, .upper = INFINITY};
    for (uint32_t y = 0; y < groups->classes; y++) {
        gn_s_bounds own = gn_s_bounds_of_class(groups, y);
        double lower = fmax(out.lower, own.lower);
        if (own.upper < out.upper)
            out = own;
        out.lower = lower;
    }
    return out;
}

gerne_status gn_check_target(gerne_ctx *ctx, const gerne_groups *groups, const double *target)
{
    char text[GN_GROUP_TEXT];
    for (uint32_t y = 0; y < groups->classes; y++) {
        double sum = 0;
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double share = target[gn_group_id(groups, y, a)];
            sum += share;
            if (!(share >= 0 && share <= 1))
                return gn_fail(ctx, GERNE_EUSAGE,
                               "the target share %g of group %s is outside "
                               "[0, 1]",
                               share, gn_group_text(groups, y, a, text));
            if (share > 0 && gerne_groups_count(groups, y, a) == 0)
                return gn_fail(ctx, GERNE_EUSAGE,
                               "the target gives group %s the share %g, but it has no samples",
                               gn_group_text(groups, y, a, text), share);
        }
        if (fabs(sum - 1) > 1e-9)
            return gn_fail(ctx, GERNE_EUSAGE, "the target shares of class %s add up to %.9g, not 1",
                           gn_class_text(groups, y, text), sum);
    }
    return GERNE_OK;
}

void gn_line_fill(const gerne_groups *groups, const double *s, double *p)
{
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++)
            p[gn_group_id(groups, y, a)] = is_absent(groups, y, a)
                                               ? 0
                                               : (1 - s[y]) * gerne_groups_alpha(groups, y, a) +
                                                     s[y] * target_of(groups, y, a);
}

void gn_line_weights(const gerne_groups *groups, const double *s, double *weights)
{
    gn_line_fill(groups, s, weights);
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double alpha = gerne_groups_alpha(groups, y, a);
            double *weight = &weights[gn_group_id(groups, y, a)];
            *weight = alpha > 0 ? *weight / alpha : 0;
        }
}

void gn_clip_by_class(const gerne_groups *groups, double s, double part, double *out)
{
    for (uint32_t y = 0; y < groups->classes; y++) {
        gn_s_bounds own = gn_s_bounds_of_class(groups, y);
        out[y] = own.binds ? fmin(s, part * own.upper) : s;
    }
}
