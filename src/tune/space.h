/* space.h - what a search varies: an axis per option that its table marks as tunable.
 *
 *     search:
 *       method.beta: auto                  what the method suggests, point by point
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
    GN_AXIS_LIMITS, /* what the method's limits suggest at each point of the other axes */
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

typedef struct gn_space {
    gn_search_axis axes[GN_AXES_MAX];
    size_t count;
    bool limited; /* the last axis is the method's limited option: it depends on the others */
} gn_space;

/* A value of an axis, as it would be typed. */
typedef struct gn_point_value {
    char text[32];
} gn_point_value;

/* From the keys "search.KEY" (lent: the space borrows their texts), or, when there are none, what
 * the options' tables search by default. Unknown and untunable keys and values that the options
 * refuse are GERNE_EUSAGE. */
GERNE_CHECKED gerne_status gn_space_read(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                                         const gn_settings *search, gn_space *out);

/* Appends a line "search.KEY: VALUES" for each axis. */
GERNE_CHECKED gerne_status gn_space_describe(gerne_ctx *ctx, const gn_space *space, gn_text *out);

/* The i-th of n points of a range; share in [0, 1] for any place in it. Written with four digits,
 * so that the text is the value. */
gn_point_value gn_range_value(const gn_search_axis *axis, double share);

#endif
