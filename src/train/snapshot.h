/* snapshot.h - a copy of a network's weights and running statistics. */
#ifndef GN_TRAIN_SNAPSHOT_H
#define GN_TRAIN_SNAPSHOT_H

#include "nn/network.h"

typedef struct gn_snapshot {
    float *values, *statistics;
} gn_snapshot;

/* Memory for the weights of such a network; free it also after a failure. */
GERNE_CHECKED gerne_status gn_snapshot_new(gerne_ctx *ctx, const gn_network *network,
                                           gn_snapshot *snapshot);
void gn_snapshot_free(gn_snapshot *snapshot);
void gn_snapshot_take(const gn_snapshot *snapshot, const gn_network *network);
void gn_snapshot_put(const gn_snapshot *snapshot, const gn_network *network);

#endif
