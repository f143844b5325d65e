/* Products that skip zeros: the numbers of their definition for any shape, the same bits for any
 * number of threads; and the layer that chooses between them and dense ones from run to run. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/rng.h"
#include "engine/graph.h"
#include "engine/sparse.h"

static float *numbers(size_t count, double share, uint64_t index)
{
    float *values = calloc(count, sizeof *values);
    assert_non_null(values);
    gn_stream s = gn_stream_at(5, GN_RNG_TEST, 0, index);
    for (size_t i = 0; i < count; i++)
        if (gn_random_uniform(&s) < share)
            values[i] = (float)gn_random_normal(&s);
    return values;
}

/* sum over k of a[k * a_step] b[k * b_step] */
static double product(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t count)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += (double)a[k * a_step] * (double)b[k * b_step];
    return sum;
}

static void assert_sum(double ours, double theirs, int64_t terms)
{
    double limit = 2e-6 * sqrt((double)terms + 1) * 4;
    if (!(fabs(ours - theirs) <= limit * (1 + fabs(theirs))))
        fail_msg("%.9g instead of %.9g", ours, theirs);
}

typedef struct products {
    float *y, *dw;
} products;

static products multiply(const gn_sparse *x, const float *w, const float *bias, int64_t width,
                         bool relu, int threads)
{
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
    products p = {numbers((size_t)(x->rows * width), 1, 8),
                  numbers((size_t)(x->columns * width), 1, 9)};
    assert_true(gn_sparse_find(x));
    gn_sparse_forward(x, w, bias, width, relu, p.y);
    gn_sparse_backward(x, p.y, width, false, p.dw);
    return p;
}

static void check_shape(int64_t rows, int64_t columns, int64_t width, double share, bool relu)
{
    float *x = numbers((size_t)(rows * columns), share, 1);
    float *w = numbers((size_t)(columns * width), 1, 2), *bias = numbers((size_t)width, 1, 3);
    gn_sparse matrix = {x, rows, columns, calloc(1, gn_sparse_size(rows, columns))};
    products one = multiply(&matrix, w, bias, width, relu, 1);
    products three = multiply(&matrix, w, bias, width, relu, 3);
    assert_memory_equal(one.y, three.y, (size_t)(rows * width) * sizeof *one.y);
    assert_memory_equal(one.dw, three.dw, (size_t)(columns * width) * sizeof *one.dw);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++) {
            double y = (double)bias[j] + product(x + i * columns, 1, w + j, width, columns);
            assert_sum((double)one.y[i * width + j], relu && y < 0 ? 0 : y, columns);
        }
    gn_sparse_backward(&matrix, one.y, width, true, one.dw); /* once more on top */
    for (int64_t i = 0; i < columns; i++)
        for (int64_t j = 0; j < width; j++)
            assert_sum((double)one.dw[i * width + j],
                       2 * product(x + i, columns, one.y + j, width, rows), rows);
    free(x);
    free(w);
    free(bias);
    free(matrix.found);
    free(one.y);
    free(one.dw);
    free(three.y);
    free(three.dw);
}

static void test_products(void **state)
{
    (void)state;
    static const int64_t widths[] = {16, 17, 31, 100, 112, 113, 128, 129, 225, 240};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        check_shape(70, 130, widths[i], 0.2, i % 2);
    check_shape(1, 128, 16, 0.1, true);
    check_shape(64, 64, 20, 0, false);
    check_shape(129, 191, 40, 0.35, true);
}

static void test_dense_numbers_are_refused(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = 200 };
    float *x = numbers(ROWS * COLUMNS, 0.9, 1);
    gn_sparse matrix = {x, ROWS, COLUMNS, calloc(1, gn_sparse_size(ROWS, COLUMNS))};
    assert_false(gn_sparse_find(&matrix));
    memset(x, 0, 20 * COLUMNS * sizeof *x); /* the first rows do not decide alone */
    assert_false(gn_sparse_find(&matrix));
    memset(x, 0, 30 * COLUMNS * sizeof *x);
    assert_true(gn_sparse_find(&matrix));
    free(x);
    free(matrix.found);
}

/* Rows of many numbers are left out; the others have the bits that they have alone. */
static void test_rows(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = 200, WIDTH = 36 };
    float *x = numbers(ROWS * COLUMNS, 0.2, 1), *full = numbers(ROWS * COLUMNS, 1, 6);
    float *w = numbers(COLUMNS * WIDTH, 1, 2), *bias = numbers(WIDTH, 1, 3);
    float *y = numbers(ROWS * WIDTH, 0, 7), alone[WIDTH];
    gn_sparse matrix = {x, ROWS, COLUMNS, calloc(1, gn_sparse_size(ROWS, COLUMNS))};
    assert_true(gn_sparse_find_rows(&matrix));
    for (int i = 0; i < ROWS; i += 3)
        memcpy(x + (ptrdiff_t)i * COLUMNS, full, COLUMNS * sizeof *x);
    assert_false(gn_sparse_find_rows(&matrix));
    for (int i = 0; i < ROWS * WIDTH; i++)
        y[i] = 5;
    gn_sparse_forward(&matrix, w, bias, WIDTH, true, y);
    for (int i = 0; i < ROWS; i++) {
        gn_sparse row = {x + (ptrdiff_t)i * COLUMNS, 1, COLUMNS, matrix.found};
        for (int j = 0; j < WIDTH; j++)
            alone[j] = 5;
        assert_int_equal(gn_sparse_find_rows(&row), i % 3 != 0);
        gn_sparse_forward(&row, w, bias, WIDTH, true, alone);
        assert_memory_equal(alone, y + (ptrdiff_t)i * WIDTH, sizeof alone);
        assert_true(i % 3 != 0 || alone[0] == 5);
    }
    free(x);
    free(full);
    free(w);
    free(bias);
    free(y);
    free(matrix.found);
}

enum { BATCH = 33, INPUTS = 150, OUTPUTS = 20 };

typedef struct layer {
    gerne_ctx *ctx;
    gn_device *device;
    gn_graph *graph;
    gn_store *store;
    gn_program *program;
    float weights[OUTPUTS][INPUTS], bias[OUTPUTS];
} layer;

/* The layer on x, in inference as in training. */
static void check_outputs(const layer *l, const float *x)
{
    memcpy(gn_program_input(l->program, "features"), x, sizeof(float) * BATCH * INPUTS);
    assert_ok(l->ctx, gn_program_forward(l->ctx, l->program));
    const float *y = gn_program_output(l->program);
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < OUTPUTS; j++) {
            double value = (double)l->bias[j] +
                           product(x + (ptrdiff_t)i * INPUTS, 1, l->weights[j], 1, INPUTS);
            assert_sum((double)y[i * OUTPUTS + j], value < 0 ? 0 : value, INPUTS);
        }
}

/* Runs the layer on x; sums: what the gradients of weights and bias must be then, and were before.
 */
static void check_run(layer *l, const float *x, bool accumulate, const double *before, double *sums)
{
    static float gradient[OUTPUTS][INPUTS], by_bias[OUTPUTS];
    check_outputs(l, x);
    const float *y = gn_program_output(l->program);
    float *dy = gn_program_output_gradient(l->program);
    for (int i = 0; i < BATCH * OUTPUTS; i++)
        dy[i] = y[i] - 0.5f;
    static float seen[BATCH * OUTPUTS];
    for (int i = 0; i < BATCH * OUTPUTS; i++)
        seen[i] = y[i] > 0 ? dy[i] : 0;
    assert_ok(l->ctx, gn_program_backward(l->ctx, l->program, accumulate));
    assert_ok(l->ctx, gn_store_get_gradient(l->ctx, l->store, 0, &gradient[0][0]));
    assert_ok(l->ctx, gn_store_get_gradient(l->ctx, l->store, 1, by_bias));
    for (int j = 0; j < OUTPUTS; j++) {
        for (int i = 0; i < INPUTS; i++) {
            sums[j * INPUTS + i] = (accumulate ? before[j * INPUTS + i] : 0) +
                                   product(seen + j, OUTPUTS, x + i, INPUTS, BATCH);
            assert_sum((double)gradient[j][i], sums[j * INPUTS + i], BATCH);
        }
        double *bias = &sums[OUTPUTS * INPUTS + j];
        *bias = accumulate ? before[OUTPUTS * INPUTS + j] : 0;
        for (int i = 0; i < BATCH; i++)
            *bias += (double)seen[i * OUTPUTS + j];
        assert_sum((double)by_bias[j], *bias, BATCH);
    }
}

static layer *open_layer(gn_mode mode)
{
    layer *l = calloc(1, sizeof *l);
    int64_t inputs = INPUTS;
    l->ctx = test_ctx();
    assert_ok(l->ctx, gn_device_new(l->ctx, 2, GN_FP32, &l->device));
    assert_ok(l->ctx, gn_graph_new(l->ctx, l->device, &l->graph));
    gn_value x = gn_input(l->graph, "features", GN_FLOAT32, 1, &inputs);
    assert_ok(l->ctx,
              gn_graph_finish(l->ctx, l->graph, gn_linear(l->graph, x, "fc", OUTPUTS, true)));
    assert_ok(l->ctx, gn_store_new(l->ctx, l->device, &l->graph, 1, BATCH, &l->store));
    assert_ok(l->ctx,
              gn_program_new(l->ctx, l->graph, l->store, BATCH, mode, false, NULL, &l->program));
    float *w = numbers(OUTPUTS * INPUTS, 1, 4), *b = numbers(OUTPUTS, 1, 5);
    memcpy(l->weights, w, sizeof l->weights);
    memcpy(l->bias, b, sizeof l->bias);
    assert_ok(l->ctx, gn_store_set(l->ctx, l->store, 0, w));
    assert_ok(l->ctx, gn_store_set(l->ctx, l->store, 1, b));
    free(w);
    free(b);
    return l;
}

static void close_layer(layer *l)
{
    gn_program_close(l->program);
    gn_store_close(l->store);
    gn_graph_close(l->graph);
    gn_device_close(l->device);
    gerne_ctx_close(l->ctx);
    free(l);
}

/* One program takes what comes: sparse, dense, sparse; replacing and adding. */
static void test_layer_chooses(void **state)
{
    (void)state;
    layer *l = open_layer(GN_MODE_TRAIN);
    static double sums[2][OUTPUTS * INPUTS + OUTPUTS];
    static const double shares[] = {0.1, 1, 0.2, 0.9, 0.05};
    for (int i = 0; i < 5; i++) {
        float *sample = numbers(BATCH * INPUTS, shares[i], 20 + (uint64_t)i);
        check_run(l, sample, i != 0 && i != 3, sums[i % 2], sums[1 - i % 2]);
        free(sample);
    }
    close_layer(l);
}

/* In inference a row has the same bits among sparse rows and among dense ones. */
static void test_inference_by_rows(void **state)
{
    (void)state;
    layer *l = open_layer(GN_MODE_INFER);
    float *sparse = numbers(BATCH * INPUTS, 0.2, 30), *full = numbers(BATCH * INPUTS, 1, 31);
    float *mixed = numbers(BATCH * INPUTS, 0, 32);
    float by_sparse[BATCH * OUTPUTS], by_full[BATCH * OUTPUTS];
    check_outputs(l, sparse);
    memcpy(by_sparse, gn_program_output(l->program), sizeof by_sparse);
    check_outputs(l, full);
    memcpy(by_full, gn_program_output(l->program), sizeof by_full);
    for (ptrdiff_t i = 0; i < BATCH; i++)
        memcpy(mixed + i * INPUTS, (i % 2 ? sparse : full) + i * INPUTS, INPUTS * sizeof *mixed);
    check_outputs(l, mixed);
    const float *y = gn_program_output(l->program);
    for (ptrdiff_t i = 0; i < BATCH; i++)
        assert_memory_equal(y + i * OUTPUTS, (i % 2 ? by_sparse : by_full) + i * OUTPUTS,
                            OUTPUTS * sizeof *y);
    free(sparse);
    free(full);
    free(mixed);
    close_layer(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_dense_numbers_are_refused),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_layer_chooses),
        cmocka_unit_test(test_inference_by_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
