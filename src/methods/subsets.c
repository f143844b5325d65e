#include "methods/subsets.h"

#include <math.h>
#include <string.h>

gerne_status gn_run_by_group(gn_run *run, gn_grouped *out)
{
    int32_t *group;
    GN_TRY(gn_run_alloc(run, run->n, sizeof *group, &group));
    for (size_t i = 0; i < run->n; i++)
        group[i] = run->y[i] * (int32_t)run->attributes + run->a[i];
    *out = (gn_grouped){group, run->n, (size_t)run->classes * run->attributes};
    return GERNE_OK;
}

gn_grouped gn_run_by_class(const gn_run *run)
{
    return (gn_grouped){run->y, run->n, run->classes};
}

size_t gn_smallest_group(const gn_grouped *samples, size_t *sizes)
{
    size_t smallest = samples->n;
    memset(sizes, 0, samples->groups * sizeof *sizes);
    for (size_t i = 0; i < samples->n; i++)
        sizes[samples->group[i]]++;
    for (size_t g = 0; g < samples->groups; g++)
        if (sizes[g] && sizes[g] < smallest)
            smallest = sizes[g];
    return smallest;
}

size_t gn_balanced_subset(const gn_grouped *samples, const gn_permutation *order, size_t per_group,
                          size_t *sizes, uint32_t *list)
{
    size_t count = 0;
    memset(sizes, 0, samples->groups * sizeof *sizes);
    for (size_t p = 0; p < samples->n; p++) {
        uint32_t i = (uint32_t)gn_permute(order, p);
        size_t *kept = &sizes[samples->group[i]];
        if (*kept == per_group)
            continue;
        (*kept)++;
        list[count++] = i;
    }
    return count;
}

static double whole_part(double value)
{
    return floor(value + 1e-9); /* 5 * 0.2 is 1 */
}

void gn_take_share(const gn_grouped *samples, const gn_permutation *order, double share,
                   size_t *sizes, bool *taken)
{
    memset(sizes, 0, samples->groups * sizeof *sizes);
    for (size_t p = 0; p < samples->n; p++) {
        size_t i = (size_t)gn_permute(order, p);
        double rank = (double)sizes[samples->group[i]]++;
        taken[i] = whole_part((rank + 1) * share) > whole_part(rank * share);
    }
}
