#include "ranks_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/ranks.h"
#include "testing.h"

enum { SIZE_MAX_OF_TESTS = 8 };

/* Where each rank shows what it has. */
static struct {
    int size;
    pthread_barrier_t barrier;
    const void *shown[SIZE_MAX_OF_TESTS];
} room;

typedef struct member {
    test_rank view;
    test_rank_fn *play;
} member;

static bool gather(void *self, const void *own, size_t size, void *all)
{
    const member *m = self;
    room.shown[m->view.rank] = own;
    pthread_barrier_wait(&room.barrier);
    for (int r = 0; r < room.size; r++)
        memcpy((char *)all + (size_t)r * size, room.shown[r], size);
    pthread_barrier_wait(&room.barrier);
    return true;
}

static bool broadcast(void *self, void *bytes, size_t size)
{
    char *all = malloc((size_t)room.size * size);
    assert_non_null(all);
    bool well = gather(self, bytes, size, all);
    memcpy(bytes, all, size);
    free(all);
    return well;
}

static bool scatter(void *self, const float *values, const int *shares, const int *offsets,
                    float *received)
{
    const member *m = self;
    int rank = m->view.rank;
    size_t own = (size_t)shares[rank];
    room.shown[rank] = values;
    pthread_barrier_wait(&room.barrier);
    for (int r = 0; r < room.size; r++)
        memcpy(received + (size_t)r * own, (const float *)room.shown[r] + offsets[rank],
               own * sizeof(float));
    pthread_barrier_wait(&room.barrier);
    return true;
}

static bool collect(void *self, float *values, const int *shares, const int *offsets)
{
    const member *m = self;
    room.shown[m->view.rank] = values;
    pthread_barrier_wait(&room.barrier);
    for (int r = 0; r < room.size; r++)
        if (r != m->view.rank)
            memcpy(values + offsets[r], (const float *)room.shown[r] + offsets[r],
                   (size_t)shares[r] * sizeof(float));
    pthread_barrier_wait(&room.barrier);
    return true;
}

static bool meet(void *self, const void *own, size_t size, void *all, double patience)
{
    const member *m = self;
    return (patience < 0 || !m->view.absent) && gather(self, own, size, all);
}

static void end(void *self, int code)
{
    (void)self;
    (void)code;
}

static void leave(void *self)
{
    (void)self;
}

static const gn_ranks_calls calls = {gather, broadcast, scatter, collect, meet, end, leave};

static void *live(void *given)
{
    member *m = given;
    gn_ranks *ranks;
    m->view.ctx = test_ctx();
    assert_ok(m->view.ctx, gn_ranks_new(m->view.ctx, &calls, m, m->view.rank, room.size, &ranks));
    gn_ranks_attach(m->view.ctx, ranks);
    m->play(&m->view);
    gn_ranks_close(ranks);
    gerne_ctx_close(m->view.ctx);
    return NULL;
}

void test_on_ranks(int size, test_rank_fn *play, void *user)
{
    pthread_t threads[SIZE_MAX_OF_TESTS];
    member members[SIZE_MAX_OF_TESTS];
    assert_true(size <= SIZE_MAX_OF_TESTS);
    room.size = size;
    pthread_barrier_init(&room.barrier, NULL, (unsigned)size);
    for (int r = 0; r < size; r++) {
        members[r] = (member){.view = {.rank = r, .user = user}, .play = play};
        assert_int_equal(pthread_create(&threads[r], NULL, live, &members[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&room.barrier);
}
