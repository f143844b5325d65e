/* Winograd's algorithm: a 3x3 convolution and its gradients against the sums of their definition,
 * on images whose sides are no multiples of a tile; and the same bits with one thread and two. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "engine/winograd.h"

enum { BATCH = 9, HEIGHT = 11, WIDTH = 10, PIXELS = HEIGHT * WIDTH, FIRST = 16, IN = 64, OUT = 32 };

typedef struct outcome {
    float result[BATCH * OUT * PIXELS];
    float before[IN * FIRST], weights[OUT * IN * 9]; /* gradients of the two layers' weights */
} outcome;

static float *numbers(size_t count, uint64_t index)
{
    float *out = calloc(count, sizeof *out);
    gn_stream s = gn_stream_at(11, GN_RNG_TEST, 0, index);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)gn_random_normal(&s);
    return out;
}

/* ---- by definition ---- */

typedef struct reference {
    double *images, *result, *by_images; /* what the 3x3 layer reads and writes; a gradient */
    double *before, *weights;
} reference;

static void pointwise(const float *x, const float *w, double *y)
{
    for (int n = 0; n < BATCH; n++)
        for (int o = 0; o < IN; o++)
            for (int p = 0; p < PIXELS; p++)
                for (int i = 0; i < FIRST; i++)
                    y[(n * IN + o) * PIXELS + p] +=
                        (double)w[o * FIRST + i] * (double)x[(n * FIRST + i) * PIXELS + p];
}

static void pointwise_gradient(const float *x, const double *dy, double *dw)
{
    for (int n = 0; n < BATCH; n++)
        for (int o = 0; o < IN; o++)
            for (int p = 0; p < PIXELS; p++)
                for (int i = 0; i < FIRST; i++)
                    dw[o * FIRST + i] +=
                        dy[(n * IN + o) * PIXELS + p] * (double)x[(n * FIRST + i) * PIXELS + p];
}

/* One tap of one pair of channels in one image: forward, and both gradients. */
static void tap(const reference *r, const float *w, const float *dy, int n, int o, int i, int at)
{
    const double *x = r->images + (n * IN + i) * PIXELS;
    double *dx = r->by_images + (n * IN + i) * PIXELS, *y = r->result + (n * OUT + o) * PIXELS;
    const int weight = (o * IN + i) * 9 + at;
    for (int row = 0; row < HEIGHT; row++)
        for (int column = 0; column < WIDTH; column++) {
            int from_row = row + at / 3 - 1, from_column = column + at % 3 - 1;
            if (from_row < 0 || from_row >= HEIGHT || from_column < 0 || from_column >= WIDTH)
                continue;
            int to = row * WIDTH + column, from = from_row * WIDTH + from_column;
            double gradient = (double)dy[(n * OUT + o) * PIXELS + to];
            y[to] += (double)w[weight] * x[from];
            dx[from] += (double)w[weight] * gradient;
            r->weights[weight] += gradient * x[from];
        }
}

static reference refer(const float *x, const float *before, const float *w, const float *dy)
{
    const size_t images = BATCH * IN * PIXELS;
    reference r = {calloc(images, sizeof(double)), calloc(BATCH * OUT * PIXELS, sizeof(double)),
                   calloc(images, sizeof(double)), calloc(IN * FIRST, sizeof(double)),
                   calloc(OUT * IN * 9, sizeof(double))};
    pointwise(x, before, r.images);
    for (int n = 0; n < BATCH; n++)
        for (int o = 0; o < OUT; o++)
            for (int i = 0; i < IN; i++)
                for (int at = 0; at < 9; at++)
                    tap(&r, w, dy, n, o, i, at);
    pointwise_gradient(x, r.by_images, r.before);
    return r;
}

static void free_reference(reference *r)
{
    free(r->images);
    free(r->result);
    free(r->by_images);
    free(r->before);
    free(r->weights);
}

static void check_close(const float *ours, const double *expected, size_t count)
{
    double largest = 0, error = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(expected[i]));
        error = fmax(error, fabs((double)ours[i] - expected[i]));
    }
    assert_true(error <= 2e-5 * largest);
}

/* ---- by a program ---- */

static gn_value convolve(gn_graph *g, gn_value x, const char *name, int64_t outputs, int64_t kernel)
{
    gn_convolution c = {.outputs = outputs, .kernel = kernel, .stride = 1, .padding = kernel / 2};
    return gn_convolve(g, x, name, &c);
}

static void run(int threads, int passes, const float *x, const float *before, const float *w,
                const float *dy, outcome *out)
{
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    gn_graph *graph;
    gn_store *store;
    gn_program *program;
    assert_ok(ctx, gn_device_new(ctx, threads, GN_FP32, &device));
    assert_ok(ctx, gn_graph_new(ctx, device, &graph));
    gn_value value = gn_input(graph, "x", GN_FLOAT32, 3, (int64_t[]){FIRST, HEIGHT, WIDTH});
    value = convolve(graph, convolve(graph, value, "a", IN, 1), "b", OUT, 3);
    assert_ok(ctx, gn_graph_finish(ctx, graph, value));
    const gn_maker maker = {.ctx = ctx, .device = device, .graph = graph, .batch = BATCH};
#ifdef __x86_64__
    bool possible = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    bool possible = false;
#endif
    assert_int_equal(gn_suits_winograd(&maker, &graph->nodes[value]), possible);
    assert_ok(ctx, gn_store_new(ctx, device, &graph, 1, BATCH, &store));
    assert_ok(ctx, gn_store_set(ctx, store, 0, before));
    assert_ok(ctx, gn_store_set(ctx, store, 1, w));
    assert_ok(ctx, gn_program_new(ctx, graph, store, BATCH, GN_MODE_TRAIN, false, NULL, &program));
    for (int i = 0; i < passes; i++) {
        memcpy(gn_program_input(program, "x"), x, BATCH * FIRST * PIXELS * sizeof *x);
        assert_ok(ctx, gn_program_forward(ctx, program));
        memcpy(out->result, gn_program_output(program), sizeof out->result);
        memcpy(gn_program_output_gradient(program), dy, sizeof out->result);
        assert_ok(ctx, gn_program_backward(ctx, program, i > 0));
    }
    assert_ok(ctx, gn_store_get_gradient(ctx, store, 0, out->before));
    assert_ok(ctx, gn_store_get_gradient(ctx, store, 1, out->weights));
    gn_program_close(program);
    gn_store_close(store);
    gn_graph_close(graph);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

static void test_convolution_and_gradients(void **state)
{
    (void)state;
    float *x = numbers(BATCH * FIRST * PIXELS, 1), *before = numbers(IN * FIRST, 2);
    float *w = numbers(OUT * IN * 9, 3), *dy = numbers(BATCH * OUT * PIXELS, 4);
    outcome *one = calloc(3, sizeof *one), *two = one + 1, *twice = one + 2;
    reference r = refer(x, before, w, dy);
    run(1, 1, x, before, w, dy, one);
    check_close(one->result, r.result, BATCH * OUT * PIXELS);
    check_close(one->before, r.before, IN * FIRST);
    check_close(one->weights, r.weights, OUT * IN * 9);
    run(2, 1, x, before, w, dy, two);
    assert_memory_equal(one->result, two->result, sizeof one->result);
    assert_memory_equal(one->weights, two->weights, sizeof one->weights);
    run(2, 2, x, before, w, dy, twice);
    for (int i = 0; i < OUT * IN * 9; i++)
        r.weights[i] *= 2;
    check_close(twice->weights, r.weights, OUT * IN * 9);
    free_reference(&r);
    free(one);
    free(x);
    free(before);
    free(w);
    free(dy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution_and_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
