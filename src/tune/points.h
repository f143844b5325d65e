/* points.h - configurations drawn from a space: all of a grid, or at random by key.
 *
 * The method's limited option stays inside its limits: listed values outside are dropped and
 * counted, ranges are cut.
 */
#ifndef GN_TUNE_POINTS_H
#define GN_TUNE_POINTS_H

#include "tune/limits.h"
#include "tune/space.h"

enum { GN_POINTS_MAX = 10000 };

typedef struct gn_points {
    gn_settings *items; /* changes to the base, one setting an axis; texts in the arena */
    size_t count, capacity;
    size_t dropped;    /* configurations outside the method's limits */
    char example[160]; /* of one of them: "beta 3 is outside [-1, 2.2] at c = 0.5" */
} gn_points;

void gn_points_free(gn_points *points);

typedef struct gn_points_request {
    const gn_space *space;
    const gn_limiter *limiter;
    int steps;     /* of the values within limits: auto in a grid */
    uint64_t seed; /* of random points: the i-th depends on (seed, i) alone */
    size_t count;  /* of random points */
} gn_points_request;

GERNE_CHECKED gerne_status gn_points_grid(gerne_ctx *ctx, gn_arena *arena,
                                          const gn_points_request *request, gn_points *out);
GERNE_CHECKED gerne_status gn_points_random(gerne_ctx *ctx, gn_arena *arena,
                                            const gn_points_request *request, gn_points *out);

#endif
