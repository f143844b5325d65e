/* Heads that are fitted to features, and subsets of the data: subsets, penalties, fits and
 * schedules against numbers worked out by hand. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "methods/afr.h"
#include "methods/head_fit.h"
#include "methods/pde.h"
#include "methods/self.h"
#include "nn/logistic.h"
#include "nn/loss.h"

enum { MANY = 64 };

/* ---- subsets ---- */

static void balanced_subsets_have_the_smallest_group_of_each(void **state)
{
    (void)state;
    /* Groups of 5, 2, 0 and 3 samples: 2 of each that is not empty. */
    const int32_t group[] = {0, 0, 0, 0, 0, 1, 1, 3, 3, 3};
    const gn_grouped samples = {group, 10, 4};
    size_t sizes[4];
    uint32_t list[10];
    assert_int_equal(gn_smallest_group(&samples, sizes), 2);
    bool differs = false;
    uint32_t first[10] = {0};
    for (uint64_t seed = 0; seed < 4; seed++) {
        size_t counts[4] = {0};
        gn_permutation order = gn_permutation_at(10, seed, GN_RNG_METHOD, 0, 0);
        assert_int_equal(gn_balanced_subset(&samples, &order, 2, sizes, list), 6);
        for (size_t i = 0; i < 6; i++) {
            counts[group[list[i]]]++;
            for (size_t j = 0; j < i; j++)
                assert_int_not_equal(list[i], list[j]);
        }
        assert_int_equal(counts[0], 2);
        assert_int_equal(counts[1], 2);
        assert_int_equal(counts[3], 2);
        differs = differs || (seed && memcmp(first, list, 6 * sizeof *list) != 0);
        memcpy(first, list, 6 * sizeof *list);
    }
    assert_true(differs);
}

static void shares_are_taken_from_every_group(void **state)
{
    (void)state;
    /* floor(0.2 * 10) = 2 of the first group, floor(0.2 * 5) = 1 of the second, 0 of four. */
    int32_t group[19];
    for (int i = 0; i < 19; i++)
        group[i] = i < 10 ? 0 : i < 15 ? 1 : 2;
    const gn_grouped samples = {group, 19, 3};
    gn_permutation order = gn_permutation_at(19, 1, GN_RNG_METHOD, 0, 0);
    size_t sizes[3], counts[3] = {0};
    bool taken[19];
    gn_take_share(&samples, &order, 0.2, sizes, taken);
    for (int i = 0; i < 19; i++)
        counts[group[i]] += taken[i];
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 0);
}

/* ---- heads ---- */

static void the_l1_subgradient_is_the_sign(void **state)
{
    (void)state;
    const float w[] = {2, -0.5f, 0, 1e-8f};
    float gradient[] = {1, 1, 1, 1};
    assert_near(gn_l1_penalty(w, 4, 0.1, gradient), 0.25, 1e-7);
    const float wanted[] = {1.1f, 0.9f, 1, 1.1f};
    assert_close(gradient, wanted, 4, 1e-6);
}

static void head_gradients_are_those_of_the_loss(void **state)
{
    (void)state;
    const float x[] = {1, 2, -1, 0.5f, 0, 3}, weights[] = {0.5f, 0.3f, 0.2f};
    const int32_t y[] = {0, 1, 1};
    const gn_featured samples = {x, y, 3, 2, 2};
    float values[6] = {0.3f, -0.2f, 0.1f, 0.4f, 0.05f, -0.1f}, slopes[6], logits[6], losses[3];
    const gn_linear_head head = {values, values + 4}, gradient = {slopes, slopes + 4};
    gn_head_logits(&samples, &head, logits);
    assert_near(logits[0], 0.3 - 0.4 + 0.05, 1e-6);
    gn_head_loss(&samples, weights, logits, losses);
    gn_head_gradient(&samples, logits, &gradient);
    for (int i = 0; i < 6; i++) {
        double ends[2];
        const float start = values[i], places[3] = {start - 1e-2f, start + 1e-2f, start};
        for (int at = 0; at < 3; at++) {
            values[i] = places[at];
            gn_head_logits(&samples, &head, logits);
            if (at < 2)
                ends[at] = gn_head_loss(&samples, weights, logits, losses);
        }
        assert_near(slopes[i], (ends[1] - ends[0]) / 2e-2, 1e-4);
    }
}

/* ---- logistic regression ---- */

/* One feature x = s_i: min |w| + |b| + C n log(1 + exp(-w)) with b = 0 by symmetry. At the minimum
 * 1 = C n / (1 + exp(w)), so w = log(C n - 1); w = 0 where C n <= 2. */
static void logistic_fits_have_the_known_minimum(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    float x[MANY];
    int32_t y[MANY];
    double weights[2], bias[2];
    for (int i = 0; i < MANY; i++) {
        y[i] = i % 2;
        x[i] = y[i] ? 1 : -1;
    }
    const gn_logistic_problem problem = {x, y, MANY, 1, 2};
    assert_ok(ctx, gn_logistic_fit(ctx, &problem, 1, weights, bias));
    assert_near(weights[1] - weights[0], log(MANY - 1), 1e-2);
    assert_near(weights[1], -weights[0], 0);
    assert_near(bias[1] - bias[0], 0, 1e-2);
    assert_ok(ctx, gn_logistic_fit(ctx, &problem, 1.9 / MANY, weights, bias));
    assert_near(weights[1], 0, 1e-6);
    /* The first sample's class must not matter. */
    const gn_logistic_problem other = {x + 1, y + 1, MANY - 2, 1, 2};
    assert_ok(ctx, gn_logistic_fit(ctx, &other, 1, weights, bias));
    assert_near(weights[1] - weights[0], log(MANY - 3), 1e-2);
    gerne_ctx_close(ctx);
}

static void logistic_fits_of_three_classes_separate_them(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    float x[2 * MANY], logits[3 * MANY], w[6], b[3];
    int32_t y[MANY];
    double weights[6], bias[3];
    for (int i = 0; i < MANY; i++) { /* the corners of a triangle */
        y[i] = 2 - i % 3;
        x[2 * i] = y[i] == 0 ? -2.0f : y[i] == 1 ? 2.0f : 0.0f;
        x[2 * i + 1] = y[i] == 2 ? 2.0f : -1.0f;
    }
    const gn_logistic_problem problem = {x, y, MANY, 2, 3};
    assert_ok(ctx, gn_logistic_fit(ctx, &problem, 1, weights, bias));
    for (int i = 0; i < 6; i++)
        w[i] = (float)weights[i];
    for (int i = 0; i < 3; i++)
        b[i] = (float)bias[i];
    const gn_featured samples = {x, y, MANY, 2, 3};
    gn_head_logits(&samples, &(gn_linear_head){w, b}, logits);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(gn_argmax_float(logits + 3 * i, 3), y[i]);
    gerne_ctx_close(ctx);
}

/* Feature 0 is the class in every group (times 5, shifted by 100: the scale is folded back),
 * feature 1 the attribute, which goes with the class in 28 of 32 samples of each class. */
static void dfr_ignores_the_attribute(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    float x[2 * MANY], w[4], b[2], again[4];
    int32_t y[MANY], group[MANY];
    gn_stream noise = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < MANY; i++) {
        y[i] = i % 2;
        int a = i < 8 ? 1 - y[i] : y[i];
        group[i] = 2 * y[i] + a;
        x[2 * i] = 100 + 5 * (float)((2 * y[i] - 1) + 0.3 * gn_random_normal(&noise));
        x[2 * i + 1] = (float)(2 * a - 1);
    }
    const gn_head_problem problem = {.samples = {x, y, MANY, 2, 2},
                                     .groups = {group, MANY, 4},
                                     .reference = x,
                                     .reference_n = MANY,
                                     .repeats = 5,
                                     .seed = 3};
    gn_head_outcome outcome;
    float logits[2 * MANY];
    assert_ok(ctx, gn_head_fit(ctx, &problem, &(gn_linear_head){w, b}, &outcome));
    gn_head_logits(&problem.samples, &(gn_linear_head){w, b}, logits);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(gn_argmax_float(logits + 2 * i, 2), y[i]);
    assert_near(outcome.held_wga, 1, 0);
    assert_near(outcome.c, 1, 0);               /* the first of those that are equally good */
    assert_true(fabsf(w[3]) < 0.5f * 5 * w[2]); /* by their deviations of 1 and 5 */
    assert_ok(ctx, gn_head_fit(ctx, &problem, &(gn_linear_head){again, b}, &outcome));
    assert_memory_equal(w, again, sizeof w);
    gerne_ctx_close(ctx);
}

/* ---- AFR ---- */

static void afr_weighs_by_doubt_and_class(void **state)
{
    (void)state;
    /* gamma = ln 4; p = 1/2, 1 (class 0, n/n_y = 3/2) and 0 (class 1, 3): 1/2 * 3/2, 1/4 * 3/2 and
     * 1 * 3, so 6, 3 and 24 of 33. */
    const float p[] = {0.5f, 0.5f, 1, 0, 1, 0};
    const int32_t y[] = {0, 0, 1};
    size_t sizes[2];
    float weights[3];
    gn_afr_weights(p, y, 3, 2, log(4), sizes, weights);
    const float wanted[] = {6 / 33.0f, 3 / 33.0f, 24 / 33.0f};
    assert_close(weights, wanted, 3, 1e-6);
}

static void afr_descends_from_the_anchor(void **state)
{
    (void)state;
    /* One sample x = 1 of class 0, head 0: p = 1/2, gradient by logits (-1/2, 1/2). The anchor at
     * w_0 = 1 pulls by 2 * 0.25 * (0 - 1) = -1/2. Gradients: w (-1, 1/2), b (-1/2, 1/2), length
     * sqrt(7/4): clipped to 1. */
    const float x[] = {1}, weight[] = {1};
    const int32_t y[] = {0};
    const gn_featured sample = {x, y, 1, 1, 2};
    float at[2] = {1, 0}, zero[2] = {0, 0}, w[2] = {0, 0}, b[2] = {0, 0};
    float w_gradient[2], b_gradient[2], logits[2], losses[1];
    const gn_afr_scratch scratch = {{w_gradient, b_gradient}, logits, losses};
    double value = gn_afr_step(&sample, weight, &(gn_linear_head){at, zero}, 0.25, 0.1,
                               &(gn_linear_head){w, b}, &scratch);
    assert_near(value, log(2) + 0.25, 1e-6);
    double rate = 0.1 / sqrt(1.75);
    assert_near(w[0], rate, 1e-6);
    assert_near(w[1], -rate / 2, 1e-6);
    assert_near(b[0], rate / 2, 1e-6);
    assert_near(b[1], -rate / 2, 1e-6);
}

static void afr_knows_the_curvature_of_its_loss(void **state)
{
    (void)state;
    /* One sample (3, 4), and 1 for the bias: the only eigenvalue is 9 + 16 + 1. */
    const float one[] = {3, 4}, all[] = {1};
    const int32_t y[] = {0, 1};
    double vectors[6];
    assert_near(gn_afr_curvature(&(gn_featured){one, y, 1, 2, 2}, all, 0.5, vectors), 13 + 1, 1e-9);
    /* (1, 0) and (-1, 0), a half each: 1 for the feature and 1 for the bias. */
    const float two[] = {1, 0, -1, 0}, halves[] = {0.5f, 0.5f};
    assert_near(gn_afr_curvature(&(gn_featured){two, y, 2, 2, 2}, halves, 0, vectors), 0.5, 1e-6);
}

/* Steps of 2 / curvature go down whatever the scale of the features; those of 0.01 hardly move
 * where features are small. */
static void afr_descends_at_any_scale(void **state)
{
    (void)state;
    enum { N = 4, WIDTH = 2, CLASSES = 2, STEPS = 200 };
    const float shape[N][WIDTH] = {{1, 0.2f}, {0.8f, -0.1f}, {-0.3f, 1}, {0.1f, 0.9f}};
    const int32_t y[N] = {0, 0, 1, 1};
    const float weights[N] = {0.25f, 0.25f, 0.25f, 0.25f};
    for (double scale = 0.1; scale < 20; scale *= 10) {
        float x[N * WIDTH], w[4] = {0}, b[2] = {0}, zero[4] = {0};
        float w_gradient[4], b_gradient[2], logits[N * CLASSES], losses[N];
        double vectors[2 * (WIDTH + 1)], before = INFINITY;
        for (int i = 0; i < N * WIDTH; i++)
            x[i] = (float)scale * shape[i / WIDTH][i % WIDTH];
        const gn_featured samples = {x, y, N, WIDTH, CLASSES};
        const gn_afr_scratch scratch = {{w_gradient, b_gradient}, logits, losses};
        double lr = 2 / gn_afr_curvature(&samples, weights, 0, vectors);
        for (int k = 0; k < STEPS; k++) {
            double value = gn_afr_step(&samples, weights, &(gn_linear_head){zero, zero}, 0, lr,
                                       &(gn_linear_head){w, b}, &scratch);
            assert_true(value <= before + 1e-6);
            before = value;
        }
        assert_true(before < 0.5); /* it starts at ln 2 */
    }
}

/* ---- SELF ---- */

static void self_scores_disagreement(void **state)
{
    (void)state;
    /* KL((1/2, 1/2) || (1/4, 3/4)) = 1/2 ln 2 + 1/2 ln(2/3) = 1/2 ln(4/3); KL(p || p) = 0;
     * KL((1, 0) || (1/4, 3/4)) = ln 4. All over two classes. */
    const float early[] = {0.5f, 0.5f, 0.25f, 0.75f, 1, 0},
                final[] = {0.25f, 0.75f, 0.25f, 0.75f, 0.25f, 0.75f};
    float scores[3];
    gn_disagreement(early, final, 3, 2, scores);
    assert_near(scores[0], log(4.0 / 3) / 4, 1e-6);
    assert_near(scores[1], 0, 1e-7);
    assert_near(scores[2], log(4) / 2, 1e-6);
}

static void self_takes_the_highest_scores(void **state)
{
    (void)state;
    const float scores[] = {1, 5, 3, 5, 0, 2};
    uint32_t items[] = {0, 2, 3, 4, 1};
    const uint32_t wanted[] = {1, 3, 2, 0, 4};
    gn_highest_first(scores, items, 5);
    assert_memory_equal(items, wanted, sizeof wanted);
}

/* ---- PDE ---- */

static void pde_grows_by_schedule(void **state)
{
    (void)state;
    /* 8 samples in batches of 4: 3 epochs of 2 steps. Then 8 + 5 = 13: 2 epochs of 3 steps; then
     * 15, all there are: 3 steps an epoch for good. */
    const gn_growth growth = {
        .first = 8, .added = 5, .all = 15, .warm_up = 3, .every = 2, .batch = 4};
    const struct {
        int64_t k, growths, epoch, step;
        size_t size;
    } wanted[] = {{0, 0, 0, 0, 8},   {5, 0, 2, 1, 8},   {6, 1, 3, 0, 13},  {11, 1, 4, 2, 13},
                  {12, 2, 5, 0, 15}, {18, 2, 7, 0, 15}, {31, 2, 11, 1, 15}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        gn_growth_place place = gn_growth_at(&growth, wanted[i].k);
        assert_int_equal(place.growths, wanted[i].growths);
        assert_int_equal(place.size, wanted[i].size);
        assert_int_equal(place.epoch, wanted[i].epoch);
        assert_int_equal(place.step, wanted[i].step);
    }
    /* A set smaller than a batch has epochs of one step. */
    const gn_growth small = {
        .first = 3, .added = 1, .all = 9, .warm_up = 2, .every = 1, .batch = 4};
    assert_int_equal(gn_growth_at(&small, 1).size, 3);
    assert_int_equal(gn_growth_at(&small, 2).size, 4);
    assert_int_equal(gn_growth_at(&small, 3).size, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balanced_subsets_have_the_smallest_group_of_each),
        cmocka_unit_test(shares_are_taken_from_every_group),
        cmocka_unit_test(the_l1_subgradient_is_the_sign),
        cmocka_unit_test(head_gradients_are_those_of_the_loss),
        cmocka_unit_test(logistic_fits_have_the_known_minimum),
        cmocka_unit_test(logistic_fits_of_three_classes_separate_them),
        cmocka_unit_test(dfr_ignores_the_attribute),
        cmocka_unit_test(afr_weighs_by_doubt_and_class),
        cmocka_unit_test(afr_descends_from_the_anchor),
        cmocka_unit_test(afr_knows_the_curvature_of_its_loss),
        cmocka_unit_test(afr_descends_at_any_scale),
        cmocka_unit_test(self_scores_disagreement),
        cmocka_unit_test(self_takes_the_highest_scores),
        cmocka_unit_test(pde_grows_by_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
