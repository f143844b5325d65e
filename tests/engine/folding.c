/* Inference runs convolution, normalisation and addition in one kernel: the results are those of
 * the layers one by one, wherever the shortcut comes from and whoever else reads it. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "engine/graph.h"

enum { BATCH = 3, CHANNELS = 16, SIDE = 8 };

typedef gn_value build_fn(gn_graph *graph, gn_value input);

static gn_value convolve(gn_graph *g, gn_value x, const char *name, int64_t kernel)
{
    gn_convolution c = {.outputs = CHANNELS, .kernel = kernel, .stride = 1, .padding = kernel / 2};
    return gn_convolve(g, x, name, &c);
}

static gn_value chain(gn_graph *g, gn_value x)
{
    x = gn_batch_norm(g, convolve(g, x, "a", 3), "bn1", true);
    return gn_batch_norm(g, convolve(g, x, "b", 1), "bn2", false);
}

static gn_value block(gn_graph *g, gn_value x)
{
    gn_value first = gn_batch_norm(g, convolve(g, x, "a", 3), "bn1", true);
    gn_value y = gn_batch_norm(g, convolve(g, first, "b", 1), "bn2", true);
    return gn_add_relu(g, gn_batch_norm(g, convolve(g, y, "c", 1), "bn3", false), first);
}

/* The convolution reads what its result is added to. */
static gn_value source_is_shortcut(gn_graph *g, gn_value x)
{
    x = gn_batch_norm(g, convolve(g, x, "a", 3), "bn1", true);
    return gn_add_relu(g, gn_batch_norm(g, convolve(g, x, "b", 1), "bn2", false), x);
}

static gn_value shortcut_is_input(gn_graph *g, gn_value x)
{
    gn_value y = gn_batch_norm(g, convolve(g, x, "a", 3), "bn1", true);
    return gn_add(g, gn_batch_norm(g, convolve(g, y, "b", 1), "bn2", false), x);
}

static gn_value shortcut_is_read_again(gn_graph *g, gn_value x)
{
    gn_value first = gn_batch_norm(g, convolve(g, x, "a", 3), "bn1", true);
    gn_value y = gn_batch_norm(g, convolve(g, first, "b", 1), "bn2", true);
    y = gn_add_relu(g, gn_batch_norm(g, convolve(g, y, "c", 1), "bn3", false), first);
    return gn_add_relu(g, gn_batch_norm(g, convolve(g, y, "d", 3), "bn4", false), first);
}

/* A convolution of the shortcut comes before the addition, its normalisation behind it. */
static gn_value shortcut_is_awaited(gn_graph *g, gn_value x)
{
    gn_value first = gn_batch_norm(g, convolve(g, x, "a", 3), "bn1", true);
    gn_value other = convolve(g, first, "b", 1);
    gn_value y = gn_batch_norm(g, convolve(g, x, "c", 3), "bn2", false);
    y = gn_add_relu(g, y, first);
    return gn_add(g, gn_batch_norm(g, other, "bn3", false), y);
}

/* Not only the normalisation reads the convolution: nothing is folded. */
static gn_value convolution_is_read_twice(gn_graph *g, gn_value x)
{
    gn_value y = convolve(g, x, "a", 3);
    return gn_add(g, gn_batch_norm(g, y, "bn1", true), y);
}

static void fill(gerne_ctx *ctx, gn_store *store)
{
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        float *values = calloc((size_t)p->size, sizeof *values);
        gn_stream s = gn_stream_at(5, GN_RNG_TEST, 0, (uint64_t)i);
        for (int64_t j = 0; j < p->size; j++)
            values[j] = 0.3f * (float)gn_random_normal(&s) + (p->role == GN_SCALE);
        for (int64_t j = 0; p->role == GN_VARIANCE && j < p->size; j++)
            values[j] = 0.5f + fabsf(values[j]);
        assert_ok(ctx, gn_store_set(ctx, store, i, values));
        free(values);
    }
}

static void run(gerne_ctx *ctx, gn_graph *graph, gn_store *store, gn_mode mode, float *out)
{
    gn_program *program;
    assert_ok(ctx, gn_program_new(ctx, graph, store, BATCH, mode, false, NULL, &program));
    for (int repeat = 0; repeat < 2; repeat++) { /* what a run overwrites it makes again */
        gn_stream s = gn_stream_at(6, GN_RNG_TEST, 0, 0);
        float *x = gn_program_input(program, "pixels");
        for (int i = 0; i < BATCH * CHANNELS * SIDE * SIDE; i++)
            x[i] = (float)gn_random_normal(&s);
        assert_ok(ctx, gn_program_forward(ctx, program));
    }
    memcpy(out, gn_program_output(program),
           BATCH * (size_t)gn_graph_output_size(graph) * sizeof *out);
    gn_program_close(program);
}

static void check(build_fn *build)
{
    static float folded[BATCH * CHANNELS * SIDE * SIDE], alone[BATCH * CHANNELS * SIDE * SIDE];
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    gn_graph *graph;
    gn_store *store;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    assert_ok(ctx, gn_graph_new(ctx, device, &graph));
    gn_value x = gn_input(graph, "pixels", GN_FLOAT32, 3, (int64_t[]){CHANNELS, SIDE, SIDE});
    assert_ok(ctx, gn_graph_finish(ctx, graph, build(graph, x)));
    assert_ok(ctx, gn_store_new(ctx, device, &graph, 1, BATCH, &store));
    fill(ctx, store);
    run(ctx, graph, store, GN_MODE_INFER, folded);
    run(ctx, graph, store, GN_MODE_FROZEN, alone);
    for (int i = 0; i < BATCH * CHANNELS * SIDE * SIDE; i++)
        assert_float_equal(folded[i], alone[i], 1e-4f * (1 + fabsf(alone[i])));
    gn_store_close(store);
    gn_graph_close(graph);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

static void test_results_are_those_of_the_layers(void **state)
{
    static build_fn *const graphs[] = {chain,
                                       block,
                                       source_is_shortcut,
                                       shortcut_is_input,
                                       shortcut_is_read_again,
                                       shortcut_is_awaited,
                                       convolution_is_read_twice};
    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        check(graphs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_the_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
