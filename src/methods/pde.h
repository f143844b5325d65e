/* pde.h - the schedule of PDE: when the training set grows, and to what size. */
#ifndef GN_METHODS_PDE_H
#define GN_METHODS_PDE_H

#include <stddef.h>
#include <stdint.h>

typedef struct gn_growth {
    size_t first, added, all; /* samples at first, per growth, at most */
    int64_t warm_up, every;   /* epochs before the first growth, and between two */
    size_t batch;             /* an epoch of m samples has floor(m / batch) steps, at least one */
} gn_growth;

/* Where a step is. */
typedef struct gn_growth_place {
    int64_t growths; /* so far; may exceed what the data can give */
    size_t size;     /* of the set */
    int64_t epoch;   /* of all, from 0 */
    int64_t step;    /* in that epoch */
} gn_growth_place;

gn_growth_place gn_growth_at(const gn_growth *growth, int64_t k);

#endif
