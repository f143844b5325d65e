/* run_logs.h - what the logs of a cell's runs say over time, averaged over seeds. */
#ifndef GN_REPRODUCE_RUN_LOGS_H
#define GN_REPRODUCE_RUN_LOGS_H

#include "reproduce/reproduction.h"
#include "study/figure.h"

/* The evaluations of the main stage of every finished run of one grid point. */
typedef struct gn_run_logs {
    json_t **logs; /* arrays of events, one per run; owned */
    size_t count;
    double minority_share; /* of the test split, by training counts; NAN when unknown */
} gn_run_logs;

GERNE_CHECKED gerne_status gn_run_logs_read(gn_reproduction *r, const gn_cell *cell, size_t point,
                                            gn_run_logs *out);
void gn_run_logs_free(gn_run_logs *curves);

/* A figure over evaluations: x is the epoch, the mean is over runs, the band their standard
 * deviation (NAN for one run); in the arena. part is "train", "val" or "test", key a figure of the
 * log; the key "majority_acc" is worked out from acc_avg and minority_acc. Evaluations that lack it
 * are skipped. */
GERNE_CHECKED gerne_status gn_track_of(gn_reproduction *r, const gn_run_logs *curves,
                                       const char *part, const char *key, gn_track *out);

/* The spread over runs of a figure's mean from an epoch on. */
GERNE_CHECKED gerne_status gn_run_logs_plateau(gn_reproduction *r, const gn_run_logs *curves,
                                               const char *part, const char *key, double from,
                                               gn_spread *out);

#endif
