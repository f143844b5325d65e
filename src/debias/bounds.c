/* bounds.c - the laws of the batches, and how far beta may go (equation 8 and appendix C). */
#include "debias/bounds.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/arguments.h"
#include "debias/groups.h"
#include "debias/line.h"

/* What a typed beta may miss a bound by: the last of the digits that we print. */
static const double SLACK = 1e-9;

/* Pseudo-groups are only a guess, so a share a little below zero is let pass. */
static const double PSEUDO_SHARE = -0.25;

gerne_status gn_check_c(gerne_ctx *ctx, double c)
{
    if (c > 0 && c <= 1)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "c %g is outside (0, 1]", c);
    gn_hint(ctx, "c is how far the less biased batch goes from the data (0) to balance (1)");
    return GERNE_EUSAGE;
}

static double share(const gerne_groups *groups, uint32_t y, uint32_t a, double step)
{
    double alpha = gerne_groups_alpha(groups, y, a);
    if (alpha == 0 && !groups->keep_empty)
        return 0;
    /* Written so that a full step lands on the balanced share exactly. */
    return (1 - step) * alpha + gn_target_part(groups, y, a, step);
}

gerne_status gerne_law_fill(gerne_ctx *ctx, const gerne_groups *groups, gerne_law law, double c,
                            double beta, double *p)
{
    GN_NEEDS(ctx, groups);
    GN_NEEDS(ctx, p);
    if ((int)law < GERNE_LAW_BIASED || law > GERNE_LAW_EXTRAPOLATED)
        return gn_fail(ctx, GERNE_EUSAGE, "%d is not a law", (int)law);
    if (law != GERNE_LAW_BIASED)
        GN_TRY(gn_check_c(ctx, c));
    if (law == GERNE_LAW_EXTRAPOLATED && !isfinite(beta))
        return gn_fail(ctx, GERNE_EUSAGE, "beta is not finite");
    double step = law == GERNE_LAW_BIASED ? 0 : law == GERNE_LAW_LESS_BIASED ? c : gn_s_of(c, beta);
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++)
            p[gn_group_id(groups, y, a)] = share(groups, y, a, step);
    return GERNE_OK;
}

gerne_status gerne_bounds_of(gerne_ctx *ctx, const gerne_groups *groups, double c,
                             gerne_bounds *out)
{
    GN_NEEDS(ctx, out);
    GN_NEEDS(ctx, groups);
    *out = (gerne_bounds){.lower = -INFINITY, .upper = INFINITY, .beta_max = INFINITY};
    GN_TRY(gn_check_c(ctx, c));
    out->beta_balanced = 1 / c - 1;
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double at_zero, at_one;
            if (!gn_group_ends(groups, y, a, &at_zero, &at_one))
                continue;
            out->lower = fmax(out->lower, fmin(at_zero, at_one) / c - 1);
            out->upper = fmin(out->upper, fmax(at_zero, at_one) / c - 1);
            if (at_zero > at_one && at_zero / c - 1 < out->beta_max) {
                out->beta_max = at_zero / c - 1;
                out->binds = true;
                out->y = y;
                out->a = a;
            }
        }
    /* The two forms are equal (appendix C); rounding shall not say otherwise. */
    if (fabs(out->upper - out->beta_max) <= 8 * DBL_EPSILON * fmax(1, fabs(out->beta_max) + 1))
        out->upper = out->beta_max;
    return GERNE_OK;
}

double gn_pseudo_cap(const gerne_groups *groups, double c)
{
    double cap = INFINITY;
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double alpha = gerne_groups_alpha(groups, y, a);
            double excess = alpha - gn_target_part(groups, y, a, 1);
            if (excess > 0)
                cap = fmin(cap, (alpha - PSEUDO_SHARE) / (c * excess) - 1);
        }
    return cap;
}

/* "c (beta + 1) = 2.5 ..., so y=0, a=0 (95.0 % of its class) would count -0.125 times" */
static gerne_status refuse(gerne_ctx *ctx, const gerne_groups *groups, double c, double beta,
                           const gerne_bounds *bounds, double limit, unsigned flags)
{
    char group[GN_GROUP_TEXT], sentence[512];
    gn_group_text(groups, bounds->y, bounds->a, group);
    double alpha = gerne_groups_alpha(groups, bounds->y, bounds->a);
    double p = share(groups, bounds->y, bounds->a, c * (beta + 1));
    snprintf(sentence, sizeof sentence,
             "beta %g is outside [%.6f, %.6f] for c = %g: group %s (%.2f %% of its class) would "
             "get the share p_ext = %.4f%s",
             beta, bounds->lower, limit, c, group, 100 * alpha, p,
             p < 0 ? ", so its loss would grow without bound" : "");
    if (flags & GERNE_BEYOND_BOUNDS) {
        gn_warn(ctx, "%s; allowed because beyond_bounds is set", sentence);
        return GERNE_OK;
    }
    gn_fail(ctx, GERNE_EUSAGE, "%s", sentence);
    if (beta > limit)
        gn_hint(ctx,
                "use a beta up to %.4f, or a smaller c, which widens the range (c up to "
                "%.4f allows this beta), or set method.beyond_bounds",
                limit, c * (limit + 1) / (beta + 1));
    else
        gn_hint(ctx, "beta = -1 is training without debiasing; useful values are above 0");
    return GERNE_EUSAGE;
}

gerne_status gerne_check_beta(gerne_ctx *ctx, const gerne_groups *groups, double c, double beta,
                              unsigned flags)
{
    GN_NEEDS(ctx, groups);
    gerne_bounds bounds;
    GN_TRY(gerne_bounds_of(ctx, groups, c, &bounds));
    if (!isfinite(beta))
        return gn_fail(ctx, GERNE_EUSAGE, "beta is not finite");
    double slack = SLACK * (1 + fabs(beta));
    double limit = flags & GERNE_PSEUDO_GROUPS ? gn_pseudo_cap(groups, c) : bounds.upper;
    if (!bounds.binds) {
        gn_warn(ctx, "%s",
                groups->attributes == 1
                    ? "there is only one attribute value, so beta changes only the variance"
                    : "every class is balanced over the groups that have samples, so beta "
                      "changes only the variance");
        return GERNE_OK;
    }
    if (beta > limit + slack || beta < bounds.lower - slack)
        return refuse(ctx, groups, c, beta, &bounds, limit, flags);
    if (beta < -1)
        gn_warn(ctx, "beta %g is below -1: batches will be more biased than the data", beta);
    if (beta > bounds.upper + slack)
        gn_warn(ctx,
                "beta %g is above %.6f, the bound of the pseudo-groups; up to %.6f it is allowed, "
                "because the pseudo-groups are a guess",
                beta, bounds.upper, limit);
    return GERNE_OK;
}

gerne_status gerne_beta_target(gerne_ctx *ctx, double alpha, double q1, double q2, double c,
                               double p, double *beta)
{
    GN_NEEDS(ctx, beta);
    *beta = 0;
    GN_TRY(gn_check_c(ctx, c));
    const double shares[] = {alpha, q1, q2, p};
    for (int i = 0; i < 4; i++)
        if (!(shares[i] >= 0 && shares[i] <= 1))
            return gn_fail(ctx, GERNE_EUSAGE, "the share %g is outside [0, 1]", shares[i]);
    double now = alpha * q1 + (1 - alpha) * q2;
    double slope = c * (0.5 - alpha) * (q1 - q2);
    if (slope == 0)
        return gn_fail(
            ctx, GERNE_EUSAGE, "%s",
            q1 == q2 ? "both pseudo-groups have the same share of the attribute, so beta has no "
                       "effect on it"
                     : "the pseudo-groups have the same size, so beta has no effect");
    *beta = (p - now) / slope - 1;
    return GERNE_OK;
}

gn_variances gn_variances_of(double c, double beta)
{
    double major = 1 - c / 2, w = 1 - c * (1 + beta) / 2;
    double root = (1 + beta) * sqrt(major) - beta;
    return (gn_variances){
        .weighted = w * w / major,
        .independent = (1 + beta) * (1 + beta) * major + beta * beta,
        .shared = major * (1 - beta * beta) + beta * beta,
        .least = root * root,
    };
}

gerne_status gn_weights_of(gerne_ctx *ctx, const gerne_groups *groups, double c, double beta,
                           double *weights)
{
    GN_TRY(gn_check_c(ctx, c));
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double drawn = share(groups, y, a, c);
            weights[gn_group_id(groups, y, a)] =
                drawn > 0 ? share(groups, y, a, c * (beta + 1)) / drawn : 0;
        }
    return GERNE_OK;
}

gerne_status gn_beta_grid(gerne_ctx *ctx, const gerne_groups *groups, double c, int steps,
                          gn_beta_list *out)
{
    *out = (gn_beta_list){.items = {-1, 0}, .count = 2};
    gerne_bounds bounds;
    GN_TRY(gerne_bounds_of(ctx, groups, c, &bounds));
    if (!bounds.binds)
        return GERNE_OK;
    double span = bounds.beta_max - bounds.beta_balanced;
    for (int k = 0; k < steps && k < GN_BETA_STEPS_MAX; k++) {
        double beta = bounds.beta_balanced + span * k / steps;
        if (beta > out->items[out->count - 1])
            out->items[out->count++] = beta;
    }
    /* The last point stays off the bound itself, where a group's share is zero. */
    double last = 0.99 * bounds.beta_max;
    if (last <= out->items[out->count - 1])
        last = bounds.beta_balanced + 0.99 * span;
    out->items[out->count++] = last;
    return GERNE_OK;
}
