#include "study/worker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "study/trial_pool.h"
#include "study/result.h"

/* A trial is this much of the progress line. */
enum { PARTS = 1000 };

typedef struct worker {
    gerne_ctx *ctx;
    gn_ledger *ledger;
    const gn_study_work *work;
    gn_trial_means means;
    gerne_progress_fn *outer; /* the hook of whoever runs the study */
    void *outer_user;
    gerne_log_fn *log;
    void *log_user;
    size_t finished, planned, to_come;
    uint64_t inside; /* of the present trial: never goes back when a second stage starts */
} worker;

static int report(worker *w, const char *detail)
{
    char words[224];
    size_t total = w->planned + w->to_come;
    snprintf(words, sizeof words, "%zu of %zu trials%s%s", w->finished, total,
             detail[0] ? ", " : "", detail);
    const gerne_progress all = {.what = w->work->what,
                                .done = (uint64_t)w->finished * PARTS + w->inside,
                                .total = (uint64_t)total * PARTS,
                                .detail = words};
    return w->outer ? w->outer(w->outer_user, &all) : 0;
}

/* The progress of a run is that of a part of the study; reading its data is not worth counting. */
static int on_progress(void *user, const gerne_progress *progress)
{
    worker *w = user;
    if (progress->total && strcmp(progress->what, "train") == 0) {
        double share = (double)progress->done / (double)progress->total;
        uint64_t inside = (uint64_t)(fmin(share, 1) * (PARTS - 1));
        w->inside = inside > w->inside ? inside : w->inside;
    }
    return report(w, progress->detail);
}

static gerne_status count(worker *w)
{
    w->inside = 0;
    return gn_ledger_count(w->ledger, &w->planned, &w->finished);
}

/* What a single run says is too much here; its warnings are not. */
static void on_log(void *user, gerne_log_level level, const char *line)
{
    const worker *w = user;
    if (w->log)
        w->log(w->log_user, level == GERNE_LOG_INFO ? GERNE_LOG_DEBUG : level, line);
}

/* One line about a trial that this process has finished. */
static gerne_status announce(worker *w, const char *id)
{
    GN_LOCAL(gn_trial_list) one = {0};
    GN_TRY(count(w));
    GN_TRY(gn_ledger_find(w->ledger, id, &one));
    const gn_trial *trial = &one.items[0];
    gn_result_selection by;
    char name[200];
    gn_trial_words(trial, name, sizeof name);
    if (trial->state == GN_TRIAL_DONE && gn_result_selection_of(trial->results, &by))
        gn_log(w->ctx, GERNE_LOG_INFO, "%zu/%zu  %s: %s on %s %.2f %%", w->finished,
               w->planned + w->to_come, name, by.metric, by.split,
               100 *
                   gn_result_figure(gn_result_splits(trial->results, false), by.split, by.metric));
    else if (trial->state == GN_TRIAL_FAILED)
        gn_log(w->ctx, GERNE_LOG_INFO, "%zu/%zu  %s %s%s", w->finished, w->planned + w->to_come,
               name, gn_trial_diverged(trial) ? "" : "failed: ", trial->reason);
    return GERNE_OK;
}

static gerne_status execute(worker *w, gn_claim *claim)
{
    const char *id = claim->id; /* the ledger's own */
    gerne_set_log(w->ctx, on_log, w);
    gerne_status status = gn_trial_execute(w->ctx, w->ledger, claim, &w->means);
    gerne_set_log(w->ctx, w->log, w->log_user);
    GN_TRY(status);
    GN_TRY(announce(w, id));
    return w->work->after ? w->work->after(w->work->user, w->ledger) : GERNE_OK;
}

/* Others are at work on what is left: look again soon, one of them may die. */
static gerne_status wait_for(worker *w, size_t others)
{
    const struct timespec moment = {.tv_nsec = 200 * 1000 * 1000};
    char words[96];
    snprintf(words, sizeof words, "waiting for %zu trial%s run by other processes", others,
             others == 1 ? "" : "s");
    if (report(w, words))
        return gn_fail(w->ctx, GERNE_EINTERRUPTED, "%s was interrupted", w->work->what);
    nanosleep(&moment, NULL);
    return GERNE_OK;
}

static gerne_status step(worker *w, bool *finished)
{
    gn_claim claim;
    size_t others;
    bool grew = false;
    GN_TRY(count(w));
    GN_TRY(gn_ledger_claim(w->ledger, &claim, &others));
    if (claim.id)
        return execute(w, &claim);
    if (others)
        return wait_for(w, others);
    if (w->work->grow)
        GN_TRY(w->work->grow(w->work->user, w->ledger, &w->to_come, &grew));
    *finished = !grew;
    return GERNE_OK;
}

/* ---- several trials at once ---- */

/* Ends what has ended. */
static gerne_status settle(worker *w, gn_trial_pool_end *end)
{
    GN_LOCAL(json_t) *results = end->results;
    const char *id = end->claim.id; /* the ledger's own */
    gn_restore_failure(w->ctx, &end->failure);
    GN_TRY(gn_trial_end(w->ctx, w->ledger, &end->claim, end->status, results));
    GN_TRY(announce(w, id));
    return w->work->after ? w->work->after(w->work->user, w->ledger) : GERNE_OK;
}

static gerne_status fill(worker *w, gn_trial_pool *pool, size_t *others)
{
    *others = 0;
    while (gn_trial_pool_has_room(pool)) {
        gn_claim claim;
        GN_TRY(gn_ledger_claim(w->ledger, &claim, others));
        if (!claim.id)
            return GERNE_OK;
        gerne_status status = gn_trial_pool_start(w->ctx, pool, &claim);
        if (status != GERNE_OK)
            return gn_trial_end(w->ctx, w->ledger, &claim, status, NULL);
    }
    return GERNE_OK;
}

static gerne_status watch(worker *w, gn_trial_pool *pool)
{
    gn_trial_pool_end end;
    char detail[160];
    gn_trial_pool_wait(w->ctx, pool, &end);
    if (end.claim.id)
        GN_TRY(settle(w, &end));
    w->inside = (uint64_t)(gn_trial_pool_progress(pool, detail, sizeof detail) * (PARTS - 1));
    if (report(w, detail))
        return gn_fail(w->ctx, GERNE_EINTERRUPTED, "%s was interrupted", w->work->what);
    return GERNE_OK;
}

static gerne_status step_of_many(worker *w, gn_trial_pool *pool, bool *finished)
{
    size_t others;
    bool grew = false;
    GN_TRY(count(w));
    GN_TRY(fill(w, pool, &others));
    if (gn_trial_pool_running(pool))
        return watch(w, pool);
    if (others)
        return wait_for(w, others);
    if (w->work->grow)
        GN_TRY(w->work->grow(w->work->user, w->ledger, &w->to_come, &grew));
    *finished = !grew;
    return GERNE_OK;
}

/* After a failure or an interrupt, which is what is told: the trials under way save what they
 * have. */
static void wind_up(worker *w, gn_trial_pool *pool)
{
    gn_saved_failure first = gn_save_failure(w->ctx);
    gn_trial_pool_stop(pool);
    while (gn_trial_pool_running(pool)) {
        gn_trial_pool_end end;
        gn_trial_pool_wait(w->ctx, pool, &end);
        if (end.claim.id && settle(w, &end) != GERNE_OK)
            gn_trial_pool_stop(pool);
    }
    gn_restore_failure(w->ctx, &first);
}

static gerne_status run_at_once(worker *w)
{
    GN_LOCAL(gn_trial_pool) *pool = NULL;
    gerne_status status =
        gn_trial_pool_new(w->ctx, gn_ledger_dir(w->ledger), &w->means, w->work->workers, &pool);
    for (bool finished = false; status == GERNE_OK && !finished;)
        status = step_of_many(w, pool, &finished);
    if (status != GERNE_OK && pool)
        wind_up(w, pool);
    return status;
}

static gerne_status run_in_turn(worker *w)
{
    for (bool finished = false; !finished;)
        GN_TRY(step(w, &finished));
    return GERNE_OK;
}

gerne_status gn_study_run(gerne_ctx *ctx, gn_ledger *ledger, const gn_study_work *work)
{
    GN_LOCAL(gn_shared_data) data = GN_SHARED_DATA;
    worker w = {.ctx = ctx,
                .ledger = ledger,
                .work = work,
                .means = {.cache = work->cache, .data = &data},
                .to_come = work->to_come};
    gn_log_hook(ctx, &w.log, &w.log_user);
    gn_progress_hook(ctx, &w.outer, &w.outer_user);
    gerne_set_progress(ctx, on_progress, &w);
    gerne_status status = work->workers > 1 ? run_at_once(&w) : run_in_turn(&w);
    gerne_set_progress(ctx, w.outer, w.outer_user);
    if (status == GERNE_EINTERRUPTED)
        gn_hint(ctx, "the same command resumes it");
    return status;
}
