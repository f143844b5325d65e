/* append.h - files that only grow, and can be cut back to a known length.
 *
 * A checkpoint keeps the length that gn_append_sync gave; a run resumed from it opens the file with
 * that length, and everything written after the checkpoint is removed. After a failed write the
 * file may end in a partial record: stop, and truncate it when resuming.
 */
#ifndef GN_BASE_APPEND_H
#define GN_BASE_APPEND_H

#include "base/memory.h"

typedef struct gn_append gn_append;

/* Opens or makes the file and cuts it to keep bytes; GERNE_EDATA when it is shorter than that,
 * GERNE_EIO when it is a link. The context is lent. */
GERNE_CHECKED gerne_status gn_append_open(gerne_ctx *ctx, const char *path, uint64_t keep,
                                          gn_append **out);

/* Appends to a buffer, which goes out when it is full. */
GERNE_CHECKED gerne_status gn_append_write(gn_append *append, const void *bytes, size_t size);

/* Hands everything to the system, so that other programs see it. */
GERNE_CHECKED gerne_status gn_append_flush(gn_append *append);

/* Puts everything on the disk; *length (may be NULL) is the file's length then. */
GERNE_CHECKED gerne_status gn_append_sync(gn_append *append, uint64_t *length);

/* Flushes what is left, as far as that succeeds; takes NULL. */
void gn_append_close(gn_append *append);
GN_LOCAL_HANDLE(gn_append, gn_append_close)

#endif
