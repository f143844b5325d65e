/* api.h - what the calls of gerne.h share: checks of arguments, texts for the caller, handles. */
#ifndef GN_API_API_H
#define GN_API_API_H

#include "base/arguments.h"
#include "base/json.h"
#include "base/text.h"

/* Copies a struct that starts with its size, of this or an older version, into ours; fields that it
 * does not have are zero. */
GERNE_CHECKED gerne_status gn_take_struct(gerne_ctx *ctx, const char *name, const void *given,
                                          void *own, size_t own_size);

/* The other way round: into a struct of the caller's version, whose size is kept. */
GERNE_CHECKED gerne_status gn_give_struct(gerne_ctx *ctx, const char *name, const void *own,
                                          size_t own_size, void *given);

/* GERNE_EUSAGE for a number that is no gerne_form. */
GERNE_CHECKED gerne_status gn_check_form(gerne_ctx *ctx, gerne_form form);

/* Hands the text over to the caller; nothing is left in it. out may be NULL. */
GERNE_CHECKED gerne_status gn_give_text(gerne_ctx *ctx, gn_text *text, char **out);

/* Prints and releases the document. */
GERNE_CHECKED gerne_status gn_give_json(gerne_ctx *ctx, json_t *json, char **out);

#endif
