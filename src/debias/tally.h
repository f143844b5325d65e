/* tally.h - counts the groups of a stream of labels whose classes and attributes are not known
 * beforehand. Memory grows with the number of groups, not of samples. */
#ifndef GN_DEBIAS_TALLY_H
#define GN_DEBIAS_TALLY_H

#include "debias/labels.h"

typedef struct gn_tally {
    gn_labels *y, *a; /* add the texts here, then count their numbers */
    uint64_t *counts; /* [rows][stride] */
    size_t rows, stride;
} gn_tally;

/* limit: different labels of either kind. Free with gn_tally_free, also after a failure. */
GERNE_CHECKED gerne_status gn_tally_start(gerne_ctx *ctx, uint32_t limit, gn_tally *out);
GERNE_CHECKED gerne_status gn_tally_count(gerne_ctx *ctx, gn_tally *tally, uint32_t y, uint32_t a);

/* The table in final order of labels, with their names. */
GERNE_CHECKED gerne_status gn_tally_finish(gerne_ctx *ctx, gn_tally *tally, gerne_groups **out);
void gn_tally_free(gn_tally *tally);
GN_LOCAL_STRUCT(gn_tally, gn_tally_free)

#endif
