/* sums.c - how long ranks take to sum a block, by its size.
 *
 * usage: mpirun -n RANKS bench_sums MINIMUM MAXIMUM     floats; sizes between them by factors of
 * four
 *
 * Prints for every size: floats, seconds of the least disturbed round (those of its slowest rank).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ranks/mpi_ranks.h"

enum { ROUNDS_MIN = 8, ROUNDS_MAX = 400 };
static const double budget = 0.25; /* seconds of a size */

static void lost(void *user, int rank, const char *host, double seconds)
{
    (void)user;
    fprintf(stderr, "rank %d on %s has not answered for %.0f s\n", rank, host, seconds);
    gn_mpi_abort(1);
}

/* One sum, of ranks that begin together. */
static gerne_status measure_once(gerne_ctx *ctx, float *values, size_t count, double *all,
                                 double *seconds)
{
    int size = gn_ranks_size(gn_ranks_of(ctx));
    bool any;
    GN_TRY(gn_ranks_any(ctx, false, &any));
    double since = gn_seconds();
    GN_TRY(gn_ranks_sum(ctx, values, count));
    double own = gn_seconds() - since;
    GN_TRY(gn_ranks_gather(ctx, &own, sizeof own, all));
    *seconds = 0;
    for (int r = 0; r < size; r++)
        *seconds = all[r] > *seconds ? all[r] : *seconds;
    return GERNE_OK;
}

static gerne_status measure(gerne_ctx *ctx, float *values, size_t count, double *all)
{
    double seconds, least = 0, spent = 0;
    GN_TRY(measure_once(ctx, values, count, all, &seconds)); /* connections, first touch */
    for (int n = 0; n < ROUNDS_MIN || (n < ROUNDS_MAX && spent < budget); n++) {
        GN_TRY(measure_once(ctx, values, count, all, &seconds));
        spent += seconds; /* the same on all ranks */
        least = n == 0 || seconds < least ? seconds : least;
    }
    if (gn_ranks_first(ctx))
        printf("%zu %.9f\n", count, least);
    return GERNE_OK;
}

static gerne_status run(gerne_ctx *ctx, size_t least, size_t most)
{
    float *values;
    double *all;
    gn_ranks *ranks;
    GN_TRY(gn_mpi_open(ctx, lost, NULL, &ranks));
    gn_ranks_attach(ctx, ranks);
    GN_TRY(gn_alloc_aligned(ctx, most, sizeof *values, "values", &values));
    GN_TRY(gn_alloc(ctx, (size_t)gn_ranks_size(ranks), sizeof *all, "times", &all));
    for (size_t count = least; count <= most; count *= 4)
        GN_TRY(measure(ctx, values, count, all));
    gn_free(values);
    gn_free(all);
    gn_ranks_close(ranks);
    return GERNE_OK;
}

int main(int argc, char **argv)
{
    gerne_ctx *ctx;
    if (argc != 3 || gerne_ctx_new(&ctx) != GERNE_OK) {
        fprintf(stderr, "usage: mpirun -n RANKS bench_sums MINIMUM MAXIMUM\n");
        return 2;
    }
    gerne_status status = run(ctx, strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
    if (status != GERNE_OK) {
        fprintf(stderr, "%s\n", gerne_message(ctx));
        gn_mpi_abort(1);
    }
    gerne_ctx_close(ctx);
    return 0;
}
