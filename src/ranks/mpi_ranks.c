#include "ranks/mpi_ranks.h"

#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ranks/heartbeat.h"
#include "ranks/launch.h"

typedef struct mpi_ranks {
    MPI_Comm all;     /* our own: the heartbeat has another */
    MPI_Comm sums;    /* of a thread of its own */
    MPI_Comm leaving; /* of those who come to the end */
    int rank, size;
    int *received, *places; /* [size], of scatter */
    gn_ranks_calls calls;
    gn_heartbeat *heartbeat;
} mpi_ranks;

/* Counts of MPI are ints. */
enum { PIECE = 1 << 30 };

static bool gather(void *given, const void *own, size_t size, void *all)
{
    const mpi_ranks *self = given;
    return size <= INT_MAX && MPI_Allgather(own, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE,
                                            self->all) == MPI_SUCCESS;
}

static bool broadcast(void *given, void *bytes, size_t size)
{
    const mpi_ranks *self = given;
    bool well = true;
    for (size_t first = 0; well && first < size; first += PIECE) {
        size_t rest = size - first;
        well = MPI_Bcast((char *)bytes + first, rest < PIECE ? (int)rest : PIECE, MPI_BYTE, 0,
                         self->all) == MPI_SUCCESS;
    }
    return well;
}

static bool scatter(void *given, const float *values, const int *shares, const int *offsets,
                    float *received)
{
    const mpi_ranks *self = given;
    for (int r = 0; r < self->size; r++) {
        self->received[r] = shares[self->rank];
        self->places[r] = r * shares[self->rank];
    }
    return MPI_Alltoallv(values, shares, offsets, MPI_FLOAT, received, self->received, self->places,
                         MPI_FLOAT, self->sums) == MPI_SUCCESS;
}

static bool collect(void *given, float *values, const int *shares, const int *offsets)
{
    const mpi_ranks *self = given;
    return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, shares, offsets, MPI_FLOAT,
                          self->sums) == MPI_SUCCESS;
}

static bool assemble(void *given, const _Atomic bool *abandoned)
{
    const mpi_ranks *self = given;
    const struct timespec pause = {.tv_nsec = 50000};
    MPI_Request request;
    int here = 0;
    if (MPI_Ibarrier(self->sums, &request) != MPI_SUCCESS)
        return false;
    while (MPI_Test(&request, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && !here &&
           !atomic_load(abandoned))
        nanosleep(&pause, NULL);
    return here;
}

static bool meet(void *given, const void *own, size_t size, void *all, double patience)
{
    const mpi_ranks *self = given;
    const struct timespec pause = {.tv_nsec = 10000000};
    double since = gn_seconds();
    MPI_Request request;
    int here = 0;
    if (MPI_Iallgather(own, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, self->leaving,
                       &request) != MPI_SUCCESS)
        return false;
    while (MPI_Test(&request, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && !here &&
           (patience < 0 || gn_seconds() - since < patience))
        nanosleep(&pause, NULL);
    return here;
}

void gn_mpi_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

static void end_all(void *given, int code)
{
    (void)given;
    gn_mpi_abort(code);
}

static void close_ranks(void *given)
{
    mpi_ranks *self = given;
    gn_heartbeat_stop(self->heartbeat);
    MPI_Comm *const comms[] = {&self->all, &self->sums, &self->leaving};
    for (size_t i = 0; i < sizeof comms / sizeof comms[0]; i++)
        if (*comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(comms[i]);
    MPI_Finalize();
    gn_free(self->received);
    gn_free(self->places);
    gn_free(self);
}

static const gn_ranks_calls calls = {
    .gather = gather,
    .broadcast = broadcast,
    .scatter = scatter,
    .collect = collect,
    .assemble = assemble,
    .meet = meet,
    .abort = end_all,
    .close = close_ranks,
};

/* A launcher and a library that do not know each other start so many runs of one rank each. */
static gerne_status check_size(gerne_ctx *ctx, int size)
{
    const gn_launch launch = gn_launched();
    char name[64];
    if (size == launch.size)
        return GERNE_OK;
    gn_mpi_name(name, sizeof name);
    gn_fail(ctx, GERNE_EUSAGE, "%s started %d processes, but %s sees %d", launch.with, launch.size,
            name, size);
    gn_hint(ctx, "start it with the mpirun of the same MPI, or with srun --mpi=pmix or --mpi=pmi2");
    return GERNE_EUSAGE;
}

static gerne_status start(gerne_ctx *ctx, mpi_ranks *self)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self->size);
    size_t size = (size_t)self->size;
    GN_TRY(check_size(ctx, self->size));
    GN_TRY(gn_alloc(ctx, size, sizeof *self->received, "ranks", &self->received));
    GN_TRY(gn_alloc(ctx, size, sizeof *self->places, "ranks", &self->places));
    MPI_Comm *const comms[] = {&self->all, &self->sums, &self->leaving};
    for (size_t i = 0; i < sizeof comms / sizeof comms[0]; i++) {
        if (MPI_Comm_dup(MPI_COMM_WORLD, comms[i]) != MPI_SUCCESS)
            return gn_fail(ctx, GERNE_EIO, "MPI cannot connect the ranks");
        MPI_Comm_set_errhandler(*comms[i], MPI_ERRORS_RETURN);
    }
    return GERNE_OK;
}

static gerne_status start_heartbeat(gerne_ctx *ctx, mpi_ranks *self, const gn_ranks *ranks,
                                    int threads, gn_rank_lost_fn *lost, void *user)
{
    if (threads == MPI_THREAD_MULTIPLE)
        return gn_heartbeat_start(ctx, ranks, lost, user, &self->heartbeat);
    gn_warn(ctx, "this MPI does not allow several threads: a rank that hangs is not noticed");
    return GERNE_OK;
}

gerne_status gn_mpi_open(gerne_ctx *ctx, gn_rank_lost_fn *lost, void *user, gn_ranks **out)
{
    mpi_ranks *self;
    int threads;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *self, "ranks", &self));
    self->all = self->sums = self->leaving = MPI_COMM_NULL;
    self->calls = calls;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &threads) != MPI_SUCCESS) {
        gn_free(self);
        return gn_fail(ctx, GERNE_EIO, "MPI cannot be started");
    }
    gerne_status status = start(ctx, self);
    if (status != GERNE_OK) {
        close_ranks(self);
        return status;
    }
    if (threads != MPI_THREAD_MULTIPLE)
        self->calls.assemble = NULL;
    GN_TRY(gn_ranks_new(ctx, &self->calls, self, self->rank, self->size, out));
    status = start_heartbeat(ctx, self, *out, threads, lost, user);
    if (status != GERNE_OK) {
        gn_ranks_close(*out);
        *out = NULL;
    }
    return status;
}

/* "Open MPI v4.1.4, package: Debian ..." or "MPICH Version:	4.0.2\n..." */
void gn_mpi_name(char *name, size_t size)
{
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, number = 0;
    MPI_Get_library_version(words, &length);
    bool open = strncmp(words, "Open MPI", 8) == 0, mpich = strncmp(words, "MPICH", 5) == 0;
    const char *version = strpbrk(words, "0123456789");
    if (version)
        number = (int)strspn(version, "0123456789.");
    if ((open || mpich) && number > 0)
        snprintf(name, size, "%s %.*s", open ? "Open MPI" : "MPICH", number, version);
    else
        snprintf(name, size, "%.*s", (int)strcspn(words, ",\n\t"), words);
}
