#include "debias/soft.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "debias/groups.h"

static gerne_status check_row(gerne_ctx *ctx, const gn_soft *soft, size_t i)
{
    double sum = 0;
    for (uint32_t j = 0; j < soft->attributes; j++) {
        double r = (double)soft->r[i * soft->attributes + j];
        sum += r;
        if (!(r >= 0))
            return gn_fail(ctx, GERNE_EDATA,
                           "sample %zu: membership %g of attribute %u is negative", i, r, j);
    }
    if (!(fabs(sum - 1) <= 1e-4))
        return gn_fail(ctx, GERNE_EDATA, "sample %zu: its memberships add up to %g, not 1", i, sum);
    return GERNE_OK;
}

static gerne_status add_up(gerne_ctx *ctx, const gn_soft *soft, double *alpha, double *sizes)
{
    memset(alpha, 0, (size_t)soft->classes * soft->attributes * sizeof *alpha);
    for (size_t i = 0; i < soft->n; i++) {
        GN_TRY(check_row(ctx, soft, i));
        uint32_t y = (uint32_t)soft->y[i];
        for (uint32_t j = 0; j < soft->attributes; j++) {
            double r = (double)soft->r[i * soft->attributes + j];
            alpha[(size_t)y * soft->attributes + j] += r;
            sizes[y] += r; /* of the rounded memberships, so that means over a class are exact */
        }
    }
    for (uint32_t y = 0; y < soft->classes; y++) {
        if (sizes[y] == 0)
            return gn_fail(ctx, GERNE_EDATA, "class %u has no samples", y);
        for (uint32_t j = 0; j < soft->attributes; j++)
            alpha[(size_t)y * soft->attributes + j] /= sizes[y];
    }
    return GERNE_OK;
}

gerne_status gn_soft_shares(gerne_ctx *ctx, const gn_soft *soft, double *alpha)
{
    GN_FREED double *sizes = NULL;
    GN_TRY(gn_alloc(ctx, soft->classes, sizeof *sizes, "class sizes", &sizes));
    return add_up(ctx, soft, alpha, sizes);
}

static double present_of(const gn_soft *soft, const double *alpha, uint32_t y)
{
    double present = 0;
    for (uint32_t j = 0; j < soft->attributes; j++)
        present += alpha[(size_t)y * soft->attributes + j] > 0;
    return present;
}

void gn_soft_ratios(const gn_soft *soft, const double *alpha, const double *target, double *rho)
{
    for (size_t i = 0; i < soft->n; i++) {
        uint32_t y = (uint32_t)soft->y[i];
        const double *shares = alpha + (size_t)y * soft->attributes;
        double equal = target ? 0 : 1 / present_of(soft, alpha, y);
        rho[i] = 0;
        for (uint32_t j = 0; j < soft->attributes; j++) {
            double q = target ? target[(size_t)y * soft->attributes + j] : equal;
            if (shares[j] > 0)
                rho[i] += (double)soft->r[i * soft->attributes + j] * q / shares[j];
        }
    }
}

double gn_soft_bound(const gn_soft *soft, const double *rho, uint32_t y, size_t *sample)
{
    double least = 1;
    *sample = soft->n;
    for (size_t i = 0; i < soft->n; i++)
        if ((uint32_t)soft->y[i] == y && rho[i] < least) {
            least = rho[i];
            *sample = i;
        }
    return least < 1 ? 1 / (1 - least) : INFINITY;
}

double gn_soft_lower_bound(const gn_soft *soft, const double *rho, uint32_t y)
{
    double most = 1;
    for (size_t i = 0; i < soft->n; i++)
        if ((uint32_t)soft->y[i] == y)
            most = fmax(most, rho[i]);
    return most > 1 ? -1 / (most - 1) : -INFINITY;
}

void gn_soft_weights(const gn_soft *soft, const double *rho, const double *s, float *weights)
{
    for (size_t i = 0; i < soft->n; i++)
        weights[i] = (float)(1 - s[soft->y[i]] * (1 - rho[i]));
}

void gn_soft_redraw(const gerne_groups *groups, const int32_t *y, const int32_t *a, size_t n,
                    const double *drawn, float *weights)
{
    for (size_t i = 0; i < n; i++) {
        double alpha = gerne_groups_alpha(groups, (uint32_t)y[i], (uint32_t)a[i]);
        double share = drawn[gn_group_id(groups, (uint32_t)y[i], (uint32_t)a[i])];
        weights[i] = share > 0 ? (float)((double)weights[i] * alpha / share) : 0;
    }
}
