/* activation.c - a function of each number. */
#include "engine/internal.h"

enum { SOURCE }; /* a value's extra tensors */

typedef struct activation_options {
    gn_activation activation;
} activation_options;

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const activation_options *options = node->options;
    gn_compiled_value *v = &c->values[node->value];
    const gn_description *plain;
    GN_TRY(gn_describe_value(c, node, c->type, &plain));
    GN_TRY(gn_in_layout(c, c->values[node->inputs[0]].tensor, plain, &v->extra[SOURCE]));
    GN_TRY(gn_make_activation(&c->maker, NULL, plain, options->activation, &v->forward));
    GN_TRY(gn_new_tensor(c, plain, &v->tensor));
    GN_TRY(gn_emit(c, &v->forward, (int[]){v->extra[SOURCE], v->tensor}, 2));
    return gn_settle(c, v->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const activation_options *options = node->options;
    const gn_compiled_value *v = &c->values[node->value];
    int from = options->activation == GN_TANH ? v->tensor : v->extra[SOURCE], dy, dx;
    const gn_description *plain = gn_description_of(c, from);
    gn_kernel kernel;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, plain, &dy));
    GN_TRY(gn_make_activation(&c->maker, &v->forward, plain, options->activation, &kernel));
    dx = dy;
    if (!gn_may_overwrite(c, dy))
        GN_TRY(gn_new_tensor(c, plain, &dx));
    GN_TRY(gn_emit(c, &kernel, (int[]){from, dy, dx}, 3));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const activation_options *options = node->options;
    out->kind = GN_OP_ACTIVATION;
    out->activation = options->activation;
}

static const gn_layer activation_layer = {
    .name = "activation",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_activate(gn_graph *graph, gn_value input, gn_activation activation)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, "an activation");
    if (!in)
        return -1;
    int64_t dims[GN_DIMS_MAX] = {1, in->dims[1], in->dims[2], in->dims[3]};
    const activation_options options = {activation};
    return gn_add_node(graph, &activation_layer, &input, 1, in->ndims, dims, &options,
                       sizeof options);
}
