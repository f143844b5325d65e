/* slots.h - the places of a table or figure of the paper, each with the paper's figure and, where
 * we can run it, its cell: what was chosen, what is missing and how to get it. */
#ifndef GN_REPRODUCE_SLOTS_H
#define GN_REPRODUCE_SLOTS_H

#include "reproduce/cells.h"
#include "reproduce/places.h"

typedef enum gn_slot_state {
    GN_SLOT_RUNNABLE,
    GN_SLOT_DATA_MISSING, /* or weights */
    GN_SLOT_NOT_BUILT,    /* a method or a kind of data that we do not have yet */
    GN_SLOT_NO_CELL,      /* no configuration of this budget */
} gn_slot_state;

const char *gn_slot_state_name(gn_slot_state state);

typedef struct gn_slot {
    const char *path; /* "c-mnist/0.5/known/gerne" */
    const char *ratio, *setting, *method, *variant;
    const char *title; /* the method's, as the paper writes it */
    const gn_paper_dataset *dataset;
    gn_paper_figure paper;
    const gn_cell *cell; /* NULL unless there is a configuration */
    gn_slot_state state;
    const char *reason, *hint; /* of what cannot run; hint may be NULL */
    gn_cell_settings settings; /* with a cell */
    const char *dir, *weights, *variant_of_weights, *frost;
    bool frozen; /* only the head is trained: not the paper's protocol */
} gn_slot;

typedef struct gn_slots {
    gn_slot *list;
    size_t count;
} gn_slots;

typedef struct gn_slot_request {
    const char *what;   /* "table1", ..., "fig3" */
    const char *budget; /* "quick" or "paper" */
    const char *only;   /* prefixes of paths, comma separated; NULL for all */
    const char *method; /* names, comma separated; NULL for all */
    gn_places places;
    const char *dataset; /* table3 with this configuration's data instead of CelebA; or NULL */
} gn_slot_request;

/* The slots that were asked for, in the paper's order. GERNE_EUSAGE with the nearest name when
 * nothing matches a part of only or method. Texts belong to the arena; free the settings. */
GERNE_CHECKED gerne_status gn_slots_make(gerne_ctx *ctx, gn_arena *arena,
                                         const gn_slot_request *request, gn_slots *out);
void gn_slots_free(gn_slots *slots);

/* Finds out whether a slot with a cell can run, and fills the rest of it. */
GERNE_CHECKED gerne_status gn_slot_settle(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                                          gn_slot *slot);

/* Flags that win over slot->settings.base: overrides and places; and those of a grid point and
 * fold. */
GERNE_CHECKED gerne_status gn_slot_flags(gerne_ctx *ctx, const gn_slot *slot, gn_settings *out);
GERNE_CHECKED gerne_status gn_slot_changes(gerne_ctx *ctx, const gn_slot *slot, size_t point,
                                           size_t fold, gn_settings *out);

/* "beta = 1, lr = 0.01": the values of a grid point; "" without a grid. */
GERNE_CHECKED gerne_status gn_slot_point_words(gerne_ctx *ctx, gn_arena *arena, const gn_slot *slot,
                                               size_t point, const char **out);

#endif
