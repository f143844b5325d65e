#include "engine/internal.h"

enum { WEIGHT, BIAS };

typedef struct linear_options {
    int64_t inputs;
    bool relu;
} linear_options;

typedef struct shapes {
    dnnl_memory_desc_t source, weights, bias, result;
} shapes;

static gerne_status any_shapes(gerne_ctx *ctx, const gn_node *node, int64_t batch,
                               dnnl_data_type_t type, shapes *s)
{
    const linear_options *options = node->options;
    int64_t in[2] = {batch, options->inputs}, out[2] = {batch, node->dims[1]};
    int64_t w[2] = {out[1], in[1]};
    GN_TRY(gn_describe(ctx, 2, in, type, dnnl_ab, &s->source));
    GN_TRY(gn_describe(ctx, 2, w, type, dnnl_format_tag_any, &s->weights));
    GN_TRY(gn_describe(ctx, 1, &out[1], dnnl_f32, dnnl_a, &s->bias));
    return gn_describe(ctx, 2, out, type, dnnl_ab, &s->result);
}

static gerne_status describe_forward(gerne_ctx *ctx, gn_device *device, const gn_node *node,
                                     const shapes *s, dnnl_primitive_desc_t *out)
{
    *out = NULL;
    dnnl_inner_product_desc_t op;
    GN_DNNL(ctx, dnnl_inner_product_forward_desc_init(&op, dnnl_forward_training, &s->source,
                                                      &s->weights, &s->bias, &s->result));
    const linear_options *options = node->options;
    return gn_primitive_description(ctx, device, &op, options->relu, NULL, out);
}

static gerne_status choose_layouts(gn_layout *layout, const gn_node *node)
{
    shapes s;
    dnnl_primitive_desc_t pd;
    GN_TRY(any_shapes(layout->ctx, node, layout->batch, dnnl_f32, &s));
    GN_TRY(describe_forward(layout->ctx, layout->device, node, &s, &pd));
    layout->descriptions[node->parameters[WEIGHT]] = *gn_query(pd, dnnl_query_weights_md);
    dnnl_primitive_desc_destroy(pd);
    return GERNE_OK;
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_slot *slot = &c->slots[node->value];
    shapes s;
    dnnl_primitive_desc_t pd;
    GN_TRY(any_shapes(c->ctx, node, c->batch, c->type, &s));
    if (c->type == dnnl_f32)
        s.weights = *gn_parameter_description(c, node, WEIGHT);
    GN_TRY(describe_forward(c->ctx, c->device, node, &s, &pd));
    slot->forward_description = pd;
    int x = c->slots[node->inputs[0]].tensor, w, b;
    if (gn_description(c, x)->ndims == 4) { /* flatten: plain order first, then another view */
        const gn_node *in = &c->program->graph->nodes[node->inputs[0]];
        int64_t dims[4] = {c->batch, in->dims[1], in->dims[2], in->dims[3]};
        dnnl_memory_desc_t plain;
        GN_TRY(gn_describe(c->ctx, 4, dims, c->type, dnnl_abcd, &plain));
        GN_TRY(gn_in_layout(c, x, &plain, &x));
        GN_TRY(gn_alias_tensor(c, x, &s.source, &x));
    }
    GN_TRY(gn_in_layout(c, x, &s.source, &x));
    slot->extra[0] = x;
    GN_TRY(gn_weight_tensor(c, node, WEIGHT, gn_query(pd, dnnl_query_weights_md), &w));
    GN_TRY(gn_parameter_tensor(c, node, BIAS, &b));
    GN_TRY(gn_new_tensor(c, &s.result, &slot->tensor));
    gn_argument arguments[] = {
        {DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, slot->tensor}};
    dnnl_primitive_desc_t copy;
    GN_DNNL(c->ctx, dnnl_primitive_desc_clone(&copy, pd));
    GN_TRY(gn_emit(c, copy, arguments, 4, GN_ALWAYS, true));
    return gn_settle(c, slot->tensor);
}

static gerne_status weight_gradient(gn_compiler *c, const gn_node *node, int dy)
{
    shapes s;
    GN_TRY(any_shapes(c->ctx, node, c->batch, c->type, &s));
    s.weights = *gn_parameter_description(c, node, WEIGHT);
    dnnl_inner_product_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx, dnnl_inner_product_backward_weights_desc_init(&op, &s.source, &s.weights,
                                                                  &s.bias, &s.result));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false,
                                    c->slots[node->value].forward_description, &pd));
    gn_argument arguments[] = {{DNNL_ARG_SRC, c->slots[node->value].extra[0]},
                               {DNNL_ARG_DIFF_DST, dy}};
    gn_gradient_output outputs[] = {{DNNL_ARG_DIFF_WEIGHTS, WEIGHT, &s.weights, NULL},
                                    {DNNL_ARG_DIFF_BIAS, BIAS, &s.bias, NULL}};
    return gn_emit_gradients(c, pd, node, arguments, 2, outputs, 2, true);
}

static gerne_status input_gradient(gn_compiler *c, const gn_node *node, int dy)
{
    shapes s;
    GN_TRY(any_shapes(c->ctx, node, c->batch, c->type, &s));
    dnnl_inner_product_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx,
            dnnl_inner_product_backward_data_desc_init(&op, &s.source, &s.weights, &s.result));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false,
                                    c->slots[node->value].forward_description, &pd));
    int w, dx;
    gerne_status status =
        gn_weight_tensor(c, node, WEIGHT, gn_query(pd, dnnl_query_weights_md), &w);
    if (status == GERNE_OK)
        status = gn_new_tensor(c, &s.source, &dx);
    if (status != GERNE_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    gn_argument arguments[] = {
        {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}};
    GN_TRY(gn_emit(c, pd, arguments, 3, GN_ALWAYS, true));
    GN_TRY(gn_settle(c, dx));
    const gn_node *in = &c->program->graph->nodes[node->inputs[0]];
    if (in->ndims == 4) { /* the gradient of the flattened image is an image again */
        int64_t dims[4] = {c->batch, in->dims[1], in->dims[2], in->dims[3]};
        dnnl_memory_desc_t plain;
        GN_TRY(gn_describe(c->ctx, 4, dims, c->type, dnnl_abcd, &plain));
        GN_TRY(gn_alias_tensor(c, dx, &plain, &dx));
    }
    return gn_give_gradient(c, node->inputs[0], dx);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const linear_options *options = node->options;
    const gn_slot *slot = &c->slots[node->value];
    int dy;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, gn_description(c, slot->tensor), &dy));
    if (options->relu)
        GN_TRY(gn_emit_relu_gradient(c, slot->tensor, dy, &dy));
    if (gn_parameter_trains(c, node, WEIGHT))
        GN_TRY(weight_gradient(c, node, dy));
    if (gn_wants_gradient(c, node->inputs[0]))
        GN_TRY(input_gradient(c, node, dy));
    return GERNE_OK;
}

static const gn_layer linear_layer = {
    .name = "linear",
    .choose_layouts = choose_layouts,
    .forward = forward,
    .backward = backward,
};

gn_value gn_linear(gn_graph *graph, gn_value input, const char *name, int64_t outputs, bool relu)
{
    const gn_node *in = gn_node_at(graph, input);
    if (!in)
        return -1;
    linear_options options = {.inputs = 1, .relu = relu};
    for (int i = 1; i < in->ndims; i++)
        options.inputs *= in->dims[i];
    gn_value value = gn_add_node(graph, &linear_layer, &input, 1, 2, (int64_t[]){1, outputs},
                                 &options, sizeof options);
    gn_add_parameter(graph, name, "weight", GN_WEIGHT, 2, (int64_t[]){outputs, options.inputs},
                     NULL);
    gn_add_parameter(graph, name, "bias", GN_BIAS, 1, &outputs, NULL);
    if (value >= 0)
        graph->nodes[value].flops = 2.0 * (double)outputs * (double)options.inputs;
    return value;
}
