#include "ranks/heartbeat.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"

/* Seconds: a lost rank is to end all others within ten. A tick counts no more than the longest, so
 * that a job which was stopped as a whole and goes on does not accuse anyone. */
static const double interval = 0.5, limit = 6, tick = 0.1, longest_tick = 0.3;
enum { ALIVE = 1, LEAVING = 2 };

typedef struct peer {
    int rank;
    MPI_Request sending, receiving;
    char sent, received;
    bool said_goodbye, leaves; /* this process to the peer; the peer to this process */
    double silent;
} peer;

struct gn_heartbeat {
    MPI_Comm comm;
    const gn_ranks *ranks;
    gn_rank_lost_fn *lost;
    void *user;
    peer *peers;
    int count;
    pthread_t thread;
    _Atomic bool stop;
};

/* The request is free again: MPI says so, and keeps nothing of it. */
static bool is_done(MPI_Request *request)
{
    int done = 0;
    return MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
}

static void send_to(gn_heartbeat *h, peer *p, char word)
{
    p->sent = word;
    MPI_Isend(&p->sent, 1, MPI_CHAR, p->rank, 0, h->comm, &p->sending);
}

static void receive_from(gn_heartbeat *h, peer *p)
{
    MPI_Irecv(&p->received, 1, MPI_CHAR, p->rank, 0, h->comm, &p->receiving);
}

static void listen_to(gn_heartbeat *h, peer *p, double passed)
{
    p->silent += passed;
    while (!p->leaves && is_done(&p->receiving)) {
        p->silent = 0;
        p->leaves = p->received == LEAVING;
        if (!p->leaves)
            receive_from(h, p);
    }
}

/* One turn; false when all have said goodbye. */
static bool beat(gn_heartbeat *h, bool due, double passed)
{
    bool stop = atomic_load(&h->stop), busy = false;
    for (int i = 0; i < h->count; i++) {
        peer *p = &h->peers[i];
        listen_to(h, p, passed);
        bool free = is_done(&p->sending);
        if (free && stop && !p->said_goodbye) {
            send_to(h, p, LEAVING);
            p->said_goodbye = true;
        } else if (free && due && !p->said_goodbye) {
            send_to(h, p, ALIVE);
        }
        if (!p->leaves && p->silent > limit) {
            h->lost(h->user, p->rank, gn_ranks_host(h->ranks, p->rank), p->silent);
            return false;
        }
        busy = busy || !p->leaves || !p->said_goodbye || !is_done(&p->sending);
    }
    return busy;
}

static void *run(void *given)
{
    gn_heartbeat *h = given;
    double before = gn_seconds(), sent = 0;
    const struct timespec pause = {.tv_nsec = (long)(tick * 1e9)};
    for (;;) {
        double now = gn_seconds(), passed = now - before;
        bool due = now - sent >= interval;
        before = now;
        sent = due ? now : sent;
        if (!beat(h, due, passed < longest_tick ? passed : longest_tick))
            return NULL;
        nanosleep(&pause, NULL);
    }
}

static gerne_status fill(gerne_ctx *ctx, gn_heartbeat *h)
{
    int rank = gn_ranks_rank(h->ranks);
    h->count = rank == 0 ? gn_ranks_size(h->ranks) - 1 : 1;
    GN_TRY(gn_alloc(ctx, (size_t)h->count, sizeof *h->peers, "the heartbeat", &h->peers));
    if (MPI_Comm_dup(MPI_COMM_WORLD, &h->comm) != MPI_SUCCESS)
        return gn_fail(ctx, GERNE_EIO, "MPI cannot connect the ranks");
    for (int i = 0; i < h->count; i++) {
        peer *p = &h->peers[i];
        *p = (peer){.rank = rank == 0 ? i + 1 : 0, .sending = MPI_REQUEST_NULL};
        receive_from(h, p);
    }
    if (pthread_create(&h->thread, NULL, run, h) != 0)
        return gn_fail(ctx, GERNE_ENOMEM, "no thread for the heartbeat");
    return GERNE_OK;
}

gerne_status gn_heartbeat_start(gerne_ctx *ctx, const gn_ranks *ranks, gn_rank_lost_fn *lost,
                                void *user, gn_heartbeat **out)
{
    gn_heartbeat *h;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *h, "the heartbeat", &h));
    h->ranks = ranks;
    h->lost = lost;
    h->user = user;
    gerne_status status = fill(ctx, h);
    if (status != GERNE_OK) {
        gn_free(h->peers);
        gn_free(h);
        return status;
    }
    *out = h;
    return GERNE_OK;
}

void gn_heartbeat_stop(gn_heartbeat *h)
{
    if (!h)
        return;
    atomic_store(&h->stop, true);
    pthread_join(h->thread, NULL);
    MPI_Comm_free(&h->comm);
    gn_free(h->peers);
    gn_free(h);
}
