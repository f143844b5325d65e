/* settings.h - what a user asked for, before anybody knows what the keys mean:
 * a flat list of dotted keys with their texts, from a YAML file or from the command line. */
#ifndef GN_BASE_SETTINGS_H
#define GN_BASE_SETTINGS_H

#include "base/memory.h"

typedef struct gn_setting {
    const char *key;          /* "train.lr" */
    const char *const *items; /* one text, or the items of a list */
    size_t count;
    bool is_list;
    int line; /* in the file; 0 for the command line */
} gn_setting;

typedef struct gn_settings {
    gn_setting *list;
    size_t count, capacity;
    const char *source; /* the file's name, or NULL for the command line */
    gn_arena *arena;    /* lent */
} gn_settings;

void gn_settings_free(gn_settings *settings);
GN_LOCAL_STRUCT(gn_settings, gn_settings_free)

/* Appends; texts are copied into the arena. */
GERNE_CHECKED gerne_status gn_settings_add(gerne_ctx *ctx, gn_settings *settings, const char *key,
                                           const char *const *items, size_t count, bool is_list,
                                           int line);

/* Appends those settings of from that are in a section (whose name is given with its dot, "tune."),
 * or those that are not. */
GERNE_CHECKED gerne_status gn_settings_pick(gerne_ctx *ctx, const gn_settings *from,
                                            const char *section, bool inside, gn_settings *to);

/* NULL when the key is not there. */
const gn_setting *gn_settings_find(const gn_settings *settings, const char *key);

/* Reads a YAML mapping of scalars, lists of scalars and one level of sections. */
GERNE_CHECKED gerne_status gn_settings_read(gerne_ctx *ctx, const char *path,
                                            gn_settings *settings);

/* The same from memory (for tests and fuzzing); source names it in messages. */
GERNE_CHECKED gerne_status gn_settings_parse(gerne_ctx *ctx, const char *bytes, size_t size,
                                             const char *source, gn_settings *settings);

#endif
