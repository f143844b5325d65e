#include "testing.h"

#include <math.h>

#include "base/memory.h"

/* Twelve samples, two classes; ties at 0.2 go to the lower index. */
static const int32_t Y[12] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0};
static const float SCORES[12] = {0.9f, 0.1f, 0.2f, 0.8f, 0.2f, 0.7f,
                                 0.6f, 0.9f, 0.2f, 0.3f, 0.5f, 0.95f};
/* class 0: samples 2 4 8 10 6 0 11 by score; class 1: 1 9 5 3 7 */

static int hard_of(gerne_ctx *ctx, const gerne_pseudo *pseudo, double t, bool up, int32_t *a)
{
    assert_ok(ctx, gerne_pseudo_assign(ctx, pseudo, t, up, a));
    int hard = 0;
    for (int i = 0; i < 12; i++) {
        assert_true(a[i] == 0 || a[i] == 1);
        hard += a[i] == 0;
    }
    return hard;
}

static void test_assign(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_pseudo *pseudo;
    int32_t a[12];
    assert_ok(ctx, gerne_pseudo_new(ctx, Y, SCORES, 12, 2, &pseudo));
    /* 0.3 * 7 = 2.1, 0.3 * 5 = 1.5 */
    assert_int_equal(hard_of(ctx, pseudo, 0.3, false, a), 3);
    assert_true(a[2] == 0 && a[4] == 0 && a[8] == 1 && a[1] == 0 && a[9] == 1);
    assert_int_equal(hard_of(ctx, pseudo, 0.3, true, a), 5);
    assert_true(a[8] == 0 && a[10] == 1 && a[9] == 0 && a[5] == 1);
    /* At least one of each class. */
    assert_int_equal(hard_of(ctx, pseudo, 1e-6, false, a), 2);
    assert_true(a[2] == 0 && a[1] == 0);
    /* 0.6 * 5 is 3 although the product of doubles is not: neither floor nor ceiling may slip. */
    assert_int_equal(hard_of(ctx, pseudo, 0.6, false, a), 4 + 3);
    assert_int_equal(hard_of(ctx, pseudo, 0.6, true, a), 5 + 3);
    gerne_pseudo_close(pseudo);
    gerne_ctx_close(ctx);
}

static void test_quality(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_pseudo *pseudo;
    /* Attribute 1 is the minority of class 0 (samples 2, 8) and attribute 0 that of class 1 (1, 7).
     */
    const int32_t truth[12] = {0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0};
    const double t[] = {0.1, 0.45, 0.6};
    gerne_pseudo_quality q[3];
    assert_ok(ctx, gerne_pseudo_new(ctx, Y, SCORES, 12, 2, &pseudo));
    assert_ok(ctx, gerne_pseudo_judge(ctx, pseudo, truth, 2, t, 3, false, q));
    /* t = 0.1: hard are 2 and 1, both right, one of two minority samples each. */
    assert_int_equal(q[0].hard, 2);
    assert_near(q[0].precision, 1, 1e-15);
    assert_near(q[0].recall, 0.5, 1e-15);
    /* t = 0.45: 2 4 8 (2 of 3 right, all found); 1 9 (1 of 2 right, 1 of 2 found). */
    assert_int_equal(q[1].hard, 5);
    assert_near(q[1].precision, (2.0 / 3 + 0.5) / 2, 1e-15);
    assert_near(q[1].recall, (1 + 0.5) / 2, 1e-15);
    /* t = 0.6: 2 4 8 10; 1 9 5. */
    assert_near(q[2].precision, (0.5 + 1.0 / 3) / 2, 1e-15);
    assert_near(q[2].recall, 0.75, 1e-15);
    /* The table must agree with the assignment itself. */
    int32_t a[12];
    assert_int_equal(hard_of(ctx, pseudo, 0.45, false, a), 5);
    assert_true(a[2] == 0 && a[4] == 0 && a[8] == 0 && a[1] == 0 && a[9] == 0);
    gerne_pseudo_close(pseudo);
    gerne_ctx_close(ctx);
}

/* Balanced classes have no minority to find. */
static void test_no_minority(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_pseudo *pseudo;
    const int32_t y[8] = {0, 0, 0, 0, 1, 1, 1, 1}, truth[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    const float scores[8] = {0};
    const double t = 0.5;
    gerne_pseudo_quality q;
    assert_ok(ctx, gerne_pseudo_new(ctx, y, scores, 8, 2, &pseudo));
    assert_ok(ctx, gerne_pseudo_judge(ctx, pseudo, truth, 2, &t, 1, false, &q));
    assert_true(isnan(q.precision) && isnan(q.recall) && q.hard == 4);
    gerne_pseudo_close(pseudo);
    gerne_ctx_close(ctx);
}

static void test_refused(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_pseudo *pseudo;
    int32_t a[12];
    const float broken[2] = {0.5f, NAN};
    const int32_t y[3] = {0, 0, 1}, wrong[12] = {7};
    assert_fails(ctx, GERNE_EUSAGE, "score of sample 1 is not a number",
                 gerne_pseudo_new(ctx, Y, broken, 2, 2, &pseudo));
    assert_null(pseudo);
    assert_fails(ctx, GERNE_EUSAGE, "class y=2 has no samples",
                 gerne_pseudo_new(ctx, Y, SCORES, 12, 3, &pseudo));
    assert_ok(ctx, gerne_pseudo_new(ctx, Y, SCORES, 12, 2, &pseudo));
    static const double ts[] = {0, 1, -0.1, 1.5, NAN};
    for (int i = 0; i < 5; i++)
        assert_fails(ctx, GERNE_EUSAGE, "is outside (0, 1)",
                     gerne_pseudo_assign(ctx, pseudo, ts[i], false, a));
    assert_fails(ctx, GERNE_EUSAGE, "makes all 5 samples of class y=1 hard",
                 gerne_pseudo_assign(ctx, pseudo, 0.85, true, a));
    const double t = 0.5;
    gerne_pseudo_quality q;
    assert_fails(ctx, GERNE_EUSAGE, "sample 0 has attribute 7",
                 gerne_pseudo_judge(ctx, pseudo, wrong, 2, &t, 1, false, &q));
    gerne_pseudo_close(pseudo);
    assert_ok(ctx, gerne_pseudo_new(ctx, y, SCORES, 3, 2, &pseudo));
    assert_fails(ctx, GERNE_EUSAGE, "makes all 1 samples of class y=1 hard",
                 gerne_pseudo_assign(ctx, pseudo, 0.5, false, a));
    assert_string_equal(gerne_hint(ctx), "a class needs at least two samples");
    gerne_pseudo_close(pseudo);
    gerne_ctx_close(ctx);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    for (long n = 1;; n++) {
        gerne_pseudo *pseudo;
        gn_fail_allocation(n);
        gerne_status status = gerne_pseudo_new(ctx, Y, SCORES, 12, 2, &pseudo);
        gn_fail_allocation(0);
        gerne_pseudo_close(pseudo);
        if (status == GERNE_OK) {
            assert_true(n > 8);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign),        cmocka_unit_test(test_quality),
        cmocka_unit_test(test_no_minority),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
