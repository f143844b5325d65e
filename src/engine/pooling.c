#include "engine/internal.h"

typedef struct pooling_options {
    dnnl_alg_kind_t algorithm;
    dnnl_dims_t kernel, stride, padding;
} pooling_options;

/* Output of the pooling proper; the averaging of a whole image is then seen as features. */
static void result_dims(const gn_compiler *c, const gn_node *node, int64_t dims[4])
{
    dims[0] = c->batch;
    dims[1] = node->dims[1];
    dims[2] = node->ndims == 4 ? node->dims[2] : 1;
    dims[3] = node->ndims == 4 ? node->dims[3] : 1;
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const pooling_options *o = node->options;
    gn_slot *slot = &c->slots[node->value];
    int x = c->slots[node->inputs[0]].tensor, y;
    int64_t dims[4];
    result_dims(c, node, dims);
    dnnl_memory_desc_t any, source = *gn_description(c, x);
    GN_TRY(gn_describe(c->ctx, 4, dims, c->type, dnnl_format_tag_any, &any));
    source.data_type = c->type;
    GN_TRY(gn_in_layout(c, x, &source, &x));
    dnnl_pooling_desc_t op;
    dnnl_primitive_desc_t pd, copy;
    GN_DNNL(c->ctx,
            dnnl_pooling_forward_desc_init(
                &op, c->mode == GN_MODE_INFER ? dnnl_forward_inference : dnnl_forward_training,
                o->algorithm, &source, &any, o->stride, o->kernel, o->padding, o->padding));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false, NULL, &pd));
    slot->forward_description = pd;
    GN_TRY(gn_new_tensor(c, gn_query(pd, dnnl_query_dst_md), &y));
    gn_argument arguments[3] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
    int count = 2;
    const dnnl_memory_desc_t *workspace = gn_query(pd, dnnl_query_workspace_md);
    slot->extra[0] = -1;
    if (workspace && dnnl_memory_desc_get_size(workspace) > 0) {
        GN_TRY(gn_new_tensor(c, workspace, &slot->extra[0]));
        arguments[count++] = (gn_argument){DNNL_ARG_WORKSPACE, slot->extra[0]};
    }
    GN_DNNL(c->ctx, dnnl_primitive_desc_clone(&copy, pd));
    GN_TRY(gn_emit(c, copy, arguments, count, GN_ALWAYS, false));
    slot->extra[1] = x;
    slot->extra[2] = y;
    slot->tensor = y;
    if (node->ndims == 2) {
        dnnl_memory_desc_t plain, features;
        GN_TRY(gn_describe(c->ctx, 4, dims, c->type, dnnl_abcd, &plain));
        GN_TRY(gn_describe(c->ctx, 2, dims, c->type, dnnl_ab, &features));
        GN_TRY(gn_in_layout(c, y, &plain, &y));
        GN_TRY(gn_alias_tensor(c, y, &features, &slot->tensor));
    }
    return gn_settle(c, slot->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const pooling_options *o = node->options;
    const gn_slot *slot = &c->slots[node->value];
    dnnl_memory_desc_t source = *gn_description(c, slot->extra[1]);
    dnnl_memory_desc_t result = *gn_description(c, slot->extra[2]);
    int dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    if (node->ndims == 2) {
        int64_t dims[4];
        result_dims(c, node, dims);
        dnnl_memory_desc_t plain, features;
        GN_TRY(gn_describe(c->ctx, 4, dims, c->type, dnnl_abcd, &plain));
        GN_TRY(gn_describe(c->ctx, 2, dims, c->type, dnnl_ab, &features));
        GN_TRY(gn_in_layout(c, dy, &features, &dy));
        GN_TRY(gn_alias_tensor(c, dy, &plain, &dy));
    }
    GN_TRY(gn_in_layout(c, dy, &result, &dy));
    GN_TRY(gn_new_tensor(c, &source, &dx));
    dnnl_pooling_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx, dnnl_pooling_backward_desc_init(&op, o->algorithm, &source, &result, o->stride,
                                                    o->kernel, o->padding, o->padding));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false, slot->forward_description, &pd));
    gn_argument arguments[3] = {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}};
    int count = 2;
    if (slot->extra[0] >= 0)
        arguments[count++] = (gn_argument){DNNL_ARG_WORKSPACE, slot->extra[0]};
    GN_TRY(gn_emit(c, pd, arguments, count, GN_ALWAYS, false));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static const gn_layer pooling_layer = {
    .name = "pooling",
    .forward = forward,
    .backward = backward,
};

gn_value gn_max_pool(gn_graph *graph, gn_value input, int64_t kernel, int64_t stride,
                     int64_t padding)
{
    const gn_node *in = gn_node_at(graph, input);
    if (!in)
        return -1;
    pooling_options options = {.algorithm = dnnl_pooling_max,
                               .kernel = {kernel, kernel},
                               .stride = {stride, stride},
                               .padding = {padding, padding}};
    int64_t dims[4] = {1, in->dims[1], (in->dims[2] + 2 * padding - kernel) / stride + 1,
                       (in->dims[3] + 2 * padding - kernel) / stride + 1};
    return gn_add_node(graph, &pooling_layer, &input, 1, 4, dims, &options, sizeof options);
}

gn_value gn_average_all(gn_graph *graph, gn_value input)
{
    const gn_node *in = gn_node_at(graph, input);
    if (!in)
        return -1;
    pooling_options options = {.algorithm = dnnl_pooling_avg_exclude_padding,
                               .kernel = {in->dims[2], in->dims[3]},
                               .stride = {in->dims[2], in->dims[3]}};
    return gn_add_node(graph, &pooling_layer, &input, 1, 2, (int64_t[]){1, in->dims[1]}, &options,
                       sizeof options);
}
