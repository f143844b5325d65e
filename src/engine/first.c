/* first.c - the first place of every sample of a sequence. */
#include <string.h>

#include "engine/sequence.h"

typedef struct first_options {
    gn_value sequence, spans;
} first_options;

static const gn_node *sequence_of(const gn_program *program, const gn_node *node)
{
    const first_options *options = node->options;
    return &program->graph->nodes[options->sequence];
}

/* spans, source, result; samples without tokens are zero */
static void take(gn_program *program, const gn_call *call)
{
    gn_layout layout = gn_layout_of(program, call->tensors[0], sequence_of(program, call->node));
    const float *source = gn_tensor_data(program, call->tensors[1]);
    float *result = gn_tensor_data(program, call->tensors[2]);
    size_t width = (size_t)call->node->dims[1];
    for (int64_t s = 0; s < layout.samples; s++) {
        gn_span span = gn_span_of(&layout, s);
        if (span.count > 0)
            memcpy(result + (size_t)s * width, source + (size_t)span.start * width,
                   width * sizeof *result);
        else
            memset(result + (size_t)s * width, 0, width * sizeof *result);
    }
}

/* spans, d source, d result */
static void put(gn_program *program, const gn_call *call)
{
    gn_layout layout = gn_layout_of(program, call->tensors[0], sequence_of(program, call->node));
    float *source = gn_tensor_data(program, call->tensors[1]);
    const float *result = gn_tensor_data(program, call->tensors[2]);
    size_t width = (size_t)call->node->dims[1];
    memset(source, 0, (size_t)layout.rows * width * sizeof *source);
    for (int64_t s = 0; s < layout.samples; s++) {
        gn_span span = gn_span_of(&layout, s);
        if (span.count > 0)
            memcpy(source + (size_t)span.start * width, result + (size_t)s * width,
                   width * sizeof *source);
    }
}

static int span_tensor(const gn_compiler *c, const gn_node *node)
{
    const first_options *options = node->options;
    return options->spans < 0 ? -1 : c->values[options->spans].tensor;
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const first_options *options = node->options;
    int x, y;
    GN_TRY(gn_as_floats(c, &c->program->graph->nodes[options->sequence],
                        c->values[options->sequence].tensor, &x));
    GN_TRY(gn_new_floats(c, node, &y));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = take, .node = node},
                   (int[]){span_tensor(c, node), x, y}, 3));
    return gn_from_floats(c, node, y, &c->values[node->value].tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const first_options *options = node->options;
    const gn_node *sequence = &c->program->graph->nodes[options->sequence];
    int dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    GN_TRY(gn_new_floats(c, sequence, &dx));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = put, .node = node},
                   (int[]){span_tensor(c, node), dx, dy}, 3));
    GN_TRY(gn_from_floats(c, sequence, dx, &dx));
    return gn_give_gradient(c, options->sequence, dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    (void)node;
    out->kind = GN_OP_FIRST_PLACE;
}

static const gn_layer first_layer = {
    .name = "first place",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_first_place(gn_graph *graph, gn_value input, gn_value spans)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, "the first place");
    if (!in || (in->packed && !gn_operand_at(graph, spans, GN_INT32, 2, "the first place")))
        return -1;
    const first_options options = {input, in->packed ? spans : -1};
    int64_t dims[2] = {1, in->dims[in->ndims - 1]};
    gn_value value = gn_add_node(graph, &first_layer, &input, 1, 2, dims, &options, sizeof options);
    if (value >= 0)
        graph->nodes[value].packed = false;
    return value;
}
