#include "ranks_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/ranks.h"
#include "testing.h"

enum { SIZE_MAX_OF_TESTS = 8 };

/* Where each rank shows what it has: one room for ranks, one for their threads that sum. */
typedef struct meeting {
    pthread_barrier_t barrier;
    const void *shown[SIZE_MAX_OF_TESTS];
} meeting;

static struct {
    int size;
    meeting room, sums;
} all_ranks;

typedef struct member {
    test_rank view;
    test_rank_fn *play;
} member;

static bool gather(void *self, const void *own, size_t size, void *all)
{
    const member *m = self;
    all_ranks.room.shown[m->view.rank] = own;
    pthread_barrier_wait(&all_ranks.room.barrier);
    for (int r = 0; r < all_ranks.size; r++)
        memcpy((char *)all + (size_t)r * size, all_ranks.room.shown[r], size);
    pthread_barrier_wait(&all_ranks.room.barrier);
    return true;
}

static bool broadcast(void *self, void *bytes, size_t size)
{
    char *all = malloc((size_t)all_ranks.size * size);
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
    all_ranks.sums.shown[rank] = values;
    pthread_barrier_wait(&all_ranks.sums.barrier);
    for (int r = 0; r < all_ranks.size; r++)
        memcpy(received + (size_t)r * own, (const float *)all_ranks.sums.shown[r] + offsets[rank],
               own * sizeof(float));
    pthread_barrier_wait(&all_ranks.sums.barrier);
    return true;
}

static bool collect(void *self, float *values, const int *shares, const int *offsets)
{
    const member *m = self;
    all_ranks.sums.shown[m->view.rank] = values;
    pthread_barrier_wait(&all_ranks.sums.barrier);
    for (int r = 0; r < all_ranks.size; r++)
        if (r != m->view.rank)
            memcpy(values + offsets[r], (const float *)all_ranks.sums.shown[r] + offsets[r],
                   (size_t)shares[r] * sizeof(float));
    pthread_barrier_wait(&all_ranks.sums.barrier);
    return true;
}

static bool assemble(void *self, const _Atomic bool *abandoned)
{
    (void)self;
    (void)abandoned;
    pthread_barrier_wait(&all_ranks.sums.barrier);
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

static const gn_ranks_calls calls = {gather,   broadcast, scatter, collect,
                                     assemble, meet,      end,     leave};

static void *live(void *given)
{
    member *m = given;
    gn_ranks *ranks;
    m->view.ctx = test_ctx();
    assert_ok(m->view.ctx,
              gn_ranks_new(m->view.ctx, &calls, m, m->view.rank, all_ranks.size, &ranks));
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
    all_ranks.size = size;
    pthread_barrier_init(&all_ranks.room.barrier, NULL, (unsigned)size);
    pthread_barrier_init(&all_ranks.sums.barrier, NULL, (unsigned)size);
    for (int r = 0; r < size; r++) {
        members[r] = (member){.view = {.rank = r, .user = user}, .play = play};
        assert_int_equal(pthread_create(&threads[r], NULL, live, &members[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&all_ranks.room.barrier);
    pthread_barrier_destroy(&all_ranks.sums.barrier);
}
