/* cut.c - a graph in two, behind the layers that are frozen: one computes what never changes, the
 * other trains on it. */
#include "engine/internal.h"

#include <string.h>

/* The frozen nodes, and those behind that only compute from them. */
static size_t front_end(const gn_graph *graph)
{
    size_t end = graph->frozen_nodes;
    for (; end < graph->node_count; end++) {
        const gn_node *node = &graph->nodes[end];
        bool follows = node->layer && node->parameter_count == 0;
        for (int i = 0; follows && i < node->input_count; i++)
            follows = (size_t)node->inputs[i] < end;
        if (!follows)
            break;
    }
    return end;
}

/* The one value of the front that the rest computes from; -1 when it takes several. */
static gn_value crossing(const gn_graph *graph, size_t end)
{
    gn_value found = -1;
    for (size_t i = end; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].input_count; j++) {
            gn_value input = graph->nodes[i].inputs[j];
            if ((size_t)input >= end || input == found)
                continue;
            if (found >= 0)
                return -1;
            found = input;
        }
    return found;
}

bool gn_graph_can_cut(const gn_graph *graph)
{
    size_t end = front_end(graph);
    /* Packed texts and masks also reach the rest through the options of layers. */
    return graph->frozen_nodes > 0 && end < graph->node_count && graph->longest == 0 &&
           graph->masked_layers == 0 && graph->input_count == 1 && crossing(graph, end) >= 0;
}

void gn_graph_keep_front(gn_graph *graph)
{
    size_t end = front_end(graph);
    graph->output = crossing(graph, end);
    graph->node_count = end;
    graph->parameter_count = graph->frozen_parameters;
    graph->frozen_nodes = graph->frozen_parameters = 0;
}

gerne_status gn_graph_keep_rest(gerne_ctx *ctx, gn_graph *graph, const char *input)
{
    size_t end = front_end(graph), kept = graph->node_count - end;
    int parameters = (int)graph->frozen_parameters;
    gn_value from = crossing(graph, end), shift = (gn_value)end - 1;
    gn_node first = {.type = GN_FLOAT32, .ndims = graph->nodes[from].ndims};
    memcpy(first.dims, graph->nodes[from].dims, sizeof first.dims);
    GN_TRY(gn_arena_copy_text(ctx, graph->arena, input, &first.name));
    memmove(graph->nodes + 1, graph->nodes + end, kept * sizeof *graph->nodes);
    graph->nodes[0] = first;
    graph->node_count = kept + 1;
    graph->output -= shift;
    for (size_t i = 1; i < graph->node_count; i++) {
        gn_node *node = &graph->nodes[i];
        node->value = (gn_value)i;
        for (int j = 0; j < node->input_count; j++)
            node->inputs[j] = node->inputs[j] == from ? 0 : node->inputs[j] - shift;
        for (int j = 0; j < node->parameter_count; j++)
            node->parameters[j] -= parameters;
    }
    graph->parameter_count -= (size_t)parameters;
    memmove(graph->parameters, graph->parameters + parameters,
            graph->parameter_count * sizeof *graph->parameters);
    memmove(graph->fixed, graph->fixed + parameters,
            graph->parameter_count * sizeof(*graph->fixed));
    graph->frozen_nodes = graph->frozen_parameters = 0;
    return GERNE_OK;
}
