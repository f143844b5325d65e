#include "study/trial_pool.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef enum slot_state { IDLE, RUNNING, ENDED } slot_state;

/* Where one trial runs. */
typedef struct slot {
    gn_trial_pool *pool;
    gerne_ctx *ctx;
    pthread_t thread;
    slot_state state;
    double share; /* of the trial that is done */
    gn_trial_pool_end end;
} slot;

typedef struct line {
    gerne_log_level level;
    char text[512];
} line;

struct gn_trial_pool {
    const char *dir;
    const gn_trial_means *means;
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t moved; /* a trial ended, or room was made */
    bool has_data;
    char detail[160];
    line *lines; /* that were not passed on yet */
    size_t line_count, line_capacity;
    slot *slots;
    size_t count;
};

/* ---- on the thread of a trial ---- */

static int on_progress(void *user, const gerne_progress *progress)
{
    slot *s = user;
    gn_trial_pool *pool = s->pool;
    bool trains = progress->total && strcmp(progress->what, "train") == 0;
    pthread_mutex_lock(&pool->lock);
    if (trains) /* a second stage starts anew, and progress does not go back */
        s->share = fmax(s->share, fmin((double)progress->done / (double)progress->total, 1));
    if (trains && !pool->has_data) {
        pool->has_data = true;
        pthread_cond_signal(&pool->moved);
    }
    snprintf(pool->detail, sizeof pool->detail, "%s", progress->detail);
    pthread_mutex_unlock(&pool->lock);
    return 0;
}

/* A line that finds no memory is lost; it is in the log of the run. */
static void on_log(void *user, gerne_log_level level, const char *text)
{
    const slot *s = user;
    gn_trial_pool *pool = s->pool;
    pthread_mutex_lock(&pool->lock);
    if (gn_grow(NULL, &pool->lines, &pool->line_capacity, pool->line_count + 1, sizeof(line),
                "lines of a log") == GERNE_OK) {
        line *last = &pool->lines[pool->line_count++];
        last->level = level;
        snprintf(last->text, sizeof last->text, "%s", text);
    }
    pthread_mutex_unlock(&pool->lock);
}

static void *run(void *user)
{
    slot *s = user;
    gn_trial_pool *pool = s->pool;
    gn_trial_pool_end *end = &s->end;
    end->status = gn_trial_run(s->ctx, pool->dir, &end->claim, pool->means, &end->results);
    end->failure = gn_save_failure(s->ctx);
    pthread_mutex_lock(&pool->lock);
    s->state = ENDED;
    pool->has_data = true; /* or nobody will */
    pthread_cond_signal(&pool->moved);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- on the thread of the study ---- */

gerne_status gn_trial_pool_new(gerne_ctx *ctx, const char *dir, const gn_trial_means *means,
                               size_t workers, gn_trial_pool **out)
{
    GN_LOCAL(gn_trial_pool) *pool = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *pool, "threads for trials", &pool));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->moved, NULL);
    pool->dir = dir;
    pool->means = means;
    GN_TRY(gn_alloc(ctx, workers, sizeof *pool->slots, "threads for trials", &pool->slots));
    for (; pool->count < workers; pool->count++) {
        slot *s = &pool->slots[pool->count];
        s->pool = pool;
        if (gerne_ctx_new(&s->ctx) != GERNE_OK)
            return gn_fail(ctx, GERNE_ENOMEM, "no memory for threads for trials");
        gerne_set_progress(s->ctx, on_progress, s);
        gerne_set_log(s->ctx, on_log, s);
    }
    return gn_give(&pool, out);
}

void gn_trial_pool_close(gn_trial_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->count; i++)
        gerne_ctx_close(pool->slots[i].ctx);
    pthread_cond_destroy(&pool->moved);
    pthread_mutex_destroy(&pool->lock);
    gn_free(pool->slots);
    gn_free(pool->lines);
    gn_free(pool);
}

static size_t count_of(gn_trial_pool *pool, slot_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->count; i++)
        count += pool->slots[i].state == state;
    return count;
}

static slot *find(gn_trial_pool *pool, slot_state state)
{
    for (size_t i = 0; i < pool->count; i++)
        if (pool->slots[i].state == state)
            return &pool->slots[i];
    return NULL;
}

static bool has_room(gn_trial_pool *pool)
{
    return find(pool, IDLE) && (pool->has_data || !find(pool, RUNNING));
}

bool gn_trial_pool_has_room(gn_trial_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool room = has_room(pool);
    pthread_mutex_unlock(&pool->lock);
    return room;
}

size_t gn_trial_pool_running(gn_trial_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t running = pool->count - count_of(pool, IDLE);
    pthread_mutex_unlock(&pool->lock);
    return running;
}

/* Signals are for the thread of the study, whose hook decides what they mean; but for those of a
 * thread's own doing, such as SIGBUS when a mapped file shrinks: blocked, they end the process. */
static bool start_thread(slot *s)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    bool started = pthread_create(&s->thread, NULL, run, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

gerne_status gn_trial_pool_start(gerne_ctx *ctx, gn_trial_pool *pool, const gn_claim *claim)
{
    pthread_mutex_lock(&pool->lock);
    slot *s = find(pool, IDLE);
    s->end = (gn_trial_pool_end){.claim = *claim};
    s->share = 0;
    s->state = RUNNING;
    bool started = start_thread(s);
    if (!started)
        s->state = IDLE;
    pthread_mutex_unlock(&pool->lock);
    return started ? GERNE_OK : gn_fail(ctx, GERNE_EIO, "cannot start a thread");
}

/* The lock is not held while the hook is called. */
static void pass_lines_on(gerne_ctx *ctx, gn_trial_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    line *lines = pool->lines;
    size_t count = pool->line_count;
    pool->lines = NULL;
    pool->line_count = pool->line_capacity = 0;
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < count; i++) /* its warnings matter here, the rest is too much */
        gn_log(ctx, lines[i].level == GERNE_LOG_INFO ? GERNE_LOG_DEBUG : lines[i].level, "%s",
               lines[i].text);
    gn_free(lines);
}

static struct timespec soon(void)
{
    enum { MOMENT = 100 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    return until;
}

void gn_trial_pool_wait(gerne_ctx *ctx, gn_trial_pool *pool, gn_trial_pool_end *out)
{
    const struct timespec until = soon();
    int code = 0;
    *out = (gn_trial_pool_end){0};
    pthread_mutex_lock(&pool->lock);
    bool had_room = has_room(pool);
    while (code == 0 && !find(pool, ENDED) && has_room(pool) == had_room)
        code = pthread_cond_timedwait(&pool->moved, &pool->lock, &until);
    slot *s = find(pool, ENDED);
    pthread_mutex_unlock(&pool->lock);
    if (s) {
        pthread_join(s->thread, NULL);
        *out = s->end;
        s->state = IDLE; /* it has no thread that would look */
    }
    pass_lines_on(ctx, pool);
}

double gn_trial_pool_progress(gn_trial_pool *pool, char *detail, size_t size)
{
    double sum = 0;
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++)
        sum += pool->slots[i].state == IDLE ? 0 : pool->slots[i].share;
    snprintf(detail, size, "%s", pool->detail);
    pthread_mutex_unlock(&pool->lock);
    return sum;
}

void gn_trial_pool_stop(gn_trial_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        gerne_stop(pool->slots[i].ctx);
}
