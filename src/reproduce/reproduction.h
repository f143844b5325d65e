/* reproduction.h - the inside of gn_reproduce, for the files of this folder that make it up. */
#ifndef GN_REPRODUCE_REPRODUCTION_H
#define GN_REPRODUCE_REPRODUCTION_H

#include "reproduce/cell_result.h"
#include "reproduce/reproduce.h"
#include "reproduce/sheet.h"
#include "study/trial.h"

enum { GN_SHEETS_MAX = 4 };

/* A trial that a slot needs; slots with the same configuration share it. */
typedef struct gn_job {
    size_t slot, point;
    int64_t seed;
    char id[GN_TRIAL_ID];
} gn_job;

typedef struct gn_reproduction {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_reproduce_options *options;
    const char *dir;
    gn_slots slots;
    gn_job *jobs;
    size_t job_count;
    gn_trial_spec *specs; /* each configuration once */
    size_t spec_count;
    gn_ledger *ledger;

    /* As of the last summary. */
    gn_trial_list trials;
    gn_slot_trial *slot_trials; /* [job_count], in the order of jobs */
    gn_cell_result *results;    /* [slots.count] */
    gn_sheet *sheets[GN_SHEETS_MAX];
    size_t sheet_count;
    json_t *figures, *notes;
    gn_sheet *check; /* of appendix B: made once */
} gn_reproduction;

/* The trials of a slot, which stand beside each other. */
const gn_slot_trial *gn_slot_trials(const gn_reproduction *r, size_t slot, size_t *count);

/* A sentence for the notes, once. */
GERNE_CHECKED gerne_status gn_note(gn_reproduction *r, const char *format, ...) GN_PRINTF(2, 3);

/* Whether the figures of a slot may be measured against the paper's. */
bool gn_slot_comparable(const gn_reproduction *r, const gn_slot *slot);

/* table.c: the sheet of cells that every reproduction has. */
GERNE_CHECKED gerne_status gn_sheet_of_cells(gn_reproduction *r, gn_sheet **out);

/* What figures and appendix B show beside the cells; each in a file of its name. */
GERNE_CHECKED gerne_status gn_reproduce_fig2(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_fig3(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_appB(gn_reproduction *r);

/* output.c: the documents and files. */
GERNE_CHECKED gerne_status gn_reproduction_write(gn_reproduction *r, gn_text *report,
                                                 json_t **document);

#endif
