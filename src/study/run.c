#include "study/run.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* A trial is this much of the progress line. */
enum { PARTS = 1000 };

typedef struct worker {
    gerne_ctx *ctx;
    gn_ledger *ledger;
    const gn_study_work *work;
    gerne_progress_fn *outer; /* the hook of whoever runs the study */
    void *outer_user;
    size_t finished, planned, to_come;
    uint64_t inside; /* of the present trial: never goes back when a second stage starts */
} worker;

static int report(worker *w, const char *detail)
{
    char words[160];
    size_t total = w->planned + w->to_come;
    snprintf(words, sizeof words, "%zu of %zu trials%s%s", w->finished, total,
             detail[0] ? ", " : "", detail);
    const gerne_progress all = {.what = w->work->what,
                                .done = (uint64_t)w->finished * PARTS + w->inside,
                                .total = (uint64_t)total * PARTS,
                                .detail = words};
    return w->outer ? w->outer(w->outer_user, &all) : 0;
}

/* The progress of a run is that of a part of the study. */
static int on_progress(void *user, const gerne_progress *progress)
{
    worker *w = user;
    if (progress->total) {
        double share = (double)progress->done / (double)progress->total;
        uint64_t inside = (uint64_t)(fmin(share, 1) * (PARTS - 1));
        w->inside = inside > w->inside ? inside : w->inside;
    }
    return report(w, progress->detail);
}

static gerne_status count(worker *w)
{
    gn_trial_list list;
    GN_TRY(gn_ledger_list(w->ledger, &list));
    w->planned = list.count;
    w->finished = 0;
    w->inside = 0;
    for (size_t i = 0; i < list.count; i++)
        w->finished +=
            list.items[i].state == GN_TRIAL_DONE || list.items[i].state == GN_TRIAL_FAILED;
    gn_trial_list_free(&list);
    return GERNE_OK;
}

/* Others are at work on what is left: look again soon, one of them may die. */
static gerne_status wait_for(worker *w, size_t others)
{
    const struct timespec moment = {.tv_nsec = 200 * 1000 * 1000};
    char words[80];
    snprintf(words, sizeof words, "waiting for %zu of other processes", others);
    if (report(w, words))
        return gn_fail(w->ctx, GERNE_EINTERRUPTED, "%s was stopped", w->work->what);
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
    if (claim.id) {
        GN_TRY(gn_trial_execute(w->ctx, w->ledger, &claim, w->work->cache));
        return w->work->after ? w->work->after(w->work->user, w->ledger) : GERNE_OK;
    }
    if (others)
        return wait_for(w, others);
    if (w->work->grow)
        GN_TRY(w->work->grow(w->work->user, w->ledger, &w->to_come, &grew));
    *finished = !grew;
    return GERNE_OK;
}

gerne_status gn_study_run(gerne_ctx *ctx, gn_ledger *ledger, const gn_study_work *work)
{
    worker w = {.ctx = ctx, .ledger = ledger, .work = work, .to_come = work->to_come};
    gn_progress_hook(ctx, &w.outer, &w.outer_user);
    gerne_set_progress(ctx, on_progress, &w);
    gerne_status status = GERNE_OK;
    for (bool finished = false; status == GERNE_OK && !finished;)
        status = step(&w, &finished);
    gerne_set_progress(ctx, w.outer, w.outer_user);
    if (status == GERNE_EINTERRUPTED)
        gn_hint(ctx, "the same command goes on where it stopped");
    return status;
}
