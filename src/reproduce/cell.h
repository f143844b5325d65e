/* cell.h - a cell of the paper's tables and figures: the paper's figure, what we run for it,
 * whether that can run here, and what came out.
 *
 * Its configuration is a base (a YAML file in src/reproduce/paper, or a user's) and overrides
 * "key=value key=value". A value "a|b|c" makes a grid: every point is run with every seed, and
 * validation chooses. A value "a+b+c" repeats the runs with each (folds); like seeds, all of them
 * count in the mean.
 */
#ifndef GN_REPRODUCE_CELL_H
#define GN_REPRODUCE_CELL_H

#include "base/settings.h"
#include "base/statistics.h"
#include "reproduce/paper.h"
#include "reproduce/places.h"
#include "study/ledger.h"

typedef enum gn_cell_state {
    GN_CELL_RUNNABLE,
    GN_CELL_DATA_MISSING,     /* or weights */
    GN_CELL_NO_CONFIGURATION, /* none of this budget */
} gn_cell_state;

const char *gn_cell_state_name(gn_cell_state state);

/* A run of a cell; cells with the same configuration share a trial. */
typedef struct gn_cell_run {
    size_t point; /* of the grid */
    size_t trial; /* its place in the list of trials */
} gn_cell_run;

/* A grid point with its figures over runs, in percent. */
typedef struct gn_cell_choice {
    size_t point;
    gn_spread measure;    /* of the reported metric on test */
    gn_spread chosen_by;  /* of the metric that selected the checkpoints, on the split it is of */
    gn_interval interval; /* hull of the runs' 95% intervals; NAN when the metric has none */
} gn_cell_choice;

typedef struct gn_cell_result {
    size_t done, failed;
    const gn_trial *failure;       /* the first failed run; or NULL */
    size_t warned;                 /* finished runs of the honest choice's grid point that warned */
    const char *warning;           /* the first of their warnings; or NULL */
    gn_cell_choice honest, oracle; /* chosen on validation; chosen on test */
} gn_cell_result;

typedef struct gn_cell {
    const char *path; /* the parts of its name that are not empty: "c-mnist/0.5/known/gerne" */
    const char *ratio, *setting, *method, *variant;
    const char *title; /* the method's, as the paper writes it */
    const gn_paper_dataset *dataset;
    gn_paper_figure paper;

    /* What to run. */
    const char *budget;    /* "quick", "paper", or "" for both */
    const char *base_name; /* of an embedded YAML file, or a user's path; NULL: no configuration */
    bool is_own;           /* the base is a user's file, which says where its data lies */
    const char *overrides;
    gn_settings base, fixed, axes, folds; /* overrides with one value, of the grid, of folds */

    /* Whether it can run. */
    gn_cell_state state;
    const char *reason, *hint; /* of what cannot run; hint may be NULL */
    const char *dir, *weights, *variant_of_weights, *frost;
    bool frozen; /* only the head is trained: not the paper's protocol */

    gn_cell_run *runs;
    size_t run_count;
    gn_cell_result result;
} gn_cell;

/* Reads base and overrides into the four settings. */
GERNE_CHECKED gerne_status gn_cell_settings_read(gerne_ctx *ctx, gn_arena *arena, gn_cell *cell);
void gn_cell_settings_free(gn_cell *cell);

/* Finds out whether a cell can run; reads its settings. */
GERNE_CHECKED gerne_status gn_cell_settle(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                                          gn_cell *cell);

/* Points of a grid, at least 1; and the value of an axis at a point (the last axis runs fastest).
 */
size_t gn_grid_size(const gn_settings *axes);
const char *gn_grid_value(const gn_settings *axes, size_t point, size_t axis);

/* Flags that win over cell->base: overrides and places; and those of a grid point and fold. */
GERNE_CHECKED gerne_status gn_cell_flags(gerne_ctx *ctx, const gn_cell *cell, gn_settings *out);
GERNE_CHECKED gerne_status gn_cell_changes(gerne_ctx *ctx, const gn_cell *cell, size_t point,
                                           size_t fold, gn_settings *out);

/* "beta = 1, lr = 0.01": the values of a grid point; "" without a grid. */
GERNE_CHECKED gerne_status gn_cell_point_words(gerne_ctx *ctx, gn_arena *arena, const gn_cell *cell,
                                               size_t point, const char **out);

/* Fills cell->result from the trials of its runs. Points are compared by the mean over runs of the
 * metric that each run selected with; the first wins ties. A point with fewer finished runs than
 * another is not chosen before it. */
GERNE_CHECKED gerne_status gn_cell_sum_up(gerne_ctx *ctx, const gn_trial_list *trials,
                                          gn_cell *cell);

#endif
