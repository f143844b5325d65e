/* sums.h - sums over ranks, also of values that are still being computed; used by ranks.c alone. */
#ifndef GN_RANKS_SUMS_H
#define GN_RANKS_SUMS_H

#include "ranks/ranks.h"

typedef struct gn_sums gn_sums;

/* calls and self are lent. */
GERNE_CHECKED gerne_status gn_sums_new(gerne_ctx *ctx, const gn_ranks_calls *calls, void *self,
                                       int rank, int size, gn_sums **out);
void gn_sums_close(gn_sums *sums); /* takes NULL */

/* As gn_ranks_sum_start and its kind; false is a failed exchange. */
GERNE_CHECKED gerne_status gn_sums_reserve(gerne_ctx *ctx, gn_sums *sums, size_t count);
/* Reserved, and none is under way. The values grow still, or all are final. */
void gn_sums_start(gn_sums *sums, float *values, size_t count, bool grow);
void gn_sums_ready(gn_sums *sums, const float *first);
bool gn_sums_wait(gn_sums *sums);
void gn_sums_abandon(gn_sums *sums);

gn_ranks_traffic gn_sums_exchanged(const gn_sums *sums);

#endif
