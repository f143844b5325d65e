/* The figures that the report computes itself: bias of a table, paired differences. */
#include "report/sections.h"

#include <math.h>

#include "testing.h"

static gn_bias bias_of(gerne_ctx *ctx, const uint64_t *counts, size_t rows, size_t columns)
{
    gn_bias bias;
    assert_ok(ctx, gn_bias_of(ctx, counts, rows, columns, &bias));
    return bias;
}

static void test_bias(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    const uint64_t perfect[] = {5, 0, 0, 7}, none[] = {10, 20, 30, 60}, one[] = {3, 4};
    const uint64_t empty[] = {0, 0, 0, 0};
    /* Waterbirds' training groups; phi by hand: (3498 * 1057 - 184 * 56) / sqrt(3682 * 1113 * 3554
     * * 1241). */
    const uint64_t birds[] = {3498, 184, 56, 1057};
    assert_near(bias_of(ctx, perfect, 2, 2).cramers_v, 1, 1e-12);
    assert_near(bias_of(ctx, perfect, 2, 2).guess, 1, 1e-12);
    assert_near(bias_of(ctx, none, 2, 2).cramers_v, 0, 1e-7);
    assert_near(bias_of(ctx, none, 2, 2).guess, 0.75, 1e-12);
    assert_true(isnan(bias_of(ctx, one, 2, 1).cramers_v));
    assert_true(isnan(bias_of(ctx, empty, 2, 2).guess));
    double phi = (3498.0 * 1057 - 184.0 * 56) / sqrt(3682.0 * 1113 * 3554 * 1241);
    assert_near(bias_of(ctx, birds, 2, 2).cramers_v, phi, 1e-12);
    assert_near(bias_of(ctx, birds, 2, 2).guess, (3498.0 + 1057) / 4795, 1e-12);
    gerne_ctx_close(ctx);
}

/* Two classes, one attribute: of the first class 4 samples, of the second 2. */
static gn_run_record record(gerne_ctx *ctx, gn_row_record *rows, const uint32_t *pred)
{
    static const uint32_t group[] = {0, 0, 0, 0, 1, 1};
    for (size_t i = 0; i < 6; i++)
        rows[i] = (gn_row_record){.index = i, .group = group[i], .pred = pred[i]};
    return (gn_run_record){.ctx = ctx, .classes = 2, .attributes = 1, .rows = rows, .row_count = 6};
}

static void test_paired_difference(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_row_record rows[2][6];
    const uint32_t first[] = {0, 0, 1, 1, 1, 1}, other[] = {0, 0, 0, 0, 1, 0};
    gn_run_record a = record(ctx, rows[0], first), b = record(ctx, rows[1], other);
    gn_paired d;
    assert_ok(ctx, gn_paired_difference(&a, &b, &d));
    assert_true(d.there);
    assert_int_equal(d.n, 6);
    assert_int_equal(d.only_first, 1);
    assert_int_equal(d.only_other, 2);
    assert_near(d.wga, 0.5 - 0.5, 1e-12);
    assert_near(d.acc, 5.0 / 6 - 4.0 / 6, 1e-12);
    assert_near(d.gba, (0.5 - 0.5) / 2, 1e-12);
    /* variances (2 - 4/4)/16 and (1 - 1/2)/4 */
    assert_near(d.gba_hi, 1.959963984540054 * sqrt(1.0 / 16 + 0.5 / 4) / 2, 1e-12);
    assert_near(d.gba_lo, -d.gba_hi, 1e-12);
    assert_near(d.mcnemar, 1, 1e-12); /* 1 against 2 of 3 */
    rows[1][3].index = 77;
    assert_ok(ctx, gn_paired_difference(&a, &b, &d));
    assert_false(d.there);
    b.row_count = 0;
    assert_ok(ctx, gn_paired_difference(&a, &b, &d));
    assert_false(d.there);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_paired_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
