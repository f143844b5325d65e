/* subsets.h - parts of a split that methods fit on: balanced ones, and shares of each group. */
#ifndef GN_METHODS_SUBSETS_H
#define GN_METHODS_SUBSETS_H

#include "base/rng.h"
#include "methods/method.h"

/* Samples with the group that each is in. */
typedef struct gn_grouped {
    const int32_t *group; /* [n], 0..groups-1 */
    size_t n, groups;
} gn_grouped;

/* The run's samples by their groups y * attributes + a, in memory of the stage; gn_run_by_class
 * takes classes for groups. */
GERNE_CHECKED gerne_status gn_run_by_group(gn_run *run, gn_grouped *out);
gn_grouped gn_run_by_class(const gn_run *run);

/* The number of samples in the smallest group that is not empty. */
size_t gn_smallest_group(const gn_grouped *samples, size_t *sizes);

/* In the order of the permutation every sample is kept while its group has fewer than per_group;
 * list has room for n. Returns how many. sizes [groups] is scratch. */
size_t gn_balanced_subset(const gn_grouped *samples, const gn_permutation *order, size_t per_group,
                          size_t *sizes, uint32_t *list);

/* Sets taken[n] for a share of every group: in the order of the permutation the r-th of its group
 * (from 0) when floor((r + 1) share) > floor(r share), so that a group of m gives
 * floor(m share). */
void gn_take_share(const gn_grouped *samples, const gn_permutation *order, double share,
                   size_t *sizes, bool *taken);

#endif
