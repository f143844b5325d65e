#include "ranks/sums.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/vector.h"

/* Floats that are exchanged at a time: large enough that the time goes into bytes and not into
 * messages, of which every rank sends each other one; small enough that the first leave early and
 * offsets are ints. Sums do not depend on it. */
enum { BUCKET = 1 << 20, BUCKET_OF_RANK = 1 << 14 };

struct gn_sums {
    const gn_ranks_calls *calls;
    void *self;
    int rank, size;
    int *shares, *offsets; /* [size], of a bucket */
    float *received;       /* [size][share] */
    size_t capacity;

    /* The sum under way: its last values are exchanged first. */
    float *values;
    size_t left;  /* values that are not sums yet, from 0 on; 0: none is under way */
    size_t ready; /* from here on they are final */
    bool failed;

    /* The thread, if there is one. It has the values from start to wait. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news, progress;
    bool started, on_thread, running, stop;
    _Atomic bool abandoned;

    gn_ranks_traffic traffic;
    double worked, began; /* seconds of this sum's exchange; when the bucket under way began */
};

/* ---- one bucket ---- */

static size_t bucket_size(const gn_sums *s)
{
    size_t by_ranks = (size_t)s->size * BUCKET_OF_RANK;
    return by_ranks > BUCKET ? by_ranks : BUCKET;
}

/* Where the last bucket of what is left begins. */
static size_t next_bucket(const gn_sums *s)
{
    size_t size = bucket_size(s);
    return s->left > size ? s->left - size : 0;
}

GN_WIDE static void add(const float *restrict values, size_t count, float *restrict sum)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += values[i];
}

/* received: [size][share] -> sum, in the order of the ranks. */
static void add_in_order(const gn_sums *s, size_t share, float *sum, bool parallel)
{
    enum { PIECE = 4096 };
#pragma omp parallel for schedule(static) if (parallel)
    for (size_t first = 0; first < share; first += PIECE) {
        size_t n = share - first < PIECE ? share - first : PIECE;
        memcpy(sum + first, s->received + first, n * sizeof *sum);
        for (int r = 1; r < s->size; r++)
            add(s->received + (size_t)r * share + first, n, sum + first);
    }
}

/* Every rank sums its share of the bucket, and the shares come together. */
static bool sum_bucket(gn_sums *s, bool parallel)
{
    size_t first = next_bucket(s), count = s->left - first;
    float *values = s->values + first;
    for (int r = 0; r < s->size; r++) {
        gn_share share = gn_share_of(r, s->size, count, 1);
        s->offsets[r] = (int)share.first;
        s->shares[r] = (int)(share.end - share.first);
    }
    size_t own = (size_t)s->shares[s->rank];
    s->traffic.bytes += (count - own + own * (size_t)(s->size - 1)) * sizeof(float);
    if (!s->calls->scatter(s->self, values, s->shares, s->offsets, s->received))
        return false;
    add_in_order(s, own, values + s->offsets[s->rank], parallel);
    return s->calls->collect(s->self, values, s->shares, s->offsets);
}

/* ---- the thread ---- */

static bool bucket_is_ready(const gn_sums *s)
{
    return s->on_thread && s->left > 0 && !s->failed && s->ready <= next_bucket(s);
}

/* A collective call keeps its core busy until the slowest rank has come, a core that backward
 * needs: ranks meet asleep first. */
static void run_bucket(gn_sums *s)
{
    s->running = true;
    pthread_mutex_unlock(&s->lock);
    bool well = s->calls->assemble(s->self, &s->abandoned);
    pthread_mutex_lock(&s->lock);
    s->began = gn_seconds();
    pthread_mutex_unlock(&s->lock);
    well = well && sum_bucket(s, false);
    pthread_mutex_lock(&s->lock);
    s->worked += gn_seconds() - s->began;
    s->began = 0;
    s->left = next_bucket(s);
    s->failed = s->failed || !well;
    s->running = false;
    pthread_cond_broadcast(&s->progress);
}

static void *run(void *given)
{
    gn_sums *s = given;
    pthread_mutex_lock(&s->lock);
    while (!s->stop)
        if (bucket_is_ready(s))
            run_bucket(s);
        else
            pthread_cond_wait(&s->news, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Without a thread sums are formed in gn_sums_wait. */
static bool has_thread(gn_sums *s)
{
    if (!s->started && s->calls->assemble)
        s->started = pthread_create(&s->thread, NULL, run, s) == 0;
    return s->started;
}

/* ---- the calls ---- */

gerne_status gn_sums_new(gerne_ctx *ctx, const gn_ranks_calls *calls, void *self, int rank,
                         int size, gn_sums **out)
{
    gn_sums *s;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *s, "ranks", &s));
    *s = (gn_sums){.calls = calls, .self = self, .rank = rank, .size = size};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->news, NULL);
    pthread_cond_init(&s->progress, NULL);
    gerne_status status = gn_alloc(ctx, (size_t)size, sizeof *s->shares, "ranks", &s->shares);
    if (status == GERNE_OK)
        status = gn_alloc(ctx, (size_t)size, sizeof *s->offsets, "ranks", &s->offsets);
    if (status == GERNE_OK)
        *out = s;
    else
        gn_sums_close(s);
    return status;
}

void gn_sums_close(gn_sums *s)
{
    if (!s)
        return;
    gn_sums_abandon(s);
    if (s->started) {
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        pthread_cond_signal(&s->news);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->news);
    pthread_cond_destroy(&s->progress);
    gn_free(s->shares);
    gn_free(s->offsets);
    gn_free(s->received);
    gn_free(s);
}

gerne_status gn_sums_reserve(gerne_ctx *ctx, gn_sums *s, size_t count)
{
    size_t bucket = bucket_size(s) < count ? bucket_size(s) : count;
    size_t needed = (bucket / (size_t)s->size + 1) * (size_t)s->size;
    if (needed <= s->capacity)
        return GERNE_OK;
    gn_free(s->received);
    s->received = NULL;
    s->capacity = 0;
    GN_TRY(gn_alloc_aligned(ctx, needed, sizeof(float), "gradients of other ranks", &s->received));
    s->capacity = needed;
    return GERNE_OK;
}

/* A single bucket is complete when all values are: a thread would only be woken up for it. */
void gn_sums_start(gn_sums *s, float *values, size_t count, bool grow)
{
    bool on_thread = grow && count > bucket_size(s) && has_thread(s);
    pthread_mutex_lock(&s->lock);
    s->values = values;
    s->left = s->ready = count;
    s->on_thread = on_thread;
    s->worked = 0;
    pthread_mutex_unlock(&s->lock);
}

void gn_sums_ready(gn_sums *s, const float *first)
{
    if (!s->on_thread)
        return;
    pthread_mutex_lock(&s->lock);
    s->ready = first > s->values ? (size_t)(first - s->values) : 0;
    if (bucket_is_ready(s))
        pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
}

static void wait_for_thread(gn_sums *s, double now)
{
    pthread_mutex_lock(&s->lock);
    s->traffic.hidden += s->worked + (s->began > 0 ? now - s->began : 0);
    while (s->left > 0 && !s->failed)
        pthread_cond_wait(&s->progress, &s->lock);
    s->traffic.sums += s->worked;
    s->on_thread = false;
    pthread_mutex_unlock(&s->lock);
}

bool gn_sums_wait(gn_sums *s)
{
    double since = gn_seconds();
    if (s->on_thread)
        wait_for_thread(s, since);
    double alone = gn_seconds();
    for (; s->left > 0 && !s->failed; s->left = next_bucket(s))
        s->failed = !sum_bucket(s, true);
    s->traffic.sums += gn_seconds() - alone;
    s->traffic.seconds += gn_seconds() - since;
    return !s->failed;
}

void gn_sums_abandon(gn_sums *s)
{
    if (!s->on_thread) {
        s->left = 0;
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->abandoned = s->failed = true;
    while (s->running)
        pthread_cond_wait(&s->progress, &s->lock);
    s->on_thread = false;
    pthread_mutex_unlock(&s->lock);
}

gn_ranks_traffic gn_sums_exchanged(const gn_sums *s)
{
    return s->traffic;
}
