/* The update rules of methods against numbers worked out by hand from their papers' formulas. */
#include "testing.h"

#include <math.h>

#include "methods/rules.h"

static void group_dro_moves_q_to_the_worst_group(void **state)
{
    (void)state;
    /* eta = 1, losses ln 2 and ln 4: q = (1/2 * 2, 1/2 * 4) / 3 = (1/3, 2/3) */
    float q[2] = {0.5f, 0.5f};
    const double losses[2] = {log(2), log(4)};
    const bool both[2] = {true, true};
    gn_groupdro_update(q, losses, both, 2, 1);
    assert_near(q[0], 1.0 / 3, 1e-7);
    assert_near(q[1], 2.0 / 3, 1e-7);
}

static void group_dro_keeps_the_share_of_absent_groups(void **state)
{
    (void)state;
    /* SubpopBench starts at ones: (1 * 2, 1, 1) / 4; the loss of absent groups is not looked at. */
    float q[3] = {1, 1, 1};
    const double losses[3] = {log(2), 50, 50};
    const bool first[3] = {true, false, false};
    gn_groupdro_update(q, losses, first, 3, 1);
    assert_near(q[0], 0.5, 1e-7);
    assert_near(q[1], 0.25, 1e-7);
    assert_near(q[2], 0.25, 1e-7);
}

static void gce_weighs_by_q_p_to_the_q(void **state)
{
    (void)state;
    /* p = 1/4, q = 1/2: 1/2 * sqrt(1/4) = 1/4 */
    assert_near(gn_gce_factor((float)log(4), 0.5), 0.25, 1e-6);
    assert_near(gn_gce_factor(0, 0.7), 0.7, 1e-6);
}

/* The gradient of (1 - p^q) / q with respect to the cross-entropy is p^q; ours is q times that. */
static void gce_is_q_times_the_textbook_gradient(void **state)
{
    (void)state;
    const double q = 0.7, step = 1e-4;
    for (double ce = 0.1; ce < 4; ce += 0.7) {
        double up = (1 - exp(-q * (ce + step))) / q, down = (1 - exp(-q * (ce - step))) / q;
        assert_near(gn_gce_factor((float)ce, q), q * (up - down) / (2 * step), 1e-6);
    }
}

static void lff_takes_the_first_loss_as_it_is(void **state)
{
    (void)state;
    assert_near(gn_lff_mean(0, false, 3, 0.7), 3, 1e-6);
    assert_near(gn_lff_mean(3, true, 1, 0.7), 0.7 * 3 + 0.3 * 1, 1e-6);
}

static void lff_looks_at_the_largest_of_the_class(void **state)
{
    (void)state;
    const float values[] = {0.5f, 2, 0, 0.25f, 1};
    const int32_t y[] = {0, 1, 2, 0, 1};
    float maxima[3];
    gn_class_maxima(values, y, 5, 3, maxima);
    assert_near(maxima[0], 0.5, 0);
    assert_near(maxima[1], 2, 0);
    assert_near(maxima[2], 0, 0); /* never visited */
    assert_near(gn_lff_weight(0.75f, 0.25f), 0.75, 1e-6);
    assert_near(gn_lff_weight(0, 0), 0, 0);
}

static void focal_counts_easy_samples_less(void **state)
{
    (void)state;
    /* p = 1/2, gamma = 2: 1/4 ln 2; slope 1/4 + 2 1/2 1/2 ln 2 */
    assert_near(gn_focal_loss((float)log(2), 2), 0.25 * log(2), 1e-7);
    assert_near(gn_focal_slope((float)log(2), 2), 0.25 + 0.5 * log(2), 1e-6);
    assert_near(gn_focal_loss(1.5f, 0), 1.5, 0);
    assert_near(gn_focal_slope(1.5f, 0), 1, 1e-7);
}

static void focal_differentiates_its_factor(void **state)
{
    (void)state;
    const double gammas[] = {0.5, 1, 2, 5}, step = 1e-3;
    for (int g = 0; g < 4; g++)
        for (double ce = 0.05; ce < 4; ce += 0.35) {
            double up = (double)gn_focal_loss((float)(ce + step), gammas[g]);
            double down = (double)gn_focal_loss((float)(ce - step), gammas[g]);
            assert_near(gn_focal_slope((float)ce, gammas[g]), (up - down) / (2 * step), 5e-4);
        }
    /* A sample that is certain: finite, also where (1 - p)^(gamma - 1) is not. */
    assert_near(gn_focal_slope(0, 0.5), 0, 0);
    assert_near(gn_focal_slope(1e-30f, 0.5), 1.5e-15, 1e-20);
}

static void jtt_finds_the_errors(void **state)
{
    (void)state;
    /* The third is a tie: the lower index wins, which is wrong for class 1. */
    const float logits[] = {2, 1, 1, 2, 1, 1, 5, -5};
    const int32_t y[] = {0, 0, 1, 0};
    uint32_t list[4];
    assert_int_equal(gn_error_set(logits, y, 4, 2, list), 2);
    assert_int_equal(list[0], 1);
    assert_int_equal(list[1], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_dro_moves_q_to_the_worst_group),
        cmocka_unit_test(group_dro_keeps_the_share_of_absent_groups),
        cmocka_unit_test(gce_weighs_by_q_p_to_the_q),
        cmocka_unit_test(gce_is_q_times_the_textbook_gradient),
        cmocka_unit_test(lff_takes_the_first_loss_as_it_is),
        cmocka_unit_test(lff_looks_at_the_largest_of_the_class),
        cmocka_unit_test(focal_counts_easy_samples_less),
        cmocka_unit_test(focal_differentiates_its_factor),
        cmocka_unit_test(jtt_finds_the_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
