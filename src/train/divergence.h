/* divergence.h - diverged.json: that the run in a directory diverged, and what to do about it. */
#ifndef GN_TRAIN_DIVERGENCE_H
#define GN_TRAIN_DIVERGENCE_H

#include "base/json.h"

#define GN_DIVERGED_FILE "diverged.json"

/* Null where the run has not diverged. */
GERNE_CHECKED gerne_status gn_divergence_read(gerne_ctx *ctx, const char *directory, json_t **out);

GERNE_CHECKED gerne_status gn_divergence_write(gerne_ctx *ctx, const char *directory,
                                               const json_t *divergence);

/* "diverged at step 113: ..." of one that was read. Borrowed. */
const char *gn_divergence_words(const json_t *divergence);

/* Fails with what was read: the same steps would diverge again. */
gerne_status gn_divergence_fail(gerne_ctx *ctx, const char *directory, const json_t *divergence);

#endif
