/* The rules that look for groups, against numbers worked out by hand. */
#include "testing.h"

#include <math.h>

#include "methods/group_rules.h"

static void confidence_is_the_largest_probability(void **state)
{
    (void)state;
    /* softmax(ln 1, ln 3, ln 4) = 1/8, 3/8, 1/2 */
    const float logits[] = {0, logf(3), logf(4)};
    assert_near(gn_confidence(logits, 3), 0.5, 1e-6);
    const float huge[] = {1000, 0};
    assert_near(gn_confidence(huge, 2), 1, 0);
}

static void xrm_weighs_classes_alike(void **state)
{
    (void)state;
    /* Losses 1, 2, 4, 6, 5: class 0 has mean 1, class 1 mean 4, class 3 mean 5; the sum is 10. */
    const int32_t labels[] = {0, 1, 1, 1, 3};
    const double losses[] = {1, 2, 4, 6, 5};
    size_t counts[4];
    float weights[5];
    double sum = 0;
    gn_xrm_weights(labels, 5, 4, counts, weights);
    for (int i = 0; i < 5; i++)
        sum += (double)weights[i] * losses[i];
    assert_near(sum, 10, 1e-6);
    assert_near(weights[2], 1.0 / 3, 1e-7);
}

static void xrm_flips_what_is_certain(void **state)
{
    (void)state;
    assert_near(gn_xrm_flip_probability(0.25, 4), 0, 1e-12);
    assert_near(gn_xrm_flip_probability(1, 4), 1, 1e-12);
    assert_near(gn_xrm_flip_probability(0.625, 4), 0.5, 1e-12); /* 3/8 * 4/3 */
    assert_near(gn_xrm_flip_probability(0.9, 2), 0.8, 1e-12);
}

static void mat_expects_classes_by_what_was_said(void **state)
{
    (void)state;
    /* u: certain of 0 twice, halves, certain of 1; labels 0, 1, 1, 1.
     * J[0] = (1, 1 + 1/2) / 4, J[1] = (0, 1/2 + 1) / 4; R[0] = (0.4, 0.6), R[1] = (0, 1). */
    const float u[] = {1, 0, 1, 0, 0.5f, 0.5f, 0, 1};
    const int32_t labels[] = {0, 1, 1, 1};
    double shares[4];
    float shift[8];
    gn_mat_shift(u, labels, 4, 2, shares, shift);
    const double wanted[] = {0.4, 0.6, 0.4, 0.6, 0.2, 0.8, 0, 1};
    for (int i = 0; i < 8; i++)
        assert_near(shift[i], log(wanted[i] + 1e-6), 1e-5);
}

static void ula_remembers_what_went_together(void **state)
{
    (void)state;
    /* Two samples of class 1, said to be 0 with 1 and 1/2: the batch's table is (0, 3/4), (0, 1/4);
     * with memory 1/2 from 1/4 everywhere: (1/8, 1/2), (1/8, 1/4). */
    const float said[] = {1, 0, 0.5f, 0.5f};
    const int32_t labels[] = {1, 1};
    float shares[] = {0.25f, 0.25f, 0.25f, 0.25f}, shift[2];
    gn_ula_update(said, labels, 2, 2, 0.5, shares);
    const float wanted[] = {0.125f, 0.5f, 0.125f, 0.25f};
    assert_close(shares, wanted, 4, 1e-7);
    gn_ula_shift(shares, 2, 2, shift); /* 2 log(1/5), 2 log(4/5) */
    assert_near(shift[0], 2 * log(0.2), 1e-6);
    assert_near(shift[1], 2 * log(0.8), 1e-6);
}

static void mst_takes_a_share_of_each_class(void **state)
{
    (void)state;
    enum { N = 1000 };
    int32_t y[N];
    float chosen[N], other[N];
    size_t counts[3] = {0}, differs = 0;
    for (int i = 0; i < N; i++)
        y[i] = i < 5 ? 0 : i < 105 ? 2 : 1;
    gn_choose_share(y, N, 3, 0.1, 7, chosen);
    gn_choose_share(y, N, 3, 0.1, 8, other);
    for (int i = 0; i < N; i++) {
        counts[y[i]] += chosen[i] != 0;
        differs += chosen[i] != other[i];
    }
    assert_int_equal(counts[0], 1); /* a tenth of 5, rounded up */
    assert_int_equal(counts[1], 90);
    assert_int_equal(counts[2], 10);
    assert_true(differs > 100);
}

static void ecs_learns_what_both_are_sure_of(void **state)
{
    (void)state;
    /* p[y] of the first: 0.8, 0.2, 0.5 in class 0 (above 0.4: the first and third), 0.1 alone in
     * class 1; of the second: 0.4, 0.3, 0.1 (above 0.2: the first two), 0.9. */
    const float p[2][4] = {{0.8f, 0.2f, 0.5f, 0.1f}, {0.4f, 0.3f, 0.1f, 0.9f}};
    const int32_t labels[] = {0, 0, 0, 1};
    float first[4], second[4], weights[2][4], maxima[2];
    for (int i = 0; i < 4; i++) {
        first[i] = -logf(p[0][i]);
        second[i] = -logf(p[1][i]);
    }
    const float *const losses[2] = {first, second};
    float *const out[2] = {weights[0], weights[1]};
    gn_ecs_weights(losses, labels, 4, 2, 0.5, -0.01, maxima, out);
    const float wanted[2][4] = {{0.25f, 0, -0.0025f, 0.25f}, {0.25f, -0.0025f, 0, 0.25f}};
    assert_close(weights[0], wanted[0], 4, 1e-7);
    assert_close(weights[1], wanted[1], 4, 1e-7);
}

static void a_hard_sample_is_taken_for_another_class(void **state)
{
    (void)state;
    const float p[] = {0.7f, 0.1f, 0.2f, 0.7f};
    assert_int_equal(gn_other_class(p, 4, 0), 3);
    assert_int_equal(gn_other_class(p, 4, 3), 0);
    assert_int_equal(gn_other_class(p, 4, 1), 0); /* the first of two */
    assert_int_equal(gn_other_class(p, 2, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confidence_is_the_largest_probability),
        cmocka_unit_test(xrm_weighs_classes_alike),
        cmocka_unit_test(xrm_flips_what_is_certain),
        cmocka_unit_test(mat_expects_classes_by_what_was_said),
        cmocka_unit_test(ula_remembers_what_went_together),
        cmocka_unit_test(mst_takes_a_share_of_each_class),
        cmocka_unit_test(ecs_learns_what_both_are_sure_of),
        cmocka_unit_test(a_hard_sample_is_taken_for_another_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
