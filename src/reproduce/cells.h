/* cells.h - the cells of a table or figure of the paper, as far as they were asked for. */
#ifndef GN_REPRODUCE_CELLS_H
#define GN_REPRODUCE_CELLS_H

#include "reproduce/cell.h"
#include "reproduce/reproduce.h"

typedef struct gn_cells {
    gn_cell *list;
    size_t count;
} gn_cells;

/* The rows of src/reproduce/paper/cells.csv, in order: those of a table or figure and a budget, or
 * all (NULL). The paper's figures are not in it. Everything belongs to the arena. */
GERNE_CHECKED gerne_status gn_cells_read(gerne_ctx *ctx, gn_arena *arena, const char *what,
                                         const char *budget, gn_cells *out);

/* The cells that the options ask for, in the paper's order, settled. GERNE_EUSAGE with the nearest
 * name when nothing matches a part of only or method. Texts belong to the arena. */
GERNE_CHECKED gerne_status gn_cells_make(gerne_ctx *ctx, gn_arena *arena,
                                         const gn_reproduce_options *options, gn_cells *out);
void gn_cells_free(gn_cells *cells);

/* Whether a path starts with one of the comma-separated prefixes, whole parts at a time; NULL
 * takes all. */
bool gn_path_chosen(const char *path, const char *prefixes);

/* Whether a word is in a comma-separated list; NULL takes all. */
bool gn_word_chosen(const char *word, const char *list);

#endif
