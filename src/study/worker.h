/* worker.h - works through the planned trials of a ledger, together with any other processes. */
#ifndef GN_STUDY_WORKER_H
#define GN_STUDY_WORKER_H

#include "study/trial.h"

typedef struct gn_study_work {
    const char *what;  /* for the progress line: "tune" */
    const char *cache; /* may be NULL */
    size_t workers;    /* trials that run at the same time; 0 is 1 */
    size_t to_come;    /* trials that grow will still plan, as far as known: for the time left */

    /* Called when all planned trials are finished; may plan more (*grew = true). May be NULL. */
    gerne_status (*grow)(void *user, gn_ledger *ledger, size_t *to_come, bool *grew);
    /* Called after each trial that this process finished. May be NULL. */
    gerne_status (*after)(void *user, gn_ledger *ledger);
    void *user;
} gn_study_work;

/* Until every planned trial is done or failed, by us or by others. The context's progress hook
 * sees one job over all trials. GERNE_EINTERRUPTED: nothing is lost, the same call resumes. */
GERNE_CHECKED gerne_status gn_study_run(gerne_ctx *ctx, gn_ledger *ledger,
                                        const gn_study_work *work);

#endif
