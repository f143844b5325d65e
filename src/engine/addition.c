#include "engine/fused_norm.h"

#include <string.h>

typedef struct addition_options {
    bool relu;
} addition_options;

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const addition_options *options = node->options;
    gn_compiled_value *v = &c->values[node->value];
    if (gn_runs_with_norm(c, node))
        return gn_norm_and_addition(c, node, false);
    int a = c->values[node->inputs[0]].tensor, b = c->values[node->inputs[1]].tensor;
    const gn_description *description = gn_description_of(c, a);
    GN_TRY(gn_in_layout(c, b, description, &b));
    GN_TRY(gn_new_tensor(c, description, &v->tensor));
    GN_TRY(gn_make_sum(&c->maker, description, options->relu, &v->forward));
    GN_TRY(gn_emit(c, &v->forward, (int[]){a, b, v->tensor}, 3));
    return gn_settle(c, v->tensor);
}

/* Both sides receive the same gradient; the compiler sees to it that neither overwrites it. */
static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const addition_options *options = node->options;
    int dy;
    if (gn_runs_with_norm(c, node))
        return gn_norm_and_addition(c, node, true);
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    if (options->relu)
        GN_TRY(gn_emit_relu_gradient(c, c->values[node->value].tensor, dy, &dy));
    GN_TRY(gn_give_gradient(c, node->inputs[0], dy));
    return gn_give_gradient(c, node->inputs[1], dy);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const addition_options *options = node->options;
    out->kind = GN_OP_ADDITION;
    out->relu = options->relu;
}

static const gn_layer addition_layer = {
    .name = "addition",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

bool gn_is_addition(const gn_node *node)
{
    return node->layer == &addition_layer;
}

bool gn_addition_has_relu(const gn_node *node)
{
    const addition_options *options = node->options;
    return options->relu;
}

static gn_value add(gn_graph *graph, gn_value a, gn_value b, addition_options options)
{
    const gn_node *x = gn_operand_at(graph, a, GN_FLOAT32, 0, "an addition");
    const gn_node *y = x ? gn_operand_at(graph, b, GN_FLOAT32, x->ndims, "an addition") : NULL;
    if (!y)
        return -1;
    int64_t dims[GN_DIMS_MAX];
    memcpy(dims, x->dims, sizeof dims);
    if (memcmp(dims, y->dims, sizeof dims) != 0) {
        graph->failed =
            gn_fail(graph->ctx, GERNE_EINTERNAL, "an addition takes values of one size");
        return -1;
    }
    return gn_add_node(graph, &addition_layer, (gn_value[]){a, b}, 2, x->ndims, dims, &options,
                       sizeof options);
}

gn_value gn_add_relu(gn_graph *graph, gn_value a, gn_value b)
{
    return add(graph, a, b, (addition_options){.relu = true});
}

gn_value gn_add(gn_graph *graph, gn_value a, gn_value b)
{
    return add(graph, a, b, (addition_options){.relu = false});
}
