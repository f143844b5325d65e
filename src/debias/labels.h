/* labels.h - from label texts to the dense indices that everything else works with.
 *
 * While a file is read, gn_labels_add numbers the texts in order of appearance; gn_labels_finish
 * then sorts them (numerically when all are integers, else bytewise), and gn_labels_ranks turns the
 * first kind of number into the final index. Memory is proportional to the number of different
 * labels, a look-up is O(1).
 */
#ifndef GN_DEBIAS_LABELS_H
#define GN_DEBIAS_LABELS_H

#include "base/memory.h"

typedef struct gn_labels gn_labels;

/* limit is the largest number of different labels that is allowed, 0 for any. */
GERNE_CHECKED gerne_status gn_labels_new(gerne_ctx *ctx, uint32_t limit, gn_labels **out);
void gn_labels_close(gn_labels *labels); /* takes NULL */
GN_LOCAL_HANDLE(gn_labels, gn_labels_close)

/* Gives the number of a text, a new one to a new text, which is copied. An empty text, one that is
 * not UTF-8, or one label too many is GERNE_EDATA; the caller adds the place. */
GERNE_CHECKED gerne_status gn_labels_add(gerne_ctx *ctx, gn_labels *labels, const char *text,
                                         uint32_t *number);

/* Sorts, or keeps the order of appearance; no text can be added afterwards. */
GERNE_CHECKED gerne_status gn_labels_finish(gerne_ctx *ctx, gn_labels *labels);
GERNE_CHECKED gerne_status gn_labels_finish_in_order(gerne_ctx *ctx, gn_labels *labels);

uint32_t gn_labels_count(const gn_labels *labels);

/* The names in final order; borrowed. After gn_labels_finish only. */
const char *const *gn_labels_names(const gn_labels *labels);

/* ranks[number from gn_labels_add] = final index; borrowed. After gn_labels_finish only. */
const uint32_t *gn_labels_ranks(const gn_labels *labels);

/* The final index of a text (after gn_labels_finish), or -1. */
int64_t gn_labels_find(const gn_labels *labels, const char *text);

#endif
