/* tune.h - gerne tune: a search over configurations, each run with several seeds.
 *
 * tune.c runs it, plan.c says which trials there are, workers.c how they share the threads,
 * output.c and figures.c say what came out.
 */
#ifndef GN_TUNE_TUNE_H
#define GN_TUNE_TUNE_H

#include "tune/points.h"
#include "study/worker.h"
#include "study/summary.h"

typedef enum gn_strategy { GN_GRID, GN_RANDOM, GN_HALVING } gn_strategy;

typedef struct gn_tune_options {
    int strategy;
    int64_t trials, seeds, seed, beta_steps, eta, rungs, workers;
} gn_tune_options;

extern const gn_option gn_tune_option_table[]; /* of the section "tune" */
extern const size_t gn_tune_option_count;

typedef struct gn_tune_request {
    const char *dir;           /* of the study */
    const char *cache;         /* may be NULL */
    const char *command;       /* as it was typed, for study.json */
    const gn_settings *base;   /* of gn_base_settings */
    const gn_settings *search; /* the keys "search.KEY" */
    gn_tune_options options;
    int64_t first_seed;
    bool keep;  /* weights of configurations that lose */
    bool retry; /* failed trials run again */
} gn_tune_request;

/* Runs what is left of the study and writes study.json and best.yaml into its directory. report
 * (may be NULL) receives the ranking for people, *study (may be NULL) the document of study.json, a
 * new reference. GERNE_EINTERRUPTED when the progress hook asked to stop: the same call resumes.
 * GERNE_EDIVERGED when every trial failed. */
GERNE_CHECKED gerne_status gn_tune(gerne_ctx *ctx, const gn_tune_request *request, gn_text *report,
                                   json_t **study);

/* ---- the inside, for the files named above ---- */

typedef struct gn_tuner {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_tune_request *request;
    gn_settings base;      /* of the trials: the request's, with the threads of one trial */
    size_t workers;        /* trials at the same time */
    gn_run_config *config; /* of the base */
    gn_space space;
    gn_limiter limiter;
    gn_points points;
    gn_ledger *ledger;
    int rung;                  /* of halving: the last one planned */
    size_t rung_start;         /* its first trial in the ledger's list */
    char metric[32], split[8]; /* of the selection */
} gn_tuner;

/* Divides the threads among trials: fills workers and base. */
GERNE_CHECKED gerne_status gn_tune_divide(gn_tuner *t, const gn_dataset *data);

/* Draws the configurations. */
GERNE_CHECKED gerne_status gn_tune_draw(gn_tuner *t);

/* Plans the trials: all of them, or the first rung of halving. */
GERNE_CHECKED gerne_status gn_tune_plan(gn_tuner *t);

/* The next rung of halving, once the last is finished (gn_study_work.grow). */
GERNE_CHECKED gerne_status gn_tune_grow(void *user, gn_ledger *ledger, size_t *to_come, bool *grew);

/* Trials of rungs that are not planned yet. */
size_t gn_tune_to_come(const gn_tuner *t);

/* Removes weights of configurations that cannot win any more. */
GERNE_CHECKED gerne_status gn_tune_prune(gn_tuner *t);

/* The array "figures" of study.json; new reference. */
GERNE_CHECKED gerne_status gn_tune_figures(gn_tuner *t, const gn_ranking *ranking, json_t **out);

/* study.json, best.yaml once all is finished, and what is shown. */
GERNE_CHECKED gerne_status gn_tune_conclude(gn_tuner *t, gn_text *report, json_t **study);

#endif
