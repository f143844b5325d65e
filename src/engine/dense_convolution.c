#include "engine/dense_convolution.h"

#include <string.h>

enum { SOURCE, MATRIX }; /* a value's extra tensors */

/* An image in blocks of channels is a row of numbers, [block][pixel][channel], as it lies in
 * memory. Each of them reaches each number of the result through one tap. */
typedef struct view {
    const gn_convolution *options;
    int64_t inputs, outputs, block; /* channels */
    int64_t height, width, result_height, result_width;
} view;

static view view_of(const gn_graph *graph, const gn_node *node, const gn_description *source)
{
    const int64_t *in = graph->nodes[node->inputs[0]].dims, *out = node->dims;
    return (view){.options = node->options,
                  .inputs = in[1],
                  .outputs = out[1],
                  .block = source ? gn_channel_block(source) : 0,
                  .height = in[2],
                  .width = in[3],
                  .result_height = out[2],
                  .result_width = out[3]};
}

static int64_t pixels(const view *v)
{
    return v->height * v->width;
}

static int64_t result_pixels(const view *v)
{
    return v->result_height * v->result_width;
}

/* Along one side: the last output looks furthest back, the first one furthest ahead. */
static bool sees_all(int64_t in, int64_t out, const gn_convolution *o)
{
    return o->padding - (out - 1) * o->stride >= 0 && in - 1 + o->padding < o->kernel;
}

bool gn_convolves_densely(const gn_maker *m, const gn_node *node)
{
    enum { CHANNELS = 16, PAIRS_MAX = 16 }; /* of pixels: the matrix has a block for each */
    view v = view_of(m->graph, node, NULL);
    return gn_device_precision(m->device) == GN_FP32 && v.inputs % CHANNELS == 0 &&
           v.outputs % CHANNELS == 0 && pixels(&v) * result_pixels(&v) <= PAIRS_MAX &&
           sees_all(v.height, v.result_height, v.options) &&
           sees_all(v.width, v.result_width, v.options);
}

bool gn_runs_densely(const gn_compiler *c, const gn_node *node)
{
    int source = c->values[node->inputs[0]].tensor;
    return gn_convolves_densely(&c->maker, node) &&
           gn_channel_block(gn_description_of(c, source)) > 0;
}

/* ---- the matrix ---- */

/* Where the weights of a tap lie: [input][output]. */
static int64_t tap_at(const view *v, int64_t pixel, int64_t result_pixel)
{
    const gn_convolution *o = v->options;
    int64_t row = pixel / v->width - result_pixel / v->result_width * o->stride + o->padding;
    int64_t column = pixel % v->width - result_pixel % v->result_width * o->stride + o->padding;
    return (row * o->kernel + column) * v->inputs * v->outputs;
}

static int64_t matrix_row_at(const view *v, int64_t input, int64_t pixel)
{
    int64_t row = (input / v->block * pixels(v) + pixel) * v->block + input % v->block;
    return row * v->outputs * result_pixels(v);
}

static view view_of_call(const gn_program *program, const gn_call *call)
{
    return view_of(program->graph, call->node, program->tensors[call->tensors[0]].description);
}

/* source (for its order), weights, matrix */
static void expand(gn_program *program, const gn_call *call)
{
    const view v = view_of_call(program, call);
    const float *weights = gn_tensor_data(program, call->tensors[1]);
    float *matrix = gn_tensor_data(program, call->tensors[2]);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < v.inputs; i++)
        for (int64_t p = 0; p < pixels(&v); p++)
            for (int64_t q = 0; q < result_pixels(&v); q++) {
                const float *from = weights + tap_at(&v, p, q) + i * v.outputs;
                float *to = matrix + matrix_row_at(&v, i, p) + q * v.block;
                for (int64_t o = 0; o < v.outputs; o += v.block)
                    memcpy(to + o * result_pixels(&v), from + o, (size_t)v.block * sizeof *to);
            }
}

/* The gradient of a tap is the sum of those of its places in the matrix. The taps of one input
 * channel stay in the cache. */
static void fold_input(const view *v, const float *matrix, int64_t i, float *gradient)
{
    for (int64_t p = 0; p < pixels(v); p++)
        for (int64_t q = 0; q < result_pixels(v); q++) {
            const float *from = matrix + matrix_row_at(v, i, p) + q * v->block;
            float *to = gradient + tap_at(v, p, q) + i * v->outputs;
            for (int64_t o = 0; o < v->outputs; o += v->block, from += v->block * result_pixels(v))
                for (int64_t k = 0; k < v->block; k++)
                    to[o + k] += from[k];
        }
}

/* source (for its order), the matrix's gradient, the weights' gradient. Taps that see no pixel are
 * never written: they are zero from the start. */
static void fold(const gn_program *program, const gn_call *call, bool replace)
{
    const view v = view_of_call(program, call);
    const float *matrix = gn_tensor_data(program, call->tensors[1]);
    float *gradient = gn_tensor_data(program, call->tensors[2]);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < v.inputs; i++) {
        for (int64_t p = 0; replace && p < pixels(&v); p++)
            for (int64_t q = 0; q < result_pixels(&v); q++)
                memset(gradient + tap_at(&v, p, q) + i * v.outputs, 0,
                       (size_t)v.outputs * sizeof *gradient);
        fold_input(&v, matrix, i, gradient);
    }
}

static void fold_replacing(gn_program *program, const gn_call *call)
{
    fold(program, call, true);
}

static void fold_adding(gn_program *program, const gn_call *call)
{
    fold(program, call, false);
}

/* ---- putting it together ---- */

/* Images as rows of numbers, and the matrix with a row for each number of the image. */
static gerne_status describe(gn_compiler *c, const view *v, gn_operands *out)
{
    const int64_t in = v->inputs * pixels(v), result = v->outputs * result_pixels(v);
    gn_maker *m = &c->maker;
    *out = (gn_operands){0};
    GN_TRY(gn_describe(m, GN_FLOAT32, 2, (int64_t[]){m->batch, in}, GN_PLAIN_ORDER, &out->source));
    GN_TRY(gn_describe(m, GN_FLOAT32, 2, (int64_t[]){result, in}, GN_COLUMN_ORDER, &out->weights));
    return gn_describe(m, GN_FLOAT32, 2, (int64_t[]){m->batch, result}, GN_PLAIN_ORDER,
                       &out->result);
}

/* From one pixel to one there is a single tap, whose weights are the matrix. */
static bool is_stored(const view *v)
{
    return pixels(v) * result_pixels(v) == 1;
}

static gerne_status matrix_tensor(gn_compiler *c, const gn_node *node, const view *v,
                                  const gn_description *description, int *out)
{
    int weights;
    GN_TRY(gn_parameter_tensor(c, node, 0, &weights));
    if (is_stored(v)) {
        float *stored = gn_tensor_data(c->program, weights);
        return gn_fixed_tensor(c, description, stored + tap_at(v, 0, 0), out);
    }
    GN_TRY(gn_new_tensor(c, description, out));
    const int tensors[] = {c->values[node->value].extra[SOURCE], weights, *out};
    return gn_emit(c, &(gn_kernel){.routine = expand, .node = node}, tensors, 3);
}

gerne_status gn_dense_forward(gn_compiler *c, const gn_node *node)
{
    gn_compiled_value *v = &c->values[node->value];
    gn_operands operands;
    int x = c->values[node->inputs[0]].tensor, rows, result_rows;
    const view shape = view_of(c->program->graph, node, gn_description_of(c, x));
    v->extra[SOURCE] = x;
    GN_TRY(describe(c, &shape, &operands));
    GN_TRY(matrix_tensor(c, node, &shape, operands.weights, &v->extra[MATRIX]));
    GN_TRY(gn_make_inner_product(&c->maker, GN_FORWARD, NULL, &operands, false, &v->forward));
    GN_TRY(gn_new_image(c, node, shape.block, &v->tensor));
    GN_TRY(gn_alias_tensor(c, x, operands.source, &rows));
    GN_TRY(gn_alias_tensor(c, v->tensor, operands.result, &result_rows));
    return gn_emit(c, &v->forward, (int[]){rows, v->extra[MATRIX], result_rows}, 3);
}

static gerne_status weight_gradient(gn_compiler *c, const gn_node *node, const view *shape,
                                    const gn_operands *operands, int dy)
{
    const gn_compiled_value *v = &c->values[node->value];
    gn_kernel kernel;
    int rows, matrix;
    GN_TRY(gn_make_inner_product(&c->maker, GN_WEIGHT_GRADIENT, &v->forward, operands, false,
                                 &kernel));
    GN_TRY(gn_alias_tensor(c, v->extra[SOURCE], operands->source, &rows));
    if (is_stored(shape)) {
        const gn_gradient_output output = {.which = 0,
                                           .description = operands->weights,
                                           .joined = operands->weights,
                                           .at = tap_at(shape, 0, 0)};
        return gn_emit_gradients(c, &kernel, node, (int[]){rows, dy}, 2, &output, 1);
    }
    GN_TRY(gn_new_tensor(c, operands->weights, &matrix));
    GN_TRY(gn_emit(c, &kernel, (int[]){rows, dy, matrix}, 3));
    return gn_emit_sparse_gradients(c, fold_replacing, fold_adding, node,
                                    (int[]){v->extra[SOURCE], matrix}, 2, 1);
}

static gerne_status input_gradient(gn_compiler *c, const gn_node *node, const gn_operands *operands,
                                   int dy)
{
    const gn_compiled_value *v = &c->values[node->value];
    gn_kernel kernel;
    int dx, rows;
    GN_TRY(gn_make_inner_product(&c->maker, GN_SOURCE_GRADIENT, &v->forward, operands, false,
                                 &kernel));
    GN_TRY(gn_new_tensor(c, gn_description_of(c, v->extra[SOURCE]), &dx));
    GN_TRY(gn_alias_tensor(c, dx, operands->source, &rows));
    GN_TRY(gn_emit(c, &kernel, (int[]){dy, v->extra[MATRIX], rows}, 3));
    return gn_give_gradient(c, node->inputs[0], dx);
}

gerne_status gn_dense_backward(gn_compiler *c, const gn_node *node)
{
    const gn_compiled_value *v = &c->values[node->value];
    const view shape = view_of(c->program->graph, node, gn_description_of(c, v->extra[SOURCE]));
    gn_operands operands;
    int dy;
    GN_TRY(describe(c, &shape, &operands));
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, gn_description_of(c, v->tensor), &dy));
    GN_TRY(gn_alias_tensor(c, dy, operands.result, &dy));
    if (gn_parameter_trains(c, node, 0))
        GN_TRY(weight_gradient(c, node, &shape, &operands, dy));
    return gn_wants_gradient(c, node->inputs[0]) ? input_gradient(c, node, &operands, dy)
                                                 : GERNE_OK;
}
