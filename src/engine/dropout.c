/* dropout.c - masks on a sequence, alone or on one side of an addition. They are drawn again in the
 * backward pass, which is cheaper than keeping them. */
#include <string.h>

#include "base/vector.h"
#include "engine/sequence.h"

typedef struct dropout_options {
    gn_sequence sequence;
    uint64_t layer;
} dropout_options;

GN_WIDE static void apply(const float *restrict mask, const float *from, const float *beside,
                          float *to, int64_t count)
{
    if (beside)
        for (int64_t i = 0; i < count; i++)
            to[i] = beside[i] + mask[i] * from[i];
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = mask[i] * from[i];
}

static void drop_row(const gn_masks *masks, int64_t sample, int64_t place, int64_t width,
                     const float *from, const float *beside, float *to)
{
    float mask[GN_MASK_PIECE];
    gn_stream stream = gn_mask_start(masks, sample, (uint64_t)place);
    for (int64_t i = 0; i < width; i += GN_MASK_PIECE) {
        int64_t count = width - i < GN_MASK_PIECE ? width - i : GN_MASK_PIECE;
        gn_mask_next(masks, &stream, count, mask);
        apply(mask, from + i, beside ? beside + i : NULL, to + i, count);
    }
}

/* spans, keys, from, to, and a tensor that is added or -1; from and to may be one. Rows that belong
 * to no sample are zero, or what is added. */
static void drop(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    const dropout_options *options = call->node->options;
    const gn_layout layout = gn_layout_of(program, t[0], call->node);
    const gn_masks masks = gn_masks_of(program, t[1], options->layer, options->sequence.dropout);
    const float *from = gn_tensor_data(program, t[2]);
    float *to = gn_tensor_data(program, t[3]);
    const float *beside = t[4] < 0 ? NULL : gn_tensor_data(program, t[4]);
    int64_t width = call->node->dims[call->node->ndims - 1], used = gn_rows_used(&layout);
#pragma omp parallel for schedule(dynamic)
    for (int64_t s = 0; s < layout.samples; s++) {
        gn_span span = gn_span_of(&layout, s);
        for (int64_t j = 0; j < span.count; j++) {
            int64_t at = (span.start + j) * width;
            drop_row(&masks, s, j, width, from + at, beside ? beside + at : NULL, to + at);
        }
    }
    size_t rest = (size_t)((layout.rows - used) * width) * sizeof *to;
    if (beside)
        memcpy(to + used * width, beside + used * width, rest);
    else
        memset(to + used * width, 0, rest);
}

static gerne_status emit(gn_compiler *c, const gn_node *node, int from, int to, int beside)
{
    const dropout_options *options = node->options;
    const int tensors[] = {gn_span_tensor(c, node, &options->sequence),
                           gn_key_tensor(c, node, &options->sequence), from, to, beside};
    return gn_emit(c, &(gn_kernel){.routine = drop, .node = node}, tensors, 5);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const dropout_options *options = node->options;
    gn_compiled_value *v = &c->values[node->value];
    int x = c->values[node->inputs[0]].tensor, y;
    if (!gn_drops(c, node, &options->sequence)) {
        v->tensor = x;
        return GERNE_OK;
    }
    GN_TRY(gn_as_floats(c, node, x, &x));
    GN_TRY(gn_new_floats(c, node, &y));
    GN_TRY(emit(c, node, x, y, -1));
    return gn_from_floats(c, node, y, &v->tensor);
}

/* The gradient of what was dropped; in place where nobody else reads it. */
static gerne_status give_dropped(gn_compiler *c, const gn_node *node, gn_value input, int dy)
{
    int dx;
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    dx = dy;
    if (!gn_may_overwrite(c, dy))
        GN_TRY(gn_new_floats(c, node, &dx));
    GN_TRY(emit(c, node, dy, dx, -1));
    GN_TRY(gn_from_floats(c, node, dx, &dx));
    return gn_give_gradient(c, input, dx);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const dropout_options *options = node->options;
    int dy;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    if (!gn_drops(c, node, &options->sequence))
        return gn_give_gradient(c, node->inputs[0], dy);
    return give_dropped(c, node, node->inputs[0], dy);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    (void)node;
    out->kind = GN_OP_DROPOUT;
}

static const gn_layer dropout_layer = {
    .name = "dropout",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

static gerne_status forward_added(gn_compiler *c, const gn_node *node)
{
    const dropout_options *options = node->options;
    gn_compiled_value *v = &c->values[node->value];
    int a = c->values[node->inputs[0]].tensor, b = c->values[node->inputs[1]].tensor, y;
    if (!gn_drops(c, node, &options->sequence)) {
        const gn_description *description = gn_description_of(c, a);
        GN_TRY(gn_in_layout(c, b, description, &b));
        GN_TRY(gn_new_tensor(c, description, &v->tensor));
        GN_TRY(gn_make_sum(&c->maker, description, false, &v->forward));
        GN_TRY(gn_emit(c, &v->forward, (int[]){a, b, v->tensor}, 3));
        return gn_settle(c, v->tensor);
    }
    GN_TRY(gn_as_floats(c, node, a, &a));
    GN_TRY(gn_as_floats(c, node, b, &b));
    GN_TRY(gn_new_floats(c, node, &y));
    GN_TRY(emit(c, node, b, y, a));
    return gn_from_floats(c, node, y, &v->tensor);
}

static gerne_status backward_added(gn_compiler *c, const gn_node *node)
{
    const dropout_options *options = node->options;
    int dy;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_give_gradient(c, node->inputs[0], dy));
    if (!gn_drops(c, node, &options->sequence))
        return gn_give_gradient(c, node->inputs[1], dy);
    if (!gn_wants_gradient(c, node->inputs[1]))
        return GERNE_OK;
    int dropped;
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    GN_TRY(gn_new_floats(c, node, &dropped));
    GN_TRY(emit(c, node, dy, dropped, -1));
    GN_TRY(gn_from_floats(c, node, dropped, &dropped));
    return gn_give_gradient(c, node->inputs[1], dropped);
}

static const gn_layer added_layer = {
    .name = "addition with dropout",
    .forward = forward_added,
    .backward = backward_added,
    .describe = describe_operation,
};

gn_value gn_dropout(gn_graph *graph, gn_value input, const gn_sequence *sequence)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, "dropout");
    if (!in || sequence->dropout == 0)
        return in ? input : -1;
    if (!gn_check_sequence(graph, in, sequence, "dropout"))
        return -1;
    int64_t dims[GN_DIMS_MAX] = {1, in->dims[1], in->dims[2], in->dims[3]};
    const dropout_options options = {*sequence, graph->masked_layers++};
    return gn_add_node(graph, &dropout_layer, &input, 1, in->ndims, dims, &options, sizeof options);
}

gn_value gn_add_dropped(gn_graph *graph, gn_value a, gn_value b, const gn_sequence *sequence)
{
    if (sequence->dropout == 0)
        return gn_add(graph, a, b);
    const gn_node *x = gn_operand_at(graph, a, GN_FLOAT32, 0, "an addition");
    const gn_node *y = x ? gn_operand_at(graph, b, GN_FLOAT32, x->ndims, "an addition") : NULL;
    if (!y || !gn_check_sequence(graph, x, sequence, "an addition"))
        return -1;
    int64_t dims[GN_DIMS_MAX] = {1, x->dims[1], x->dims[2], x->dims[3]};
    const dropout_options options = {*sequence, graph->masked_layers++};
    return gn_add_node(graph, &added_layer, (gn_value[]){a, b}, 2, x->ndims, dims, &options,
                       sizeof options);
}
