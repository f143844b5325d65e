/* The line of s: known cases, limits, other targets than balance, and soft membership. */
#include "testing.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "debias/groups.h"
#include "debias/line.h"
#include "debias/soft.h"

enum { MOST = 36 };

static gerne_groups *table(gerne_ctx *ctx, const int64_t *counts, uint32_t classes,
                           uint32_t attributes)
{
    gerne_groups *groups;
    assert_ok(ctx, gerne_groups_from_counts(ctx, counts, classes, attributes, &groups));
    return groups;
}

/* A random table without empty groups, and a target for it. */
typedef struct sample_case {
    gerne_groups *groups;
    uint32_t classes, attributes;
    double target[MOST];
} sample_case;

static sample_case random_case(gerne_ctx *ctx, gn_stream *stream)
{
    int64_t counts[MOST];
    sample_case t = {.classes = 1 + (uint32_t)gn_random_below(stream, 6),
                     .attributes = 2 + (uint32_t)gn_random_below(stream, 5)};
    for (uint32_t g = 0; g < t.classes * t.attributes; g++)
        counts[g] = 1 + (int64_t)gn_random_below(stream, 1000);
    t.groups = table(ctx, counts, t.classes, t.attributes);
    for (uint32_t y = 0; y < t.classes; y++) {
        double sum = 0, *row = t.target + (size_t)y * t.attributes;
        for (uint32_t a = 0; a < t.attributes; a++)
            sum += row[a] = 0.01 + gn_random_uniform(stream);
        for (uint32_t a = 0; a < t.attributes; a++)
            row[a] /= sum;
    }
    return t;
}

/* Gives the groups of the case its target, as it is typed. */
static void take_target(gerne_ctx *ctx, const sample_case *t)
{
    char text[MOST * 26];
    size_t used = 0;
    for (uint32_t g = 0; g < t->classes * t->attributes; g++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.17g",
                                 g == 0                   ? ""
                                 : g % t->attributes == 0 ? ";"
                                                          : ",",
                                 t->target[g]);
    assert_ok(ctx, gerne_groups_set_target(ctx, t->groups, text));
}

/* Shares of a class add up to 1, weights have the class mean 1, and no share is negative up to the
 * bound, where the binding group has none. */
static void check_class(const sample_case *t, const double *s, uint32_t y)
{
    double p[MOST], weights[MOST], sum = 0, mean = 0;
    gn_s_bounds b = gn_s_bounds_of_class(t->groups, y);
    gn_line_fill(t->groups, s, p);
    gn_line_weights(t->groups, s, weights);
    for (uint32_t a = 0; a < t->attributes; a++) {
        size_t g = gn_group_id(t->groups, y, a);
        sum += p[g];
        mean += weights[g] * gerne_groups_alpha(t->groups, y, a);
        if (s[y] >= b.lower && s[y] <= b.upper)
            assert_true(p[g] > -1e-9 && p[g] < 1 + 1e-9);
    }
    assert_near(sum, 1, 1e-9);
    assert_near(mean, 1, 1e-9);
    if (b.binds && s[y] == b.upper)
        assert_near(p[gn_group_id(t->groups, y, b.a)], 0, 1e-9);
    if (b.binds && s[y] > b.upper * (1 + 1e-6))
        assert_true(p[gn_group_id(t->groups, y, b.a)] < 0);
}

static void test_random_lines(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_stream stream = gn_stream_at(2, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < 3000; i++) {
        sample_case t = random_case(ctx, &stream);
        double s[MOST];
        if (i % 2)
            take_target(ctx, &t);
        for (int kind = 0; kind < 4; kind++) {
            for (uint32_t y = 0; y < t.classes; y++) {
                gn_s_bounds b = gn_s_bounds_of_class(t.groups, y);
                assert_true(b.lower < 0 && b.upper > 1);
                double top = b.binds ? b.upper : 3;
                s[y] = kind == 0   ? top
                       : kind == 1 ? fmax(b.lower, -9)
                       : kind == 2 ? top * gn_random_uniform(&stream)
                                   : 1.5 * top;
            }
            for (uint32_t y = 0; y < t.classes; y++)
                check_class(&t, s, y);
        }
        gerne_groups_close(t.groups);
    }
    gerne_ctx_close(ctx);
}

/* s = 0 is the data, s = 1 the target, s = c the less biased batch, and c (1 + beta) what it was in
 * two numbers; the bound does not depend on c. */
static void test_known_cases(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_stream stream = gn_stream_at(3, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < 1000; i++) {
        sample_case t = random_case(ctx, &stream);
        double c = 1 - gn_random_uniform(&stream), beta = 2 * gn_random_uniform(&stream) - 1;
        double p[MOST], law[MOST], s[MOST];
        const double values[] = {0, c, gn_s_of(c, beta)};
        static const gerne_law laws[] = {GERNE_LAW_BIASED, GERNE_LAW_LESS_BIASED,
                                         GERNE_LAW_EXTRAPOLATED};
        for (int kind = 0; kind < 3; kind++) {
            for (uint32_t y = 0; y < t.classes; y++)
                s[y] = values[kind];
            gn_line_fill(t.groups, s, p);
            assert_ok(ctx, gerne_law_fill(ctx, t.groups, laws[kind], c, beta, law));
            for (uint32_t g = 0; g < t.classes * t.attributes; g++)
                assert_near(p[g], law[g], 1e-12);
        }
        for (uint32_t y = 0; y < t.classes; y++)
            s[y] = 1;
        gerne_bounds bounds;
        assert_ok(ctx, gerne_bounds_of(ctx, t.groups, c, &bounds));
        gn_s_bounds own = gn_s_bounds_of(t.groups);
        assert_true(own.binds == bounds.binds);
        if (own.binds) {
            assert_near(gn_s_of(c, bounds.beta_max) / own.upper, 1, 1e-12);
            assert_true(own.y == bounds.y && own.a == bounds.a);
        }
        assert_near(gn_beta_of(c, gn_s_of(c, beta)), beta, 1e-9);
        take_target(ctx, &t);
        gn_line_fill(t.groups, s, p);
        for (uint32_t g = 0; g < t.classes * t.attributes; g++)
            assert_near(p[g], t.target[g], 1e-12);
        gerne_groups_close(t.groups);
    }
    gerne_ctx_close(ctx);
}

/* Figures of the notes on adaptive s, and CelebA, whose classes differ. */
static void test_bounds_by_class(void **state)
{
    (void)state;
    static const int64_t celeba[] = {71629, 66874, 22880, 1387};
    static const int64_t waterbirds[] = {95, 5, 5, 95};
    static const int64_t pseudo[] = {3, 997};
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, celeba, 2, 2);
    double s[2];
    assert_near(gn_s_bounds_of_class(groups, 0).upper, 30.128, 1e-3);
    assert_near(gn_s_bounds_of_class(groups, 1).upper, 2.129065, 1e-6);
    assert_near(gn_s_bounds_of(groups).upper, 2.129065, 1e-6);
    gn_clip_by_class(groups, 2.5, 0.98, s);
    assert_near(s[0], 2.5, 0);
    assert_near(s[1], 0.98 * 2.129065, 1e-6);
    gerne_groups_close(groups);
    groups = table(ctx, waterbirds, 2, 2);
    assert_near(gn_s_bounds_of(groups).upper, 2.1111, 1e-4);
    gerne_groups_close(groups);
    groups = table(ctx, pseudo, 1, 2);
    assert_near(gn_s_bounds_of(groups).upper, 2.00604, 1e-5);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* The first two classes get the mix that they have together, the one with a group of its own keeps
 * it. Laws, bounds and the public calls follow, and uniform undoes it. */
static void test_marginal_target(void **state)
{
    (void)state;
    static const int64_t counts[] = {90, 10, 0, 30, 70, 0, 0, 0, 5};
    static const double shares[] = {0.6, 0.4, 0, 0.6, 0.4, 0, 0, 0, 1};
    double p[9];
    gerne_bounds bounds;
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 3, 3);
    assert_ok(ctx, gerne_groups_set_target(ctx, groups, "marginal"));
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_EXTRAPOLATED, 0.5, 1, p));
    for (int g = 0; g < 9; g++)
        assert_near(p[g], shares[g], 1e-12);
    /* Class 0: 0.9 / (0.9 - 0.6) = 3; class 1: 0.7 / (0.7 - 0.4) = 7/3 */
    assert_near(gn_s_bounds_of_class(groups, 0).upper, 3, 1e-9);
    assert_near(gn_s_bounds_of_class(groups, 1).upper, 7 / 3.0, 1e-9);
    assert_false(gn_s_bounds_of_class(groups, 2).binds);
    assert_ok(ctx, gerne_bounds_of(ctx, groups, 0.5, &bounds));
    assert_near(bounds.beta_max, 7 / 1.5 - 1, 1e-9);
    assert_true(bounds.y == 1 && bounds.a == 1);
    assert_ok(ctx, gerne_groups_set_target(ctx, groups, "uniform"));
    assert_near(gn_s_bounds_of_class(groups, 0).upper, 0.9 / 0.4, 1e-9);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_bad_targets(void **state)
{
    (void)state;
    static const int64_t counts[] = {5, 0, 3, 4};
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 2, 2);
    static const char *const bad[][2] = {
        {"1.5,-0.5;0.5,0.5", "outside [0, 1]"},
        {"1,0;0.5,0.4", "add up to 0.9"},
        {"0.5,0.5", "has no samples"},
        {"nan,1", "is neither uniform, marginal"},
        {"inf,1", "outside [0, 1]"},
        {"", "is neither uniform, marginal"},
        {"balanced", "is neither uniform, marginal"},
        {"1,0;", "is neither uniform, marginal"},
        {"1 0", "is neither uniform, marginal"},
        {"1,,0", "is neither uniform, marginal"},
        {"1", "does not have 2 shares"},
        {"1,0,0", "does not have 2 shares"},
        {"1,0;1,0;1,0", "does not have 2 shares"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(ctx, GERNE_EUSAGE, bad[i][1], gerne_groups_set_target(ctx, groups, bad[i][0]));
        assert_null(groups->target);
    }
    assert_ok(ctx, gerne_groups_set_target(ctx, groups, "1,0;0.2,0.8"));
    assert_ok(ctx, gerne_groups_set_target(ctx, groups, " 1, 0 "));
    assert_false(gn_s_bounds_of_class(groups, 0).binds);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* ---- soft membership ---- */

enum { SOFT_N = 200 };

typedef struct soft_case {
    int32_t y[SOFT_N], a[SOFT_N];
    float r[SOFT_N * 3];
    gn_soft soft;
} soft_case;

/* Hard memberships, or such that are drawn at random. */
static void fill_soft(soft_case *t, gn_stream *stream, bool hard)
{
    t->soft = (gn_soft){.y = t->y, .r = t->r, .n = SOFT_N, .classes = 2, .attributes = 3};
    for (size_t i = 0; i < SOFT_N; i++) {
        t->y[i] = (int32_t)(i % 2);
        t->a[i] = i < 6 ? (int32_t)(i / 2) : (int32_t)(gn_random_uniform(stream) < 0.2) + t->y[i];
        float rest = hard ? 0 : 0.4f * (float)gn_random_uniform(stream);
        for (int j = 0; j < 3; j++)
            t->r[3 * i + (size_t)j] = j == t->a[i] ? 1 - rest : rest / 2;
    }
}

static void check_soft(gerne_ctx *ctx, const soft_case *t, double share)
{
    double alpha[6], rho[SOFT_N], s[2], mean[2] = {0};
    float weights[SOFT_N];
    size_t binding[2];
    assert_ok(ctx, gn_soft_shares(ctx, &t->soft, alpha));
    gn_soft_ratios(&t->soft, alpha, NULL, rho);
    for (uint32_t y = 0; y < 2; y++)
        s[y] = share * gn_soft_bound(&t->soft, rho, y, &binding[y]);
    gn_soft_weights(&t->soft, rho, s, weights);
    for (size_t i = 0; i < SOFT_N; i++) {
        mean[t->y[i]] += (double)weights[i] / (SOFT_N / 2.0);
        if (share <= 1)
            assert_true(weights[i] > -1e-5f);
    }
    for (int y = 0; y < 2; y++) {
        assert_near(mean[y], 1, 1e-5);
        assert_true(share <= 1 || weights[binding[y]] < 0);
        assert_near((double)weights[binding[y]], 1 - share, 1e-5);
    }
}

static void test_soft(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_stream stream = gn_stream_at(4, GN_RNG_TEST, 0, 0);
    static soft_case t;
    for (int i = 0; i < 50; i++) {
        fill_soft(&t, &stream, false);
        check_soft(ctx, &t, 0);
        check_soft(ctx, &t, 0.7);
        check_soft(ctx, &t, 1);
        check_soft(ctx, &t, 1.1);
    }
    gerne_ctx_close(ctx);
}

/* With memberships of 0 and 1 it is the law of groups, with the same bound. */
static void test_soft_becomes_hard(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_stream stream = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    static soft_case t;
    static const double s[] = {1.3, 0.4};
    double alpha[6], rho[SOFT_N], of_groups[6];
    float weights[SOFT_N];
    size_t binding;
    gerne_groups *groups;
    fill_soft(&t, &stream, true);
    assert_ok(ctx, gerne_groups_from_labels(ctx, t.y, t.a, SOFT_N, 2, 3, &groups));
    assert_ok(ctx, gn_soft_shares(ctx, &t.soft, alpha));
    gn_soft_ratios(&t.soft, alpha, NULL, rho);
    gn_soft_weights(&t.soft, rho, s, weights);
    gn_line_weights(groups, s, of_groups);
    for (size_t i = 0; i < SOFT_N; i++)
        assert_near((double)weights[i], of_groups[t.y[i] * 3 + t.a[i]], 1e-5);
    for (uint32_t y = 0; y < 2; y++)
        assert_near(gn_soft_bound(&t.soft, rho, y, &binding), gn_s_bounds_of_class(groups, y).upper,
                    1e-9);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* Drawn by hard groups, at whatever c, a sample counts what the soft law says: the share of its
 * group over its size, times its weight, is weight / class size of a uniform draw. */
static void test_soft_by_other_draws(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_stream stream = gn_stream_at(6, GN_RNG_TEST, 0, 0);
    static soft_case t;
    static const double s[] = {1.2, 0.7};
    double alpha[6], rho[SOFT_N], drawn[6], mean[2] = {0};
    float plain[SOFT_N], redrawn[SOFT_N];
    gerne_groups *groups;
    fill_soft(&t, &stream, false);
    assert_ok(ctx, gerne_groups_from_labels(ctx, t.y, t.a, SOFT_N, 2, 3, &groups));
    assert_ok(ctx, gn_soft_shares(ctx, &t.soft, alpha));
    gn_soft_ratios(&t.soft, alpha, NULL, rho);
    gn_soft_weights(&t.soft, rho, s, plain);
    gn_soft_weights(&t.soft, rho, s, redrawn);
    assert_ok(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_LESS_BIASED, 0.8, 0, drawn));
    gn_soft_redraw(groups, t.y, t.a, SOFT_N, drawn, redrawn);
    for (size_t i = 0; i < SOFT_N; i++) {
        uint32_t y = (uint32_t)t.y[i], a = (uint32_t)t.a[i];
        double chance = drawn[y * 3 + a] / (double)gerne_groups_count(groups, y, a);
        assert_near(chance * (double)redrawn[i], (double)plain[i] / (SOFT_N / 2.0), 1e-7);
        mean[y] += chance * (double)redrawn[i];
    }
    assert_near(mean[0], 1, 1e-5);
    assert_near(mean[1], 1, 1e-5);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_bad_memberships(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    double alpha[4];
    const int32_t y[] = {0, 1}, one_class[] = {0, 0};
    const float good[] = {0.5f, 0.5f, 0, 1}, sum[] = {0.5f, 0.6f, 0, 1}, below[] = {-1, 2, 0, 1};
    gn_soft soft = {.y = y, .r = sum, .n = 2, .classes = 2, .attributes = 2};
    assert_fails(ctx, GERNE_EDATA, "add up to 1.1", gn_soft_shares(ctx, &soft, alpha));
    soft.r = below;
    assert_fails(ctx, GERNE_EDATA, "is negative", gn_soft_shares(ctx, &soft, alpha));
    soft.r = good;
    assert_ok(ctx, gn_soft_shares(ctx, &soft, alpha));
    soft.y = one_class;
    assert_fails(ctx, GERNE_EDATA, "class 1 has no samples", gn_soft_shares(ctx, &soft, alpha));
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lines),        cmocka_unit_test(test_known_cases),
        cmocka_unit_test(test_bounds_by_class),     cmocka_unit_test(test_marginal_target),
        cmocka_unit_test(test_bad_targets),         cmocka_unit_test(test_soft),
        cmocka_unit_test(test_soft_becomes_hard),   cmocka_unit_test(test_bad_memberships),
        cmocka_unit_test(test_soft_by_other_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
