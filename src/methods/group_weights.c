#include "methods/group_weights.h"

#include <math.h>

double gn_size_weight(const gn_weighting *weighting, uint64_t size)
{
    double n = (double)size;
    if (size == 0)
        return 0;
    switch (weighting->rule) {
    case GN_BY_SIZE:
        return 1 / n;
    case GN_BY_ROOT:
        return 1 / sqrt(n);
    case GN_BY_EFFECTIVE_NUMBER:
        break;
    }
    double effective = 1 - pow(weighting->b, n);
    return weighting->underflow && effective == 1 ? 0 : (1 - weighting->b) / effective;
}

void gn_normalize_weights(double *weights, size_t groups)
{
    double sum = 0;
    for (size_t g = 0; g < groups; g++)
        sum += weights[g];
    for (size_t g = 0; g < groups; g++)
        weights[g] *= (double)groups / sum;
}

gerne_status gn_group_weights(gn_run *run, const gn_weighting *weighting, double **out)
{
    size_t groups = (size_t)run->classes * run->attributes;
    double *weights, largest = 0;
    GN_TRY(gn_run_alloc(run, groups, sizeof *weights, &weights));
    for (size_t g = 0; g < groups; g++) {
        uint32_t y = (uint32_t)(g / run->attributes), a = (uint32_t)(g % run->attributes);
        weights[g] = gn_size_weight(weighting, gerne_groups_count(run->groups, y, a));
        largest = fmax(largest, weights[g]);
    }
    if (!(largest > 0))
        return gn_fail(run->ctx, GERNE_EUSAGE,
                       "method.b = %g: 1 - b^n rounds to 1 for every group, so "
                       "method.compat_cb_underflow gives all of them weight 0",
                       weighting->b);
    gn_normalize_weights(weights, groups);
    *out = weights;
    return GERNE_OK;
}

void gn_weigh_by_group(const gn_run *run, const double *weights, gn_minibatch *batch)
{
    size_t n = batch->samples.count;
    for (size_t i = 0; i < n; i++) {
        uint32_t sample = batch->indices[i];
        size_t g = (size_t)run->y[sample] * run->attributes + (size_t)run->a[sample];
        batch->weights[i] = (float)(weights[g] / (double)n);
    }
}
