/* cell_result.h - what the trials of a slot came to: the grid point that validation chose, and its
 * figures over seeds; beside it what an oracle would have chosen. */
#ifndef GN_REPRODUCE_CELL_RESULT_H
#define GN_REPRODUCE_CELL_RESULT_H

#include "study/ledger.h"
#include "reproduce/band.h"

/* A trial of a slot. */
typedef struct gn_slot_trial {
    size_t point; /* of the grid */
    int64_t seed;
    const gn_trial *trial; /* lent */
} gn_slot_trial;

/* One side of it: honest (chosen on validation) or oracle (chosen on test). In percent. */
typedef struct gn_side {
    size_t point;
    gn_spread measure;    /* of the reported metric on test, over seeds */
    gn_interval interval; /* hull of the seeds' 95% intervals; NAN when the metric has none */
} gn_side;

typedef struct gn_cell_result {
    size_t planned, done, failed;
    const char *failure; /* the reason of the first failed trial, or NULL; lent by the trials */
    gn_side honest, oracle;
} gn_cell_result;

/* metric is the reported one, a key of results.json's splits. Points are compared by the mean over
 * seeds of the metric that each run selected with; the first wins ties. A point with fewer finished
 * seeds than another is not chosen before it. */
GERNE_CHECKED gerne_status gn_cell_result_of(gerne_ctx *ctx, const gn_slot_trial *trials,
                                             size_t count, size_t points, const char *metric,
                                             gn_cell_result *out);

#endif
