/* counts.h - a table of group sizes as it is typed: "3498,184;56,1057", a row per class. */
#ifndef GN_CLI_COUNTS_H
#define GN_CLI_COUNTS_H

#include "base/memory.h"

typedef struct gn_counts {
    int64_t *items; /* [rows][columns], not negative; free with gn_free, also after a failure */
    size_t count, capacity;
    uint32_t rows, columns;
} gn_counts;

/* Into a zeroed struct; key is the option, for messages. */
GERNE_CHECKED gerne_status gn_parse_counts(gerne_ctx *ctx, const char *key, const char *text,
                                           gn_counts *out);

#endif
