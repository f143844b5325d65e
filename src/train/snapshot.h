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
GN_LOCAL_STRUCT(gn_snapshot, gn_snapshot_free)
void gn_snapshot_take(const gn_snapshot *snapshot, const gn_network *network);
void gn_snapshot_put(const gn_snapshot *snapshot, const gn_network *network);
/* The network has the copy and the copy the network's: twice is as before, without a third copy. */
void gn_snapshot_swap(const gn_snapshot *snapshot, const gn_network *network);

/* The same by name and in plain order, for a network of another batch size. */
typedef struct gn_plain_weights {
    int count;
    char (*names)[GN_NAME_MAX];
    float **values;
    int64_t *sizes;
    bool *in_head;
} gn_plain_weights;

GERNE_CHECKED gerne_status gn_plain_weights_take(gerne_ctx *ctx, const gn_network *network,
                                                 gn_plain_weights *weights);
/* Heads match whatever they are called. GERNE_EINTERNAL when a tensor that is asked for has another
 * size. */
typedef enum gn_weights_part { GN_WEIGHTS_ALL, GN_WEIGHTS_BODY, GN_WEIGHTS_HEAD } gn_weights_part;
GERNE_CHECKED gerne_status gn_plain_weights_put(gerne_ctx *ctx, const gn_plain_weights *weights,
                                                gn_network *network, gn_weights_part part);
void gn_plain_weights_free(gn_plain_weights *weights);

#endif
