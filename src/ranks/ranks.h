/* ranks.h - the processes that train together: who am I, and what is exchanged with the others.
 *
 * The program opens the ranks when mpirun or srun has started it (launch.h, mpi.h) and attaches
 * them to its context; whoever has the context asks gn_ranks_of(ctx), which is NULL in a process
 * alone. Every call takes NULL and then does what one process needs: nothing.
 *
 * All ranks make the same calls in the same order. What a call computes is the same on every rank,
 * to the bit, and a function of the number of ranks alone: sums are formed in the order of the
 * ranks.
 */
#ifndef GN_RANKS_RANKS_H
#define GN_RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GN_HOST_MAX = 64 };

typedef struct gn_ranks gn_ranks;

/* What an implementation brings. Counts are bytes; a false return is a failed exchange, after which
 * the ranks cannot be used any more. */
typedef struct gn_ranks_calls {
    /* all[i] of every rank i, in their order; each has size bytes */
    bool (*gather)(void *self, const void *own, size_t size, void *all);
    bool (*broadcast)(void *self, void *bytes, size_t size); /* from rank 0 */
    /* Of count floats every rank receives its share of all ranks' values: received
     * [size][shares[rank]], where shares (counts) and offsets cut the block. */
    bool (*scatter)(void *self, const float *values, const int *shares, const int *offsets,
                    float *received);
    /* The shares come together again in every rank's values. */
    bool (*collect)(void *self, float *values, const int *shares, const int *offsets);
    /* Waits asleep until all ranks have come here, or abandoned is set (then false). NULL where
     * this and the two calls above cannot be made from a thread of their own. */
    bool (*assemble)(void *self, const _Atomic bool *abandoned);
    /* A gather that waits for the others no longer than patience (seconds; below 0: as long as it
     * takes), apart from all other calls; false when they have not come. */
    bool (*meet)(void *self, const void *own, size_t size, void *all, double patience);
    void (*abort)(void *self, int code); /* ends all ranks; does not return where it can */
    void (*close)(void *self);           /* all ranks come here, or none */
} gn_ranks_calls;

/* self is taken over, also after a failure. Hosts are exchanged. */
GERNE_CHECKED gerne_status gn_ranks_new(gerne_ctx *ctx, const gn_ranks_calls *calls, void *self,
                                        int rank, int size, gn_ranks **out);
void gn_ranks_close(gn_ranks *ranks); /* takes NULL */

gn_ranks *gn_ranks_of(const gerne_ctx *ctx);
void gn_ranks_attach(gerne_ctx *ctx, gn_ranks *ranks); /* lent */

int gn_ranks_rank(const gn_ranks *ranks);  /* 0 alone */
int gn_ranks_size(const gn_ranks *ranks);  /* 1 alone */
bool gn_ranks_first(const gerne_ctx *ctx); /* rank 0, which writes; or alone */
const char *gn_ranks_host(const gn_ranks *ranks, int rank);

/* The part of count things that a rank takes, first..end-1: consecutive, in the order of the ranks,
 * at most one unit longer than another's. Units of several things stay together. */
typedef struct gn_share {
    size_t first, end;
} gn_share;
gn_share gn_share_of(int rank, int size, size_t count, size_t unit);
gn_share gn_ranks_share(const gn_ranks *ranks, int rank, size_t count, size_t unit);

GERNE_CHECKED gerne_status gn_ranks_gather(gerne_ctx *ctx, const void *own, size_t size, void *all);
GERNE_CHECKED gerne_status gn_ranks_broadcast(gerne_ctx *ctx, void *bytes, size_t size);

/* values[i] becomes the sum of all ranks' values[i]: rank 0's, plus rank 1's, ... */
GERNE_CHECKED gerne_status gn_ranks_sum(gerne_ctx *ctx, float *values, size_t count);

/* The same, to the bit, while the values are being computed, the last ones first. After start comes
 * ready as often as there is news, with the address from which on all are final, and values itself
 * in the end; then wait. A thread exchanges what is final, unless that is too little to gain by it.
 * There is one such sum at a time: start waits for the one before, and wait does nothing when there
 * is none. */
GERNE_CHECKED gerne_status gn_ranks_sum_start(gerne_ctx *ctx, float *values, size_t count);
void gn_ranks_sum_ready(const gerne_ctx *ctx, const float *first);
GERNE_CHECKED gerne_status gn_ranks_sum_wait(gerne_ctx *ctx);
/* After a failure, so that the values can be freed; no sum can follow one that was under way. */
void gn_ranks_sum_abandon(const gerne_ctx *ctx);

/* All go on, or none: returns the status of the first rank that has failed, with its words as
 * gn_ranks_meet gives them. */
GERNE_CHECKED gerne_status gn_ranks_agree(gerne_ctx *ctx, gerne_status status);

/* The end of a rank's work, whatever its status: the status of all, and where one has failed the
 * message and hint of the first that did, with its rank and host unless all have failed alike. A
 * rank that has failed waits for the others for some seconds; *alone is set when they do not come
 * because they wait for this one. All that remains then is gn_ranks_abort. */
GERNE_CHECKED gerne_status gn_ranks_meet(gerne_ctx *ctx, gerne_status status, bool *alone);

/* Whether it holds on any rank. */
GERNE_CHECKED gerne_status gn_ranks_any(gerne_ctx *ctx, bool own, bool *any);

/* Every rank has the same text; what names it in the message. */
GERNE_CHECKED gerne_status gn_ranks_same(gerne_ctx *ctx, const char *what, const char *text);

void gn_ranks_abort(const gn_ranks *ranks, int code);

/* OpenMP threads for this rank when none are configured: the CPUs that it may use, divided among
 * the ranks that may use the same ones. 0 in a process alone: no opinion. */
GERNE_CHECKED gerne_status gn_ranks_threads(gerne_ctx *ctx, int *threads);

/* What has been exchanged so far. */
typedef struct gn_ranks_traffic {
    uint64_t bytes; /* that this rank has sent */
    double seconds; /* spent in the calls, waiting for other ranks included */
    double sums;    /* seconds in which sums were exchanged, and of them those of a thread before */
    double hidden;  /* gn_ranks_sum_wait was called */
} gn_ranks_traffic;
gn_ranks_traffic gn_ranks_exchanged(const gn_ranks *ranks);

#endif
