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

static void swap(float *left, float *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float kept = left[i];
        left[i] = right[i];
        right[i] = kept;
    }
}

void gn_snapshot_swap(const gn_snapshot *snapshot, const gn_network *network)
{
    size_t size;
    const gn_store *store = gn_network_store(network);
    float *statistics = gn_store_statistics(store, &size);
    gn_block block = gn_store_block(store);
    swap(snapshot->values, block.values, block.size);
    swap(snapshot->statistics, statistics, size);
}

void gn_plain_weights_free(gn_plain_weights *weights)
{
    for (int i = 0; i < weights->count && weights->values; i++)
        gn_free(weights->values[i]);
    gn_free(weights->values);
    gn_free(weights->names);
    gn_free(weights->sizes);
    gn_free(weights->in_head);
    *weights = (gn_plain_weights){0};
}

gerne_status gn_plain_weights_take(gerne_ctx *ctx, const gn_network *network,
                                   gn_plain_weights *weights)
{
    const gn_store *store = gn_network_store(network);
    const char *what = "a copy of the weights";
    gn_plain_weights_free(weights);
    size_t count = (size_t)gn_store_count(store);
    GN_TRY(gn_alloc(ctx, count, sizeof *weights->names, what, &weights->names));
    GN_TRY(gn_alloc(ctx, count, sizeof *weights->sizes, what, &weights->sizes));
    GN_TRY(gn_alloc(ctx, count, sizeof *weights->in_head, what, &weights->in_head));
    GN_TRY(gn_alloc(ctx, count, sizeof *weights->values, what, &weights->values));
    weights->count = (int)count;
    for (int i = 0; i < weights->count; i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        memcpy(weights->names[i], p->name, sizeof weights->names[i]);
        weights->sizes[i] = p->size;
        weights->in_head[i] = p->graph == GN_HEAD;
        GN_TRY(gn_alloc(ctx, (size_t)p->size, sizeof(float), what, &weights->values[i]));
        GN_TRY(gn_store_get(ctx, store, i, weights->values[i]));
    }
    return GERNE_OK;
}

/* "fc5.weight" of one network is "fc3.weight" of another when both are the head's. */
static bool same_tensor(const gn_plain_weights *weights, int j, const gn_parameter *p)
{
    const char *theirs = weights->names[j], *ours = p->name;
    bool head = p->graph == GN_HEAD;
    if (weights->in_head[j] != head)
        return false;
    return strcmp(head ? strrchr(theirs, '.') : theirs, head ? strrchr(ours, '.') : ours) == 0;
}

gerne_status gn_plain_weights_put(gerne_ctx *ctx, const gn_plain_weights *weights,
                                  gn_network *network, gn_weights_part part)
{
    gn_store *store = gn_network_store(network);
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        gn_weights_part of = p->graph == GN_HEAD ? GN_WEIGHTS_HEAD : GN_WEIGHTS_BODY;
        if (p->role == GN_FIXED || (part != GN_WEIGHTS_ALL && part != of))
            continue;
        int j = 0;
        while (j < weights->count && !same_tensor(weights, j, p))
            j++;
        if (j == weights->count || weights->sizes[j] != p->size)
            return gn_fail(ctx, GERNE_EINTERNAL, "the stage before has no such tensor: %s",
                           p->name);
        GN_TRY(gn_store_set(ctx, store, i, weights->values[j]));
    }
    return GERNE_OK;
}
