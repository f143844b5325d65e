/* attention.c - softmax(q k^T / sqrt(d)) v of every head of every sample.
 *
 * A head of a sample is one piece of work: its scores fit the cache, so that they are never stored.
 * Backward computes them again from the logarithm of each row's sum, and draws the same masks. No
 * sum crosses pieces: the result does not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "engine/sequence.h"
#include "engine/threads.h"

typedef struct attention_options {
    gn_sequence sequence;
    uint64_t layer;
    int64_t heads, width, longest; /* width of all heads; longest: places of a sample */
} attention_options;

enum { SOURCE, SUMS }; /* a value's extra tensors */

/* ---- rows of scores ---- */

/* exp(x) of -87 <= x <= 0 to 2e-7, in operations that every vector unit has: 2^n * e^r with |r| <=
 * ln 2 / 2 and a polynomial of degree 7 (Cephes). */
static inline float exponential(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float shifted = x * 1.44269504088896341f + magic, n = shifted - magic;
    float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000u + 127u) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* Below this exponentials are nothing beside the row's largest, which is 1. */
static inline void subtract(float *restrict row, float largest, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        /* A compiled program has its scratch. */
        float x = row[i] - largest; /* NOLINT(clang-analyzer-core.NullDereference) */
        row[i] = x < -87.0f ? -87.0f : x;
    }
}

/* In place; returns the logarithm of the sum of the exponentials. */
GN_WIDE static float softmax(float *restrict row, int64_t count)
{
    float largest = row[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < count; i++)
        largest = row[i] > largest ? row[i] : largest;
    subtract(row, largest, count);
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        row[i] = exponential(row[i]);
        sum += row[i];
    }
    float inverse = 1 / sum;
    for (int64_t i = 0; i < count; i++)
        row[i] *= inverse;
    return largest + logf(sum);
}

GN_WIDE static void multiply(float *restrict row, const float *restrict mask, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        row[i] *= mask[i];
}

/* row: scores -> what the values were weighted with; gradient: that by these weights -> that by the
 * scores before they were scaled. */
GN_WIDE static void softmax_gradient(float *restrict row, float *restrict gradient, float log_sum,
                                     float scale, const float *restrict mask, int64_t count)
{
    float sum = 0;
    if (mask)
        for (int64_t i = 0; i < count; i++)
            gradient[i] *= mask[i];
    subtract(row, log_sum, count);
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        row[i] = exponential(row[i]);
        sum += row[i] * gradient[i];
    }
    for (int64_t i = 0; i < count; i++)
        gradient[i] = scale * row[i] * (gradient[i] - sum);
    if (mask)
        multiply(row, mask, count);
}

/* ---- one head of one sample ---- */

/* A piece of work: where its numbers lie. */
typedef struct piece {
    int64_t sample, head, count, start; /* count: places */
    int64_t width, size, stride;        /* of all heads, of one, of a row of the source */
    float scale;
    float *scratch, *mask; /* two matrices of scores, a row */
} piece;

static gn_matrix part(float *numbers, const piece *p, int which)
{
    return (gn_matrix){.numbers =
                           numbers + p->start * p->stride + which * p->width + p->head * p->size,
                       .stride = p->stride};
}

static gn_matrix head_of(float *numbers, const piece *p)
{
    return (gn_matrix){.numbers = numbers + p->start * p->width + p->head * p->size,
                       .stride = p->width};
}

static gn_matrix transposed(gn_matrix m)
{
    m.transposed = true;
    return m;
}

static gn_matrix scores_of(const piece *p, int which)
{
    return (gn_matrix){.numbers = p->scratch + which * p->count * p->count, .stride = p->count};
}

static const float *mask_of(const gn_masks *masks, const piece *p, int64_t row)
{
    if (!masks->keys)
        return NULL;
    gn_stream stream = gn_mask_start(masks, p->sample, (uint64_t)p->head << 24 | (uint64_t)row);
    for (int64_t i = 0; i < p->count; i += GN_MASK_PIECE)
        gn_mask_next(masks, &stream, p->count - i < GN_MASK_PIECE ? p->count - i : GN_MASK_PIECE,
                     p->mask + i);
    return p->mask;
}

static bool attend(const piece *p, const gn_masks *masks, float *source, float *result, float *sums)
{
    gn_matrix scores = scores_of(p, 0);
    bool fine = gn_multiply_small(p->count, p->count, p->size, (double)p->scale, part(source, p, 0),
                                  transposed(part(source, p, 1)), scores);
    for (int64_t i = 0; i < p->count; i++) {
        float *row = scores.numbers + i * p->count, log_sum = softmax(row, p->count);
        const float *mask = mask_of(masks, p, i);
        if (sums)
            sums[(p->start + i) * (p->width / p->size) + p->head] = log_sum;
        if (mask)
            multiply(row, mask, p->count);
    }
    return gn_multiply_small(p->count, p->size, p->count, 1, scores, part(source, p, 2),
                             head_of(result, p)) &&
           fine;
}

static bool attend_back(const piece *p, const gn_masks *masks, float *source, const float *sums,
                        float *gradient, float *source_gradient)
{
    gn_matrix weights = scores_of(p, 0), scores = scores_of(p, 1);
    gn_matrix result = head_of(gradient, p);
    bool fine = gn_multiply_small(p->count, p->count, p->size, (double)p->scale, part(source, p, 0),
                                  transposed(part(source, p, 1)), weights) &&
                gn_multiply_small(p->count, p->count, p->size, 1, result,
                                  transposed(part(source, p, 2)), scores);
    for (int64_t i = 0; i < p->count; i++)
        softmax_gradient(weights.numbers + i * p->count, scores.numbers + i * p->count,
                         sums[(p->start + i) * (p->width / p->size) + p->head], p->scale,
                         mask_of(masks, p, i), p->count);
    return gn_multiply_small(p->count, p->size, p->count, 1, scores, part(source, p, 1),
                             part(source_gradient, p, 0)) &&
           gn_multiply_small(p->count, p->size, p->count, 1, transposed(scores), part(source, p, 0),
                             part(source_gradient, p, 1)) &&
           gn_multiply_small(p->count, p->size, p->count, 1, transposed(weights), result,
                             part(source_gradient, p, 2)) &&
           fine;
}

/* ---- all of them ---- */

static piece piece_at(const attention_options *o, const gn_layout *layout, int64_t index,
                      float *scratch)
{
    gn_span span = gn_span_of(layout, index / o->heads);
    int64_t size = o->width / o->heads, each = 2 * o->longest * o->longest + o->longest;
    scratch += (int64_t)omp_get_thread_num() * each;
    return (piece){.sample = index / o->heads,
                   .head = index % o->heads,
                   .count = span.count,
                   .start = span.start,
                   .width = o->width,
                   .size = size,
                   .stride = 3 * o->width,
                   .scale = (float)(1 / sqrt((double)size)),
                   .scratch = scratch,
                   .mask = scratch + 2 * o->longest * o->longest};
}

static void clear_rest(const gn_layout *layout, float *numbers, int64_t width)
{
    int64_t used = gn_rows_used(layout);
    memset(numbers + used * width, 0, (size_t)((layout->rows - used) * width) * sizeof *numbers);
}

/* spans, keys, scratch, source, result, sums (or -1) */
static void run(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    const attention_options *o = call->node->options;
    const gn_layout layout = gn_layout_of(program, t[0], call->node);
    const gn_masks masks = gn_masks_of(program, t[1], o->layer, o->sequence.dropout);
    float *scratch = gn_tensor_data(program, t[2]), *source = gn_tensor_data(program, t[3]),
          *result = gn_tensor_data(program, t[4]);
    float *sums = t[5] < 0 ? NULL : gn_tensor_data(program, t[5]);
    bool fine = true;
#pragma omp parallel for schedule(dynamic) num_threads(gn_device_threads(program->device))         \
    reduction(&& : fine)
    for (int64_t i = 0; i < layout.samples * o->heads; i++) {
        const piece p = piece_at(o, &layout, i, scratch);
        if (p.count > 0)
            fine = attend(&p, &masks, source, result, sums) && fine;
    }
    clear_rest(&layout, result, o->width);
    program->failed = program->failed || !fine;
}

/* spans, keys, scratch, source, sums, d result, d source */
static void run_back(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    const attention_options *o = call->node->options;
    const gn_layout layout = gn_layout_of(program, t[0], call->node);
    const gn_masks masks = gn_masks_of(program, t[1], o->layer, o->sequence.dropout);
    float *scratch = gn_tensor_data(program, t[2]), *source = gn_tensor_data(program, t[3]);
    const float *sums = gn_tensor_data(program, t[4]);
    float *gradient = gn_tensor_data(program, t[5]),
          *source_gradient = gn_tensor_data(program, t[6]);
    bool fine = true;
#pragma omp parallel for schedule(dynamic) num_threads(gn_device_threads(program->device))         \
    reduction(&& : fine)
    for (int64_t i = 0; i < layout.samples * o->heads; i++) {
        const piece p = piece_at(o, &layout, i, scratch);
        if (p.count > 0)
            fine = attend_back(&p, &masks, source, sums, gradient, source_gradient) && fine;
    }
    clear_rest(&layout, source_gradient, 3 * o->width);
    program->failed = program->failed || !fine;
}

static gerne_status new_numbers(gn_compiler *c, int64_t count, int *out)
{
    const gn_description *description;
    GN_TRY(gn_describe(&c->maker, GN_FLOAT32, 1, &count, GN_PLAIN_ORDER, &description));
    return gn_new_tensor(c, description, out);
}

static gerne_status new_scratch(gn_compiler *c, const attention_options *o, int *out)
{
    int64_t each = 2 * o->longest * o->longest + o->longest;
    return new_numbers(c, gn_device_threads(c->program->device) * each, out);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const attention_options *o = node->options;
    const gn_node *input = &c->program->graph->nodes[node->inputs[0]];
    gn_compiled_value *v = &c->values[node->value];
    int scratch, y, *extra = v->extra;
    int64_t rows = gn_rows_of(&c->maker, node) * (node->ndims == 3 ? node->dims[1] : 1);
    GN_TRY(gn_as_floats(c, input, c->values[node->inputs[0]].tensor, &extra[SOURCE]));
    GN_TRY(new_scratch(c, o, &scratch));
    GN_TRY(gn_new_floats(c, node, &y));
    extra[SUMS] = -1;
    if (c->program->mode != GN_MODE_INFER)
        GN_TRY(new_numbers(c, rows * o->heads, &extra[SUMS]));
    const int tensors[] = {gn_span_tensor(c, node, &o->sequence),
                           gn_key_tensor(c, node, &o->sequence),
                           scratch,
                           extra[SOURCE],
                           y,
                           extra[SUMS]};
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = run, .node = node}, tensors, 6));
    return gn_from_floats(c, node, y, &v->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const attention_options *o = node->options;
    const gn_node *input = &c->program->graph->nodes[node->inputs[0]];
    const int *extra = c->values[node->value].extra;
    int scratch, dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    GN_TRY(new_scratch(c, o, &scratch));
    GN_TRY(gn_new_floats(c, input, &dx));
    const int tensors[] = {gn_span_tensor(c, node, &o->sequence),
                           gn_key_tensor(c, node, &o->sequence),
                           scratch,
                           extra[SOURCE],
                           extra[SUMS],
                           dy,
                           dx};
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = run_back, .node = node}, tensors, 7));
    GN_TRY(gn_from_floats(c, input, dx, &dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const attention_options *options = node->options;
    out->kind = GN_OP_ATTENTION;
    out->heads = options->heads;
}

static const gn_layer attention_layer = {
    .name = "attention",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_attention(gn_graph *graph, gn_value joined, int64_t heads, const gn_sequence *sequence)
{
    const gn_node *in = gn_operand_at(graph, joined, GN_FLOAT32, 0, "attention");
    if (!in || !gn_check_sequence(graph, in, sequence, "attention"))
        return -1;
    int64_t width = in->dims[in->ndims - 1] / 3;
    if (!(in->packed || in->ndims == 3) || heads < 1 || in->dims[in->ndims - 1] % (3 * heads)) {
        graph->failed =
            gn_fail(graph->ctx, GERNE_EUSAGE, "a width of %lld cannot be divided into %lld heads",
                    (long long)width, (long long)heads);
        return -1;
    }
    const attention_options options = {.sequence = *sequence,
                                       .layer = graph->masked_layers,
                                       .heads = heads,
                                       .width = width,
                                       .longest = in->packed ? graph->longest : in->dims[1]};
    graph->masked_layers += sequence->dropout > 0;
    int64_t dims[3] = {1, in->packed ? width : in->dims[1], width};
    double longest = (double)options.longest;
    gn_value value = gn_add_node(graph, &attention_layer, &joined, 1, in->packed ? 2 : 3, dims,
                                 &options, sizeof options);
    if (value >= 0)
        graph->nodes[value].flops = 4 * longest * longest * (double)width;
    return value;
}
