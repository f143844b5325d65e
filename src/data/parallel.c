/* parallel.c - loops over samples on several threads, and the memory of those threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "data/source.h"

gerne_status gn_scratch_take(gerne_ctx *ctx, gn_scratch *scratch, int number, size_t size,
                             void *out)
{
    *(void **)out = NULL;
    if (size > scratch->sizes[number]) {
        gn_free(scratch->buffers[number]);
        scratch->buffers[number] = NULL;
        scratch->sizes[number] = 0;
        GN_TRY(gn_alloc_aligned(ctx, size, 1, "a sample", &scratch->buffers[number]));
        scratch->sizes[number] = size;
    }
    *(void **)out = scratch->buffers[number];
    return GERNE_OK;
}

void gn_scratch_free(gn_scratch *scratch)
{
    for (int i = 0; i < GN_SCRATCH_BUFFERS; i++)
        gn_free(scratch->buffers[i]);
    *scratch = (gn_scratch){0};
}

enum { THREADS_MAX = 256, SHOWN = 5 };

typedef struct loop_failure {
    size_t index;
    gerne_status status;
    gn_saved_failure text;
} loop_failure;

/* Items may take microseconds: threads that took a lock for each would wait for it most of the
 * time. The lock is for failures and for the end of a thread. */
typedef struct parallel_loop {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a thread has */
    size_t count;
    _Atomic size_t next, done;
    atomic_bool stop; /* nothing new is started */
    int running;
    gn_item_fn *item;
    void *user;
    uint8_t *failed;
    size_t failures;
    loop_failure first[SHOWN]; /* the failures with the lowest indices, in order */
} parallel_loop;

/* Keeps the failures with the lowest indices, so that the report does not depend on timing. */
static void note_failure(parallel_loop *loop, gerne_ctx *ctx, size_t index, gerne_status status)
{
    size_t held = loop->failures < SHOWN ? loop->failures : SHOWN, at = held;
    loop->failures++;
    while (at > 0 && loop->first[at - 1].index > index)
        at--;
    if (at == SHOWN)
        return;
    size_t moved = (held < SHOWN ? held : SHOWN - 1) - at;
    memmove(loop->first + at + 1, loop->first + at, moved * sizeof *loop->first);
    loop->first[at].index = index;
    loop->first[at].status = status;
    loop->first[at].text = gn_save_failure(ctx);
}

static bool may_skip(const parallel_loop *loop, gerne_status status)
{
    return loop->failed && (status == GERNE_EDATA || status == GERNE_EIO);
}

static void take_failure(parallel_loop *loop, gerne_ctx *ctx, size_t index, gerne_status status)
{
    pthread_mutex_lock(&loop->lock);
    note_failure(loop, ctx, index, status);
    pthread_mutex_unlock(&loop->lock);
    if (may_skip(loop, status))
        loop->failed[index] = 1;
    else
        loop->stop = true;
}

/* What is taken is done, even when another thread stops the loop: all items before a failure have
 * had their say. */
static void run_items(parallel_loop *loop, gerne_ctx *ctx, gn_scratch *scratch)
{
    while (!loop->stop) {
        size_t index = loop->next++;
        if (index >= loop->count)
            return;
        gerne_status status = loop->item(ctx, loop->user, scratch, index);
        loop->done++;
        if (status != GERNE_OK)
            take_failure(loop, ctx, index, status);
    }
}

static void *work(void *argument)
{
    parallel_loop *loop = argument;
    gerne_ctx *ctx = NULL;
    gn_scratch scratch = {0};
    gerne_status start = gerne_ctx_new(&ctx);
    if (start != GERNE_OK)
        take_failure(loop, ctx, loop->next, start);
    else
        run_items(loop, ctx, &scratch);
    gn_scratch_free(&scratch);
    gerne_ctx_close(ctx);
    pthread_mutex_lock(&loop->lock);
    loop->running--;
    pthread_cond_signal(&loop->ended);
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

/* Reports progress until all threads are done; a stop that the hook asks for ends them early. */
static gerne_status watch(gerne_ctx *ctx, parallel_loop *loop, const char *what)
{
    gerne_status status = GERNE_OK;
    pthread_mutex_lock(&loop->lock);
    while (loop->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (loop->running > 0 && pthread_cond_timedwait(&loop->ended, &loop->lock, &until) == 0)
            ;
        gerne_progress progress = {
            .what = what, .done = loop->done, .total = loop->count, .detail = ""};
        pthread_mutex_unlock(&loop->lock);
        if (status == GERNE_OK)
            status = gn_progress(ctx, &progress);
        pthread_mutex_lock(&loop->lock);
        if (status != GERNE_OK)
            loop->stop = true;
    }
    pthread_mutex_unlock(&loop->lock);
    return status;
}

static gerne_status report(gerne_ctx *ctx, const parallel_loop *loop, const char *what)
{
    size_t shown = loop->failures < SHOWN ? loop->failures : SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const loop_failure *failure = &loop->first[i];
        if (may_skip(loop, failure->status)) {
            gn_log(ctx, GERNE_LOG_WARNING, "skipped: %s", failure->text.message);
            continue;
        }
        if (!failure->text.message[0])
            return gn_fail(ctx, failure->status, "a thread could not start");
        gn_restore_failure(ctx, &failure->text);
        return failure->status;
    }
    if (loop->failures > shown && loop->failed)
        gn_log(ctx, GERNE_LOG_WARNING, "%s: %zu more were skipped", what, loop->failures - shown);
    return GERNE_OK;
}

/* One item is not worth a thread. */
static gerne_status run_one(gerne_ctx *ctx, gn_item_fn *item, void *user)
{
    GN_LOCAL(gn_scratch) scratch = {0};
    return item(ctx, user, &scratch, 0);
}

gerne_status gn_parallel(gerne_ctx *ctx, int threads, size_t count, const char *what,
                         gn_item_fn *item, void *user, uint8_t *failed)
{
    parallel_loop *loop;
    /* Before the first item, so that an interrupt is noticed from then on. */
    const gerne_progress start = {.what = what, .total = count, .detail = ""};
    GN_TRY(gn_progress(ctx, &start));
    if (count == 1 && !failed)
        return run_one(ctx, item, user);
    GN_TRY(gn_alloc(ctx, 1, sizeof *loop, "a parallel loop", &loop));
    loop->count = count;
    loop->item = item;
    loop->user = user;
    loop->failed = failed;
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->ended, NULL);
    if (threads < 1)
        threads = 1;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    if ((size_t)threads > count)
        threads = (int)(count ? count : 1);
    pthread_t workers[THREADS_MAX];
    int started = 0;
    pthread_mutex_lock(&loop->lock);
    while (started < threads && pthread_create(&workers[started], NULL, work, loop) == 0)
        started++;
    loop->running = started;
    pthread_mutex_unlock(&loop->lock);
    gerne_status status;
    if (started == 0)
        status = gn_fail(ctx, GERNE_EIO, "cannot start a thread");
    else
        status = watch(ctx, loop, what);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    if (status == GERNE_OK)
        status = report(ctx, loop, what);
    pthread_mutex_destroy(&loop->lock);
    pthread_cond_destroy(&loop->ended);
    gn_free(loop);
    return status;
}
