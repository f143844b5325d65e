/* sampler.h - the inside of a sampler: how many of each group, and which. */
#ifndef GN_DEBIAS_SAMPLER_H
#define GN_DEBIAS_SAMPLER_H

#include "debias/groups.h"

struct gerne_sampler {
    const gerne_groups *groups; /* lent */
    gerne_sampler_options options;
    double *biased, *less_biased; /* samples that each group gives on average; NULL: no law */
    uint32_t *present;            /* ids of the groups that are not empty */
    size_t present_count;
};

GN_LOCAL_HANDLE(gerne_sampler, gerne_sampler_close)

/* Fills per_group[classes * attributes] with the numbers of samples of step's batch; returns their
 * sum. */
uint32_t gn_sampler_compose(const gerne_sampler *sampler, gerne_law law, uint64_t step,
                            uint32_t *per_group);

/* Fills out, which has room for the sum of per_group, group by group. */
void gn_sampler_pick(const gerne_sampler *sampler, gerne_law law, uint64_t step,
                     const uint32_t *per_group, uint32_t *out);

/* Fills out with options.batch samples of a plain draw. */
void gn_sampler_plain(const gerne_sampler *sampler, gerne_draw draw, uint64_t step, uint32_t *out);

/* x, or the whole number that it misses by no more than rounding. */
double gn_snap(double x);

#endif
