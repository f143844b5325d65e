/* ranks.c - the program as one of several processes: joining them, and leaving together. */
#include "ranks/ranks.h"

#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "cli/command.h"
#include "ranks/launch.h"
#ifdef GERNE_HAS_MPI
#include "ranks/mpi_ranks.h"
#endif

bool gn_speaks(const gn_cli *cli)
{
    return cli->ranks ? gn_ranks_rank(cli->ranks) == 0 : gn_launched().rank == 0;
}

#ifdef GERNE_HAS_MPI

/* On the thread of the heartbeat; all ranks end here. */
static void report_lost_rank(void *user, int rank, const char *host, double seconds)
{
    (void)user;
    fprintf(stderr, "gerne: rank %d on %s has not answered for %.0f s; all ranks are ended\n", rank,
            host, seconds);
    gn_mpi_abort(GN_EXIT_FAILED);
}

static gerne_status join(gn_cli *cli, const gn_launch *launch)
{
    (void)launch;
    GN_TRY(gn_mpi_open(cli->ctx, report_lost_rank, NULL, &cli->ranks));
    gn_ranks_attach(cli->ctx, cli->ranks);
    gn_catch_signals(true);
    return GERNE_OK;
}

void gn_mpi_words(char *words, size_t size)
{
    gn_mpi_name(words, size);
}

#else

static gerne_status join(gn_cli *cli, const gn_launch *launch)
{
    gn_fail(cli->ctx, GERNE_EUSAGE,
            "%s started %d processes, but this gerne is built without MPI and runs in one",
            launch->with, launch->size);
    gn_hint(cli->ctx, "install libopenmpi-dev or libmpich-dev and build gerne again");
    return GERNE_EUSAGE;
}

void gn_mpi_words(char *words, size_t size)
{
    snprintf(words, size, "none");
}

#endif

/* Runs of its own have a rank's share of the CPUs, and do not see the others. */
static gerne_status go_apart(gn_cli *cli)
{
    int threads;
    GN_TRY(gn_ranks_threads(cli->ctx, &threads));
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
    gn_ranks_attach(cli->ctx, NULL);
    return GERNE_OK;
}

gerne_status gn_join_ranks(gn_cli *cli, const gn_command *command)
{
    const gn_launch launch = gn_launched();
    if (launch.size == 1)
        return GERNE_OK;
    if (command->on_ranks != GN_RANKS_REFUSED) {
        GN_TRY(join(cli, &launch));
        return command->on_ranks == GN_RANKS_APART ? go_apart(cli) : GERNE_OK;
    }
    gn_fail(cli->ctx, GERNE_EUSAGE, "'gerne %s' runs in one process, but %s started %d",
            command->name, launch.with, launch.size);
    gn_hint(cli->ctx, "start it without %s", launch.with);
    return GERNE_EUSAGE;
}

gerne_status gn_meet_ranks(gn_cli *cli, gerne_status status, bool *alone)
{
    gn_ranks_attach(cli->ctx, cli->ranks);
    return gn_ranks_meet(cli->ctx, status, alone);
}

void gn_leave_ranks(gn_cli *cli, bool alone, int code)
{
    if (alone)
        gn_ranks_abort(cli->ranks, code);
    gn_ranks_attach(cli->ctx, NULL);
    gn_ranks_close(cli->ranks);
    cli->ranks = NULL;
}
