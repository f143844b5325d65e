#include "engine/internal.h"

#include "engine/sparse_linear.h"
#include "engine/tile_linear.h"

typedef struct linear_options {
    int64_t rows, inputs; /* of one sample: a sequence has as many rows as places */
    bool relu;
    bool sequence; /* many rows a sample */
    int bias;      /* the parameter behind the weights: 1, or more of joined layers */
} linear_options;

enum { WEIGHT }; /* a node's first parameter */

/* The weights are in any order but those of sequences in plain order: with that many rows every
 * order is as fast, and none has to be changed for the backward pass. */
static gn_order order_of(const gn_maker *m, const gn_node *node, gn_type type)
{
    const linear_options *options = node->options;
    if (type == GN_FLOAT32 && gn_may_be_sparse(m, node))
        return GN_COLUMN_ORDER;
    return options->sequence && type == GN_FLOAT32 ? GN_PLAIN_ORDER : GN_ANY_ORDER;
}

/* All samples as rows. */
static gerne_status describe(gn_maker *m, const gn_node *node, gn_type type, gn_operands *out)
{
    const linear_options *options = node->options;
    int64_t outputs = node->dims[node->ndims - 1], rows = gn_rows_of(m, node) * options->rows;
    int64_t in[2] = {rows, options->inputs}, w[2] = {outputs, options->inputs};
    GN_TRY(gn_describe(m, type, 2, in, GN_PLAIN_ORDER, &out->source));
    GN_TRY(gn_describe(m, type, 2, w, order_of(m, node, type), &out->weights));
    GN_TRY(gn_describe(m, GN_FLOAT32, 1, &outputs, GN_PLAIN_ORDER, &out->bias));
    return gn_describe(m, type, 2, (int64_t[]){rows, outputs}, GN_PLAIN_ORDER, &out->result);
}

static gerne_status make_forward(gn_maker *m, const gn_node *node, const gn_operands *operands,
                                 gn_kernel *out)
{
    const linear_options *options = node->options;
    return gn_make_inner_product(m, GN_FORWARD, NULL, operands, options->relu, out);
}

static gerne_status choose_weights(gn_maker *m, const gn_node *node, const gn_description **weights)
{
    const linear_options *options = node->options;
    gn_operands operands;
    gn_kernel kernel;
    if (options->sequence)
        return GERNE_OK;
    GN_TRY(describe(m, node, GN_FLOAT32, &operands));
    GN_TRY(make_forward(m, node, &operands, &kernel));
    *weights = kernel.operands.weights;
    return GERNE_OK;
}

/* The weights as they lie in the store: those of joined layers one below the other. */
static gerne_status stored_weights(gn_compiler *c, const gn_node *node, const gn_description **out)
{
    const linear_options *options = node->options;
    if (!options->sequence) {
        *out = gn_parameter_description(c, node, WEIGHT);
        return GERNE_OK;
    }
    int64_t dims[2] = {node->dims[node->ndims - 1], options->inputs};
    return gn_describe(&c->maker, GN_FLOAT32, 2, dims, GN_PLAIN_ORDER, out);
}

static gerne_status weight_tensor(gn_compiler *c, const gn_node *node, const gn_description *wanted,
                                  int *out)
{
    const gn_description *stored;
    GN_TRY(stored_weights(c, node, &stored));
    return gn_weight_tensor(c, node, WEIGHT, stored, wanted, out);
}

static gerne_status bias_tensor(gn_compiler *c, const gn_node *node, const gn_description *all,
                                int *out)
{
    const linear_options *options = node->options;
    int first;
    GN_TRY(gn_parameter_tensor(c, node, options->bias, &first));
    return gn_alias_tensor(c, first, all, out);
}

static bool runs_on_tiles(const gn_compiler *c, const gn_node *node)
{
    const linear_options *options = node->options;
    return options->sequence && !options->relu && gn_runs_on_tiles(c);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const linear_options *options = node->options;
    gn_compiled_value *v = &c->values[node->value];
    gn_operands operands;
    const gn_description *result;
    GN_TRY(describe(&c->maker, node, c->type, &operands));
    GN_TRY(gn_describe_value(c, node, c->type, &result));
    if (c->type == GN_FLOAT32)
        GN_TRY(stored_weights(c, node, &operands.weights));
    GN_TRY(make_forward(&c->maker, node, &operands, &v->forward));
    int x, w, b, y;
    GN_TRY(gn_reshape(c, c->values[node->inputs[0]].tensor, operands.source, &x));
    v->extra[0] = x;
    GN_TRY(weight_tensor(c, node, v->forward.operands.weights, &w));
    GN_TRY(bias_tensor(c, node, operands.bias, &b));
    GN_TRY(gn_new_tensor(c, operands.result, &y));
    const int tensors[4] = {x, w, y, b};
    if (gn_has_sparse_form(c, node))
        GN_TRY(gn_emit_sparse_forward(c, node, options->relu, &v->forward, tensors, &v->extra[1]));
    else if (runs_on_tiles(c, node))
        GN_TRY(gn_emit_tile_forward(c, node, x, w, y, b));
    else
        GN_TRY(gn_emit(c, &v->forward, tensors, 4));
    GN_TRY(gn_settle(c, y));
    return gn_reshape(c, y, result, &v->tensor);
}

static gerne_status weight_gradient(gn_compiler *c, const gn_node *node, gn_operands operands,
                                    int dy)
{
    const linear_options *options = node->options;
    const gn_compiled_value *v = &c->values[node->value];
    gn_kernel kernel;
    if (runs_on_tiles(c, node))
        return gn_emit_tile_weight_gradient(c, node, v->extra[0], dy);
    GN_TRY(stored_weights(c, node, &operands.weights));
    GN_TRY(gn_make_inner_product(&c->maker, GN_WEIGHT_GRADIENT, &v->forward, &operands, false,
                                 &kernel));
    gn_gradient_output outputs[] = {
        {.which = WEIGHT, .description = operands.weights, .joined = operands.weights},
        {.which = options->bias, .description = operands.bias, .joined = operands.bias}};
    if (gn_has_sparse_form(c, node))
        GN_TRY(gn_emit_sparse_backward(c, node, v->extra[0], v->extra[1], dy));
    GN_TRY(gn_emit_gradients(c, &kernel, node, (int[]){v->extra[0], dy}, 2, outputs, 2));
    c->suits = GN_ANY_INPUT;
    return GERNE_OK;
}

static gerne_status input_gradient(gn_compiler *c, const gn_node *node, const gn_operands *operands,
                                   int dy)
{
    gn_kernel kernel;
    int w, dx;
    GN_TRY(gn_make_inner_product(&c->maker, GN_SOURCE_GRADIENT, &c->values[node->value].forward,
                                 operands, false, &kernel));
    GN_TRY(weight_tensor(c, node, kernel.operands.weights, &w));
    GN_TRY(gn_new_tensor(c, operands->source, &dx));
    if (runs_on_tiles(c, node))
        GN_TRY(gn_emit_tile_source_gradient(c, node, dy, w, dx));
    else
        GN_TRY(gn_emit(c, &kernel, (int[]){dy, w, dx}, 3));
    GN_TRY(gn_settle(c, dx));
    const gn_description *source;
    GN_TRY(gn_describe_value(c, &c->program->graph->nodes[node->inputs[0]], c->type, &source));
    GN_TRY(gn_reshape(c, dx, source, &dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const linear_options *options = node->options;
    int y = c->values[node->value].tensor, dy;
    gn_operands operands;
    GN_TRY(describe(&c->maker, node, c->type, &operands));
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, gn_description_of(c, y), &dy));
    if (options->relu)
        GN_TRY(gn_emit_relu_gradient(c, y, dy, &dy));
    GN_TRY(gn_reshape(c, dy, operands.result, &dy));
    if (gn_parameter_trains(c, node, WEIGHT))
        GN_TRY(weight_gradient(c, node, operands, dy));
    return gn_wants_gradient(c, node->inputs[0]) ? input_gradient(c, node, &operands, dy)
                                                 : GERNE_OK;
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const linear_options *options = node->options;
    out->kind = GN_OP_LINEAR;
    out->joined = options->bias;
    out->relu = options->relu;
}

static const gn_layer linear_layer = {
    .name = "linear",
    .choose_weights = choose_weights,
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

static gn_value add_linear(gn_graph *graph, gn_value input, int64_t outputs,
                           linear_options *options)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, "a linear layer");
    if (!in)
        return -1;
    bool places = in->ndims == 3;
    options->sequence = places || in->packed;
    options->rows = places ? in->dims[1] : 1;
    options->inputs = 1;
    for (int i = places ? 2 : 1; i < in->ndims; i++)
        options->inputs *= in->dims[i];
    int64_t dims[3] = {1, outputs, outputs};
    if (places)
        dims[1] = options->rows;
    double rows = (double)(in->packed ? graph->longest : options->rows);
    gn_value value = gn_add_node(graph, &linear_layer, &input, 1, places ? 3 : 2, dims, options,
                                 sizeof *options);
    if (value >= 0)
        graph->nodes[value].flops = 2.0 * rows * (double)outputs * (double)options->inputs;
    return value;
}

gn_value gn_linear(gn_graph *graph, gn_value input, const char *name, int64_t outputs, bool relu)
{
    linear_options options = {.relu = relu, .bias = 1};
    gn_value value = add_linear(graph, input, outputs, &options);
    gn_add_parameter(graph, name, "weight", GN_WEIGHT, 2, (int64_t[]){outputs, options.inputs},
                     NULL);
    gn_add_parameter(graph, name, "bias", GN_BIAS, 1, &outputs, NULL);
    return value;
}

gn_value gn_linear_joined(gn_graph *graph, gn_value input, const char *const *names, int count,
                          int64_t outputs)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, "joined linear layers");
    if (!in)
        return -1;
    if (count < 1 || count > GN_JOINED_MAX || !(in->packed || in->ndims == 3)) {
        graph->failed = gn_fail(graph->ctx, GERNE_EINTERNAL, "joined linear layers take sequences");
        return -1;
    }
    linear_options options = {.bias = count};
    gn_value value = add_linear(graph, input, count * outputs, &options);
    const int64_t dims[2] = {outputs, options.inputs};
    gn_add_parameter(graph, names[0], "weight", GN_WEIGHT, 2, dims, NULL);
    for (int i = 1; i < count; i++)
        gn_join_parameter(graph, names[i], "weight", GN_WEIGHT, 2, dims);
    gn_add_parameter(graph, names[0], "bias", GN_BIAS, 1, &outputs, NULL);
    for (int i = 1; i < count; i++)
        gn_join_parameter(graph, names[i], "bias", GN_BIAS, 1, &outputs);
    return value;
}
