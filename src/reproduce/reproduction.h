/* reproduction.h - the inside of gn_reproduce, for the files of this folder that make it up. */
#ifndef GN_REPRODUCE_REPRODUCTION_H
#define GN_REPRODUCE_REPRODUCTION_H

#include "reproduce/band.h"
#include "reproduce/cells.h"
#include "study/sheet.h"
#include "study/trial.h"

enum { GN_SHEETS_MAX = 4 };

typedef struct gn_reproduction {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_reproduce_options *options;
    const char *dir;
    gn_cells cells;
    gn_trial *planned; /* each configuration once */
    size_t planned_count;
    gn_ledger *ledger;
    bool chosen; /* the other seeds of chosen grid points are planned */

    /* As of the last summary. */
    gn_trial_list trials; /* in the order of planned */
    gn_sheet *sheets[GN_SHEETS_MAX];
    size_t sheet_count;
    json_t *figures, *notes;
    gn_sheet *check; /* of appendix B: made once */
} gn_reproduction;

/* The trial of a run of a cell, as of the last summary. */
const gn_trial *gn_trial_of(const gn_reproduction *r, const gn_cell_run *run);

/* Whether the figures of a cell may be measured against the paper's. */
bool gn_cell_comparable(const gn_reproduction *r, const gn_cell *cell);

/* table.c: the sheet of cells that every reproduction of the paper has; and what a row of any sheet
 * says about a cell: its interval, and the remark. */
GERNE_CHECKED gerne_status gn_sheet_of_cells(gn_reproduction *r, gn_sheet **out);
GERNE_CHECKED gerne_status gn_sheet_add_interval(gn_reproduction *r, gn_sheet *sheet,
                                                 const gn_interval *interval);
GERNE_CHECKED gerne_status gn_sheet_add_remark(gn_reproduction *r, gn_sheet *sheet,
                                               const gn_cell *cell);

/* What figures and appendix B show beside the cells; each in a file of its name. */
GERNE_CHECKED gerne_status gn_reproduce_fig2(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_fig3(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_appB(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_methods(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_adapt(gn_reproduction *r);
GERNE_CHECKED gerne_status gn_reproduce_estimators(gn_reproduction *r);

/* output.c: the documents and files. */
GERNE_CHECKED gerne_status gn_reproduction_write(gn_reproduction *r, gn_text *report,
                                                 json_t **document);

#endif
