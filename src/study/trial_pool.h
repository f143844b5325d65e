/* trial_pool.h - trials that run at the same time, each on a thread of its own. Whoever has the
 * pool claims trials and ends them; only what is between happens on the threads, so that the ledger
 * and the hooks of the context see one thread alone.
 */
#ifndef GN_STUDY_TRIAL_POOL_H
#define GN_STUDY_TRIAL_POOL_H

#include "study/trial.h"

typedef struct gn_trial_pool gn_trial_pool;

/* dir is the study's; dir and means are lent. */
GERNE_CHECKED gerne_status gn_trial_pool_new(gerne_ctx *ctx, const char *dir,
                                             const gn_trial_means *means, size_t workers,
                                             gn_trial_pool **out);
/* Takes NULL. All trials must have ended. */
void gn_trial_pool_close(gn_trial_pool *pool);
GN_LOCAL_HANDLE(gn_trial_pool, gn_trial_pool_close)

/* Whether another trial can start now: the first one reads the data that the others share. */
bool gn_trial_pool_has_room(gn_trial_pool *pool);
size_t gn_trial_pool_running(gn_trial_pool *pool);

/* Takes the claim over; after a failure it is still the caller's. */
GERNE_CHECKED gerne_status gn_trial_pool_start(gerne_ctx *ctx, gn_trial_pool *pool,
                                               const gn_claim *claim);

/* What came of a trial. */
typedef struct gn_trial_pool_end {
    gn_claim claim; /* id is NULL: none has ended */
    gerne_status status;
    json_t *results; /* a new reference; NULL after a failure */
    gn_saved_failure failure;
} gn_trial_pool_end;

/* Waits a tenth of a second at most for a trial to end, or for room. What the trials had to say
 * goes to the log of ctx. */
void gn_trial_pool_wait(gerne_ctx *ctx, gn_trial_pool *pool, gn_trial_pool_end *out);

/* How much of the running trials is done, in trials; detail is that of the last progress. */
double gn_trial_pool_progress(gn_trial_pool *pool, char *detail, size_t size);

/* Asks all of them to stop as soon as they can. */
void gn_trial_pool_stop(gn_trial_pool *pool);

#endif
