/* Ticks, scales, and curves that are thinned while they are read. */
#include "report/scale.h"

#include <math.h>
#include <stdio.h>

#include "report/curves.h"
#include "testing.h"

static void check_ticks(gn_scale scale, const char *wanted)
{
    char found[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < scale.tick_count; i++) {
        char label[32];
        gn_scale_label(&scale, scale.ticks[i], label, sizeof label);
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%s", i ? " " : "", label);
    }
    assert_string_equal(found, wanted);
}

static void test_round_ticks(void **state)
{
    (void)state;
    check_ticks(gn_scale_over(0, 100, false, 4), "0 25 50 75 100");
    check_ticks(gn_scale_over(0.013, 1.37, false, 4), "0 0.5 1.0 1.5");
    check_ticks(gn_scale_over(-1.03, 1.68, false, 6), "-1.5 -1.0 -0.5 0 0.5 1.0 1.5 2.0");
    check_ticks(gn_scale_inside(0, 48000, false, 5), "0 10k 20k 30k 40k");
    check_ticks(gn_scale_inside(3, 17, false, 5), "5 10 15");
    check_ticks(gn_scale_over(0, 1e-6, false, 2), "0 5e-07 1e-06");
    check_ticks(gn_scale_inside(0.00051, 0.11, true, 5), "0.001 0.01 0.1");
    check_ticks(gn_scale_inside(0.001, 0.1, true, 5), "0.001 0.002 0.005 0.01 0.02 0.05 0.1");
}

/* Whatever comes in, there are ticks in order, inside of the range, and the range is a range. */
static void test_any_range_can_be_drawn(void **state)
{
    (void)state;
    const double ends[] = {-INFINITY, -1e300, -1e9, -3.3, -1e-12, 0,     1e-300,   1e-9,
                           0.3,       1,      7.7,  1e5,  1e15,   1e300, INFINITY, NAN};
    size_t count = sizeof ends / sizeof ends[0];
    for (size_t i = 0; i < count * count * 4; i++) {
        double lo = ends[i / 4 % count], hi = ends[i / 4 / count];
        bool log = i % 2, widen = i / 2 % 2;
        gn_scale s = widen ? gn_scale_over(lo, hi, log, 5) : gn_scale_inside(lo, hi, log, 5);
        assert_true(isfinite(s.lo) && isfinite(s.hi) && s.lo < s.hi);
        assert_true(s.tick_count <= GN_TICKS_MAX);
        for (size_t k = 0; k < s.tick_count; k++) {
            assert_true(isfinite(gn_scale_at(&s, s.ticks[k])));
            assert_true(k == 0 || s.ticks[k] > s.ticks[k - 1]);
        }
    }
}

static void test_positions(void **state)
{
    (void)state;
    gn_scale s = gn_scale_over(0, 100, false, 4);
    s.from = 200;
    s.to = 20;
    assert_near(gn_scale_at(&s, 0), 200, 1e-12);
    assert_near(gn_scale_at(&s, 100), 20, 1e-12);
    assert_near(gn_scale_at(&s, 25), 155, 1e-12);
    gn_scale l = gn_scale_inside(0.01, 100, true, 4);
    assert_near(gn_scale_at(&l, 1), 0.5, 1e-12);
}

/* ---- curves ---- */

static void fill(gerne_ctx *ctx, gn_curves *curves, size_t entries)
{
    gn_curves_open(ctx, curves);
    for (size_t i = 1; i <= entries; i++) {
        assert_ok(ctx, gn_curves_entry(curves, (double)i));
        assert_ok(ctx, gn_curves_put(curves, "same", 3));
        assert_ok(ctx, gn_curves_put(curves, "step", (double)i));
        if (i % 2)
            assert_ok(ctx, gn_curves_put(curves, "odd", (double)i));
        assert_ok(ctx, gn_curves_put(curves, "never", NAN));
    }
}

static void test_short_curves_are_exact(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_curves curves;
    fill(ctx, &curves, GN_CURVE_ROWS);
    assert_int_equal(curves.rows, GN_CURVE_ROWS);
    assert_int_equal(curves.per_row, 1);
    assert_int_equal(gn_curves_find(&curves, "never"), -1);
    size_t odd = (size_t)gn_curves_find(&curves, "odd");
    for (size_t i = 0; i < curves.rows; i++) {
        assert_near(gn_curves_at(&curves, 0, i), (double)i + 1, 0);
        assert_true(i % 2 ? isnan(gn_curves_at(&curves, odd, i))
                          : gn_curves_at(&curves, odd, i) == (double)i + 1);
    }
    gn_curves_close(&curves);
    gerne_ctx_close(ctx);
}

static void test_long_curves_are_means(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    for (size_t entries = GN_CURVE_ROWS + 1; entries < 40000; entries = entries * 7 / 3) {
        gn_curves curves;
        fill(ctx, &curves, entries);
        assert_in_range(curves.rows, GN_CURVE_ROWS / 2, GN_CURVE_ROWS);
        size_t step = (size_t)gn_curves_find(&curves, "step");
        size_t same = (size_t)gn_curves_find(&curves, "same");
        double before = 0;
        for (size_t i = 0; i < curves.rows; i++) {
            double end = gn_curves_at(&curves, 0, i);
            assert_near(gn_curves_at(&curves, same, i), 3, 1e-12);
            /* entries before+1 .. end went into this row */
            assert_near(gn_curves_at(&curves, step, i), (before + 1 + end) / 2, 1e-9);
            before = end;
        }
        assert_near(before, (double)entries, 0);
        gn_curves_close(&curves);
    }
    gerne_ctx_close(ctx);
}

static void test_columns_are_limited(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_curves curves;
    char name[64];
    gn_curves_open(ctx, &curves);
    assert_ok(ctx, gn_curves_put(&curves, "before any entry", 1));
    assert_ok(ctx, gn_curves_entry(&curves, 1));
    for (int i = 0; i < 2 * GN_CURVE_COLUMNS; i++) {
        snprintf(name, sizeof name, "column %d", i);
        assert_ok(ctx, gn_curves_put(&curves, name, i));
    }
    assert_ok(ctx, gn_curves_put(&curves, "a name that is longer than any name of ours is", 1));
    assert_int_equal(curves.column_count, GN_CURVE_COLUMNS);
    gn_curves_close(&curves);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_ticks),
        cmocka_unit_test(test_any_range_can_be_drawn),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_short_curves_are_exact),
        cmocka_unit_test(test_long_curves_are_means),
        cmocka_unit_test(test_columns_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
