/* Every layer and every network against central differences. A new layer is covered by a row in the
 * table of layers, a new network by being in gn_architectures. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "engine/graph.h"
#include "nn/model.h"

enum { BATCH = 3 };

typedef gn_value build_fn(gn_graph *graph);

static gn_value pixels(gn_graph *g, int64_t channels, int64_t height, int64_t width)
{
    return gn_input(g, "pixels", GN_FLOAT32, 3, (int64_t[]){channels, height, width});
}

static gn_value image(gn_graph *g)
{
    return pixels(g, 8, 6, 6);
}

static gn_value features(gn_graph *g, int64_t count)
{
    return gn_input(g, "features", GN_FLOAT32, 1, &count);
}

static gn_value sequence(gn_graph *g)
{
    return gn_input(g, "features", GN_FLOAT32, 2, (int64_t[]){5, 12});
}

static gn_value conv_3x3(gn_graph *g)
{
    gn_convolution c = {.outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
    return gn_average_all(g, gn_convolve(g, image(g), "conv", &c));
}

static gn_value conv_stride(gn_graph *g)
{
    gn_convolution c = {.outputs = 8, .kernel = 1, .stride = 2, .padding = 0};
    return gn_linear(g, gn_convolve(g, image(g), "conv", &c), "fc", 5, false);
}

static gn_value conv_7x7_of_3(gn_graph *g)
{
    gn_convolution c = {.outputs = 16, .kernel = 7, .stride = 2, .padding = 3};
    return gn_average_all(g, gn_convolve(g, pixels(g, 3, 12, 12), "conv", &c));
}

static gn_value conv_odd_channels(gn_graph *g)
{
    gn_convolution c = {.outputs = 5, .kernel = 3, .stride = 1, .padding = 0};
    gn_value x = gn_convolve(g, pixels(g, 7, 6, 6), "a", &c);
    return gn_average_all(g, gn_convolve(g, x, "b", &c));
}

/* Most taps of these kernels only see padding. */
static gn_value conv_of_a_pixel(gn_graph *g)
{
    gn_convolution c = {.outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
    gn_convolution d = {.outputs = 16, .kernel = 3, .stride = 2, .padding = 1};
    gn_value x = gn_convolve(g, pixels(g, 8, 2, 3), "a", &d);
    return gn_average_all(g, gn_convolve(g, x, "b", &c));
}

/* Products with a matrix: from 2 x 2 pixels to as many, to one of them, and from one to one. */
static gn_value conv_of_few_pixels(gn_graph *g)
{
    gn_convolution c = {.outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
    gn_convolution d = {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1};
    gn_value x = gn_convolve(g, pixels(g, 3, 2, 2), "a", &c);
    x = gn_convolve(g, x, "b", &c);
    x = gn_convolve(g, x, "c", &d);
    return gn_average_all(g, gn_convolve(g, x, "d", &c));
}

static gn_value conv_of_an_odd_pixel(gn_graph *g)
{
    gn_convolution c = {.outputs = 5, .kernel = 5, .stride = 1, .padding = 2};
    return gn_average_all(g, gn_convolve(g, pixels(g, 3, 2, 1), "a", &c));
}

static gn_value conv_fixed(gn_graph *g)
{
    static float weights[8][8];
    for (int i = 0; i < 8; i++)
        weights[i][7 - i] = 1;
    gn_convolution c = {.outputs = 8, .kernel = 3, .stride = 1, .padding = 1};
    gn_convolution fixed = {.outputs = 8, .kernel = 1, .stride = 2, .fixed = &weights[0][0]};
    gn_value x = gn_convolve(g, image(g), "conv", &c);
    return gn_linear(g, gn_convolve(g, x, "fixed", &fixed), "fc", 5, false);
}

static gn_value norm(gn_graph *g)
{
    return gn_linear(g, gn_batch_norm(g, image(g), "bn", false), "fc", 5, false);
}

static gn_value norm_relu(gn_graph *g)
{
    return gn_linear(g, gn_batch_norm(g, image(g), "bn", true), "fc", 5, false);
}

/* In blocks of channels, as convolutions leave them; planes of 25 and of 9 pixels. */
static gn_value norm_of_blocks(gn_graph *g)
{
    gn_convolution c = {.outputs = 32, .kernel = 3, .stride = 1, .padding = 0};
    gn_convolution d = {.outputs = 32, .kernel = 3, .stride = 1, .padding = 0};
    gn_value x = gn_convolve(g, pixels(g, 16, 7, 7), "a", &c);
    x = gn_convolve(g, gn_batch_norm(g, x, "bn1", true), "b", &d);
    return gn_average_all(g, gn_batch_norm(g, x, "bn2", false));
}

/* A residual block with a projection, and one without: the sum has two consumers. */
static gn_value norm_add_relu(gn_graph *g)
{
    gn_convolution c = {.outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
    gn_convolution p = {.outputs = 16, .kernel = 1, .stride = 1, .padding = 0};
    gn_value in = pixels(g, 16, 5, 5);
    gn_value x = gn_batch_norm(g, gn_convolve(g, in, "a", &c), "bn1", false);
    gn_value y = gn_batch_norm(g, gn_convolve(g, in, "p", &p), "bn2", false);
    x = gn_add_relu(g, x, y);
    y = gn_add_relu(g, gn_batch_norm(g, gn_convolve(g, x, "b", &c), "bn3", false), x);
    return gn_average_all(g, gn_add(g, gn_batch_norm(g, y, "bn4", false), y));
}

static gn_value linear(gn_graph *g)
{
    return gn_linear(g, features(g, 37), "fc", 11, false);
}

static gn_value linear_relu(gn_graph *g)
{
    gn_value x = gn_linear(g, features(g, 37), "fc1", 23, true);
    return gn_linear(g, x, "fc2", 11, true);
}

static gn_value linear_of_image(gn_graph *g)
{
    gn_convolution c = {.outputs = 8, .kernel = 3, .stride = 1, .padding = 1};
    return gn_linear(g, gn_convolve(g, image(g), "conv", &c), "fc", 7, false);
}

static gn_value max_pool(gn_graph *g)
{
    return gn_linear(g, gn_max_pool(g, image(g), 3, 2, 1), "fc", 5, false);
}

static gn_value average_all(gn_graph *g)
{
    return gn_linear(g, gn_average_all(g, image(g)), "fc", 5, false);
}

static gn_value add_relu(gn_graph *g)
{
    gn_convolution c = {.outputs = 8, .kernel = 3, .stride = 1, .padding = 1};
    gn_value x = gn_convolve(g, image(g), "a", &c);
    gn_value y = gn_add_relu(g, gn_convolve(g, x, "b", &c), x); /* x has two consumers */
    return gn_average_all(g, y);
}

static gn_value concatenate(gn_graph *g)
{
    gn_value x = gn_linear(g, features(g, 37), "fc1", 9, true);
    gn_value y = gn_linear(g, x, "fc2", 5, true); /* x has two consumers */
    return gn_linear(g, gn_concatenate(g, x, y), "fc3", 7, false);
}

static gn_value concatenate_inputs(gn_graph *g)
{
    gn_value x = features(g, 37);
    return gn_concatenate(g, gn_linear(g, x, "fc", 16, false), x);
}

static gn_value linear_of_sequence(gn_graph *g)
{
    return gn_linear(g, gn_linear(g, sequence(g), "fc1", 9, true), "fc2", 7, false);
}

static gn_value add_relu_of_sequences(gn_graph *g)
{
    gn_value x = gn_linear(g, sequence(g), "fc1", 9, false);
    return gn_add_relu(g, gn_linear(g, x, "fc2", 9, false), x);
}

static gn_value two_inputs(gn_graph *g)
{
    gn_convolution c = {.outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
    gn_value a = gn_average_all(g, gn_convolve(g, image(g), "conv", &c));
    return gn_add_relu(g, a, gn_linear(g, features(g, 37), "fc", 16, false));
}

/* One of them goes straight into two layers, the other into none. */
static gn_value two_inputs_added(gn_graph *g)
{
    gn_value x = sequence(g);
    gn_input(g, "mask", GN_FLOAT32, 1, (int64_t[]){5});
    gn_input(g, "tokens", GN_INT32, 1, (int64_t[]){5});
    return gn_add_relu(g, x, gn_linear(g, x, "fc", 12, false));
}

/* ---- transformers: even sequences, and packed ones of 5, 1 and 3 tokens ---- */

enum { WORDS = 13, LONGEST = 5, TOKENS = 11 }; /* two rows belong to no sample */

static gn_value packed(gn_graph *g, gn_sequence *s, double dropout)
{
    gn_value ids = gn_token_input(g, "ids", LONGEST);
    *s = (gn_sequence){gn_span_input(g, "spans"), gn_key_input(g, "keys"), dropout};
    const gn_embedding e = {.word = "word",
                            .position = "position",
                            .segment = "segment",
                            .words = WORDS,
                            .positions = 7,
                            .segments = 2,
                            .width = 12};
    return gn_embed(g, ids, s->spans, &e);
}

static gn_value even(gn_graph *g, gn_sequence *s, double dropout)
{
    *s = (gn_sequence){-1, gn_key_input(g, "keys"), dropout};
    return sequence(g);
}

static gn_value embedding(gn_graph *g)
{
    gn_sequence s;
    gn_value x = packed(g, &s, 0);
    return gn_first_place(g, gn_linear(g, x, "fc", 7, false), s.spans);
}

static gn_value embedding_without_segments(gn_graph *g)
{
    gn_value ids = gn_token_input(g, "ids", LONGEST), spans = gn_span_input(g, "spans");
    gn_key_input(g, "keys");
    return gn_first_place(g,
                          gn_embed(g, ids, spans,
                                   &(gn_embedding){.word = "word",
                                                   .position = "position",
                                                   .words = WORDS,
                                                   .positions = LONGEST,
                                                   .width = 70}),
                          spans);
}

static gn_value mean_of_packed(gn_graph *g)
{
    gn_sequence s;
    gn_value x = packed(g, &s, 0);
    return gn_mean_place(g, gn_linear(g, x, "fc", 7, false), s.spans);
}

static gn_value layer_norm(gn_graph *g)
{
    gn_sequence s;
    return gn_layer_norm(g, gn_linear(g, even(g, &s, 0), "fc", 9, false), "norm", 1e-5);
}

static gn_value layer_norm_of_packed(gn_graph *g)
{
    gn_sequence s;
    gn_value x = gn_layer_norm(g, packed(g, &s, 0), "norm", 1e-5);
    return gn_first_place(g, x, s.spans);
}

static gn_value activation(gn_graph *g, gn_activation kind)
{
    gn_value x = gn_activate(g, gn_linear(g, sequence(g), "fc1", 9, false), kind);
    return gn_linear(g, x, "fc2", 4, false);
}

static gn_value gelu(gn_graph *g)
{
    return activation(g, GN_GELU);
}

static gn_value gelu_tanh(gn_graph *g)
{
    return activation(g, GN_GELU_TANH);
}

static gn_value relu(gn_graph *g)
{
    return activation(g, GN_RELU);
}

static gn_value tangent(gn_graph *g)
{
    return activation(g, GN_TANH);
}

static gn_value residual(gn_graph *g)
{
    gn_value x = gn_linear(g, sequence(g), "fc1", 9, false);
    return gn_activate(g, gn_add(g, gn_linear(g, x, "fc2", 9, false), x), GN_TANH);
}

static gn_value dropout(gn_graph *g)
{
    gn_sequence s;
    gn_value x = gn_dropout(g, gn_linear(g, even(g, &s, 0.4), "fc1", 270, false), &s);
    return gn_linear(g, x, "fc2", 4, false);
}

static gn_value dropped_residual(gn_graph *g)
{
    gn_sequence s;
    gn_value x = packed(g, &s, 0.3);
    x = gn_add_dropped(g, x, gn_linear(g, x, "fc", 12, false), &s);
    return gn_first_place(g, gn_dropout(g, x, &s), s.spans);
}

static gn_value attention(gn_graph *g, gn_value x, int64_t heads, const gn_sequence *s)
{
    const char *const names[] = {"query", "key", "value"};
    return gn_attention(g, gn_linear_joined(g, x, names, 3, 12), heads, s);
}

static gn_value even_attention(gn_graph *g)
{
    gn_sequence s;
    gn_value x = even(g, &s, 0);
    return attention(g, x, 3, &s);
}

static gn_value dropped_attention(gn_graph *g)
{
    gn_sequence s;
    gn_value x = even(g, &s, 0.3);
    return attention(g, x, 4, &s);
}

static gn_value packed_attention(gn_graph *g)
{
    gn_sequence s;
    gn_value x = packed(g, &s, 0.2);
    gn_value y = gn_add(g, x, attention(g, x, 1, &s));
    return gn_first_place(g, gn_layer_norm(g, y, "norm", 1e-5), s.spans);
}

static gn_value patches(gn_graph *g)
{
    gn_convolution c = {.outputs = 8, .kernel = 2, .stride = 2, .padding = 0};
    gn_value x = gn_convolve(g, pixels(g, 3, 6, 4), "proj", &c);
    x = gn_patch_sequence(g, x,
                          &(gn_patches){.token = "token", .position = "position", .bias = "bias"});
    return gn_linear(g, x, "fc", 5, false);
}

static const struct layer_case {
    const char *name;
    build_fn *build;
} layers[] = {
    {"convolution 3x3", conv_3x3},
    {"convolution with stride", conv_stride},
    {"convolution of 3 channels", conv_7x7_of_3},
    {"convolution of odd channels", conv_odd_channels},
    {"convolution of a pixel", conv_of_a_pixel},
    {"convolution of few pixels", conv_of_few_pixels},
    {"convolution of an odd pixel", conv_of_an_odd_pixel},
    {"convolution with fixed weights", conv_fixed},
    {"normalization", norm},
    {"normalization with relu", norm_relu},
    {"normalization of blocks", norm_of_blocks},
    {"normalization with addition and relu", norm_add_relu},
    {"linear", linear},
    {"linear with relu", linear_relu},
    {"linear of an image", linear_of_image},
    {"max pooling", max_pool},
    {"averaging", average_all},
    {"addition with relu", add_relu},
    {"concatenation", concatenate},
    {"concatenation with an input", concatenate_inputs},
    {"linear of a sequence", linear_of_sequence},
    {"addition of sequences", add_relu_of_sequences},
    {"two inputs", two_inputs},
    {"inputs without gradients", two_inputs_added},
    {"embedding", embedding},
    {"embedding without segments", embedding_without_segments},
    {"layer normalization", layer_norm},
    {"layer normalization of packed sequences", layer_norm_of_packed},
    {"mean of packed sequences", mean_of_packed},
    {"GELU", gelu},
    {"GELU by tanh", gelu_tanh},
    {"ReLU", relu},
    {"tanh", tangent},
    {"residual addition", residual},
    {"dropout", dropout},
    {"residual addition with dropout", dropped_residual},
    {"attention", even_attention},
    {"attention with dropout", dropped_attention},
    {"attention of packed sequences", packed_attention},
    {"patches", patches},
};

/* ---- the check ---- */

static const char *const input_names[] = {"pixels", "features"};
enum { INPUTS = sizeof input_names / sizeof input_names[0] };

typedef struct bench {
    gerne_ctx *ctx;
    gn_device *device;
    gn_graph *graph;
    gn_store *store;
    gn_program *program;
    gn_memory *memory;              /* of a packed program, else NULL */
    size_t inputs[INPUTS], outputs; /* 0 for an input that the graph does not have */
    float *x[INPUTS];
    float *direction, *probe; /* the loss is <probe, output> */
    const char *name;
    double tolerance;
    bool along_gradient; /* directions: the gradient's own, or random ones */
} bench;

static void fill(float *values, size_t count, uint64_t index, double scale)
{
    gn_stream s = gn_stream_at(3, GN_RNG_TEST, 0, index);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(scale * gn_random_normal(&s));
}

static void fill_parameters(bench *b)
{
    for (int i = 0; i < gn_store_count(b->store); i++) {
        const gn_parameter *p = gn_store_parameter(b->store, i);
        if (p->role == GN_FIXED)
            continue;
        float *values = calloc((size_t)p->size, sizeof *values);
        double fan_in = p->ndims > 1 ? (double)(p->size / p->dims[0]) : 1;
        fill(values, (size_t)p->size, 100 + (uint64_t)i, p->ndims > 1 ? sqrt(2 / fan_in) : 0.3);
        for (int64_t j = 0; j < p->size; j++)
            if (p->role == GN_SCALE || p->role == GN_VARIANCE)
                values[j] = 1 + 0.2f * tanhf(values[j]);
        assert_ok(b->ctx, gn_store_set(b->ctx, b->store, i, values));
        free(values);
    }
}

static bench open_bench(const char *name, gn_graph *graph, gerne_ctx *ctx, gn_device *device,
                        gn_mode mode, bool deep)
{
    bench b = {.ctx = ctx, .device = device, .graph = graph, .name = name};
    b.along_gradient = deep;
    b.tolerance = deep ? 2.5e-2 : 3e-3; /* in deep networks some ReLU is at its kink */
    assert_ok(ctx, gn_store_new(ctx, device, &graph, 1, BATCH, &b.store));
    if (gn_graph_input_size(graph, "ids")) {
        assert_ok(ctx, gn_memory_new(ctx, &b.memory));
        assert_ok(ctx, gn_program_new_packed(ctx, graph, b.store, BATCH, TOKENS, mode, b.memory,
                                             &b.program));
    } else {
        assert_ok(ctx, gn_program_new(ctx, graph, b.store, BATCH, mode, true, NULL, &b.program));
    }
    for (int i = 0; i < INPUTS; i++) {
        b.inputs[i] = BATCH * (size_t)gn_graph_input_size(graph, input_names[i]);
        b.x[i] = calloc(b.inputs[i] + 1, sizeof *b.x[i]);
        fill(b.x[i], b.inputs[i], 1 + 10 * (uint64_t)i, 1);
    }
    b.outputs = BATCH * (size_t)gn_graph_output_size(graph);
    b.direction = calloc(1 << 24, sizeof *b.direction);
    b.probe = calloc(b.outputs, sizeof *b.probe);
    fill(b.probe, b.outputs, 2, 1);
    fill_parameters(&b);
    return b;
}

static void close_bench(bench *b)
{
    gn_program_close(b->program);
    gn_memory_close(b->memory);
    gn_store_close(b->store);
    gn_graph_close(b->graph);
    for (int i = 0; i < INPUTS; i++)
        free(b->x[i]);
    free(b->direction);
    free(b->probe);
}

static void fill_integers(gn_program *program)
{
    static const int32_t tokens[TOKENS] = {3, 0, 12, 3, 7, 7, 1, 3, 12};
    static const int32_t lengths[BATCH][2] = {{0, 5}, {5, 1}, {6, 3}};
    int32_t *ids = gn_program_input(program, "ids"), *spans = gn_program_input(program, "spans");
    int32_t *keys = gn_program_input(program, "keys");
    if (ids)
        memcpy(ids, tokens, sizeof tokens);
    if (spans)
        memcpy(spans, lengths, sizeof lengths);
    for (int i = 0; keys && i < BATCH * 4; i++)
        keys[i] = 1000 - 77 * i;
}

static double loss(bench *b)
{
    for (int i = 0; i < INPUTS; i++)
        if (b->inputs[i])
            memcpy(gn_program_input(b->program, input_names[i]), b->x[i],
                   b->inputs[i] * sizeof(float));
    fill_integers(b->program);
    assert_ok(b->ctx, gn_program_forward(b->ctx, b->program));
    const float *y = gn_program_output(b->program);
    double sum = 0;
    for (size_t i = 0; i < b->outputs; i++)
        sum += (double)y[i] * (double)b->probe[i];
    return sum;
}

/* ReLU's kinks spoil large steps, rounding spoils small ones; a right gradient agrees at one of
 * them, a wrong one at none. */
static const double steps[] = {1e-3, 3e-3, 3e-4};
enum { STEPS = sizeof steps / sizeof steps[0] };

static void compare(const bench *b, const char *what, const double *differences, double product,
                    double scale)
{
    for (int i = 0; i < STEPS; i++)
        if (fabs(differences[i] - product) <= b->tolerance * scale + 1e-3)
            return;
    print_error("%s, %s: differences %.6g %.6g %.6g, gradient %.6g (scale %.3g)\n", b->name, what,
                differences[0], differences[1], differences[2], product, scale);
    fail();
}

/* A direction of length about 1. Random ones catch every component; the gradient's own stands out
 * of the rounding noise of a deep network. */
static void choose_direction(bench *b, const float *gradient, size_t count, uint64_t index)
{
    fill(b->direction, count, index, 1 / sqrt((double)count));
    if (!b->along_gradient)
        return;
    double norm = 0;
    for (size_t i = 0; i < count; i++)
        norm += (double)gradient[i] * (double)gradient[i];
    for (size_t i = 0; i < count; i++)
        b->direction[i] = (float)((double)gradient[i] / sqrt(norm));
}

static double dot(const float *a, const float *c, size_t count, double *norms)
{
    double sum = 0, na = 0, nc = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)a[i] * (double)c[i];
        na += (double)a[i] * (double)a[i];
        nc += (double)c[i] * (double)c[i];
    }
    *norms = sqrt(na * nc) / sqrt((double)count) * 3;
    return sum;
}

/* The loss with base moved along the direction by step, put in place by set. */
static void move(const float *base, const float *direction, double step, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = base[i] + (float)step * direction[i];
}

static void check_parameter(bench *b, int index)
{
    const gn_parameter *p = gn_store_parameter(b->store, index);
    size_t size = (size_t)p->size;
    float *values = calloc(size, sizeof *values), *gradient = calloc(size, sizeof *gradient);
    float *moved = calloc(size, sizeof *moved);
    assert_ok(b->ctx, gn_store_get(b->ctx, b->store, index, values));
    assert_ok(b->ctx, gn_store_get_gradient(b->ctx, b->store, index, gradient));
    choose_direction(b, gradient, size, 1000 + (uint64_t)index);
    double differences[STEPS], norms, product = dot(gradient, b->direction, size, &norms);
    for (int i = 0; i < STEPS; i++) {
        move(values, b->direction, steps[i], size, moved);
        assert_ok(b->ctx, gn_store_set(b->ctx, b->store, index, moved));
        double above = loss(b);
        move(values, b->direction, -steps[i], size, moved);
        assert_ok(b->ctx, gn_store_set(b->ctx, b->store, index, moved));
        differences[i] = (above - loss(b)) / (2 * steps[i]);
    }
    assert_ok(b->ctx, gn_store_set(b->ctx, b->store, index, values));
    compare(b, p->name, differences, product, norms + fabs(product));
    free(values);
    free(gradient);
    free(moved);
}

static void check_input(bench *b, int input, const float *gradient)
{
    size_t count = b->inputs[input];
    float *base = calloc(count, sizeof *base);
    memcpy(base, b->x[input], count * sizeof *base);
    choose_direction(b, gradient, count, 999);
    double differences[STEPS], norms;
    double product = dot(gradient, b->direction, count, &norms);
    for (int i = 0; i < STEPS; i++) {
        move(base, b->direction, steps[i], count, b->x[input]);
        double above = loss(b);
        move(base, b->direction, -steps[i], count, b->x[input]);
        differences[i] = (above - loss(b)) / (2 * steps[i]);
    }
    memcpy(b->x[input], base, count * sizeof *base);
    compare(b, input_names[input], differences, product, norms + fabs(product));
    free(base);
}

static void check(const char *name, gn_graph *graph, gerne_ctx *ctx, gn_device *device,
                  gn_mode mode, bool deep)
{
    bench b = open_bench(name, graph, ctx, device, mode, deep);
    loss(&b);
    memcpy(gn_program_output_gradient(b.program), b.probe, b.outputs * sizeof(float));
    assert_ok(ctx, gn_program_backward(ctx, b.program, false));
    float *dx[INPUTS] = {NULL};
    for (int i = 0; i < INPUTS; i++)
        if (b.inputs[i]) {
            dx[i] = calloc(b.inputs[i], sizeof *dx[i]);
            memcpy(dx[i], gn_program_input_gradient(b.program, input_names[i]),
                   b.inputs[i] * sizeof *dx[i]);
        }
    int stride = deep ? 1 + gn_store_count(b.store) / 10 : 1; /* deep networks: some of each part */
    for (int i = 0; i < gn_store_count(b.store); i += stride) {
        gn_role role = gn_store_parameter(b.store, i)->role;
        if (role == GN_WEIGHT || role == GN_BIAS || role == GN_SCALE || role == GN_SHIFT)
            check_parameter(&b, i);
    }
    for (int i = 0; i < INPUTS; i++) {
        if (dx[i])
            check_input(&b, i, dx[i]);
        free(dx[i]);
    }
    close_bench(&b);
}

static void test_layers(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        for (int mode = GN_MODE_TRAIN; mode <= GN_MODE_FROZEN; mode++) {
            gn_graph *graph;
            assert_ok(ctx, gn_graph_new(ctx, device, &graph));
            assert_ok(ctx, gn_graph_finish(ctx, graph, layers[i].build(graph)));
            check(layers[i].name, graph, ctx, device, (gn_mode)mode, false);
        }
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

static void test_networks(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    static const int64_t hidden[] = {20, 15};
    for (size_t i = 0; gn_architectures[i]; i++) {
        const gn_architecture *a = gn_architectures[i];
        gn_model_options options = {.arch = a->name,
                                    .hidden = {hidden, 2},
                                    .depth = 2,
                                    .width = 24,
                                    .heads = 3,
                                    .patch = 4,
                                    .inner_dropout = 0.2};
        options.stem = GN_STEM_CIFAR; /* keeps the last maps larger than one pixel */
        gn_graph *graph;
        assert_ok(ctx, gn_graph_new(ctx, device, &graph));
        int64_t side =
            strncmp(a->name, "convnet", 7) == 0 && a->name[7] ? 42 : 8; /* the least it takes */
        gn_sample_shape shape = gn_pixels_shape(3, side, side);
        gn_value input;
        if (a->wants_tokens) {
            shape = gn_tokens_shape(LONGEST);
            shape.fields[0].below = WORDS;
            input = gn_token_input(graph, "ids", LONGEST);
        } else {
            input = a->wants_images ? pixels(graph, 3, side, side) : features(graph, 48);
        }
        if (a->settle)
            assert_ok(ctx, a->settle(ctx, &options, &shape));
        gn_value body = a->body(graph, &options, input);
        assert_ok(ctx, gn_graph_finish(ctx, graph, gn_linear(graph, body, "fc", 7, false)));
        check(a->name, graph, ctx, device, GN_MODE_FROZEN, true);
    }
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
