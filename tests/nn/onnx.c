/* ONNX files of networks: limits, failures, layers that no architecture of ours uses. What the
 * files compute is tested in tests/export. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "nn/onnx.h"
#include "nn/onnx_layers.h"

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
    char *directory, path[4096];
} fixture;

static fixture open_fixture(const gn_model_options *options, gn_sample_shape shape)
{
    fixture f = {.ctx = test_ctx(), .directory = test_directory()};
    assert_true(snprintf(f.path, sizeof f.path, "%s/a.onnx", f.directory) > 0);
    assert_ok(f.ctx, gn_device_new(f.ctx, 1, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, options, shape, 3, 4, &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 1));
    return f;
}

static void close_fixture(fixture *f)
{
    gn_network_close(f->network);
    gn_device_close(f->device);
    test_remove_directory(f->directory);
    gerne_ctx_close(f->ctx);
}

static gn_model_options mlp(void)
{
    static const int64_t hidden[] = {40};
    return (gn_model_options){.arch = "mlp", .hidden = {(int64_t *)(uintptr_t)hidden, 1}};
}

static void test_size_is_that_of_the_file(void **state)
{
    (void)state;
    const gn_model_options options = mlp();
    fixture f = open_fixture(&options, gn_features_shape(50));
    int64_t size;
    gn_map map;
    assert_ok(f.ctx, gn_network_write_onnx(f.ctx, f.network, f.path, &(gn_onnx_options){0}, &size));
    assert_ok(f.ctx, gn_map_open(f.ctx, f.path, &map));
    assert_int_equal((int64_t)map.size, size);
    assert_in_range(map.size, 4 * (50 * 40 + 40 + 40 * 3 + 3), 10000);
    gn_map_close(&map);
    close_fixture(&f);
}

static void test_a_file_above_the_limit_is_refused(void **state)
{
    (void)state;
    const gn_model_options options = mlp();
    fixture f = open_fixture(&options, gn_features_shape(50));
    int64_t size;
    assert_ok(f.ctx, gn_network_write_onnx(f.ctx, f.network, f.path, &(gn_onnx_options){0}, &size));
    remove(f.path);
    gn_onnx_options small = {.limit = size - 1};
    assert_fails(f.ctx, GERNE_EUSAGE, "an ONNX file holds at most",
                 gn_network_write_onnx(f.ctx, f.network, f.path, &small, NULL));
    assert_false(gn_path_exists(f.path));
    small.limit = size;
    assert_ok(f.ctx, gn_network_write_onnx(f.ctx, f.network, f.path, &small, NULL));
    close_fixture(&f);
}

static void test_numbers_beyond_fp16_are_refused(void **state)
{
    (void)state;
    const gn_model_options options = mlp();
    fixture f = open_fixture(&options, gn_features_shape(5));
    gn_store *store = gn_network_store(f.network);
    float weights[5 * 40] = {[7] = 65505};
    const gn_onnx_options half = {.half = true};
    assert_ok(f.ctx, gn_store_set(f.ctx, store, 0, weights));
    assert_fails(f.ctx, GERNE_EUSAGE, "'fc1.weight.fp16' has the value 65505, and fp16 ends at",
                 gn_network_write_onnx(f.ctx, f.network, f.path, &half, NULL));
    assert_false(gn_path_exists(f.path));
    weights[7] = -65504;
    assert_ok(f.ctx, gn_store_set(f.ctx, store, 0, weights));
    assert_ok(f.ctx, gn_network_write_onnx(f.ctx, f.network, f.path, &half, NULL));
    close_fixture(&f);
}

static int count(const gn_map *map, const char *word)
{
    const unsigned char *at = map->bytes, *end = at + map->size;
    int found = 0;
    for (; (at = memmem(at, (size_t)(end - at), word, strlen(word))); at++)
        found++;
    return found;
}

/* Masks that training draws are no part of the file: the same operators, as often. */
static void test_dropout_leaves_no_trace(void **state)
{
    (void)state;
    gn_model_options options = {.arch = "bert", .depth = 2, .width = 32, .heads = 2};
    gn_sample_shape shape = gn_tokens_shape(12);
    gn_map maps[2];
    shape.fields[0].below = 30;
    for (int i = 0; i < 2; i++) {
        options.inner_dropout = 0.1 * i;
        fixture f = open_fixture(&options, shape);
        assert_ok(f.ctx,
                  gn_network_write_onnx(f.ctx, f.network, f.path, &(gn_onnx_options){0}, NULL));
        assert_ok(f.ctx, gn_map_open(f.ctx, f.path, &maps[i]));
        close_fixture(&f);
    }
    static const char *const words[] = {"Add", "MatMul", "LayerNormalization", "Softmax", "Gemm"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(count(&maps[0], words[i]), count(&maps[1], words[i]));
        assert_true(count(&maps[0], words[i]) > 0);
    }
    assert_int_equal(count(&maps[1], "Dropout"), 0);
    gn_map_close(&maps[0]);
    gn_map_close(&maps[1]);
}

/* Adds one layer to a graph. */
typedef gn_value build_fn(gn_graph *graph, gn_value x);

static bool contains(const gn_text *text, const char *word)
{
    return text->bytes && memmem(text->bytes, text->size, word, strlen(word));
}

/* Which operators one layer on a sequence of 4 places is made of. */
static void check_layer(build_fn *build, const char *used, const char *unused)
{
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    gn_graph *graph;
    gn_onnx_name names[2];
    gn_onnx onnx = {.ctx = ctx};
    assert_ok(ctx, gn_device_new(ctx, 1, GN_FP32, &device));
    assert_ok(ctx, gn_graph_new(ctx, device, &graph));
    gn_value x = gn_input(graph, "x", GN_FLOAT32, 2, (int64_t[]){4, 5});
    assert_ok(ctx, gn_graph_finish(ctx, graph, build(graph, x)));
    gn_onnx_graph g = {
        .onnx = &onnx, .graph = graph, .prefix = "body", .input = "x", .values = names};
    for (gn_value v = 0; v < gn_graph_value_count(graph); v++)
        assert_ok(ctx, gn_onnx_add(&g, v));
    assert_int_equal(onnx.failed, GERNE_OK);
    assert_string_equal(names[gn_graph_output(graph)].text, "body.1");
    assert_true(contains(&onnx.nodes, used));
    assert_false(contains(&onnx.nodes, unused));
    gn_onnx_free(&onnx);
    gn_graph_close(graph);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

static gn_value gelu(gn_graph *graph, gn_value x)
{
    return gn_activate(graph, x, GN_GELU);
}

static gn_value gelu_tanh(gn_graph *graph, gn_value x)
{
    return gn_activate(graph, x, GN_GELU_TANH);
}

static gn_value relu(gn_graph *graph, gn_value x)
{
    return gn_activate(graph, x, GN_RELU);
}

static gn_value hyperbolic(gn_graph *graph, gn_value x)
{
    return gn_activate(graph, x, GN_TANH);
}

static gn_value mean(gn_graph *graph, gn_value x)
{
    return gn_mean_place(graph, x, -1);
}

static void test_layers(void **state)
{
    (void)state;
    check_layer(gelu, "Erf", "Tanh");
    check_layer(gelu_tanh, "Tanh", "Erf");
    check_layer(relu, "Relu", "Mul");
    check_layer(hyperbolic, "Tanh", "Mul");
    check_layer(mean, "ReduceMean", "ReduceSum"); /* all places count */
}

/* The last allocation of a write comes after the file has got its name. */
static bool is_absent_or_whole(fixture *f, int64_t size)
{
    gn_map map;
    if (!gn_path_exists(f->path))
        return true;
    assert_ok(f->ctx, gn_map_open(f->ctx, f->path, &map));
    bool whole = (int64_t)map.size == size;
    gn_map_close(&map);
    return whole;
}

/* Every allocation fails once: a clear status, and nothing half written. */
static void test_allocations_fail(void **state)
{
    (void)state;
    static const float scale[] = {1, 2, 3};
    const gn_model_options model = mlp();
    const gn_metadata metadata = {"key", "value"};
    const gn_onnx_options options = {.scale = scale,
                                     .shift = scale,
                                     .features = true,
                                     .half = true,
                                     .metadata = &metadata,
                                     .metadata_count = 1};
    fixture f = open_fixture(&model, gn_pixels_shape(3, 2, 2));
    gerne_status status = GERNE_ENOMEM;
    int64_t size;
    long n = 0;
    assert_ok(f.ctx, gn_network_write_onnx(f.ctx, f.network, f.path, &options, &size));
    remove(f.path);
    while (status == GERNE_ENOMEM) {
        gn_fail_allocation(++n);
        status = gn_network_write_onnx(f.ctx, f.network, f.path, &options, NULL);
        gn_fail_allocation(0);
        assert_true(is_absent_or_whole(&f, size));
    }
    assert_ok(f.ctx, status);
    assert_in_range(n, 50, 5000);
    close_fixture(&f);
}

static void test_integers_as_varints(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *bytes;
        size_t size;
    } cases[] = {{0, "\x08\x00", 2},
                 {127, "\x08\x7f", 2},
                 {128, "\x08\x80\x01", 3},
                 {300, "\x08\xac\x02", 3}, /* the example of the format's documentation */
                 {-1, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}};
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gn_text text = {0};
        assert_ok(ctx, gn_pb_integer(ctx, &text, 1, cases[i].value));
        assert_int_equal(text.size, cases[i].size);
        assert_memory_equal(text.bytes, cases[i].bytes, cases[i].size);
        gn_text_free(&text);
    }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_is_that_of_the_file),
        cmocka_unit_test(test_a_file_above_the_limit_is_refused),
        cmocka_unit_test(test_numbers_beyond_fp16_are_refused),
        cmocka_unit_test(test_dropout_leaves_no_trace),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_integers_as_varints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
