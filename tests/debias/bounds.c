#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "debias/bounds.h"
#include "debias/groups.h"

static gerne_groups *table(gerne_ctx *ctx, const int64_t *counts, uint32_t classes,
                           uint32_t attributes)
{
    gerne_groups *groups;
    assert_ok(ctx, gerne_groups_from_counts(ctx, counts, classes, attributes, &groups));
    return groups;
}

static gerne_bounds bounds_of(gerne_ctx *ctx, const gerne_groups *groups, double c)
{
    gerne_bounds bounds;
    assert_ok(ctx, gerne_bounds_of(ctx, groups, c, &bounds));
    return bounds;
}

static const int64_t WATERBIRDS[] = {3498, 184, 56, 1057};
static const int64_t CELEBA[] = {71629, 66874, 22880, 1387};
static const int64_t CIVIL[] = {25373, 31282, 6155, 24292, 10829, 5541, 6785, 12016,
                                4437,  4962,  2265, 2446,  3125,  1003, 3111, 4682};

/* A class of `all` samples, `most` of which have one attribute and the rest the others alike:
 * 9 minority groups must divide the rest, which scaling by 9 ensures. */
static gerne_groups *one_large_group(gerne_ctx *ctx, int64_t most, int64_t all, uint32_t attributes)
{
    int64_t counts[16];
    counts[0] = most * (attributes - 1);
    for (uint32_t a = 1; a < attributes; a++)
        counts[a] = all - most;
    return table(ctx, counts, 1, attributes);
}

/* The table of beta_max in the project's notes on the paper (nominal ratios, released counts). */
static void test_published_figures(void **state)
{
    (void)state;
    static const struct {
        int64_t most, all;
        uint32_t attributes;
        double at_c[3]; /* c = 0.25, 0.5, 1 */
    } rows[] = {
        {995, 1000, 10, {3.446927, 1.223464, 0.111732}},
        {990, 1000, 10, {3.449438, 1.224719, 0.112360}},
        {980, 1000, 10, {3.454545, 1.227273, 0.113636}},
        {950, 1000, 10, {3.470588, 1.235294, 0.117647}},
        {54751, 55000, 10, {3.446691, 1.223346, 0.111673}},
        {54509, 55000, 10, {3.448897, 1.224449, 0.112224}},
        {54014, 55000, 10, {3.453477, 1.226739, 0.113369}},
        {52551, 55000, 10, {3.467578, 1.233789, 0.116894}},
        {995, 1000, 2, {7.040404, 3.020202, 1.010101}},
        {3498, 3682, 2, {7.444176, 3.222088, 1.111044}},
        {22880, 24267, 2, {7.516261, 3.258131, 1.129065}},
        {6101, 6131, 10, {NAN, 1.223437, NAN}},      /* the largest share of the LfF generator */
        {9995, 10000, 2, {NAN, 3.002002, 1.001001}}, /* pseudo-groups: 1 - t */
        {999, 1000, 2, {NAN, 3.004008, 1.002004}},
        {997, 1000, 2, {NAN, 3.012072, 1.006036}},
        {99, 100, 2, {NAN, 3.040816, 1.020408}},
        {9, 10, 2, {NAN, 3.5, 1.25}},
        {3, 4, 2, {NAN, 5, 2}},
    };
    static const double cs[] = {0.25, 0.5, 1};
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gerne_groups *groups = one_large_group(ctx, rows[i].most, rows[i].all, rows[i].attributes);
        for (int k = 0; k < 3; k++)
            if (!isnan(rows[i].at_c[k]))
                assert_near(bounds_of(ctx, groups, cs[k]).beta_max, rows[i].at_c[k], 5.1e-7);
        gerne_groups_close(groups);
    }
    gerne_ctx_close(ctx);
}

static void test_real_tables(void **state)
{
    (void)state;
    static const struct {
        const int64_t *counts;
        uint32_t attributes;
        double c, lower, upper;
        uint32_t y, a;
    } rows[] = {
        {WATERBIRDS, 2, 0.5, -1.222088, 3.222088, 0, 0},
        {WATERBIRDS, 2, 1, -1.111044, 1.111044, 0, 0},
        {WATERBIRDS, 2, 0.25, NAN, 7.444176, 0, 0},
        {CELEBA, 2, 0.5, -1.258131, 3.258131, 1, 0},
        {CELEBA, 2, 1, -1.129065, 1.129065, 1, 0},
        {CIVIL, 8, 1, -1.445604, 0.955385, 0, 1},
        {CIVIL, 8, 0.5, NAN, 2.910769, 0, 1},
        {CIVIL, 8, 0.25, NAN, 6.821539, 0, 1},
    };
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gerne_groups *groups = table(ctx, rows[i].counts, 2, rows[i].attributes);
        gerne_bounds b = bounds_of(ctx, groups, rows[i].c);
        if (!isnan(rows[i].lower))
            assert_near(b.lower, rows[i].lower, 5.1e-7);
        assert_near(b.upper, rows[i].upper, 5.1e-7);
        assert_true(b.binds && b.y == rows[i].y && b.a == rows[i].a);
        gerne_groups_close(groups);
    }
    gerne_ctx_close(ctx);
}

/* Equation 8 as it is printed, in floating point: independent of the code under test. */
static void equation_8(const int64_t *counts, uint32_t classes, uint32_t attributes, double c,
                       double *lower, double *upper)
{
    *lower = -INFINITY;
    *upper = INFINITY;
    for (uint32_t y = 0; y < classes; y++) {
        double all = 0;
        for (uint32_t a = 0; a < attributes; a++)
            all += (double)counts[y * attributes + a];
        for (uint32_t a = 0; a < attributes; a++) {
            double alpha = (double)counts[y * attributes + a] / all, even = 1.0 / attributes;
            if (fabs(alpha - even) < 1e-12)
                continue;
            double i1 = -alpha / (c * (even - alpha)) - 1;
            double i2 = (1 - alpha) / (c * (even - alpha)) - 1;
            *lower = fmax(*lower, fmin(i1, i2));
            *upper = fmin(*upper, fmax(i1, i2));
        }
    }
}

static void check_random_table(gerne_ctx *ctx, gn_stream *stream)
{
    int64_t counts[36] = {0};
    uint32_t classes = 1 + (uint32_t)gn_random_below(stream, 6);
    uint32_t attributes = 2 + (uint32_t)gn_random_below(stream, 5);
    uint64_t largest = gn_random_below(stream, 2) ? 5 : 10000;
    for (uint32_t g = 0; g < classes * attributes; g++)
        counts[g] = 1 + (int64_t)gn_random_below(stream, largest);
    double c = 1 - gn_random_uniform(stream), lower, upper, p[36];
    gerne_groups *groups = table(ctx, counts, classes, attributes);
    gerne_bounds b = bounds_of(ctx, groups, c);
    equation_8(counts, classes, attributes, c, &lower, &upper);
    assert_true(b.binds == isfinite(upper));
    if (b.binds) {
        assert_near(b.beta_max / upper, 1, 1e-9);
        assert_near(b.upper / upper, 1, 1e-9);
        assert_near(b.lower / lower, 1, 1e-9);
        assert_near(c * (b.beta_max + 1), bounds_of(ctx, groups, 1).beta_max + 1,
                    1e-9 * (b.beta_max + 1));
        assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_EXTRAPOLATED, c, b.beta_max, p));
        assert_near(p[b.y * attributes + b.a], 0, 1e-9);
        for (uint32_t y = 0; y < classes; y++) {
            double sum = 0;
            for (uint32_t a = 0; a < attributes; a++) {
                assert_true(p[y * attributes + a] > -1e-9 && p[y * attributes + a] < 1 + 1e-9);
                sum += p[y * attributes + a];
            }
            assert_near(sum, 1, 1e-9);
        }
    }
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_EXTRAPOLATED, c, 1 / c - 1, p));
    for (uint32_t g = 0; g < classes * attributes; g++)
        assert_near(p[g], 1.0 / attributes, 1e-12);
    gerne_groups_close(groups);
}

static void test_random_tables(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < 10000; i++)
        check_random_table(ctx, &stream);
    gerne_ctx_close(ctx);
}

/* A class is balanced over the groups that it has; the example of the notes: .995 over 8 or 10. */
static void test_empty_groups(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    const int64_t counts[20] = {1393, 1, 1, 1, 1, 1, 1, 1, 0, 0, 7};
    gerne_groups *groups = table(ctx, counts, 2, 10);
    assert_int_equal(gn_groups_empty(groups), 11);
    gerne_bounds b = bounds_of(ctx, groups, 0.5);
    assert_near(b.beta_max, 1.287, 5e-4);
    assert_near(b.upper, b.beta_max, 0);
    assert_true(b.y == 0 && b.a == 0); /* the class with one group binds nothing */
    double p[20];
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_LESS_BIASED, 1, 0, p));
    assert_near(p[1], 1.0 / 8, 1e-15);
    assert_near(p[8], 0, 0);
    assert_near(p[10], 1, 0);
    gerne_groups_keep_empty(groups, true);
    b = bounds_of(ctx, groups, 0.5);
    assert_near(b.beta_max, 1 / (0.5 * 0.9) - 1, 1e-12); /* now the class with one group binds */
    assert_true(b.y == 1 && b.a == 0);
    assert_near(b.lower, -1, 0); /* below -1 the empty groups would get negative shares */
    gerne_groups_close(groups);
    const int64_t one[10] = {1393, 1, 1, 1, 1, 1, 1, 1, 0, 0};
    groups = table(ctx, one, 1, 10);
    gerne_groups_keep_empty(groups, true);
    assert_near(bounds_of(ctx, groups, 0.5).beta_max, 1.223, 5e-4);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_nothing_binds(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    const int64_t even[] = {5, 5, 7, 7}, single[] = {5, 9}, half[] = {5, 5, 9, 1};
    gerne_groups *groups = table(ctx, even, 2, 2);
    gerne_bounds b = bounds_of(ctx, groups, 0.5);
    assert_true(!b.binds && isinf(b.upper) && isinf(b.lower) && isinf(b.beta_max));
    assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, 100, 0));
    gerne_groups_close(groups);
    groups = table(ctx, single, 2, 1);
    assert_false(bounds_of(ctx, groups, 0.5).binds);
    gerne_groups_close(groups);
    groups = table(ctx, half, 2, 2); /* the balanced class is left out of the bound */
    b = bounds_of(ctx, groups, 1);
    assert_true(b.binds && b.y == 1 && b.a == 0);
    assert_near(b.beta_max, 1.25, 1e-12);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

typedef struct heard {
    int warnings;
    char last[600];
} heard;

static void hear(void *user, gerne_log_level level, const char *line)
{
    heard *h = user;
    h->warnings += level == GERNE_LOG_WARNING;
    snprintf(h->last, sizeof h->last, "%s", line);
}

static void test_check_beta(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    heard log = {0};
    gerne_set_log(ctx, hear, &log);
    gerne_groups *groups = table(ctx, WATERBIRDS, 2, 2);
    static const double fine[] = {-1, 0, 1, 3.222, 3.2220881110};
    for (int i = 0; i < 5; i++)
        assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, fine[i], 0));
    assert_int_equal(log.warnings, 0);
    assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, -1.2, 0));
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.last, "below -1"));

    const char *const words[] = {"beta 4 is outside [-1.222088, 3.222088] for c = 0.5",
                                 "group y=0, a=0 (95.00 % of its class)", "p_ext = -0.1750"};
    for (int i = 0; i < 3; i++)
        assert_fails(ctx, GERNE_EUSAGE, words[i], gerne_check_beta(ctx, groups, 0.5, 4, 0));
    assert_non_null(strstr(gerne_hint(ctx), "c up to 0.4222 allows this beta"));
    assert_ok(ctx, gerne_check_beta(ctx, groups, 0.4222, 4, 0));
    assert_fails(ctx, GERNE_EUSAGE, "outside", gerne_check_beta(ctx, groups, 0.5, -1.3, 0));
    assert_fails(ctx, GERNE_EUSAGE, "not finite", gerne_check_beta(ctx, groups, 0.5, NAN, 0));
    assert_int_equal(log.warnings, 1);
    assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, 4, GERNE_BEYOND_BOUNDS));
    assert_int_equal(log.warnings, 2);
    assert_fails(ctx, GERNE_EUSAGE, "c 0 is outside (0, 1]",
                 gerne_check_beta(ctx, groups, 0, 1, 0));
    assert_fails(ctx, GERNE_EUSAGE, "c 1.5 is outside (0, 1]",
                 gerne_check_beta(ctx, groups, 1.5, 1, 0));
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* Pseudo-groups: a share of the easy part down to -0.25 passes with a warning. */
static void test_pseudo_cap(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    heard log = {0};
    gerne_set_log(ctx, hear, &log);
    const int64_t counts[] = {3, 997, 3, 997};
    gerne_groups *groups = table(ctx, counts, 2, 2);
    double cap = (0.997 + 0.25) / (0.5 * (0.997 - 0.5)) - 1, p[4];
    assert_near(gn_pseudo_cap(groups, 0.5), cap, 1e-12);
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_EXTRAPOLATED, 0.5, cap, p));
    assert_near(p[1], -0.25, 1e-12);
    assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, 3.01, GERNE_PSEUDO_GROUPS));
    assert_int_equal(log.warnings, 0);
    assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, 3.5, GERNE_PSEUDO_GROUPS));
    assert_int_equal(log.warnings, 1);
    assert_fails(ctx, GERNE_EUSAGE, "outside", gerne_check_beta(ctx, groups, 0.5, 3.5, 0));
    assert_fails(ctx, GERNE_EUSAGE, "4.018", /* the cap is named as the limit */
                 gerne_check_beta(ctx, groups, 0.5, 4.1, GERNE_PSEUDO_GROUPS));
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_proposition_1(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    double alpha = 0.1, q1 = 0.8, q2 = 0.05, c = 0.5, beta;
    /* Beyond both q1 and q2, which no mixture of the two pseudo-groups reaches. */
    static const double targets[] = {0.02, 0.125, 0.5, 0.9};
    for (int i = 0; i < 4; i++) {
        assert_ok(ctx, gerne_beta_target(ctx, alpha, q1, q2, c, targets[i], &beta));
        double p1 = alpha + c * (beta + 1) * (0.5 - alpha);
        assert_near(p1 * q1 + (1 - p1) * q2, targets[i], 1e-12);
    }
    assert_fails(ctx, GERNE_EUSAGE, "same share of the attribute",
                 gerne_beta_target(ctx, 0.1, 0.3, 0.3, c, 0.5, &beta));
    assert_fails(ctx, GERNE_EUSAGE, "the same size",
                 gerne_beta_target(ctx, 0.5, 0.3, 0.4, c, 0.5, &beta));
    assert_fails(ctx, GERNE_EUSAGE, "outside [0, 1]",
                 gerne_beta_target(ctx, 0.1, 0.3, 0.4, c, 1.5, &beta));
    gerne_ctx_close(ctx);
}

/* p_lb times the weight is p_ext; the two-group weights of appendix B follow. */
static void test_weights(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, CIVIL, 2, 8);
    double lb[16], ext[16], w[16];
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_LESS_BIASED, 0.5, 0, lb));
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_EXTRAPOLATED, 0.5, 2, ext));
    assert_ok(ctx, gn_weights_of(ctx, groups, 0.5, 2, w));
    for (int g = 0; g < 16; g++)
        assert_near(lb[g] * w[g], ext[g], 1e-14);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_grid(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, WATERBIRDS, 2, 2);
    gn_beta_list grid;
    assert_ok(ctx, gn_beta_grid(ctx, groups, 0.5, GN_BETA_STEPS, &grid));
    assert_int_equal(grid.count, 13);
    assert_near(grid.items[2], 1, 0);
    assert_near(grid.items[3], 1.2222088, 1e-6);
    assert_near(grid.items[12], 0.99 * 3.222088, 1e-6);
    for (size_t i = 0; i < grid.count; i++) {
        assert_true(i == 0 || grid.items[i] > grid.items[i - 1]);
        assert_ok(ctx, gerne_check_beta(ctx, groups, 0.5, grid.items[i], 0));
    }
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_bad_tables(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups;
    const int64_t negative[] = {1, -2}, zero[] = {0, 0}, row[] = {1, 1, 0, 0};
    const int64_t huge[] = {INT64_MAX, 1};
    const int32_t y[] = {0, 1, 2}, a[] = {0, 1, 1};
    assert_fails(ctx, GERNE_EUSAGE, "y=0, a=1 is negative: -2",
                 gerne_groups_from_counts(ctx, negative, 1, 2, &groups));
    assert_null(groups);
    assert_fails(ctx, GERNE_EUSAGE, "all counts are zero",
                 gerne_groups_from_counts(ctx, zero, 1, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "class y=1 has no samples",
                 gerne_groups_from_counts(ctx, row, 2, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "add up to more than",
                 gerne_groups_from_counts(ctx, huge, 1, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "make no groups",
                 gerne_groups_from_counts(ctx, zero, 0, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "more than",
                 gerne_groups_from_counts(ctx, zero, 1u << 31, 1u << 31, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "sample 2 has class 2, outside 0..1",
                 gerne_groups_from_labels(ctx, y, a, 3, 2, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "sample 1 has attribute 1, outside 0..0",
                 gerne_groups_from_labels(ctx, y, a, 2, 2, 1, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "no attribute of any sample",
                 gerne_groups_from_labels(ctx, y, NULL, 2, 2, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "only one class",
                 gerne_groups_from_labels(ctx, y, a, 1, 1, 2, &groups));
    assert_fails(ctx, GERNE_EUSAGE, "no samples",
                 gerne_groups_from_labels(ctx, y, a, 0, 2, 2, &groups));
    gerne_ctx_close(ctx);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    const int32_t y[] = {0, 1, 1}, a[] = {0, 1, 0};
    const char *const names[] = {"land", "water"};
    for (long n = 1;; n++) {
        gerne_groups *groups;
        gn_fail_allocation(n);
        gerne_status status = gerne_groups_from_labels(ctx, y, a, 3, 2, 2, &groups);
        if (status == GERNE_OK)
            status = gerne_groups_set_names(ctx, groups, names, names);
        gn_fail_allocation(0);
        gerne_groups_close(groups);
        if (status == GERNE_OK) {
            assert_true(n > 7);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_figures), cmocka_unit_test(test_real_tables),
        cmocka_unit_test(test_random_tables),     cmocka_unit_test(test_empty_groups),
        cmocka_unit_test(test_nothing_binds),     cmocka_unit_test(test_check_beta),
        cmocka_unit_test(test_pseudo_cap),        cmocka_unit_test(test_proposition_1),
        cmocka_unit_test(test_weights),           cmocka_unit_test(test_grid),
        cmocka_unit_test(test_bad_tables),        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
