/* limits.h - how far the method's limited option may go at a point of the search: what the method
 * itself says, given the point's other options and the sizes of the training groups. */
#ifndef GN_TUNE_LIMITS_H
#define GN_TUNE_LIMITS_H

#include "data/dataset.h"
#include "tune/space.h"

typedef struct gn_limiter {
    const gn_run_config *base; /* lent */
    uint32_t classes, attributes;
    const int64_t *counts; /* [classes * attributes], of the training split */
    gerne_groups *groups;  /* that a run starts with: classes alone where attributes are unknown */
    void *options;         /* of the method, at the point that was last asked for */
    const gn_method *estimator; /* where groups are estimated; or NULL */
    void *estimator_options;    /* likewise */
} gn_limiter;

/* counts are lent; other memory is the arena's, but for the groups. */
GERNE_CHECKED gerne_status gn_limiter_open(gerne_ctx *ctx, gn_arena *arena,
                                           const gn_run_config *base, const int64_t *counts,
                                           uint32_t classes, uint32_t attributes, gn_limiter *out);
/* With the sizes of the data's training groups. */
GERNE_CHECKED gerne_status gn_limiter_open_data(gerne_ctx *ctx, gn_arena *arena,
                                                const gn_run_config *base, const gn_dataset *data,
                                                gn_limiter *out);
void gn_limiter_close(gn_limiter *limiter);

/* The limits at a point of a space that has the limited option as its last axis, whose own value
 * does not matter; steps of the values worth trying. */
GERNE_CHECKED gerne_status gn_limits_at(gerne_ctx *ctx, const gn_limiter *limiter,
                                        const gn_space *space, const gn_point_value *values,
                                        int steps, gn_limits *out);

#endif
