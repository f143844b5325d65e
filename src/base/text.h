/* text.h - growing strings, strict numbers, the nearest name. */
#ifndef GN_BASE_TEXT_H
#define GN_BASE_TEXT_H

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

/* A growing string; starts as {0}. After a failed append it stays as it was. */
typedef struct gn_text {
    char *bytes; /* always ends in '\0' once anything was appended; NULL before */
    size_t size, capacity;
} gn_text;

GERNE_CHECKED gerne_status gn_text_add(gerne_ctx *ctx, gn_text *text, const char *format, ...)
    GN_PRINTF(3, 4);
/* The same with the arguments as a list. */
GERNE_CHECKED gerne_status gn_text_add_list(gerne_ctx *ctx, gn_text *text, const char *format,
                                            va_list arguments) GN_PRINTF(3, 0);
GERNE_CHECKED gerne_status gn_text_add_bytes(gerne_ctx *ctx, gn_text *text, const void *bytes,
                                             size_t size);
void gn_text_clear(gn_text *text); /* empties it and keeps the memory */
void gn_text_free(gn_text *text);
GN_LOCAL_STRUCT(gn_text, gn_text_free)

/* Fills a char array from the arguments that follow format, the last parameter of a function with
 * "..."; what does not fit is cut. */
#define GN_FORMAT(array, format)                                                                   \
    do {                                                                                           \
        va_list gn_arguments_;                                                                     \
        va_start(gn_arguments_, format);                                                           \
        vsnprintf(array, sizeof(array), format, gn_arguments_);                                    \
        va_end(gn_arguments_);                                                                     \
    } while (0)

/* The whole text must be the number; false otherwise, also on overflow, NaN and white space. */
bool gn_parse_int(const char *text, int64_t *out);
bool gn_parse_double(const char *text, double *out); /* "inf" is taken, "nan" is not */
bool gn_parse_bool(const char *text, bool *out);     /* true false yes no on off 1 0 */

/* The character (code point) that starts size > 0 bytes of UTF-8, and the bytes it takes. Where
 * they are malformed it is GN_REPLACEMENT for the longest beginning of a sequence, and false. */
enum { GN_REPLACEMENT = 0xfffd };
bool gn_utf8_next(const char *text, size_t size, size_t *used, int32_t *character);

/* Writes a character as UTF-8; the bytes it takes. */
size_t gn_utf8_put(int32_t character, char bytes[4]);

/* Whether the text is a name as options and methods have: lower-case letters, digits and
 * underscores, a letter first, at most 32. NULL is not. */
bool gn_is_identifier(const char *text);

/* Whether the text is well-formed UTF-8 (no overlong forms, no surrogates). */
bool gn_is_utf8(const char *text);

/* A hash of the text (FNV-1a, its upper half folded in): the same everywhere, not against malice.
 */
uint64_t gn_text_hash(const char *text);

/* Columns that the text takes on a terminal: its characters (bytes that do not continue a UTF-8
 * sequence), each taken for one column wide. */
int gn_text_width(const char *text);

/* Appends a cell of a table: the words, cut to width with "..", filled with blanks up to it; at the
 * left when width is positive, at the right when it is negative. */
GERNE_CHECKED gerne_status gn_text_add_cell(gerne_ctx *ctx, gn_text *text, const char *words,
                                            int width);

/* Appends text for a terminal: characters that would steer it (control characters, changes of the
 * writing direction) and malformed bytes are shown as \xNN or \u{NNNN}. A tab passes, a line end
 * if lines says so. */
GERNE_CHECKED gerne_status gn_text_add_visible(gerne_ctx *ctx, gn_text *text, const char *bytes,
                                               size_t size, bool lines);

/* Removes an incomplete UTF-8 character at the end of a text. */
void gn_mend_end(char *text);

/* The name most like text, or NULL when none is near (edit distance at most a third). */
const char *gn_nearest(const char *text, const char *const *names, size_t count);

/* The first line of now that is not a line of before, without leading blanks, in the arena; NULL
 * when there is none. */
GERNE_CHECKED gerne_status gn_first_difference(gerne_ctx *ctx, gn_arena *arena, const char *before,
                                               const char *now, const char **out);

#pragma GCC visibility pop

/* The numbers from 0 as names, in the arena. */
GERNE_CHECKED gerne_status gn_number_names(gerne_ctx *ctx, gn_arena *arena, size_t count,
                                           const char *const **out);

#endif
