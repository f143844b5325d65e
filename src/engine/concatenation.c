#include "engine/internal.h"

/* The columns of the whole that belong to one input. */
static gerne_status describe_columns(gn_compiler *c, const gn_node *node, int input,
                                     const gn_description **whole, const gn_description **part)
{
    const gn_node *nodes = c->program->graph->nodes;
    int64_t first = input ? nodes[node->inputs[0]].dims[1] : 0;
    int64_t dims[2] = {c->program->batch, nodes[node->inputs[input]].dims[1]};
    GN_TRY(gn_describe_value(c, node, c->type, whole));
    return gn_describe_part(&c->maker, *whole, dims, (int64_t[]){0, first}, part);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_compiled_value *v = &c->values[node->value];
    const gn_description *whole, *part;
    GN_TRY(gn_describe_value(c, node, c->type, &whole));
    GN_TRY(gn_new_tensor(c, whole, &v->tensor));
    for (int i = 0; i < 2; i++) {
        int columns;
        GN_TRY(describe_columns(c, node, i, &whole, &part));
        GN_TRY(gn_alias_tensor(c, v->tensor, part, &columns));
        GN_TRY(gn_reorder(c, c->values[node->inputs[i]].tensor, columns));
    }
    return GERNE_OK;
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    int dy;
    const gn_description *whole, *part, *alone;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    for (int i = 0; i < 2; i++) {
        int columns, dx, plain;
        if (!gn_wants_gradient(c, node->inputs[i]))
            continue;
        GN_TRY(describe_columns(c, node, i, &whole, &part));
        GN_TRY(gn_in_layout(c, dy, whole, &plain));
        GN_TRY(gn_alias_tensor(c, plain, part, &columns));
        GN_TRY(gn_describe_value(c, &c->program->graph->nodes[node->inputs[i]], c->type, &alone));
        GN_TRY(gn_new_tensor(c, alone, &dx));
        GN_TRY(gn_reorder(c, columns, dx));
        GN_TRY(gn_give_gradient(c, node->inputs[i], dx));
    }
    return GERNE_OK;
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    (void)node;
    out->kind = GN_OP_CONCATENATION;
}

static const gn_layer concatenation_layer = {
    .name = "concatenation",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_concatenate(gn_graph *graph, gn_value a, gn_value b)
{
    const gn_node *x = gn_operand_at(graph, a, GN_FLOAT32, 2, "a concatenation");
    const gn_node *y = x ? gn_operand_at(graph, b, GN_FLOAT32, 2, "a concatenation") : NULL;
    if (!y)
        return -1;
    return gn_add_node(graph, &concatenation_layer, (gn_value[]){a, b}, 2, 2,
                       (int64_t[]){1, x->dims[1] + y->dims[1]}, NULL, 0);
}
