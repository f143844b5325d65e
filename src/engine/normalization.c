#include "engine/internal.h"

#include "engine/routines.h"

enum { SCALE, SHIFT, MEAN, VARIANCE };                  /* a node's parameters */
enum { SOURCE, BATCH_MEAN, BATCH_VARIANCE, WORKSPACE }; /* a slot's extra tensors */

static const float epsilon = 1e-5f;

typedef struct normalization_options {
    bool relu;
} normalization_options;

static unsigned flags_of(const gn_compiler *c, const gn_node *node)
{
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    if (c->mode != GN_MODE_TRAIN)
        flags |= dnnl_use_global_stats;
    if (((const normalization_options *)node->options)->relu)
        flags |= dnnl_fuse_norm_relu;
    return flags;
}

static gerne_status statistics(gn_compiler *c, const gn_node *node, const_dnnl_primitive_desc_t pd,
                               gn_slot *slot)
{
    if (c->mode != GN_MODE_TRAIN) {
        GN_TRY(gn_parameter_tensor(c, node, MEAN, &slot->extra[BATCH_MEAN]));
        return gn_parameter_tensor(c, node, VARIANCE, &slot->extra[BATCH_VARIANCE]);
    }
    const dnnl_memory_desc_t *mean = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 1);
    GN_TRY(gn_new_tensor(c, mean, &slot->extra[BATCH_MEAN]));
    return gn_new_tensor(c, mean, &slot->extra[BATCH_VARIANCE]);
}

static gerne_status update_running_statistics(gn_compiler *c, const gn_node *node,
                                              const gn_slot *slot)
{
    int mean, variance;
    GN_TRY(gn_parameter_tensor(c, node, MEAN, &mean));
    GN_TRY(gn_parameter_tensor(c, node, VARIANCE, &variance));
    gn_argument arguments[] = {
        {0, slot->extra[BATCH_MEAN]}, {0, slot->extra[BATCH_VARIANCE]}, {0, mean}, {0, variance}};
    double values = (double)(c->batch * node->dims[2] * node->dims[3]);
    return gn_emit_routine(c, gn_update_statistics, arguments, 4, GN_ALWAYS, values);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_slot *slot = &c->slots[node->value];
    slot->extra[SOURCE] = c->slots[node->inputs[0]].tensor;
    dnnl_memory_desc_t md = *gn_description(c, slot->extra[SOURCE]);
    dnnl_batch_normalization_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx,
            dnnl_batch_normalization_forward_desc_init(
                &op, c->mode == GN_MODE_INFER ? dnnl_forward_inference : dnnl_forward_training, &md,
                epsilon, flags_of(c, node)));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false, NULL, &pd));
    slot->forward_description = pd;
    int scale, shift, count = 6;
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    GN_TRY(statistics(c, node, pd, slot));
    GN_TRY(gn_new_tensor(c, &md, &slot->tensor));
    gn_argument arguments[7] = {{DNNL_ARG_SRC, slot->extra[SOURCE]},
                                {DNNL_ARG_SCALE, scale},
                                {DNNL_ARG_SHIFT, shift},
                                {DNNL_ARG_MEAN, slot->extra[BATCH_MEAN]},
                                {DNNL_ARG_VARIANCE, slot->extra[BATCH_VARIANCE]},
                                {DNNL_ARG_DST, slot->tensor}};
    const dnnl_memory_desc_t *workspace = gn_query(pd, dnnl_query_workspace_md);
    slot->extra[WORKSPACE] = -1;
    if (workspace && dnnl_memory_desc_get_size(workspace) > 0) {
        GN_TRY(gn_new_tensor(c, workspace, &slot->extra[WORKSPACE]));
        arguments[count++] = (gn_argument){DNNL_ARG_WORKSPACE, slot->extra[WORKSPACE]};
    }
    dnnl_primitive_desc_t copy;
    GN_DNNL(c->ctx, dnnl_primitive_desc_clone(&copy, pd));
    GN_TRY(gn_emit(c, copy, arguments, count, GN_ALWAYS, false));
    if (c->mode == GN_MODE_TRAIN)
        GN_TRY(update_running_statistics(c, node, slot));
    return gn_settle(c, slot->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const gn_slot *slot = &c->slots[node->value];
    dnnl_memory_desc_t md = *gn_description(c, slot->extra[SOURCE]);
    int dy, dx, scale, shift, count = 7;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, &md, &dy));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    dx = dy;
    if (!gn_may_overwrite(c, dy))
        GN_TRY(gn_new_tensor(c, &md, &dx));
    dnnl_batch_normalization_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx, dnnl_batch_normalization_backward_desc_init(&op, dnnl_backward, &md, &md,
                                                                epsilon, flags_of(c, node)));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false, slot->forward_description, &pd));
    gn_argument arguments[8] = {{DNNL_ARG_SRC, slot->extra[SOURCE]},
                                {DNNL_ARG_SCALE, scale},
                                {DNNL_ARG_SHIFT, shift},
                                {DNNL_ARG_MEAN, slot->extra[BATCH_MEAN]},
                                {DNNL_ARG_VARIANCE, slot->extra[BATCH_VARIANCE]},
                                {DNNL_ARG_DIFF_DST, dy},
                                {DNNL_ARG_DIFF_SRC, dx}};
    if (slot->extra[WORKSPACE] >= 0)
        arguments[count++] = (gn_argument){DNNL_ARG_WORKSPACE, slot->extra[WORKSPACE]};
    gn_gradient_output outputs[] = {
        {DNNL_ARG_DIFF_SCALE, SCALE, gn_parameter_description(c, node, SCALE), NULL},
        {DNNL_ARG_DIFF_SHIFT, SHIFT, gn_parameter_description(c, node, SHIFT), NULL}};
    GN_TRY(gn_emit_gradients(c, pd, node, arguments, count, outputs, 2, false));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static const gn_layer normalization_layer = {
    .name = "normalization",
    .forward = forward,
    .backward = backward,
};

gn_value gn_batch_norm(gn_graph *graph, gn_value input, const char *name, bool relu)
{
    const gn_node *in = gn_node_at(graph, input);
    if (!in)
        return -1;
    int64_t dims[4] = {1, in->dims[1], in->dims[2], in->dims[3]};
    normalization_options options = {.relu = relu};
    gn_value value =
        gn_add_node(graph, &normalization_layer, &input, 1, 4, dims, &options, sizeof options);
    gn_add_parameter(graph, name, "weight", GN_SCALE, 1, &dims[1], NULL);
    gn_add_parameter(graph, name, "bias", GN_SHIFT, 1, &dims[1], NULL);
    gn_add_parameter(graph, name, "running_mean", GN_MEAN, 1, &dims[1], NULL);
    gn_add_parameter(graph, name, "running_var", GN_VARIANCE, 1, &dims[1], NULL);
    return value;
}
