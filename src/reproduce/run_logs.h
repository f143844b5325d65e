/* run_logs.h - what the logs of a cell's runs say over time, averaged over seeds, and figures of
 * study.json made of it. */
#ifndef GN_REPRODUCE_RUN_LOGS_H
#define GN_REPRODUCE_RUN_LOGS_H

#include "reproduce/reproduction.h"

/* The evaluations of the main stage of every finished run of one grid point. */
typedef struct gn_run_logs {
    json_t **logs; /* arrays of events, one per run; owned */
    size_t count;
    double minority_share; /* of the test split: samples with y != a; NAN when unknown */
} gn_run_logs;

GERNE_CHECKED gerne_status gn_run_logs_read(gn_reproduction *r, size_t slot, size_t point,
                                            gn_run_logs *out);
void gn_run_logs_free(gn_run_logs *curves);

/* Values over evaluations: x is the epoch; mean and sd are over runs (sd NAN for one). */
typedef struct gn_track {
    double *x, *mean, *sd; /* of the arena */
    size_t count;
} gn_track;

/* part is "train", "val" or "test", key a figure of the log; the key "majority_acc" is worked out
 * from acc_avg and minority_acc. Evaluations that lack it are left out. */
GERNE_CHECKED gerne_status gn_track_of(gn_reproduction *r, const gn_run_logs *curves,
                                       const char *part, const char *key, gn_track *out);

/* The spread over runs of a figure's mean from an epoch on. */
GERNE_CHECKED gerne_status gn_run_logs_plateau(gn_reproduction *r, const gn_run_logs *curves,
                                               const char *part, const char *key, double from,
                                               gn_spread *out);

/* A figure without series; appended to r->figures, which owns it. NULL without memory. */
json_t *gn_add_figure(gn_reproduction *r, const char *title, const char *x_label, bool x_log,
                      const char *y_label, const char *y_unit);

/* Adds a series scaled by factor; nothing when it is empty. With an sd it gets a band. */
GERNE_CHECKED gerne_status gn_add_series(gn_reproduction *r, json_t *figure, const char *name,
                                         const gn_track *curve, double factor, bool dashed);

#endif
