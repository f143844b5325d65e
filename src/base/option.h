/* option.h - one row per option is parser, range check, default, help, man page and search space.
 *
 * A table describes the fields of a plain struct; a config is a set of tables, each under a section
 * name, that fills those structs from settings (YAML or flags). Several tables may share a section
 * (the options of the chosen method join the section "method").
 *
 *     static const gn_option options[] = {
 *         {"lr", GN_REAL, offsetof(train_options, lr), .fallback = "0.001", .min = 0, .max = 1e3,
 *          .help = "learning rate"},
 *     };
 */
#ifndef GN_BASE_OPTION_H
#define GN_BASE_OPTION_H

#include "base/settings.h"
#include "base/text.h"

typedef enum gn_option_type {
    GN_BOOL,   /* bool */
    GN_INT,    /* int64_t */
    GN_REAL,   /* double */
    GN_TEXT,   /* const char *, NULL when unset */
    GN_CHOICE, /* int: the index in choices */
    GN_INTS,   /* gn_ints */
    GN_REALS,  /* gn_reals */
    GN_TEXTS,  /* gn_texts */
} gn_option_type;

typedef struct gn_ints {
    const int64_t *items;
    size_t count;
} gn_ints;

typedef struct gn_reals {
    const double *items;
    size_t count;
} gn_reals;

typedef struct gn_texts {
    const char *const *items;
    size_t count;
} gn_texts;

enum {
    GN_TUNABLE = 1,  /* tune may search over it */
    GN_OPEN_MIN = 2, /* the lower limit itself is not allowed */
    GN_OPEN_MAX = 4,
    GN_REQUIRED = 8,  /* has to be given */
    GN_NO_HASH = 16,  /* does not change results (paths, verbosity) */
    GN_LOG = 32,      /* a search varies it by factors */
    GN_GUESSED = 64,  /* matters only where groups are estimated */
    GN_LENIENT = 128, /* given where it does not apply, it is ignored with a warning */
    GN_AUTO = 256,    /* a real number that may also be the word auto, which is NaN in the field */

    GN_NOT_ASKED = 1 << 16, /* not a flag of options: gn_config_print leaves defaults out */
};

typedef struct gn_option {
    const char *name;
    gn_option_type type;
    size_t offset;         /* of the field in the section's struct */
    const char *fallback;  /* the default as text; NULL leaves the field zero and "unset" */
    double min, max;       /* of numbers and of the items of lists; no limits when both are 0 */
    const char *choices;   /* "sgd|adam|adamw" */
    const char *alias;     /* another name that is understood; or NULL */
    const char *when;      /* "format images|features": applies only when the option format of its
                              section (a choice or a text) has one of these values; or NULL */
    const char *exclusive; /* options of one section that share this word exclude each other */
    const char *help;      /* one line: what it does; ends without a full stop */
    const char *search;    /* "0.5,1": values that a search tries by default; or NULL */
    double search_factor;  /* above 1: by default it goes from value / factor to value * factor */
    unsigned flags;
} gn_option;

typedef enum gn_origin { GN_UNSET, GN_DEFAULT, GN_FILE, GN_FLAG } gn_origin;

typedef struct gn_config gn_config;

GERNE_CHECKED gerne_status gn_config_new(gerne_ctx *ctx, gn_config **out);
void gn_config_close(gn_config *config);
GN_LOCAL_HANDLE(gn_config, gn_config_close)
gn_arena *gn_config_arena(gn_config *config); /* lives as long as the config */

/* Fills *target with the defaults, and zero where there is none. Texts are the table's own; lists
 * are put into the arena, which may be NULL when no list has a default. */
GERNE_CHECKED gerne_status gn_options_default(gerne_ctx *ctx, gn_arena *arena,
                                              const gn_option *options, size_t count, void *target);

/* GERNE_EDATA, saying what is wrong, when a table cannot be used with a struct of so many bytes:
 * for tables that come from elsewhere. */
GERNE_CHECKED gerne_status gn_options_check(gerne_ctx *ctx, const gn_option *options, size_t count,
                                            size_t size);

/* Adds a table under a section ("" for the top) and fills *target with the defaults. The table and
 * target are lent and must outlive the config; summary heads its help. */
GERNE_CHECKED gerne_status gn_config_add(gerne_ctx *ctx, gn_config *config, const char *section,
                                         const char *summary, const gn_option *options,
                                         size_t count, void *target);

/* Puts settings into the structs; unknown keys and bad values are errors that name the place. A
 * flag takes an exclusive option from the file, two of one origin clash. */
GERNE_CHECKED gerne_status gn_config_apply(gerne_ctx *ctx, gn_config *config,
                                           const gn_settings *settings);

/* GERNE_EUSAGE for a key that no table has, with the nearest one as a hint. */
gerne_status gn_config_unknown_key(gerne_ctx *ctx, const gn_config *config, const char *key);

/* After the last gn_config_apply: GERNE_EUSAGE when a required option was not given, or one that
 * does not apply was, unless it is lenient. Options that do not apply are unset from here on. */
GERNE_CHECKED gerne_status gn_config_complete(gerne_ctx *ctx, gn_config *config);

bool gn_config_knows(const gn_config *config, const char *key);
gn_origin gn_config_origin(const gn_config *config, const char *key);

/* A default that does not apply counts as unset; what was asked for stays. */
void gn_config_drop_default(gn_config *config, const char *key);

/* The option behind a key and its section's struct; NULL when there is none. */
const gn_option *gn_config_find(const gn_config *config, const char *key, void **target);

/* Reads a setting into the option's field of target, within its limits. */
GERNE_CHECKED gerne_status gn_option_parse(gerne_ctx *ctx, gn_arena *arena, const gn_option *option,
                                           const gn_setting *setting, void *target);

/* Appends the value as it would be typed. */
GERNE_CHECKED gerne_status gn_option_print(gerne_ctx *ctx, const gn_option *option,
                                           const void *target, gn_text *out);

/* Appends the resolved configuration as YAML: every option that has a value, in table order,
 * without those whose flags have any bit of leave_out; with GN_NOT_ASKED also without defaults. */
GERNE_CHECKED gerne_status gn_config_print(gerne_ctx *ctx, const gn_config *config,
                                           unsigned leave_out, gn_text *out);

/* Calls visit for every option in table order (help, man page). */
typedef gerne_status gn_option_visit(void *user, const char *section, const char *summary,
                                     const gn_option *option);
GERNE_CHECKED gerne_status gn_config_visit(const gn_config *config, gn_option_visit *visit,
                                           void *user);

/* The index of word among "a|b|c", or -1. */
int gn_choice_index(const char *choices, const char *word);
/* Copies the i-th word of "a|b|c" into buffer and returns it. */
const char *gn_choice_word(const char *choices, int index, char *buffer, size_t size);

#endif
