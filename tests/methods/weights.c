/* Weights of groups and classes by their sizes, worked out by hand from the papers' formulas. */
#include "testing.h"

#include <math.h>

#include "methods/bsoftmax.h"
#include "methods/shifted.h"
#include "methods/group_weights.h"

enum { GROUPS = 4 };

/* Waterbirds: landbirds on land and on water, waterbirds on land and on water. */
static const uint64_t waterbirds[GROUPS] = {3498, 184, 56, 1057};

static void check(const gn_weighting *weighting, const double *expected)
{
    double weights[GROUPS], sum = 0;
    for (int g = 0; g < GROUPS; g++)
        weights[g] = gn_size_weight(weighting, waterbirds[g]);
    gn_normalize_weights(weights, GROUPS);
    for (int g = 0; g < GROUPS; g++) {
        assert_near(weights[g], expected[g], 1e-6);
        sum += weights[g];
    }
    assert_near(sum, GROUPS, 1e-12);
}

static void by_the_inverse_size(void **state)
{
    (void)state;
    /* 1/n: 0.000285878, 0.005434783, 0.017857143, 0.000946074; their sum is 0.024523877. */
    check(&(gn_weighting){.rule = GN_BY_SIZE},
          (const double[]){0.0466285, 0.8864475, 2.9126134, 0.1543106});
}

static void by_the_inverse_root(void **state)
{
    (void)state;
    /* 1/sqrt n: 0.01690800, 0.07372098, 0.13363062, 0.03075845; their sum is 0.25501805. */
    check(&(gn_weighting){.rule = GN_BY_ROOT},
          (const double[]){0.2652037, 1.1563267, 2.0960201, 0.4824496});
}

static void by_the_effective_number(void **state)
{
    (void)state;
    /* b = 0.9999: b^n = 0.7048143, 0.9817673, 0.9944154, 0.8996898, so that (1 - b)/(1 - b^n) =
     * 0.000338773, 0.005484664, 0.017906297, 0.000996907 with the sum 0.024726641. */
    check(&(gn_weighting){.rule = GN_BY_EFFECTIVE_NUMBER, .b = 0.9999},
          (const double[]){0.0548028, 0.8872478, 2.8966809, 0.1612685});
    /* b = 0: one sample is as good as many. */
    check(&(gn_weighting){.rule = GN_BY_EFFECTIVE_NUMBER}, (const double[]){1, 1, 1, 1});
}

static void large_groups_lose_their_weight_only_on_request(void **state)
{
    (void)state;
    /* 0.99^4000 = 3.5e-18 is lost beside 1; 0.99^3498 = 5.4e-16 is not. */
    gn_weighting weighting = {.rule = GN_BY_EFFECTIVE_NUMBER, .b = 0.99};
    assert_near(gn_size_weight(&weighting, 4000), 0.01, 1e-12);
    weighting.underflow = true;
    assert_near(gn_size_weight(&weighting, 4000), 0, 0);
    assert_near(gn_size_weight(&weighting, 3498), 0.01, 1e-12);
}

static void empty_groups_have_no_weight(void **state)
{
    (void)state;
    double weights[3];
    for (gn_size_rule rule = GN_BY_SIZE; rule <= GN_BY_EFFECTIVE_NUMBER; rule++) {
        const gn_weighting weighting = {.rule = rule, .b = 0.5};
        weights[0] = weights[1] = gn_size_weight(&weighting, 5);
        weights[2] = gn_size_weight(&weighting, 0);
        gn_normalize_weights(weights, 3);
        assert_near(weights[0], 1.5, 1e-12); /* G counts the empty one */
        assert_near(weights[2], 0, 0);
    }
}

static void bsoftmax_knows_the_sizes_of_classes(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups;
    const int64_t counts[GROUPS] = {3498, 184, 56, 1057};
    float raise[2];
    assert_ok(ctx, gerne_groups_from_counts(ctx, counts, 2, 2, &groups));
    gn_log_class_sizes(groups, 2, 2, raise);
    assert_near(raise[0], 8.2112118, 1e-6); /* ln 3682 */
    assert_near(raise[1], 7.0148144, 1e-6); /* ln 1113 */
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void bsoftmax_corrects_the_training_logits(void **state)
{
    (void)state;
    /* Equal logits, classes of 3 and 1 samples: p = 3/4 and 1/4. */
    float raise[2] = {logf(3), 0}, room[2], losses[1], gradient[2];
    const float logits[2] = {0.5f, 0.5f};
    const int32_t labels[1] = {1};
    const gn_shifted_cross_entropy terms = {.cross_entropy = {.labels = labels, .count = 1},
                                            .shift = raise,
                                            .room = room,
                                            .common = true};
    const gn_loss loss = gn_shifted_cross_entropy_loss(&terms);
    double value = loss.evaluate(loss.terms, &(gn_loss_part){.count = 1,
                                                             .classes = 2,
                                                             .logits = logits,
                                                             .losses = losses,
                                                             .logit_gradient = gradient});
    assert_near(value, log(4), 1e-6);
    assert_near(gradient[0], 0.75, 1e-6);
    assert_near(gradient[1], -0.75, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_inverse_size),
        cmocka_unit_test(by_the_inverse_root),
        cmocka_unit_test(by_the_effective_number),
        cmocka_unit_test(large_groups_lose_their_weight_only_on_request),
        cmocka_unit_test(empty_groups_have_no_weight),
        cmocka_unit_test(bsoftmax_knows_the_sizes_of_classes),
        cmocka_unit_test(bsoftmax_corrects_the_training_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
