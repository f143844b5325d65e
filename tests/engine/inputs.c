/* Named inputs: several to a graph, floats and integers, with and without gradients; and what the
 * builder calls refuse. */
#include "testing.h"

#include <string.h>

#include "engine/graph.h"

enum { BATCH = 2, LENGTH = 3, WIDTH = 4 };

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_graph *graph;
    gn_value sequence, features, tokens;
} fixture;

static fixture open_fixture(void)
{
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 1, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_graph_new(f.ctx, f.device, &f.graph));
    f.sequence = gn_input(f.graph, "sequence", GN_FLOAT32, 2, (int64_t[]){LENGTH, WIDTH});
    f.features = gn_input(f.graph, "features", GN_FLOAT32, 1, (int64_t[]){WIDTH});
    f.tokens = gn_input(f.graph, "tokens", GN_INT32, 1, (int64_t[]){LENGTH});
    return f;
}

static void close_fixture(fixture *f)
{
    gn_graph_close(f->graph);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

/* A linear layer with weights 1 on each place of a sequence, while the other inputs lie idle. */
static void test_sequence_is_mapped_place_by_place(void **state)
{
    (void)state;
    fixture f = open_fixture();
    gn_value y = gn_linear(f.graph, f.sequence, "fc", 1, false);
    assert_ok(f.ctx, gn_graph_finish(f.ctx, f.graph, y));
    assert_int_equal(gn_graph_input_size(f.graph, "sequence"), LENGTH * WIDTH);
    assert_int_equal(gn_graph_input_size(f.graph, "features"), WIDTH);
    assert_int_equal(gn_graph_input_size(f.graph, "tokens"), LENGTH);
    assert_int_equal(gn_graph_input_size(f.graph, "pixels"), 0);
    assert_int_equal(gn_graph_output_size(f.graph), LENGTH);
    gn_store *store;
    gn_program *program;
    assert_ok(f.ctx, gn_store_new(f.ctx, f.device, &f.graph, 1, BATCH, &store));
    assert_ok(f.ctx, gn_store_set(f.ctx, store, 0, (float[]){1, 1, 1, 1}));
    assert_ok(f.ctx,
              gn_program_new(f.ctx, f.graph, store, BATCH, GN_MODE_TRAIN, true, NULL, &program));
    float *x = gn_program_input(program, "sequence");
    int32_t *tokens = gn_program_input(program, "tokens");
    memset(tokens, 0xff, BATCH * LENGTH * sizeof *tokens);
    for (int i = 0; i < BATCH * LENGTH * WIDTH; i++)
        x[i] = (float)i;
    assert_ok(f.ctx, gn_program_forward(f.ctx, program));
    for (int i = 0; i < BATCH * LENGTH; i++)
        assert_true(gn_program_output(program)[i] == (float)(WIDTH * WIDTH * i + 6));
    for (int i = 0; i < BATCH * LENGTH; i++)
        gn_program_output_gradient(program)[i] = (float)i;
    assert_ok(f.ctx, gn_program_backward(f.ctx, program, false));
    for (int i = 0; i < BATCH * LENGTH * WIDTH; i++)
        assert_true(gn_program_input_gradient(program, "sequence")[i] == (float)(i / WIDTH));
    assert_null(gn_program_input_gradient(program, "features")); /* nobody reads it */
    assert_null(gn_program_input_gradient(program, "tokens"));
    assert_null(gn_program_input_gradient(program, "pixels"));
    assert_null(gn_program_input(program, "pixels"));
    gn_program_close(program);
    gn_store_close(store);
    close_fixture(&f);
}

static gn_value same_name(fixture *f)
{
    return gn_input(f->graph, "tokens", GN_FLOAT32, 1, (int64_t[]){LENGTH});
}

static gn_value linear_of_integers(fixture *f)
{
    return gn_linear(f->graph, f->tokens, "fc", 3, false);
}

static gn_value pooling_of_a_sequence(fixture *f)
{
    return gn_average_all(f->graph, f->sequence);
}

static gn_value sum_of_different_shapes(fixture *f)
{
    gn_value longer = gn_linear(f->graph, f->features, "fc", WIDTH + 1, false);
    return gn_add_relu(f->graph, f->features, longer);
}

static gn_value output_of_integers(fixture *f)
{
    return f->tokens;
}

static void test_builder_refuses(void **state)
{
    (void)state;
    static const struct {
        gn_value (*build)(fixture *f);
        const char *message;
    } cases[] = {
        {same_name, "'tokens' cannot be an input"},
        {linear_of_integers, "a linear layer takes floats, not integers"},
        {pooling_of_a_sequence, "a pooling takes values of 4 dimensions, not of 3"},
        {sum_of_different_shapes, "an addition takes values of one size"},
        {output_of_integers, "an output takes floats, not integers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = open_fixture();
        gn_value value = cases[i].build(&f);
        assert_int_equal(gn_graph_finish(f.ctx, f.graph, value), GERNE_EINTERNAL);
        assert_string_equal(gerne_message(f.ctx), cases[i].message);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence_is_mapped_place_by_place),
        cmocka_unit_test(test_builder_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
