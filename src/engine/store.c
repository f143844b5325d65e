/* store.c - the parameters: flat blocks, in the layouts that the kernels chose. */
#include "engine/internal.h"

bool gn_is_trained(gn_role role)
{
    return role == GN_WEIGHT || role == GN_BIAS || role == GN_SCALE || role == GN_SHIFT;
}

/* Plain unless a layer wants something else for its weights. */
static gerne_status describe(gn_maker *m, const gn_description **plain,
                             const gn_description **descriptions)
{
    const gn_graph *graph = m->graph;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const gn_parameter *p = &graph->parameters[i];
        GN_TRY(gn_describe(m, GN_FLOAT32, p->ndims, p->dims, GN_PLAIN_ORDER, &plain[i]));
        descriptions[i] = plain[i];
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        if (node->layer && node->layer->choose_weights)
            GN_TRY(node->layer->choose_weights(m, node, &descriptions[node->parameters[0]]));
    }
    return GERNE_OK;
}

static gerne_status collect(gerne_ctx *ctx, gn_store *store, gn_graph *const *graphs, int64_t batch)
{
    int at = 0;
    for (int g = 0; g < store->graph_count; g++) {
        const gn_graph *graph = graphs[g];
        store->graphs[g] = graph;
        store->first_parameter[g] = at;
        store->part_start[g] = store->size;
        gn_maker maker = {.ctx = ctx, .device = store->device, .graph = graph, .batch = batch};
        gerne_status status = describe(&maker, store->plain + at, store->descriptions + at);
        gn_maker_close(&maker);
        GN_TRY(status);
        for (size_t i = 0; i < graph->parameter_count; i++, at++) {
            store->parameters[at] = graph->parameters[i];
            store->parameters[at].graph = g;
            size_t floats = store->descriptions[at]->size / sizeof(float);
            floats = (floats + 15) / 16 * 16; /* every parameter starts on a cache line */
            size_t *end =
                gn_is_trained(graph->parameters[i].role) ? &store->size : &store->statistics_size;
            store->offsets[at] = *end;
            *end += floats;
        }
    }
    store->part_start[store->graph_count] = store->size;
    return GERNE_OK;
}

static gerne_status fill_fixed(gerne_ctx *ctx, gn_store *store, gn_graph *const *graphs)
{
    for (int g = 0; g < store->graph_count; g++)
        for (size_t i = 0; i < graphs[g]->parameter_count; i++)
            if (graphs[g]->fixed[i])
                GN_TRY(gn_store_set(ctx, store, store->first_parameter[g] + (int)i,
                                    graphs[g]->fixed[i]));
    return GERNE_OK;
}

static gerne_status build(gerne_ctx *ctx, gn_store *store, gn_graph *const *graphs, int64_t batch)
{
    size_t count = (size_t)store->count, graph_count = (size_t)store->graph_count;
    GN_TRY(gn_alloc(ctx, count, sizeof *store->parameters, "parameters", &store->parameters));
    GN_TRY(gn_alloc(ctx, count, sizeof *store->descriptions, "parameters", &store->descriptions));
    GN_TRY(gn_alloc(ctx, count, sizeof *store->plain, "parameters", &store->plain));
    GN_TRY(gn_alloc(ctx, count, sizeof *store->offsets, "parameters", &store->offsets));
    GN_TRY(gn_alloc(ctx, graph_count, sizeof *store->graphs, "parameters", &store->graphs));
    GN_TRY(gn_alloc(ctx, graph_count, sizeof *store->first_parameter, "parameters",
                    &store->first_parameter));
    GN_TRY(gn_alloc(ctx, graph_count + 1, sizeof *store->part_start, "parameters",
                    &store->part_start));
    GN_TRY(collect(ctx, store, graphs, batch));
    GN_TRY(gn_alloc_aligned(ctx, store->size, sizeof(float), "parameters", &store->values));
    GN_TRY(gn_alloc_aligned(ctx, store->size, sizeof(float), "gradients", &store->gradients));
    GN_TRY(gn_alloc_aligned(ctx, store->statistics_size, sizeof(float), "statistics",
                            &store->statistics));
    return fill_fixed(ctx, store, graphs);
}

gerne_status gn_store_new(gerne_ctx *ctx, gn_device *device, gn_graph *const *graphs, int count,
                          int64_t batch, gn_store **out)
{
    gn_store *store;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *store, "parameters", &store));
    store->device = device;
    store->graph_count = count;
    for (int g = 0; g < count; g++)
        store->count += (int)graphs[g]->parameter_count;
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
    gn_free(store->descriptions);
    gn_free(store->plain);
    gn_free(store->offsets);
    gn_free(store->graphs);
    gn_free(store->first_parameter);
    gn_free(store->part_start);
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
    return &store->parameters[index];
}

float *gn_store_values_of(const gn_store *store, int index)
{
    bool trained = gn_is_trained(store->parameters[index].role);
    return (trained ? store->values : store->statistics) + store->offsets[index];
}

float *gn_store_gradients_of(const gn_store *store, int index)
{
    bool trained = gn_is_trained(store->parameters[index].role);
    return trained ? store->gradients + store->offsets[index] : NULL;
}

gn_block gn_store_block(const gn_store *store)
{
    return (gn_block){store->values, store->gradients, store->size};
}

gn_block gn_store_part(const gn_store *store, int graph)
{
    size_t start = store->part_start[graph];
    return (gn_block){store->values + start, store->gradients + start,
                      store->part_start[graph + 1] - start};
}

float *gn_store_statistics(const gn_store *store, size_t *size)
{
    *size = store->statistics_size;
    return store->statistics;
}

gerne_status gn_store_get(gerne_ctx *ctx, const gn_store *store, int index, float *plain)
{
    return gn_convert(ctx, store->device, store->descriptions[index],
                      gn_store_values_of(store, index), store->plain[index], plain);
}

gerne_status gn_store_get_gradient(gerne_ctx *ctx, const gn_store *store, int index, float *plain)
{
    return gn_convert(ctx, store->device, store->descriptions[index],
                      gn_store_gradients_of(store, index), store->plain[index], plain);
}

gerne_status gn_store_set(gerne_ctx *ctx, gn_store *store, int index, const float *plain)
{
    return gn_convert(ctx, store->device, store->plain[index], plain, store->descriptions[index],
                      gn_store_values_of(store, index));
}
