/* Paired comparison: counts and gap by hand, intervals against numpy's (tests/golden/metrics.py).
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "metrics/comparison.h"

static gerne_ctx *ctx;

static int open_ctx(void **state)
{
    (void)state;
    ctx = test_ctx();
    return 0;
}

static int close_ctx(void **state)
{
    (void)state;
    gerne_ctx_close(ctx);
    return 0;
}

/* Adds count samples of group a of class 0, on which the two are right or wrong. */
static void add(gn_predictions *first, gn_predictions *second, int32_t a, size_t count,
                bool first_right, bool second_right)
{
    for (size_t i = 0; i < count; i++) {
        assert_ok(ctx, gn_predictions_add(ctx, first, 0, a, first_right ? 0 : 1, NULL));
        assert_ok(ctx, gn_predictions_add(ctx, second, 0, a, second_right ? 0 : 1, NULL));
    }
}

static void add_pairs(gn_predictions *first, gn_predictions *second, int32_t a,
                      const uint64_t cells[4])
{
    add(first, second, a, cells[0], true, true);
    add(first, second, a, cells[1], true, false);
    add(first, second, a, cells[2], false, true);
    add(first, second, a, cells[3], false, false);
}

static void counts_and_gap_by_hand(void **state)
{
    (void)state;
    gn_predictions first, second;
    gn_predictions_init(&first, 2, 2, false);
    gn_predictions_init(&second, 2, 2, false);
    add_pairs(&first, &second, 0, (const uint64_t[]){4, 4, 1, 1});  /* 8 and 5 of 10 */
    add_pairs(&first, &second, 1, (const uint64_t[]){15, 4, 0, 1}); /* 19 and 15 of 20 */
    gn_comparison c;
    assert_ok(ctx, gn_compare(ctx, &first, &second, 1000, 0, &c));
    assert_near(c.wga_difference, 0.8 - 0.5, 1e-15);
    assert_near(c.gba_difference, (0.8 + 0.95 - 0.5 - 0.75) / 2, 1e-15);
    assert_int_equal(c.all.only_first, 8);
    assert_int_equal(c.all.only_second, 1);
    assert_int_equal(c.all.both, 19);
    assert_int_equal(c.all.neither, 2);
    assert_near(c.mcnemar, 20 / 512.0, 1e-12); /* 2 (1 + 9) / 2^9 */
    assert_int_equal(c.gap_samples, 3 + 1);    /* to 8 of 10 and 16 of 20 */
    gn_comparison back;
    assert_ok(ctx, gn_compare(ctx, &second, &first, 1000, 0, &back));
    assert_int_equal(back.gap_samples, 4);
    assert_near(back.wga_difference, -0.3, 1e-15);
    gn_comparison_free(&back);
    gn_comparison_free(&c);
    gn_predictions_free(&first);
    gn_predictions_free(&second);
}

static void same_predictions_have_no_difference(void **state)
{
    (void)state;
    gn_predictions one;
    gn_predictions_init(&one, 2, 1, false);
    for (int i = 0; i < 30; i++)
        assert_ok(ctx, gn_predictions_add(ctx, &one, i & 1, 0, i % 3 == 0, NULL));
    gn_comparison c;
    assert_ok(ctx, gn_compare(ctx, &one, &one, 500, 0, &c));
    assert_near(c.wga_difference, 0, 0);
    assert_near(c.wga_ci95.lo, 0, 0);
    assert_near(c.gba_ci95.hi, 0, 0);
    assert_near(c.mcnemar, 1, 0);
    assert_int_equal(c.gap_samples, 0);
    gn_comparison_free(&c);
    gn_predictions other;
    gn_predictions_init(&other, 2, 1, false);
    assert_fails(ctx, GERNE_EUSAGE, "30 and 0 predictions",
                 gn_compare(ctx, &one, &other, 500, 0, &c));
    gn_predictions_free(&one);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Ten thousand resamples place a 2.5 % quantile within 0.03 standard deviations or so; one step of
 * the smallest group is added for the jumps of a discrete distribution. */
static void assert_interval(gn_interval got, const json_t *one, const char *key, double sd,
                            double step)
{
    const json_t *wanted = json_object_get(one, key);
    assert_near(got.lo, json_number_value(json_array_get(wanted, 0)), 0.15 * sd + step);
    assert_near(got.hi, json_number_value(json_array_get(wanted, 1)), 0.15 * sd + step);
}

static void check_golden(const json_t *one)
{
    gn_predictions first, second;
    const json_t *groups = json_object_get(one, "groups");
    gn_predictions_init(&first, 2, (int32_t)json_array_size(groups), false);
    gn_predictions_init(&second, 2, first.attributes, false);
    double smallest = INFINITY;
    for (int32_t a = 0; a < first.attributes; a++) {
        uint64_t cells[4];
        double n = 0;
        for (size_t i = 0; i < 4; i++) {
            cells[i] =
                (uint64_t)json_integer_value(json_array_get(json_array_get(groups, (size_t)a), i));
            n += (double)cells[i];
        }
        smallest = fmin(smallest, n);
        add_pairs(&first, &second, a, cells);
    }
    gn_comparison c, again;
    assert_ok(ctx, gn_compare(ctx, &first, &second, GN_RESAMPLES, 0, &c));
    assert_near(c.wga_difference, number(one, "wga_difference"), 1e-12);
    assert_near(c.gba_difference, number(one, "gba_difference"), 1e-12);
    assert_interval(c.wga_ci95, one, "wga_ci95", number(one, "wga_sd"), 1 / smallest);
    assert_interval(c.gba_ci95, one, "gba_ci95", number(one, "gba_sd"), 0);
    assert_ok(ctx, gn_compare(ctx, &first, &second, GN_RESAMPLES, 0, &again));
    assert_memory_equal(&c.wga_ci95, &again.wga_ci95, sizeof c.wga_ci95);
    assert_memory_equal(&c.gba_ci95, &again.gba_ci95, sizeof c.gba_ci95);
    gn_comparison_free(&again);
    assert_ok(ctx, gn_compare(ctx, &first, &second, GN_RESAMPLES, 1, &again));
    assert_memory_not_equal(&c.gba_ci95, &again.gba_ci95, sizeof c.gba_ci95);
    gn_comparison_free(&again);
    gn_comparison_free(&c);
    gn_predictions_free(&first);
    gn_predictions_free(&second);
}

static void intervals_equal_numpys(void **state)
{
    (void)state;
    gn_text bytes = {0};
    json_t *golden;
    assert_ok(ctx,
              gn_file_read(ctx, GERNE_SOURCE_DIR "/tests/golden/metrics.json", 1 << 22, &bytes));
    assert_ok(ctx, gn_json_parse(ctx, bytes.bytes, bytes.size, "metrics.json", &golden));
    gn_text_free(&bytes);
    const json_t *list = json_object_get(golden, "comparisons");
    assert_int_equal(json_array_size(list), 3);
    for (size_t i = 0; i < json_array_size(list); i++)
        check_golden(json_array_get(list, i));
    json_decref(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_gap_by_hand),
        cmocka_unit_test(same_predictions_have_no_difference),
        cmocka_unit_test(intervals_equal_numpys),
    };
    return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
