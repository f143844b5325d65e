/* split_pass.h - the passes of pass.h where several ranks share a batch.
 *
 * Every rank knows the whole batch (labels, weights) and runs its share of the samples. What the
 * networks say about the samples is gathered, and every rank evaluates the loss of the whole batch:
 * whatever a loss notes, and every scalar that a method derives from losses, is the same on all
 * ranks and the same as in one process. Backward is each rank's own again, so that its gradients
 * are its part of a sum, which gn_ranks_sum makes of them, or already the backward pass
 * (gn_split_set_summing).
 */
#ifndef GN_NN_SPLIT_PASS_H
#define GN_NN_SPLIT_PASS_H

#include "nn/pass.h"

typedef struct gn_split_room gn_split_room;    /* what a network gathers */
void gn_split_room_close(gn_split_room *room); /* takes NULL */
gn_split_room **gn_network_split_room(gn_network *network);

/* Samples of this rank: all in one process. */
size_t gn_split_unit(const gn_samples *samples);
gn_samples gn_split_own(const gerne_ctx *ctx, const gn_samples *samples);

/* What is to be done: the network runs forward, backward, or both. */
typedef struct gn_split_work {
    bool forward, backward;
    bool accumulate; /* with backward */
} gn_split_work;

/* The network is in the mode of the pass. loss is NULL where there is none (forward alone). */
GERNE_CHECKED gerne_status gn_split_pass(gerne_ctx *ctx, gn_network *network,
                                         const gn_samples *samples, const gn_loss *loss,
                                         gn_split_work work, const gn_outcome *outcome);

/* Whether the passes of the network that follow start to sum its trained gradients over ranks, as
 * they become final; gn_ranks_sum_wait is the caller's. */
GERNE_CHECKED gerne_status gn_split_set_summing(gerne_ctx *ctx, gn_network *network, bool summing);

/* Rows of this rank's share of count, of row floats each, become the rows of all. */
GERNE_CHECKED gerne_status gn_split_gather(gerne_ctx *ctx, gn_network *network, const float *own,
                                           size_t count, size_t row, float *all);

#endif
