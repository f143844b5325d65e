/* store.c - the parameters: flat blocks, in the layouts that the kernels chose. */
#include "engine/internal.h"

bool gn_is_trained(gn_role role)
{
    return role == GN_WEIGHT || role == GN_BIAS || role == GN_SCALE || role == GN_SHIFT;
}

/* Plain unless a layer wants something else for its weights. */
static gerne_status describe(gn_maker *m, gn_stored *parameters)
{
    const gn_graph *graph = m->graph;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const gn_parameter *p = &graph->parameters[i];
        gn_stored *stored = &parameters[i];
        GN_TRY(gn_describe(m, GN_FLOAT32, p->ndims, p->dims, GN_PLAIN_ORDER, &stored->plain));
        stored->parameter = *p;
        stored->description = stored->plain;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        if (node->layer && node->layer->choose_weights)
            GN_TRY(
                node->layer->choose_weights(m, node, &parameters[node->parameters[0]].description));
    }
    return GERNE_OK;
}

static gerne_status add_part(gn_maker *m, gn_store *store, int index)
{
    gn_part *part = &store->parts[index];
    *part = (gn_part){.graph = m->graph, .first = store->count, .start = store->size};
    store->count += (int)m->graph->parameter_count;
    GN_TRY(describe(m, store->parameters + part->first));
    for (int i = part->first; i < store->count; i++) {
        gn_stored *stored = &store->parameters[i];
        size_t floats = stored->description->size / sizeof(float);
        bool trained = gn_is_trained(stored->parameter.role);
        size_t *end = trained ? &store->size : &store->statistics_size;
        stored->parameter.graph = index;
        stored->offset = *end;
        if (stored->parameter.joined)
            stored->offset = stored[-1].offset + stored[-1].description->size / sizeof(float);
        /* Every other parameter starts on a cache line. */
        *end = (stored->offset + floats + 15) / 16 * 16;
    }
    part->size = store->size - part->start;
    return GERNE_OK;
}

static gerne_status fill_fixed(gerne_ctx *ctx, gn_store *store)
{
    for (int g = 0; g < store->part_count; g++) {
        const gn_part *part = &store->parts[g];
        for (size_t i = 0; i < part->graph->parameter_count; i++)
            if (part->graph->fixed[i])
                GN_TRY(gn_store_set(ctx, store, part->first + (int)i, part->graph->fixed[i]));
    }
    return GERNE_OK;
}

static gerne_status build(gerne_ctx *ctx, gn_store *store, gn_graph *const *graphs, int64_t batch)
{
    size_t count = 0;
    for (int g = 0; g < store->part_count; g++)
        count += graphs[g]->parameter_count;
    GN_TRY(gn_alloc(ctx, count, sizeof *store->parameters, "parameters", &store->parameters));
    GN_TRY(gn_alloc(ctx, (size_t)store->part_count, sizeof *store->parts, "parameters",
                    &store->parts));
    for (int g = 0; g < store->part_count; g++) {
        gn_maker maker = {.ctx = ctx,
                          .device = store->device,
                          .graph = graphs[g],
                          .batch = batch,
                          .tokens = batch};
        gerne_status status = add_part(&maker, store, g);
        gn_maker_close(&maker);
        GN_TRY(status);
    }
    GN_TRY(gn_alloc_aligned(ctx, store->size, sizeof(float), "parameters", &store->values));
    GN_TRY(gn_alloc_aligned(ctx, store->size, sizeof(float), "gradients", &store->gradients));
    GN_TRY(gn_alloc_aligned(ctx, store->statistics_size, sizeof(float), "statistics",
                            &store->statistics));
    return fill_fixed(ctx, store);
}

gerne_status gn_store_new(gerne_ctx *ctx, gn_device *device, gn_graph *const *graphs, int count,
                          int64_t batch, gn_store **out)
{
    gn_store *store;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *store, "parameters", &store));
    store->device = device;
    store->part_count = count;
    gerne_status status = build(ctx, store, graphs, batch);
    if (status != GERNE_OK) {
        gn_store_close(store);
        return status;
    }
    *out = store;
    return GERNE_OK;
}

void gn_store_close(gn_store *store)
{
    if (!store)
        return;
    gn_free(store->parameters);
    gn_free(store->parts);
    gn_free(store->values);
    gn_free(store->gradients);
    gn_free(store->statistics);
    gn_free(store);
}

int gn_store_count(const gn_store *store)
{
    return store->count;
}

const gn_parameter *gn_store_parameter(const gn_store *store, int index)
{
    return &store->parameters[index].parameter;
}

float *gn_store_values_of(const gn_store *store, int index)
{
    const gn_stored *stored = &store->parameters[index];
    return (gn_is_trained(stored->parameter.role) ? store->values : store->statistics) +
           stored->offset;
}

float *gn_store_gradients_of(const gn_store *store, int index)
{
    const gn_stored *stored = &store->parameters[index];
    return gn_is_trained(stored->parameter.role) ? store->gradients + stored->offset : NULL;
}

gn_block gn_store_block(const gn_store *store)
{
    return (gn_block){store->values, store->gradients, store->size};
}

gn_block gn_store_part(const gn_store *store, int graph)
{
    const gn_part *part = &store->parts[graph];
    return (gn_block){store->values + part->start, store->gradients + part->start, part->size};
}

gn_block gn_store_unfrozen(const gn_store *store)
{
    size_t start = 0; /* only a prefix of the first graph is ever frozen */
    for (size_t i = 0; i < store->parts[0].graph->frozen_parameters; i++) {
        const gn_stored *stored = &store->parameters[i];
        size_t end = stored->offset + stored->description->size / sizeof(float);
        if (gn_is_trained(stored->parameter.role))
            start = (end + 15) / 16 * 16;
    }
    return (gn_block){store->values + start, store->gradients + start, store->size - start};
}

gn_block gn_store_parameter_block(const gn_store *store, int index)
{
    const gn_stored *stored = &store->parameters[index];
    return (gn_block){store->values + stored->offset, store->gradients + stored->offset,
                      stored->description->size / sizeof(float)};
}

void gn_store_watch(gn_store *store, gn_final_fn *watcher, void *user)
{
    store->watcher = watcher;
    store->watcher_user = user;
}

float *gn_store_statistics(const gn_store *store, size_t *size)
{
    *size = store->statistics_size;
    return store->statistics;
}

gerne_status gn_store_get(gerne_ctx *ctx, const gn_store *store, int index, float *plain)
{
    const gn_stored *stored = &store->parameters[index];
    return gn_convert(ctx, store->device, stored->description, gn_store_values_of(store, index),
                      stored->plain, plain);
}

gerne_status gn_store_get_gradient(gerne_ctx *ctx, const gn_store *store, int index, float *plain)
{
    const gn_stored *stored = &store->parameters[index];
    return gn_convert(ctx, store->device, stored->description, gn_store_gradients_of(store, index),
                      stored->plain, plain);
}

gerne_status gn_store_set(gerne_ctx *ctx, gn_store *store, int index, const float *plain)
{
    const gn_stored *stored = &store->parameters[index];
    return gn_convert(ctx, store->device, stored->plain, plain, stored->description,
                      gn_store_values_of(store, index));
}
