/* cells.h - the configurations behind the paper's tables: src/reproduce/paper/cells.csv.
 *
 * A row of cells.csv names a cell (table, dataset, ratio, setting, method, variant), a base (a YAML
 * file beside it) and overrides "key=value key=value". A value "a|b|c" makes a grid: every point is
 * run with every seed, and validation chooses. A value "a+b+c" repeats the runs with each (folds);
 * like seeds, all of them count in the mean.
 */
#ifndef GN_REPRODUCE_CELLS_H
#define GN_REPRODUCE_CELLS_H

#include "base/settings.h"
#include "reproduce/paper.h"

typedef struct gn_cell {
    const char *table, *dataset, *ratio, *setting, *method, *variant;
    const char *budget; /* "quick", "paper", or "" for both */
    const char *base;   /* without ".yaml" */
    const char *file;   /* a user's file in place of the base; or NULL */
    const char *overrides;
    const char *path; /* the parts of the name that are not empty: "c-mnist/0.5/known/gerne" */
} gn_cell;

typedef struct gn_cells {
    gn_cell *list;
    size_t count;
} gn_cells;

/* All cells, in the order of the file; everything belongs to the arena. */
GERNE_CHECKED gerne_status gn_cells_read(gerne_ctx *ctx, gn_arena *arena, gn_cells *out);

/* "dataset/ratio/setting/method/variant" without the parts that are empty. */
GERNE_CHECKED gerne_status gn_cell_path(gerne_ctx *ctx, gn_arena *arena, const char *const *parts,
                                        size_t count, const char **out);

/* The settings of a cell. */
typedef struct gn_cell_settings {
    gn_settings base;  /* the YAML file */
    gn_settings fixed; /* overrides with one value */
    gn_settings axes;  /* overrides with several: the items are the grid's values */
    gn_settings folds; /* overrides whose values are all run and averaged */
} gn_cell_settings;

GERNE_CHECKED gerne_status gn_cell_settings_read(gerne_ctx *ctx, gn_arena *arena,
                                                 const gn_cell *cell, gn_cell_settings *out);
void gn_cell_settings_free(gn_cell_settings *settings);

/* Points of the grid, at least 1; and the value of an axis at a point (the last axis runs
 * fastest). */
size_t gn_grid_size(const gn_settings *axes);
const char *gn_grid_value(const gn_settings *axes, size_t point, size_t axis);

/* Whether a path starts with one of the comma-separated prefixes, whole parts at a time; NULL
 * takes all. */
bool gn_path_chosen(const char *path, const char *prefixes);

/* Whether a word is in a comma-separated list; NULL takes all. */
bool gn_word_chosen(const char *word, const char *list);

#endif
