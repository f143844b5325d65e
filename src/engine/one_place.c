/* one_place.c - every sample of a sequence in one place: its first one, or the mean of all. */
#include <string.h>

#include "engine/sequence.h"

typedef struct place_options {
    gn_value spans;
    bool mean;
} place_options;

static const gn_node *sequence_of(const gn_program *program, const gn_node *node)
{
    return &program->graph->nodes[node->inputs[0]];
}

/* The rows are added in their order: the same bits with any number of threads. */
static void take_mean(const float *rows, int64_t count, size_t width, float *result)
{
    const float factor = 1.0f / (float)count;
    memset(result, 0, width * sizeof *result);
    for (int64_t i = 0; i < count; i++, rows += width)
        for (size_t k = 0; k < width; k++)
            result[k] += rows[k];
    for (size_t k = 0; k < width; k++)
        result[k] *= factor;
}

static void put_mean(const float *gradient, int64_t count, size_t width, float *rows)
{
    const float factor = 1.0f / (float)count;
    for (int64_t i = 0; i < count; i++, rows += width)
        for (size_t k = 0; k < width; k++)
            rows[k] = factor * gradient[k];
}

/* spans, source, result; samples without tokens are zero */
static void take(gn_program *program, const gn_call *call)
{
    gn_layout layout = gn_layout_of(program, call->tensors[0], sequence_of(program, call->node));
    const float *source = gn_tensor_data(program, call->tensors[1]);
    float *result = gn_tensor_data(program, call->tensors[2]);
    const place_options *options = call->node->options;
    size_t width = (size_t)call->node->dims[1];
    for (int64_t s = 0; s < layout.samples; s++) {
        gn_span span = gn_span_of(&layout, s);
        const float *rows = source + (size_t)span.start * width;
        float *row = result + (size_t)s * width;
        if (span.count > 0 && options->mean)
            take_mean(rows, span.count, width, row);
        else if (span.count > 0)
            memcpy(row, rows, width * sizeof *row);
        else
            memset(row, 0, width * sizeof *row);
    }
}

/* spans, d source, d result */
static void put(gn_program *program, const gn_call *call)
{
    gn_layout layout = gn_layout_of(program, call->tensors[0], sequence_of(program, call->node));
    float *source = gn_tensor_data(program, call->tensors[1]);
    const float *result = gn_tensor_data(program, call->tensors[2]);
    const place_options *options = call->node->options;
    size_t width = (size_t)call->node->dims[1];
    memset(source, 0, (size_t)layout.rows * width * sizeof *source);
    for (int64_t s = 0; s < layout.samples; s++) {
        gn_span span = gn_span_of(&layout, s);
        float *rows = source + (size_t)span.start * width;
        const float *row = result + (size_t)s * width;
        if (span.count > 0 && options->mean)
            put_mean(row, span.count, width, rows);
        else if (span.count > 0)
            memcpy(rows, row, width * sizeof *rows);
    }
}

static int span_tensor(const gn_compiler *c, const gn_node *node)
{
    const place_options *options = node->options;
    return options->spans < 0 ? -1 : c->values[options->spans].tensor;
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    int x, y;
    GN_TRY(gn_as_floats(c, sequence_of(c->program, node), c->values[node->inputs[0]].tensor, &x));
    GN_TRY(gn_new_floats(c, node, &y));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = take, .node = node},
                   (int[]){span_tensor(c, node), x, y}, 3));
    return gn_from_floats(c, node, y, &c->values[node->value].tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const gn_node *sequence = sequence_of(c->program, node);
    int dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    GN_TRY(gn_new_floats(c, sequence, &dx));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = put, .node = node},
                   (int[]){span_tensor(c, node), dx, dy}, 3));
    GN_TRY(gn_from_floats(c, sequence, dx, &dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const place_options *options = node->options;
    out->kind = options->mean ? GN_OP_MEAN_PLACE : GN_OP_FIRST_PLACE;
}

static const gn_layer first_layer = {
    .name = "first place",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

static const gn_layer mean_layer = {
    .name = "mean of the places",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

static gn_value add_place(gn_graph *graph, gn_value input, gn_value spans, const gn_layer *layer)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 0, layer->name);
    if (!in || (in->packed && !gn_operand_at(graph, spans, GN_INT32, 2, layer->name)))
        return -1;
    const place_options options = {in->packed ? spans : -1, layer == &mean_layer};
    int64_t dims[2] = {1, in->dims[in->ndims - 1]};
    gn_value value = gn_add_node(graph, layer, &input, 1, 2, dims, &options, sizeof options);
    if (value >= 0)
        graph->nodes[value].packed = false;
    return value;
}

gn_value gn_first_place(gn_graph *graph, gn_value input, gn_value spans)
{
    return add_place(graph, input, spans, &first_layer);
}

gn_value gn_mean_place(gn_graph *graph, gn_value input, gn_value spans)
{
    return add_place(graph, input, spans, &mean_layer);
}
