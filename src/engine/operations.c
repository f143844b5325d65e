#include "engine/internal.h"

#include <string.h>

_Static_assert((int)GN_INPUTS_MAX <= (int)GN_OPERANDS_MAX &&
                   (int)GN_OWNED_MAX <= (int)GN_OPERATION_PARAMETERS_MAX,
               "an operation holds what a node holds");

gn_value gn_graph_value_count(const gn_graph *graph)
{
    return (gn_value)graph->node_count;
}

gn_value gn_graph_output(const gn_graph *graph)
{
    return graph->output;
}

gn_operation gn_graph_operation(const gn_graph *graph, gn_value value)
{
    const gn_node *node = &graph->nodes[value];
    gn_operation operation = {.kind = GN_OP_INPUT,
                              .name = node->name,
                              .input_count = node->input_count,
                              .ndims = node->ndims,
                              .packed = node->packed,
                              .parameter_count = node->parameter_count};
    memcpy(operation.inputs, node->inputs, sizeof node->inputs);
    memcpy(operation.dims, node->dims, sizeof node->dims);
    memcpy(operation.parameters, node->parameters, sizeof node->parameters);
    if (!node->layer)
        return operation;
    operation.kind = GN_OP_UNKNOWN;
    operation.name = node->layer->name;
    if (node->layer->describe)
        node->layer->describe(node, &operation);
    return operation;
}
