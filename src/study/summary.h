/* summary.h - DIR/study.json: every trial, the ranking, and what the study wants to show. */
#ifndef GN_STUDY_SUMMARY_H
#define GN_STUDY_SUMMARY_H

#include "study/ranking.h"

typedef struct gn_study_info {
    const char *kind, *title, *command;
    const char *metric, *split;             /* of the selection; "test" makes it an oracle's */
    bool more_to_come;                      /* trials that are not planned yet */
    const json_t *notes, *tables, *figures; /* arrays, lent; NULL for none */
} gn_study_info;

/* A new reference. */
GERNE_CHECKED gerne_status gn_study_json(gerne_ctx *ctx, const gn_study_info *info,
                                         const gn_trial_list *list, const gn_ranking *ranking,
                                         json_t **out);

/* Adds a sentence to the notes, unless it is there already. */
GERNE_CHECKED gerne_status gn_study_note(gerne_ctx *ctx, json_t *notes, const char *format, ...)
    GN_PRINTF(3, 4);

/* Writes it as DIR/study.json, whole or not at all. */
GERNE_CHECKED gerne_status gn_study_write(gerne_ctx *ctx, const char *dir, const json_t *study);

/* {"mean":..,"sd":..,"se":..}; new reference. */
json_t *gn_spread_json(gn_spread spread);

#endif
