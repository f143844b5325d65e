/* reproduce.h - a table or figure of the paper, run again: cells become trials of a study, and
 * their figures stand beside the paper's. */
#ifndef GN_REPRODUCE_REPRODUCE_H
#define GN_REPRODUCE_REPRODUCE_H

#include "base/json.h"
#include "reproduce/places.h"

typedef struct gn_reproduce_options {
    const char *what, *only, *method, *budget;
    const char *out;   /* directory of the study */
    const char *cache; /* may be NULL */
    int64_t seeds;
    int64_t steps;   /* limits every run, for a smoke test; 0: as configured */
    int64_t threads; /* 0: all processors */
    gn_places places;
    bool retry;          /* failed runs are tried again */
    const char *dataset; /* table3: a configuration whose data takes the place of CelebA; or NULL */
    const char *command; /* the command line, for study.json */
} gn_reproduce_options;

/* The names that what can have, "table1|table2|..."; and what each of them is. */
#define GN_REPRODUCE_CHOICES "table1|table2|table3|fig2|fig3|appB|methods|adapt|estimators|beyond"
const char *gn_reproduce_title(const char *what);

/* Runs what can be run (resuming what is in the directory), writes <what>.md, <what>.tex,
 * <what>.json and study.json there. report (may be NULL) receives the tables for people, *document
 * (may be NULL) that of <what>.json, a new reference. After GERNE_EINTERRUPTED the files tell how
 * far it came, and the same call resumes. */
GERNE_CHECKED gerne_status gn_reproduce(gerne_ctx *ctx, const gn_reproduce_options *options,
                                        gn_text *report, json_t **document);

/* All cells that were asked for, with what can run and what is missing. */
GERNE_CHECKED gerne_status gn_reproduce_list(gerne_ctx *ctx, const gn_reproduce_options *options,
                                             gn_text *report, json_t **document);

/* Appends the configurations of the chosen cells as YAML, one document a grid point. */
GERNE_CHECKED gerne_status gn_reproduce_print(gerne_ctx *ctx, const gn_reproduce_options *options,
                                              gn_text *out);

#endif
