/* terms.h - which group of terms a text mentions: whole words, whatever their case and accents.
 *
 * A file has a term a line, or lines "name: term, term" that name a group; terms without a name are
 * the group "mentioned". '#' starts a comment line.
 */
#ifndef GN_DATA_TERMS_H
#define GN_DATA_TERMS_H

#include "base/text.h"

typedef struct gn_terms gn_terms;

GERNE_CHECKED gerne_status gn_terms_open(gerne_ctx *ctx, const char *path, gn_terms **out);
/* The same from memory; name stands for the file in messages. */
GERNE_CHECKED gerne_status gn_terms_parse(gerne_ctx *ctx, const char *name, const char *bytes,
                                          size_t size, gn_terms **out);
void gn_terms_close(gn_terms *terms); /* takes NULL */
GN_LOCAL_HANDLE(gn_terms, gn_terms_close)

/* The first group of the file of which the text has a term, or NULL; borrowed. */
GERNE_CHECKED gerne_status gn_terms_find(gerne_ctx *ctx, gn_terms *terms, const char *text,
                                         const char **group);

#endif
