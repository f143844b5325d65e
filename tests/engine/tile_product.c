/* Products of fp32 on the tiles of AMX: as precise as fp32 for any shape and order, the same bits
 * for any number of threads. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "engine/tile_product.h"

static float *numbers(int64_t count, uint64_t index)
{
    float *values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    gn_stream s = gn_stream_at(5, GN_RNG_TEST, 0, index);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)gn_random_normal(&s);
    return values;
}

static void multiply(gn_tile_product p, int threads)
{
    size_t size = gn_tile_scratch(p.rows, p.columns, p.inner);
    assert_int_equal(size % 64, 0);
    p.scratch = aligned_alloc(64, size);
    assert_non_null(p.scratch);
    memset(p.scratch, 0xff, size); /* NaN: nothing of it may be read before it is written */
    gn_multiply_on_tiles(&p, threads);
    free(p.scratch);
}

static float at(gn_matrix m, int64_t row, int64_t column)
{
    return m.transposed ? m.numbers[column * m.stride + row] : m.numbers[row * m.stride + column];
}

/* The sum of fp32's rounding errors is about this for random signs, and below 8 times this. */
static void assert_entry(const gn_tile_product *p, const float *before, int64_t i, int64_t j)
{
    double sum = p->bias ? (double)p->bias[j] : 0, square = 1;
    if (p->adds)
        sum += (double)before[i * p->result.stride + j];
    for (int64_t k = 0; k < p->inner; k++) {
        double term = (double)at(p->a, i, k) * (double)at(p->b, k, j);
        sum += term;
        square += term * term;
    }
    double limit = 8 * 6e-8 * sqrt(square) * sqrt(1 + (double)p->inner / 8);
    double ours = (double)p->result.numbers[i * p->result.stride + j];
    if (!(fabs(ours - sum) <= limit))
        fail_msg("%lld x %lld x %lld, row %lld, column %lld: %.9g instead of %.9g",
                 (long long)p->rows, (long long)p->columns, (long long)p->inner, (long long)i,
                 (long long)j, ours, sum);
}

/* Rows of the result are further apart than its columns reach: what lies between stays. */
static void check(int64_t rows, int64_t columns, int64_t inner, int kind)
{
    int64_t stride = columns + 3, size = rows * stride;
    bool a_turned = kind & 1, b_turned = kind & 2, adds = kind & 4;
    float *a = numbers(rows * inner, 1), *b = numbers(inner * columns, 2);
    float *bias = numbers(columns, 3), *before = numbers(size, 4), *result = numbers(size, 4);
    float *again = numbers(size, 4);
    gn_tile_product p = {.rows = rows,
                         .columns = columns,
                         .inner = inner,
                         .a = {a, a_turned ? rows : inner, a_turned},
                         .b = {b, b_turned ? inner : columns, b_turned},
                         .result = {.numbers = result, .stride = stride},
                         .bias = adds ? NULL : bias,
                         .adds = adds};
    multiply(p, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            assert_entry(&p, before, i, j);
        for (int64_t j = columns; j < stride; j++)
            assert_true(result[i * stride + j] == before[i * stride + j]);
    }
    p.result.numbers = again;
    multiply(p, 3);
    assert_memory_equal(result, again, (size_t)size * sizeof *result);
    free(a);
    free(b);
    free(bias);
    free(before);
    free(result);
    free(again);
}

static void products_are_those_of_fp32(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1},    {16, 32, 32},   {33, 31, 65},
                                        {64, 96, 33}, {300, 70, 257}, {40, 700, 31}};
    if (!gn_cpu_has_tiles())
        skip();
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int kind = 0; kind < 8; kind++)
            check(shapes[i][0], shapes[i][1], shapes[i][2], kind);
}

/* No bit of a number is lost in its parts, however large or small it is. */
static void a_product_with_one_is_exact(void **state)
{
    (void)state;
    enum { SIDE = 48 };
    float one[SIDE * SIDE] = {0}, result[SIDE * SIDE];
    if (!gn_cpu_has_tiles())
        skip();
    float *a = numbers(SIDE * SIDE, 6);
    for (int i = 0; i < SIDE; i++) {
        one[i * SIDE + i] = 1;
        for (int j = 0; j < SIDE; j++)
            a[i * SIDE + j] = ldexpf(a[i * SIDE + j], 4 * (i - SIDE / 2));
    }
    gn_tile_product p = {.rows = SIDE,
                         .columns = SIDE,
                         .inner = SIDE,
                         .a = {a, SIDE, false},
                         .b = {one, SIDE, false},
                         .result = {result, SIDE, false}};
    multiply(p, 1);
    assert_memory_equal(result, a, sizeof result);
    p.a = (gn_matrix){one, SIDE, false};
    p.b = (gn_matrix){a, SIDE, false};
    multiply(p, 1);
    assert_memory_equal(result, a, sizeof result);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_fp32),
        cmocka_unit_test(a_product_with_one_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
