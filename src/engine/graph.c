#include "engine/internal.h"

#include <stdio.h>
#include <string.h>

gerne_status gn_graph_new(gerne_ctx *ctx, gn_device *device, gn_graph **out)
{
    GN_TRY(gn_alloc(ctx, 1, sizeof **out, "a network", out));
    (*out)->device = device;
    (*out)->ctx = ctx;
    (*out)->output = -1;
    gerne_status status = gn_arena_new(ctx, &(*out)->arena);
    if (status != GERNE_OK) {
        gn_free(*out);
        *out = NULL;
    }
    return status;
}

void gn_graph_close(gn_graph *graph)
{
    if (!graph)
        return;
    gn_arena_close(graph->arena);
    gn_free(graph->nodes);
    gn_free(graph->parameters);
    gn_free(graph->fixed);
    gn_free(graph);
}

static const gn_node *node_at(const gn_graph *graph, gn_value value)
{
    if (graph->failed != GERNE_OK || value < 0 || (size_t)value >= graph->node_count)
        return NULL;
    return &graph->nodes[value];
}

const gn_node *gn_operand_at(gn_graph *graph, gn_value value, gn_type type, int ndims,
                             const char *layer)
{
    const gn_node *node = node_at(graph, value);
    if (!node || (node->type == type && (ndims == 0 || node->ndims == ndims)))
        return node;
    if (node->type != type)
        graph->failed = gn_fail(graph->ctx, GERNE_EINTERNAL, "%s takes %s", layer,
                                type == GN_INT32 ? "integers" : "floats, not integers");
    else
        graph->failed =
            gn_fail(graph->ctx, GERNE_EINTERNAL, "%s takes values of %d dimensions, not of %d",
                    layer, ndims, node->ndims);
    return NULL;
}

static gerne_status add_node(gn_graph *graph, gn_node node, const void *options,
                             size_t options_size)
{
    GN_TRY(gn_grow(graph->ctx, &graph->nodes, &graph->node_capacity, graph->node_count + 1,
                   sizeof *graph->nodes, "a network"));
    if (options) {
        void *copy;
        GN_TRY(gn_arena_alloc(graph->ctx, graph->arena, 1, options_size, &copy));
        memcpy(copy, options, options_size);
        node.options = copy;
    }
    for (int i = 1; i < node.ndims; i++)
        if (node.dims[i] < 1 || node.dims[i] > INT32_MAX)
            return gn_fail(graph->ctx, GERNE_EUSAGE, "a layer would have a side of %lld",
                           (long long)node.dims[i]);
    node.value = (gn_value)graph->node_count;
    graph->nodes[graph->node_count++] = node;
    return GERNE_OK;
}

gn_value gn_add_node(gn_graph *graph, const gn_layer *layer, const gn_value *inputs, int count,
                     int ndims, const int64_t *dims, const void *options, size_t options_size)
{
    if (graph->failed != GERNE_OK)
        return -1;
    gn_node node = {.layer = layer, .input_count = count, .ndims = ndims};
    for (int i = 0; i < count; i++)
        node.inputs[i] = inputs[i];
    memcpy(node.dims, dims, (size_t)ndims * sizeof *dims);
    node.dims[0] = 1;
    node.packed = count > 0 && ndims == 2 && graph->nodes[inputs[0]].packed;
    graph->failed = add_node(graph, node, options, options_size);
    return graph->failed == GERNE_OK ? (gn_value)graph->node_count - 1 : -1;
}

void gn_graph_set_prefix(gn_graph *graph, const char *prefix)
{
    snprintf(graph->prefix, sizeof graph->prefix, "%s", prefix);
}

static gerne_status keep_parameter(gn_graph *graph, const gn_parameter *parameter,
                                   const float *fixed)
{
    size_t count = graph->parameter_count;
    GN_TRY(gn_grow(graph->ctx, &graph->parameters, &graph->parameter_capacity, count + 1,
                   sizeof *graph->parameters, "a network"));
    GN_TRY(gn_grow(graph->ctx, &graph->fixed, &graph->fixed_capacity, count + 1,
                   sizeof *graph->fixed, "a network"));
    graph->parameters[count] = *parameter;
    graph->fixed[count] = fixed;
    gn_node *node = &graph->nodes[graph->node_count - 1];
    node->parameters[node->parameter_count++] = (int)count;
    graph->parameter_count++;
    return GERNE_OK;
}

static void add_parameter(gn_graph *graph, const char *name, const char *suffix, gn_parameter p,
                          const int64_t *dims, const float *fixed)
{
    if (graph->failed != GERNE_OK)
        return;
    p.size = 1;
    int length = snprintf(p.name, sizeof p.name, "%s%s%s%s", graph->prefix, name, suffix ? "." : "",
                          suffix ? suffix : "");
    if (length < 0 || (size_t)length >= sizeof p.name) {
        graph->failed = gn_fail(graph->ctx, GERNE_EINTERNAL, "the name '%s' is too long", name);
        return;
    }
    for (int i = 0; i < p.ndims; i++) {
        p.dims[i] = dims[i];
        if (__builtin_mul_overflow(p.size, dims[i], &p.size) || p.size > INT64_C(1) << 40) {
            graph->failed = gn_fail(graph->ctx, GERNE_EUSAGE, "'%s' would be too large", p.name);
            return;
        }
    }
    graph->failed = keep_parameter(graph, &p, fixed);
}

void gn_add_parameter(gn_graph *graph, const char *name, const char *suffix, gn_role role,
                      int ndims, const int64_t *dims, const float *fixed)
{
    add_parameter(graph, name, suffix, (gn_parameter){.role = role, .ndims = ndims}, dims, fixed);
}

void gn_join_parameter(gn_graph *graph, const char *name, const char *suffix, gn_role role,
                       int ndims, const int64_t *dims)
{
    add_parameter(graph, name, suffix, (gn_parameter){.role = role, .ndims = ndims, .joined = true},
                  dims, NULL);
}

const gn_node *gn_find_input(const gn_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].layer && strcmp(graph->nodes[i].name, name) == 0)
            return &graph->nodes[i];
    return NULL;
}

gn_value gn_input(gn_graph *graph, const char *name, gn_type type, int ndims, const int64_t *dims)
{
    int64_t all[GN_DIMS_MAX] = {1};
    const char *copy;
    if (graph->failed != GERNE_OK)
        return -1;
    if (ndims < 1 || ndims >= GN_DIMS_MAX || type > GN_INT32 || gn_find_input(graph, name)) {
        graph->failed = gn_fail(graph->ctx, GERNE_EINTERNAL, "'%s' cannot be an input", name);
        return -1;
    }
    memcpy(all + 1, dims, (size_t)ndims * sizeof *dims);
    graph->failed = gn_arena_copy_text(graph->ctx, graph->arena, name, &copy);
    gn_value value = gn_add_node(graph, NULL, NULL, 0, 1 + ndims, all, NULL, 0);
    if (value >= 0) {
        graph->nodes[value].name = copy;
        graph->nodes[value].type = type;
        graph->nodes[value].port = (int)graph->input_count++;
    }
    return value;
}

bool gn_check_sequence(gn_graph *graph, const gn_node *input, const gn_sequence *sequence,
                       const char *layer)
{
    bool packed = input->packed;
    if (packed && !gn_operand_at(graph, sequence->spans, GN_INT32, 2, layer))
        return false;
    if (sequence->dropout > 0 && !gn_operand_at(graph, sequence->keys, GN_INT32, 2, layer))
        return false;
    return true;
}

gn_value gn_token_input(gn_graph *graph, const char *name, int64_t longest)
{
    gn_value value = gn_input(graph, name, GN_INT32, 1, (int64_t[]){1});
    if (value >= 0) {
        graph->nodes[value].packed = true;
        graph->longest = longest;
    }
    return value;
}

static gn_value input_once(gn_graph *graph, const char *name, int64_t width)
{
    const gn_node *known = gn_find_input(graph, name);
    return known ? known->value : gn_input(graph, name, GN_INT32, 1, &width);
}

gn_value gn_span_input(gn_graph *graph, const char *name)
{
    return input_once(graph, name, 2);
}

gn_value gn_key_input(gn_graph *graph, const char *name)
{
    return input_once(graph, name, 4);
}

gerne_status gn_graph_finish(gerne_ctx *ctx, gn_graph *graph, gn_value output)
{
    if (graph->failed != GERNE_OK)
        return graph->failed;
    if (!gn_operand_at(graph, output, GN_FLOAT32, 0, "an output"))
        return graph->failed ? graph->failed
                             : gn_fail(ctx, GERNE_EINTERNAL, "a network must end in a value");
    graph->output = output;
    return GERNE_OK;
}

static int64_t size_of(const gn_node *node)
{
    int64_t size = 1;
    for (int i = 1; i < node->ndims; i++)
        size *= node->dims[i];
    return size;
}

int64_t gn_graph_input_size(const gn_graph *graph, const char *name)
{
    const gn_node *node = gn_find_input(graph, name);
    return node ? size_of(node) : 0;
}

int64_t gn_graph_output_size(const gn_graph *graph)
{
    return size_of(&graph->nodes[graph->output]);
}

int64_t gn_graph_numbers(const gn_graph *graph)
{
    int64_t sum = 0; /* each is at most 2^40 */
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i].role != GN_FIXED)
            sum += graph->parameters[i].size;
    return sum;
}

bool gn_graph_freeze(gn_graph *graph, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = graph->node_count; i-- > 0;) {
        const gn_node *node = &graph->nodes[i];
        for (int j = node->parameter_count - 1; j >= 0; j--) {
            const char *full = graph->parameters[node->parameters[j]].name;
            if (strncmp(full, name, length) != 0 || full[length] != '.')
                continue;
            graph->frozen_nodes = i + 1;
            graph->frozen_parameters = (size_t)node->parameters[node->parameter_count - 1] + 1;
            return true;
        }
    }
    return false;
}

bool gn_is_frozen(const gn_graph *graph, const gn_node *node)
{
    return (size_t)node->value < graph->frozen_nodes;
}

bool gn_graph_couples_samples(const gn_graph *graph)
{
    for (size_t i = graph->frozen_parameters; i < graph->parameter_count; i++)
        if (graph->parameters[i].role == GN_MEAN)
            return true;
    return false;
}

double gn_graph_flops(const gn_graph *graph)
{
    double flops = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        flops += graph->nodes[i].flops;
    return flops;
}
