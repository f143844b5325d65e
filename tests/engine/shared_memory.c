/* Programs that share memory: each run starts anew, and a backward pass that another program's
 * forward pass has come before is refused. */
#include "testing.h"

#include "engine/graph.h"

enum { BATCH = 3, WIDTH = 2 };

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_graph *graph;
    gn_store *store;
    gn_memory *memory;
    gn_program *training, *inference;
} fixture;

static gn_program *make(const fixture *f, gn_mode mode)
{
    gn_program *program;
    assert_ok(f->ctx,
              gn_program_new(f->ctx, f->graph, f->store, BATCH, mode, false, f->memory, &program));
    return program;
}

static fixture open_fixture(void)
{
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 1, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_graph_new(f.ctx, f.device, &f.graph));
    gn_value x = gn_input(f.graph, "x", GN_FLOAT32, 1, (int64_t[]){WIDTH});
    assert_ok(f.ctx, gn_graph_finish(f.ctx, f.graph, gn_linear(f.graph, x, "fc", 1, false)));
    assert_ok(f.ctx, gn_store_new(f.ctx, f.device, &f.graph, 1, BATCH, &f.store));
    assert_ok(f.ctx, gn_store_set(f.ctx, f.store, 0, (float[]){2, 3}));
    assert_ok(f.ctx, gn_memory_new(f.ctx, &f.memory));
    f.inference = make(&f, GN_MODE_INFER);
    f.training = make(&f, GN_MODE_TRAIN); /* needs more: the memory moves */
    return f;
}

static void close_fixture(fixture *f)
{
    gn_program_close(f->training);
    gn_program_close(f->inference);
    gn_memory_close(f->memory);
    gn_store_close(f->store);
    gn_graph_close(f->graph);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

static void forward(const fixture *f, gn_program *program, float first)
{
    float *x = gn_program_input(program, "x");
    for (int i = 0; i < BATCH * WIDTH; i++)
        x[i] = first + (float)i;
    assert_ok(f->ctx, gn_program_forward(f->ctx, program));
    for (int i = 0; i < BATCH; i++) {
        float even = first + (float)(WIDTH * i);
        assert_true(gn_program_output(program)[i] == 2 * even + 3 * (even + 1));
    }
}

static gerne_status backward(const fixture *f)
{
    for (int i = 0; i < BATCH; i++)
        gn_program_output_gradient(f->training)[i] = 1;
    return gn_program_backward(f->ctx, f->training, false);
}

static void test_programs_take_turns(void **state)
{
    (void)state;
    fixture f = open_fixture();
    for (int turn = 0; turn < 2; turn++) {
        forward(&f, f.inference, 100);
        forward(&f, f.training, 1);
        assert_ok(f.ctx, backward(&f));
        float gradient[WIDTH];
        assert_ok(f.ctx, gn_store_get_gradient(f.ctx, f.store, 0, gradient));
        assert_true(gradient[0] == 1 + 3 + 5 && gradient[1] == 2 + 4 + 6);
    }
    close_fixture(&f);
}

static void test_backward_after_another_forward(void **state)
{
    (void)state;
    fixture f = open_fixture();
    forward(&f, f.training, 1);
    forward(&f, f.inference, 100);
    assert_int_equal(backward(&f), GERNE_EINTERNAL);
    assert_string_equal(gerne_message(f.ctx), "backward after another program has run forward");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_take_turns),
        cmocka_unit_test(test_backward_after_another_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
