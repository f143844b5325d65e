/* layer_norm.c - every place of a sequence by its own mean and variance, scaled and shifted. */
#include "engine/internal.h"

enum { SCALE, SHIFT };           /* a node's parameters */
enum { SOURCE, MEAN, VARIANCE }; /* a value's extra tensors */

typedef struct norm_options {
    double epsilon;
} norm_options;

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const norm_options *options = node->options;
    gn_compiled_value *v = &c->values[node->value];
    bool trains = c->program->mode != GN_MODE_INFER;
    const gn_description *plain;
    int *extra = v->extra, scale, shift;
    GN_TRY(gn_describe_value(c, node, c->type, &plain));
    GN_TRY(gn_in_layout(c, c->values[node->inputs[0]].tensor, plain, &extra[SOURCE]));
    GN_TRY(gn_make_layer_norm(&c->maker, NULL, plain, options->epsilon, c->program->mode,
                              &v->forward));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    extra[MEAN] = extra[VARIANCE] = -1;
    if (trains) {
        GN_TRY(gn_new_tensor(c, v->forward.operands.bias, &extra[MEAN]));
        GN_TRY(gn_new_tensor(c, v->forward.operands.bias, &extra[VARIANCE]));
    }
    GN_TRY(gn_new_tensor(c, plain, &v->tensor));
    const int tensors[] = {extra[SOURCE], scale, shift, extra[MEAN], extra[VARIANCE], v->tensor};
    GN_TRY(gn_emit(c, &v->forward, tensors, 6));
    return gn_settle(c, v->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const norm_options *options = node->options;
    const gn_compiled_value *v = &c->values[node->value];
    const int *extra = v->extra;
    const gn_description *plain = gn_description_of(c, extra[SOURCE]);
    int dy, dx, scale, shift;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, plain, &dy));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    GN_TRY(gn_new_tensor(c, plain, &dx));
    gn_kernel kernel;
    GN_TRY(gn_make_layer_norm(&c->maker, &v->forward, plain, options->epsilon, c->program->mode,
                              &kernel));
    const int tensors[] = {extra[SOURCE], scale, shift, extra[MEAN], extra[VARIANCE], dy, dx};
    gn_gradient_output outputs[] = {
        {.which = SCALE, .description = gn_parameter_description(c, node, SCALE)},
        {.which = SHIFT, .description = gn_parameter_description(c, node, SHIFT)}};
    GN_TRY(gn_emit_gradients(c, &kernel, node, tensors, 7, outputs, 2));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const norm_options *options = node->options;
    out->kind = GN_OP_LAYER_NORM;
    out->epsilon = options->epsilon;
}

static const gn_layer layer_norm_layer = {
    .name = "layer normalization",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_layer_norm(gn_graph *graph, gn_value input, const char *name, double epsilon)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, "layer normalization");
    if (!in)
        return -1;
    int64_t dims[GN_DIMS_MAX] = {1, in->dims[1], in->dims[2], in->dims[3]};
    int64_t width = dims[in->ndims - 1];
    const norm_options options = {epsilon};
    gn_value value =
        gn_add_node(graph, &layer_norm_layer, &input, 1, in->ndims, dims, &options, sizeof options);
    gn_add_parameter(graph, name, "weight", GN_SCALE, 1, &width, NULL);
    gn_add_parameter(graph, name, "bias", GN_SHIFT, 1, &width, NULL);
    return value;
}
