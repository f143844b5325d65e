/* ledger.h - the trials of a study in DIR/ledger.sqlite: planned, claimed, done exactly once.
 *
 *     GN_TRY(gn_ledger_open(ctx, dir, "tune", description, &ledger));
 *     GN_TRY(gn_ledger_plan(ledger, trials, count));
 *     GN_TRY(gn_ledger_claim(ledger, &claim, &others));
 *     if (claim.id) ... run it, then one of gn_ledger_done, _failed, _release
 *
 * Any number of processes may do this on one directory. A claim is a lock that the system takes
 * back when its holder dies, whatever it dies of: only then may another process claim a trial that
 * is marked as running. No clock is involved. The file survives kill -9 at any moment.
 */
#ifndef GN_STUDY_LEDGER_H
#define GN_STUDY_LEDGER_H

#include "base/json.h"

enum { GN_TRIAL_ID = 17 }; /* 16 digits and a final '\0' */

typedef enum gn_trial_state {
    GN_TRIAL_WAITING,
    GN_TRIAL_RUNNING,
    GN_TRIAL_DONE,
    GN_TRIAL_FAILED,
    GN_TRIAL_STATES,
} gn_trial_state;

const char *gn_trial_state_name(gn_trial_state state);

/* One configuration with one seed. */
typedef struct gn_trial {
    /* As it is planned: see gn_trial_make in study/trial.h. Texts are lent. */
    char id[GN_TRIAL_ID];
    const char *tag;      /* the caller's own word for it, such as a cell of a table; "" */
    const char *settings; /* JSON: what sets it apart, {"method.beta":"1"}; without the seed */
    const char *config;   /* YAML: all that was asked for */
    int64_t seed;
    int level; /* higher ones rank first: rungs of successive halving; 0 */

    /* As the ledger knows it. */
    gn_trial_state state;
    const char *reason; /* of a failure; NULL otherwise */
    json_t *results;    /* of one that is done: results.json without its long lists; or NULL */
    double seconds;     /* that the last process spent on it */
} gn_trial;

typedef struct gn_trial_list {
    gn_trial *items;
    size_t count;
    gn_arena *arena; /* owned: the texts */
} gn_trial_list;

void gn_trial_list_free(gn_trial_list *list);
GN_LOCAL_STRUCT(gn_trial_list, gn_trial_list_free)

/* How many trials are in each state. */
void gn_trial_list_count(const gn_trial_list *list, size_t counts[GN_TRIAL_STATES]);

typedef struct gn_ledger gn_ledger;

/* Opens or makes the directory and its ledger. description has a line for everything that makes the
 * study what it is; GERNE_EUSAGE, saying the first line that differs, when the ledger there was
 * made for another kind or description. The context is lent. */
GERNE_CHECKED gerne_status gn_ledger_open(gerne_ctx *ctx, const char *dir, const char *kind,
                                          const char *description, gn_ledger **out);
void gn_ledger_close(gn_ledger *ledger); /* takes NULL */
GN_LOCAL_HANDLE(gn_ledger, gn_ledger_close)
const char *gn_ledger_dir(const gn_ledger *ledger);

/* Adds the trials that are not there yet. Those planned through this handle are the ones that it
 * claims and lists, in this order; the ledger may hold others. */
GERNE_CHECKED gerne_status gn_ledger_plan(gn_ledger *ledger, const gn_trial *trials, size_t count);

/* A trial that is ours to run. */
typedef struct gn_claim {
    const char *id; /* NULL: there was none to have */
    const char *config;
    int lock;
    double started;
} gn_claim;

/* The first planned trial that waits, or whose process died. others is the number of unfinished
 * ones that live processes work on. */
GERNE_CHECKED gerne_status gn_ledger_claim(gn_ledger *ledger, gn_claim *out, size_t *others);

/* Each ends a claim: with results (lent), with the reason of a failure, or as one that waits
 * again. */
GERNE_CHECKED gerne_status gn_ledger_done(gn_ledger *ledger, gn_claim *claim,
                                          const json_t *results);
GERNE_CHECKED gerne_status gn_ledger_failed(gn_ledger *ledger, gn_claim *claim, const char *reason);
GERNE_CHECKED gerne_status gn_ledger_release(gn_ledger *ledger, gn_claim *claim);

/* Failed trials that were planned through this handle wait again. */
GERNE_CHECKED gerne_status gn_ledger_retry(gn_ledger *ledger);

/* How many of the planned trials are done or failed. */
GERNE_CHECKED gerne_status gn_ledger_count(gn_ledger *ledger, size_t *planned, size_t *finished);

/* One trial. Free with gn_trial_list_free. */
GERNE_CHECKED gerne_status gn_ledger_find(gn_ledger *ledger, const char *id, gn_trial_list *out);

/* The planned trials as they are now. Free with gn_trial_list_free. */
GERNE_CHECKED gerne_status gn_ledger_list(gn_ledger *ledger, gn_trial_list *out);

#endif
