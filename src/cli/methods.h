/* methods.h - what the list of methods, the description of one and docs/methods.md share. */
#ifndef GN_CLI_METHODS_H
#define GN_CLI_METHODS_H

#include "cli/command.h"
#include "methods/list.h"

/* What a method needs beside the labels of the training split; the sections of every list. */
typedef enum gn_method_need {
    GN_NEEDS_TRAINING_ATTRIBUTES,
    GN_NEEDS_VALIDATION_ATTRIBUTES,
    GN_NEEDS_VALIDATION_LABELS,
    GN_NEEDS_NOTHING,
    GN_METHOD_NEEDS
} gn_method_need;

typedef struct gn_need_words {
    const char *word;    /* for programs */
    const char *heading; /* of a section, without a full stop */
    const char *note;    /* a sentence about it */
} gn_need_words;

extern const gn_need_words gn_need_words_of[GN_METHOD_NEEDS];
extern const gn_need_words gn_estimator_words; /* of the section of estimators */

gn_method_need gn_need_of(const gn_method *method);

/* The letters of formulas. */
extern const char gn_method_notation[];

/* Appends docs/methods.md. */
GERNE_CHECKED gerne_status gn_print_methods_page(gerne_ctx *ctx, gn_text *out);

#endif
