/* space.h - what a search varies: an axis per option that its table marks as tunable.
 *
 *     search:
 *       method.beta: auto                  what the bounds suggest for each c (and t)
 *       method.c: [0.5, 1]                 a list
 *       train.lr: 1e-3..1e-1               a range; log for lr and weight_decay, else linear
 *       train.momentum: 0.5..0.99 linear 4     scale and the number of points of a grid said
 *
 * As flags: --search.method.c 0.5,1 --search.train.lr 1e-3..1e-1
 */
#ifndef GN_TUNE_SPACE_H
#define GN_TUNE_SPACE_H

#include "base/settings.h"
#include "train/options.h"

enum { GN_AXES_MAX = 16, GN_RANGE_POINTS = 5 };

typedef enum gn_search_axis_kind {
    GN_AXIS_LIST,
    GN_AXIS_RANGE,
    GN_AXIS_BETA, /* method.beta by the bounds of each c and t */
} gn_search_axis_kind;

typedef struct gn_search_axis {
    const char *key;
    gn_search_axis_kind kind;
    const char *const *values; /* of a list */
    size_t count;
    double lo, hi; /* of a range */
    bool log, whole;
    int points; /* of a range in a grid */
} gn_search_axis;

/* method.beta, whose values depend on the others', is the last axis. */
typedef struct gn_space {
    gn_search_axis axes[GN_AXES_MAX];
    size_t count;
} gn_space;

/* From the keys "search.KEY" (lent: the space borrows their texts), or, when there are none, what
 * is usual for the method: beta by its bounds, c, t where groups are guessed, and the learning
 * rate. Unknown and untunable keys and values that the options refuse are GERNE_EUSAGE. */
GERNE_CHECKED gerne_status gn_space_read(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                                         const gn_settings *search, gn_space *out);

/* Appends a line "search.KEY: VALUES" for each axis. */
GERNE_CHECKED gerne_status gn_space_describe(gerne_ctx *ctx, const gn_space *space, gn_text *out);

/* The i-th of n points of a range; share in [0, 1] for any place in it. Written with four digits,
 * so that the text is the value. */
void gn_range_text(const gn_search_axis *axis, double share, char text[32]);

#endif
