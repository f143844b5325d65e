/* last.h - the weights that a run stopped with, from its last.ckpt. */
#ifndef GN_TRAIN_LAST_H
#define GN_TRAIN_LAST_H

#include "nn/network.h"

typedef struct gn_last gn_last;

/* GERNE_EUSAGE when the run was made with another number of threads or on another kind of CPU:
 * weights are kept as the engine lays them out. */
GERNE_CHECKED gerne_status gn_last_open(gerne_ctx *ctx, const char *path, const gn_device *device,
                                        gn_last **out);
void gn_last_close(gn_last *last); /* takes NULL */
GN_LOCAL_HANDLE(gn_last, gn_last_close)

/* Samples of a pass that the network has to be built for. */
int64_t gn_last_batch(const gn_last *last);

/* Puts the weights (their mean over steps, where the run averages) into the network: that of the
 * run, or its head where the body is frozen. */
GERNE_CHECKED gerne_status gn_last_load(gerne_ctx *ctx, const gn_last *last, gn_network *network);

#endif
