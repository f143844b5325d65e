/* mpi_ranks.h - ranks over MPI; a part of the program, built where MPI is installed. */
#ifndef GN_RANKS_MPI_RANKS_H
#define GN_RANKS_MPI_RANKS_H

#include "ranks/ranks.h"

/* A rank has not been heard of for some seconds. Called on a thread of its own, once; it should say
 * so and call gn_mpi_abort. */
typedef void gn_rank_lost_fn(void *user, int rank, const char *host, double seconds);

/* Starts MPI. All ranks of the launch come here. GERNE_EUSAGE when MPI sees another number of ranks
 * than the launcher has started. */
GERNE_CHECKED gerne_status gn_mpi_open(gerne_ctx *ctx, gn_rank_lost_fn *lost, void *user,
                                       gn_ranks **out);

void gn_mpi_abort(int code); /* ends all ranks */

/* "Open MPI 4.1.4" */
void gn_mpi_name(char *name, size_t size);

#endif
