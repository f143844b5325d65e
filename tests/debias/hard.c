/* Two modes: found where they are, and how many samples of a class are then hard. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "debias/pseudo.h"

enum { MOST = 4000, CLASSES = 3 };

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* One class: so many samples around low, the others around high. */
typedef struct blend {
    size_t n, hard;
    double low, low_sd, high, high_sd;
} blend;

static double draw(const blend *b, size_t i, gn_stream *stream)
{
    return i < b->hard ? b->low + b->low_sd * gn_random_normal(stream)
                       : b->high + b->high_sd * gn_random_normal(stream);
}

static void test_fit_finds_what_was_mixed(void **state)
{
    (void)state;
    static const blend cases[] = {
        {4000, 2000, -3, 1, 3, 1},
        {4000, 200, -4, 2, 3, 1}, /* few and wide */
        {4000, 20, -6, 1, 2, 0.5},
        {4000, 3600, -1, 0.3, 2, 0.5}, /* the lower one is the larger one */
    };
    static double x[MOST];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const blend *b = &cases[c];
        gn_stream stream = gn_stream_at(1, GN_RNG_METHOD, 0, c);
        for (size_t i = 0; i < b->n; i++)
            x[i] = draw(b, i, &stream);
        qsort(x, b->n, sizeof *x, ascending);
        gn_modes m = gn_modes_fit(x, b->n);
        double precision;
        size_t count = gn_modes_count(&m, x, b->n, &precision);
        /* Three standard errors of a mean, and of a share. */
        double hard = (double)b->hard, easy = (double)(b->n - b->hard);
        assert_true(fabs(m.low_mean - b->low) < 3 * b->low_sd / sqrt(hard) + 0.05);
        assert_true(fabs(m.high_mean - b->high) < 3 * b->high_sd / sqrt(easy) + 0.05);
        assert_true(fabs(m.share * (double)b->n - hard) < 0.05 * hard + 2);
        assert_true(fabs((double)count - hard) < 0.05 * hard + 2);
        assert_true(precision > 0.95 && precision <= 1);
        assert_true(gn_modes_low(&m, b->low) > 0.99 && gn_modes_low(&m, b->high) < 0.01);
    }
}

/* Deviations of the higher one, and those that remain when both are pooled. */
static void test_distances(void **state)
{
    (void)state;
    const gn_modes m = {0.25, -2, 4, 4, 2};
    assert_true(gn_modes_distance(&m) == 3);
    assert_true(fabs(gn_modes_pooled_distance(&m) - 6 / sqrt(0.25 * 16 + 0.75 * 4)) < 1e-12);
}

static void find(const blend classes[CLASSES], gn_hard out[CLASSES], int32_t *a)
{
    gerne_ctx *ctx = test_ctx();
    static float scores[CLASSES * MOST];
    static int32_t y[CLASSES * MOST];
    gerne_pseudo *pseudo;
    size_t n = 0;
    for (int32_t c = 0; c < CLASSES; c++) {
        gn_stream stream = gn_stream_at(2, GN_RNG_METHOD, 0, (uint64_t)c);
        for (size_t i = 0; i < classes[c].n; i++) {
            scores[n] = (float)draw(&classes[c], i, &stream);
            y[n++] = c;
        }
    }
    assert_ok(ctx, gerne_pseudo_new(ctx, y, scores, n, CLASSES, &pseudo));
    assert_ok(ctx, gn_hard_find(ctx, pseudo, scores, out));
    gn_hard_assign(pseudo, out, a);
    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t hard = 0;
        for (size_t i = 0; i < n; i++)
            hard += y[i] == (int32_t)c && a[i] == 0;
        assert_int_equal(hard, out[c].count);
    }
    gerne_pseudo_close(pseudo);
    gerne_ctx_close(ctx);
}

static int32_t A[CLASSES * MOST];

/* A class whose modes overlap takes the share of the others when these are the most. */
static void test_unclear_class_takes_the_share_of_others(void **state)
{
    (void)state;
    static const blend classes[CLASSES] = {
        {1000, 50, -5, 1, 4, 1}, {2000, 100, -5, 1, 4, 1}, {1000, 0, 0, 1, 2, 1}};
    gn_hard hard[CLASSES];
    find(classes, hard, A);
    assert_int_equal(hard[0].from, GN_HARD_CLEAR);
    assert_int_equal(hard[0].count, 50);
    assert_int_equal(hard[1].from, GN_HARD_CLEAR);
    assert_int_equal(hard[1].count, 100);
    assert_int_equal(hard[2].from, GN_HARD_OTHERS);
    assert_int_equal(hard[2].count, 50);
    assert_true(isnan(hard[2].precision) && hard[0].precision > 0.99);
    for (size_t i = 0; i < 1000; i++) /* the samples that were mixed in, and no other */
        assert_int_equal(A[i], i >= 50);
}

/* One mode is no shortcut, and one clear class of three does not speak for the others. */
static void test_one_mode_has_nothing_hard(void **state)
{
    (void)state;
    static const blend classes[CLASSES] = {
        {1000, 50, -5, 1, 4, 1}, {1000, 0, 0, 1, 2, 0}, {1000, 300, 0, 1, 2.2, 1}};
    gn_hard hard[CLASSES];
    find(classes, hard, A);
    assert_int_equal(hard[0].from, GN_HARD_CLEAR);
    assert_int_equal(hard[1].from, GN_HARD_NOTHING); /* all scores are equal */
    assert_int_equal(hard[1].count, 0);
    assert_int_equal(hard[2].from, GN_HARD_UNCLEAR);
    assert_true(hard[2].count > 100 && hard[2].count < 600);
}

/* Nor is the larger part of a class a minority. */
static void test_most_of_a_class_is_not_hard(void **state)
{
    (void)state;
    static const blend classes[CLASSES] = {
        {1000, 50, -5, 1, 4, 1}, {1000, 50, -5, 1, 4, 1}, {1000, 700, -5, 1, 4, 1}};
    gn_hard hard[CLASSES];
    find(classes, hard, A);
    assert_int_equal(hard[1].from, GN_HARD_CLEAR);
    assert_int_equal(hard[2].from, GN_HARD_OTHERS);
    assert_int_equal(hard[2].count, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_finds_what_was_mixed),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_unclear_class_takes_the_share_of_others),
        cmocka_unit_test(test_one_mode_has_nothing_hard),
        cmocka_unit_test(test_most_of_a_class_is_not_hard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
