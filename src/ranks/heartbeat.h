/* heartbeat.h - a thread of every rank that tells the others that the process runs, and notices
 * when one of them does not any more. Every rank exchanges beats with rank 0. */
#ifndef GN_RANKS_HEARTBEAT_H
#define GN_RANKS_HEARTBEAT_H

#include "ranks/mpi_ranks.h"

typedef struct gn_heartbeat gn_heartbeat;

/* The ranks are lent. All start, or none. */
GERNE_CHECKED gerne_status gn_heartbeat_start(gerne_ctx *ctx, const gn_ranks *ranks,
                                              gn_rank_lost_fn *lost, void *user,
                                              gn_heartbeat **out);
void gn_heartbeat_stop(gn_heartbeat *heartbeat); /* on all ranks; takes NULL */

#endif
