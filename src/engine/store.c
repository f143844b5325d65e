/* store.c - the parameters: flat blocks, in the layouts that the kernels chose. */
#include "engine/internal.h"

#include <string.h>

bool gn_is_trained(gn_role role)
{
    return role == GN_WEIGHT || role == GN_BIAS || role == GN_SCALE || role == GN_SHIFT;
}

/* Plain unless a layer wants something else for its weights. */
static gerne_status choose_layouts(gn_layout *layout)
{
    const gn_graph *graph = layout->graph;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const gn_parameter *p = &graph->parameters[i];
        GN_TRY(gn_describe(layout->ctx, p->ndims, p->dims, dnnl_f32, gn_plain_tag(p->ndims),
                           &layout->descriptions[i]));
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        if (node->layer && node->layer->choose_layouts)
            GN_TRY(node->layer->choose_layouts(layout, node));
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
        gn_layout layout = {.ctx = ctx,
                            .device = store->device,
                            .graph = graph,
                            .batch = batch,
                            .descriptions = store->descriptions + at};
        GN_TRY(choose_layouts(&layout));
        for (size_t i = 0; i < graph->parameter_count; i++, at++) {
            store->parameters[at] = graph->parameters[i];
            store->parameters[at].graph = g;
            size_t floats = dnnl_memory_desc_get_size(&store->descriptions[at]) / sizeof(float);
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

/* Copies between two layouts with a oneDNN reorder. */
static gerne_status reorder(gerne_ctx *ctx, gn_device *device, const dnnl_memory_desc_t *from_md,
                            void *from, const dnnl_memory_desc_t *to_md, void *to)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_memory_t source = NULL, target = NULL;
    dnnl_status_t s = dnnl_reorder_primitive_desc_create(&pd, from_md, device->engine, to_md,
                                                         device->engine, NULL);
    if (s == dnnl_success)
        s = dnnl_primitive_create(&primitive, pd);
    if (s == dnnl_success)
        s = dnnl_memory_create(&source, from_md, device->engine, from);
    if (s == dnnl_success)
        s = dnnl_memory_create(&target, to_md, device->engine, to);
    if (s == dnnl_success) {
        dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};
        s = dnnl_primitive_execute(primitive, device->stream, 2, arguments);
    }
    if (s == dnnl_success)
        s = dnnl_stream_wait(device->stream);
    if (source)
        dnnl_memory_destroy(source);
    if (target)
        dnnl_memory_destroy(target);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    return gn_dnnl(ctx, s, "changing a layout");
}

static gerne_status plain_description(gerne_ctx *ctx, const gn_store *store, int index,
                                      dnnl_memory_desc_t *out)
{
    const gn_parameter *p = &store->parameters[index];
    return gn_describe(ctx, p->ndims, p->dims, dnnl_f32, gn_plain_tag(p->ndims), out);
}

gerne_status gn_store_get(gerne_ctx *ctx, const gn_store *store, int index, float *plain)
{
    dnnl_memory_desc_t md;
    GN_TRY(plain_description(ctx, store, index, &md));
    return reorder(ctx, store->device, &store->descriptions[index],
                   gn_store_values_of(store, index), &md, plain);
}

gerne_status gn_store_get_gradient(gerne_ctx *ctx, const gn_store *store, int index, float *plain)
{
    dnnl_memory_desc_t md;
    GN_TRY(plain_description(ctx, store, index, &md));
    return reorder(ctx, store->device, &store->descriptions[index],
                   gn_store_gradients_of(store, index), &md, plain);
}

gerne_status gn_store_set(gerne_ctx *ctx, gn_store *store, int index, const float *plain)
{
    dnnl_memory_desc_t md;
    GN_TRY(plain_description(ctx, store, index, &md));
    return reorder(ctx, store->device, &md, (void *)(uintptr_t)plain, &store->descriptions[index],
                   gn_store_values_of(store, index));
}
