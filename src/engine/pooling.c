#include "engine/internal.h"

enum { WORKSPACE }; /* a value's extra tensors */

/* Output of the pooling proper; the averaging of a whole image is then seen as features. */
static gerne_status describe_result(gn_compiler *c, const gn_node *node, gn_order order,
                                    const gn_description **out)
{
    int64_t dims[4] = {c->program->batch, node->dims[1], 1, 1};
    if (node->ndims == 4) {
        dims[2] = node->dims[2];
        dims[3] = node->dims[3];
    }
    return gn_describe(&c->maker, c->type, 4, dims, order, out);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_compiled_value *v = &c->values[node->value];
    int x = c->values[node->inputs[0]].tensor;
    gn_operands operands = {.source = gn_description_of(c, x)};
    if (operands.source->type != c->type) /* the input itself */
        GN_TRY(gn_describe_value(c, &c->program->graph->nodes[node->inputs[0]], c->type,
                                 &operands.source));
    GN_TRY(gn_in_layout(c, x, operands.source, &x));
    GN_TRY(describe_result(c, node, GN_ANY_ORDER, &operands.result));
    GN_TRY(
        gn_make_pooling(&c->maker, NULL, &operands, node->options, c->program->mode, &v->forward));
    GN_TRY(gn_new_tensor(c, v->forward.operands.result, &v->tensor));
    GN_TRY(gn_workspace_tensor(c, &v->forward, &v->extra[WORKSPACE]));
    GN_TRY(gn_emit(c, &v->forward, (int[]){x, v->tensor, v->extra[WORKSPACE]}, 3));
    if (node->ndims == 2) {
        const gn_description *features;
        GN_TRY(gn_describe_value(c, node, c->type, &features));
        GN_TRY(gn_reshape(c, v->tensor, features, &v->tensor));
    }
    return gn_settle(c, v->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const gn_compiled_value *v = &c->values[node->value];
    int dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    if (node->ndims == 2) {
        const gn_description *plain;
        GN_TRY(describe_result(c, node, GN_PLAIN_ORDER, &plain));
        GN_TRY(gn_reshape(c, dy, plain, &dy));
    }
    GN_TRY(gn_in_layout(c, dy, v->forward.operands.result, &dy));
    GN_TRY(gn_new_tensor(c, v->forward.operands.source, &dx));
    gn_kernel kernel;
    GN_TRY(gn_make_pooling(&c->maker, &v->forward, &v->forward.operands, node->options,
                           c->program->mode, &kernel));
    GN_TRY(gn_emit(c, &kernel, (int[]){dx, dy, v->extra[WORKSPACE]}, 3));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const gn_pooling *options = node->options;
    out->kind = options->mean ? GN_OP_AVERAGE : GN_OP_MAX_POOL;
    out->kernel = options->window.kernel[0];
    out->stride = options->window.strides[0];
    out->padding = options->window.before[0];
}

static const gn_layer pooling_layer = {
    .name = "pooling",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_max_pool(gn_graph *graph, gn_value input, int64_t kernel, int64_t stride,
                     int64_t padding)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 4, "a pooling");
    if (!in)
        return -1;
    gn_pooling options = {.window = {.kernel = {kernel, kernel},
                                     .strides = {stride, stride},
                                     .before = {padding, padding},
                                     .after = {padding, padding}}};
    int64_t dims[4] = {1, in->dims[1], (in->dims[2] + 2 * padding - kernel) / stride + 1,
                       (in->dims[3] + 2 * padding - kernel) / stride + 1};
    return gn_add_node(graph, &pooling_layer, &input, 1, 4, dims, &options, sizeof options);
}

gn_value gn_average_all(gn_graph *graph, gn_value input)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 4, "a pooling");
    if (!in)
        return -1;
    gn_pooling options = {
        .mean = true,
        .window = {.kernel = {in->dims[2], in->dims[3]}, .strides = {in->dims[2], in->dims[3]}}};
    return gn_add_node(graph, &pooling_layer, &input, 1, 2, (int64_t[]){1, in->dims[1]}, &options,
                       sizeof options);
}
