#include "debias/tally.h"

#include "debias/groups.h"

#include <string.h>

gerne_status gn_tally_start(gerne_ctx *ctx, uint32_t limit, gn_tally *out)
{
    *out = (gn_tally){0};
    GN_TRY(gn_labels_new(ctx, limit, &out->y));
    return gn_labels_new(ctx, limit, &out->a);
}

void gn_tally_free(gn_tally *tally)
{
    gn_labels_close(tally->y);
    gn_labels_close(tally->a);
    gn_free(tally->counts);
    *tally = (gn_tally){0};
}

static gerne_status widen(gerne_ctx *ctx, gn_tally *tally, size_t rows, size_t stride)
{
    size_t cells;
    uint64_t *counts;
    if (!gn_multiply(rows, stride, &cells))
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for a table of groups");
    GN_TRY(gn_alloc(ctx, cells, sizeof *counts, "a table of groups", &counts));
    for (size_t row = 0; row < tally->rows; row++)
        memcpy(counts + row * stride, tally->counts + row * tally->stride,
               tally->stride * sizeof *counts);
    gn_free(tally->counts);
    tally->counts = counts;
    tally->rows = rows;
    tally->stride = stride;
    return GERNE_OK;
}

gerne_status gn_tally_count(gerne_ctx *ctx, gn_tally *tally, uint32_t y, uint32_t a)
{
    if (y >= tally->rows || a >= tally->stride) {
        size_t rows = tally->rows ? tally->rows : 4, stride = tally->stride ? tally->stride : 4;
        while (rows <= y)
            rows *= 2;
        while (stride <= a)
            stride *= 2;
        GN_TRY(widen(ctx, tally, rows, stride));
    }
    tally->counts[y * tally->stride + a]++;
    return GERNE_OK;
}

gerne_status gn_tally_finish(gerne_ctx *ctx, gn_tally *tally, gerne_groups **out)
{
    *out = NULL;
    GN_TRY(gn_labels_finish(ctx, tally->y));
    GN_TRY(gn_labels_finish(ctx, tally->a));
    uint32_t classes = gn_labels_count(tally->y), attributes = gn_labels_count(tally->a);
    const uint32_t *y_rank = gn_labels_ranks(tally->y), *a_rank = gn_labels_ranks(tally->a);
    GN_FREED int64_t *counts = NULL;
    GN_TRY(
        gn_alloc(ctx, (size_t)classes * attributes, sizeof *counts, "a table of groups", &counts));
    for (size_t y = 0; y < classes; y++)
        for (size_t a = 0; a < attributes; a++)
            counts[(size_t)y_rank[y] * attributes + a_rank[a]] =
                (int64_t)tally->counts[y * tally->stride + a];
    GN_LOCAL(gerne_groups) *groups = NULL;
    GN_TRY(gerne_groups_from_counts(ctx, counts, classes, attributes, &groups));
    GN_TRY(
        gerne_groups_set_names(ctx, groups, gn_labels_names(tally->y), gn_labels_names(tally->a)));
    return gn_give(&groups, out);
}
