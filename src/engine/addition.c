#include "engine/internal.h"

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_slot *slot = &c->slots[node->value];
    int a = c->slots[node->inputs[0]].tensor, b = c->slots[node->inputs[1]].tensor;
    dnnl_memory_desc_t md = *gn_description(c, a);
    GN_TRY(gn_in_layout(c, b, &md, &b));
    dnnl_binary_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx, dnnl_binary_desc_init(&op, dnnl_binary_add, &md, &md, &md));
    GN_TRY(gn_new_tensor(c, &md, &slot->tensor));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, true, NULL, &pd));
    gn_argument arguments[] = {
        {DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, slot->tensor}};
    GN_TRY(gn_emit(c, pd, arguments, 3, GN_ALWAYS, false));
    return gn_settle(c, slot->tensor);
}

/* Both sides receive the same gradient; the compiler sees to it that neither overwrites it. */
static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    int dy;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_emit_relu_gradient(c, c->slots[node->value].tensor, dy, &dy));
    GN_TRY(gn_give_gradient(c, node->inputs[0], dy));
    return gn_give_gradient(c, node->inputs[1], dy);
}

static const gn_layer addition_layer = {
    .name = "addition",
    .forward = forward,
    .backward = backward,
};

gn_value gn_add_relu(gn_graph *graph, gn_value a, gn_value b)
{
    const gn_node *in = gn_node_at(graph, a);
    if (!in || !gn_node_at(graph, b))
        return -1;
    int64_t dims[4] = {in->dims[0], in->dims[1], in->dims[2], in->dims[3]};
    return gn_add_node(graph, &addition_layer, (gn_value[]){a, b}, 2, in->ndims, dims, NULL, 0);
}
