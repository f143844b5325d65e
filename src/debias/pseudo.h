/* pseudo.h - the samples of each class in the order of their scores, and how many of them are hard
 * when nobody says so. */
#ifndef GN_DEBIAS_PSEUDO_H
#define GN_DEBIAS_PSEUDO_H

#include "debias/modes.h"
#include "gerne.h"

struct gerne_pseudo {
    size_t n;
    uint32_t classes;
    uint64_t *starts; /* [classes + 1] in order */
    uint32_t *order;  /* samples by class, then score, then index */
};

typedef enum gn_hard_from {
    GN_HARD_NOTHING, /* no second mode: none is hard */
    GN_HARD_CLEAR,   /* the lower mode of the class, which is far from the other */
    GN_HARD_OTHERS,  /* no clear second mode: the median share of the clear classes */
    GN_HARD_UNCLEAR, /* the lower mode, which overlaps with the other */
} gn_hard_from;

/* What was found in a class. */
typedef struct gn_hard {
    gn_modes fit;
    gn_hard_from from;
    uint64_t count;   /* hard samples */
    double precision; /* expected: the mean posterior of the hard samples; NaN with OTHERS and
                         NOTHING */
} gn_hard;

/* Fits a mixture to the scores of every class, in the order that pseudo was made from the same
 * scores. A class is clear when the mean of the lower mode is more than three deviations of the
 * higher one below that. Classes that are not take the median share of hard samples from those that
 * are, if these are the most; else they need a distance of one pooled deviation. A lower mode that
 * has more than half of a class counts as none. */
GERNE_CHECKED gerne_status gn_hard_find(gerne_ctx *ctx, const gerne_pseudo *pseudo,
                                        const float *scores, gn_hard *out /* [classes] */);

/* a[i] = 0 for the first hard[y].count samples of each class, 1 for the others. */
void gn_hard_assign(const gerne_pseudo *pseudo, const gn_hard *hard, int32_t *a);

#endif
