#include "train/snapshot.h"

#include <string.h>

#include "base/memory.h"

gerne_status gn_snapshot_new(gerne_ctx *ctx, const gn_network *network, gn_snapshot *snapshot)
{
    size_t statistics;
    const gn_store *store = gn_network_store(network);
    gn_store_statistics(store, &statistics);
    GN_TRY(gn_alloc(ctx, gn_store_block(store).size, sizeof(float), "a copy of the weights",
                    &snapshot->values));
    return gn_alloc(ctx, statistics, sizeof(float), "a copy of the statistics",
                    &snapshot->statistics);
}

void gn_snapshot_free(gn_snapshot *snapshot)
{
    gn_free(snapshot->values);
    gn_free(snapshot->statistics);
    *snapshot = (gn_snapshot){0};
}

static void copy(const gn_snapshot *snapshot, const gn_network *network, bool take)
{
    size_t size;
    const gn_store *store = gn_network_store(network);
    float *statistics = gn_store_statistics(store, &size);
    gn_block block = gn_store_block(store);
    memcpy(take ? snapshot->values : block.values, take ? block.values : snapshot->values,
           block.size * sizeof(float));
    if (size)
        memcpy(take ? snapshot->statistics : statistics, take ? statistics : snapshot->statistics,
               size * sizeof(float));
}

void gn_snapshot_take(const gn_snapshot *snapshot, const gn_network *network)
{
    copy(snapshot, network, true);
}

void gn_snapshot_put(const gn_snapshot *snapshot, const gn_network *network)
{
    copy(snapshot, network, false);
}
