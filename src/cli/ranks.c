/* ranks.c - the program as one of several processes: joining them, and leaving together. */
#include "ranks/ranks.h"

#include <stdio.h>

#include "cli/command.h"
#include "ranks/launch.h"
#ifdef GERNE_HAS_MPI
#include "ranks/mpi_ranks.h"
#endif

bool gn_speaks(const gn_cli *cli)
{
    return gn_ranks_of(cli->ctx) ? gn_ranks_first(cli->ctx) : gn_launched().rank == 0;
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
    gn_ranks *ranks;
    (void)launch;
    GN_TRY(gn_mpi_open(cli->ctx, report_lost_rank, NULL, &ranks));
    gn_ranks_attach(cli->ctx, ranks);
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

gerne_status gn_join_ranks(gn_cli *cli, const gn_command *command)
{
    const gn_launch launch = gn_launched();
    if (launch.size == 1)
        return GERNE_OK;
    if (command->on_ranks)
        return join(cli, &launch);
    gn_fail(cli->ctx, GERNE_EUSAGE, "'gerne %s' runs in one process, but %s started %d",
            command->name, launch.with, launch.size);
    gn_hint(cli->ctx, "start it without %s", launch.with);
    return GERNE_EUSAGE;
}

gerne_status gn_meet_ranks(gn_cli *cli, gerne_status status, bool *alone)
{
    return gn_ranks_meet(cli->ctx, status, alone);
}

void gn_leave_ranks(gn_cli *cli, bool alone, int code)
{
    gn_ranks *ranks = gn_ranks_of(cli->ctx);
    if (alone)
        gn_ranks_abort(ranks, code);
    gn_ranks_attach(cli->ctx, NULL);
    gn_ranks_close(ranks);
}
