/* Rules that move s: their formulas against figures worked out by hand or taken from the notes on
 * adaptive s, their limits, and the Newton solver of heads against central differences. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "debias/groups.h"
#include "debias/line.h"
#include "methods/adapt.h"
#include "methods/head_newton.h"

static gerne_groups *table(gerne_ctx *ctx, const int64_t *counts, uint32_t classes,
                           uint32_t attributes)
{
    gerne_groups *groups;
    assert_ok(ctx, gerne_groups_from_counts(ctx, counts, classes, attributes, &groups));
    return groups;
}

static const gn_class_range FIRST = {0, 1};

/* The list and the choices of the option are one. */
static void every_choice_has_its_rule(void **state)
{
    (void)state;
    char word[64];
    int i = 0;
    for (; gn_adapt_rules[i]; i++) {
        assert_string_equal(gn_choice_word(GN_ADAPT_CHOICES, i + 1, word, sizeof word),
                            gn_adapt_rules[i]->name);
        assert_true(gn_adapt_rules[i]->summary[0] &&
                    (gn_adapt_rules[i]->propose != NULL) != (gn_adapt_rules[i]->refit != NULL));
    }
    assert_string_equal(gn_choice_word(GN_ADAPT_CHOICES, i + 1, word, sizeof word), "");
}

/* gamma = 1.6; the table of test values in the notes: one large group, the others alike. */
static void contribution_has_the_values_of_the_notes(void **state)
{
    (void)state;
    static const struct {
        int64_t most, all;
        uint32_t attributes;
        double s[4];
    } rows[] = {{995, 1000, 10, {0.6820, 0.0856, 0.2296, 1.1117}},
                {95, 100, 2, {1.2564, 0.0703, 0.3567, 2.1111}},
                {997, 1000, 2, {1.2322, 0.1582, 0.4176, 2.0060}}};
    static const float u[4][2] = {{0.9f, 0.9f}, {0.05f, 0.9f}, {0.05f, 0.3f}, {0.05f, 1e-6f}};
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < 3; i++) {
        int64_t counts[10];
        uint32_t n = rows[i].attributes;
        counts[0] = rows[i].most * (n - 1);
        for (uint32_t a = 1; a < n; a++)
            counts[a] = rows[i].all - rows[i].most;
        gerne_groups *groups = table(ctx, counts, 1, n);
        for (int k = 0; k < 4; k++) {
            float doubt[10];
            for (uint32_t a = 0; a < n; a++)
                doubt[a] = u[k][a > 0];
            assert_near(gn_contribution_s(groups, doubt, 1.6, FIRST, 7), rows[i].s[k], 6e-5);
        }
        float unseen[10] = {-1};
        assert_near(gn_contribution_s(groups, unseen, 1.6, FIRST, 7), 7, 0);
        gerne_groups_close(groups);
    }
    gerne_ctx_close(ctx);
}

/* At the s that it gives, p_ext u of small groups is gamma times that of large ones; over several
 * classes at once too. */
static void contribution_balances_what_it_says(void **state)
{
    (void)state;
    static const int64_t counts[] = {90, 10, 20, 30};
    static const float doubt[] = {0.3f, 0.5f, 0.4f, 0.35f};
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 2, 2);
    double s = gn_contribution_s(groups, doubt, 0.8, (gn_class_range){0, 2}, 0), p[4];
    gn_line_fill(groups, (const double[]){s, s}, p);
    double large = p[0] * 0.3 + p[3] * 0.35, small = p[1] * 0.5 + p[2] * 0.4;
    assert_near(small / large, 0.8, 1e-6);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* alpha = 0.9, 0.1: slope = (1/2 - 0.9) l_0 + (1/2 - 0.1) l_1 = 0.4 (l_1 - l_0); with C = 1 and
 * n = 90, 10 the adjusted losses are l_0 + 0.105409, l_1 + 0.316228. */
static void slope_is_the_derivative_of_the_loss(void **state)
{
    (void)state;
    static const int64_t counts[] = {90, 10};
    static const float loss[] = {0.2f, 0.7f}, unseen[] = {0.2f, -1};
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 1, 2);
    assert_near(gn_slope_of_s(groups, loss, 0, FIRST), 0.2, 1e-6);
    assert_near(gn_slope_of_s(groups, loss, 1, FIRST), 0.2 + 0.4 * (0.316228 - 0.105409), 1e-6);
    assert_near(gn_slope_of_s(groups, unseen, 1, FIRST), 0, 0);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* 100 samples of a class, c = 1/2: a group of 10 with alpha 0.1 gives 1.5 * 0.1 + 0.25 = 0.4 of
 * per_class = 50 draws in both batches together, 20, so each sample twice a step. */
static void schedule_turns_after_so_many_passes(void **state)
{
    (void)state;
    static const int64_t counts[] = {90, 10};
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 1, 2);
    double passes = gn_repetitions_per_step(groups, 0.5, 50);
    assert_near(passes, 2, 1e-12);
    assert_near(gn_scheduled_s(1.5, 0.5, passes, 100, 50, 250), 1.5, 0);
    assert_near(gn_scheduled_s(1.5, 0.5, passes, 100, 150, 250), 1, 1e-12);
    assert_near(gn_scheduled_s(1.5, 0.5, passes, 100, 250, 250), 0.5, 1e-12);
    assert_near(gn_scheduled_s(1.5, 0.5, passes, 1e6, 250, 250), 1.5, 0);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* Large groups 0.9 and 0.8, small ones 0.5 and, without samples, nothing. */
static void gap_is_that_of_the_means(void **state)
{
    (void)state;
    static const int64_t counts[] = {90, 10, 10, 90};
    static const double accuracies[] = {0.9, 0.5, NAN, 0.8}, empty[] = {0.9, NAN, NAN, 0.8};
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 2, 2);
    assert_near(gn_accuracy_gap(groups, accuracies, (gn_class_range){0, 2}), 0.35, 1e-12);
    assert_near(gn_accuracy_gap(groups, accuracies, FIRST), 0.4, 1e-12);
    assert_near(gn_accuracy_gap(groups, empty, (gn_class_range){0, 2}), 0, 0);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void limits_are_those_of_the_groups(void **state)
{
    (void)state;
    static const int64_t counts[] = {71629, 66874, 22880, 1387}; /* CelebA */
    gn_interval limits[2];
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 2, 2);
    gn_adapt_options options = {.rule = 2, .low = 1};
    assert_ok(ctx, gn_adapt_limits(ctx, &options, groups, 1, limits));
    assert_near(limits[0].lo, 1, 0);
    assert_near(limits[0].hi, 0.98 * 2.129065, 1e-6);
    assert_fails(ctx, GERNE_EUSAGE, "s = c (1 + beta) = 2.5",
                 gn_adapt_limits(ctx, &options, groups, 2.5, limits));
    options.high = 3;
    assert_fails(ctx, GERNE_EUSAGE, "method.adapt_max 3 is outside",
                 gn_adapt_limits(ctx, &options, groups, 1, limits));
    options.high = 0;
    options.low = 2.2;
    assert_fails(ctx, GERNE_EUSAGE, "method.adapt_min 2.2 is outside",
                 gn_adapt_limits(ctx, &options, groups, 1, limits));
    options.high = 1.5;
    options.low = 1.7;
    for (int i = 0; i < 2; i++) /* whether or not training would start between them */
        assert_fails(ctx, GERNE_EUSAGE, "method.adapt_max 1.5 is below method.adapt_min 1.7",
                     gn_adapt_limits(ctx, &options, groups, 1.5 - i, limits));
    options = (gn_adapt_options){.rule = 2, .low = 1, .by_class = true};
    assert_ok(ctx, gn_adapt_limits(ctx, &options, groups, 2.5, limits));
    assert_near(limits[0].hi, 0.98 * 30.127865, 1e-5);
    assert_near(limits[1].hi, 0.98 * 2.129065, 1e-6);
    options = (gn_adapt_options){0};
    assert_ok(ctx, gn_adapt_limits(ctx, &options, groups, 5, limits));
    assert_near(limits[1].hi, 5, 0);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* Where s moves nothing it does not follow beta, which would only add variance. */
static void a_balanced_class_stays_at_one(void **state)
{
    (void)state;
    static const int64_t counts[] = {90, 10, 50, 50, 70, 0};
    gn_interval limits[3];
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups = table(ctx, counts, 3, 2);
    gn_adapt_options options = {.by_class = true};
    assert_ok(ctx, gn_adapt_limits(ctx, &options, groups, 2, limits));
    assert_near(limits[0].hi, 0.98 * 2.25, 1e-9);
    assert_near(limits[1].hi, 1, 0);
    assert_near(limits[2].hi, 1, 0);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* The schedule only lowers s. */
static void repetitions_need_somewhere_to_go(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_adapt_options options = {.low = 1, .end = 1};
    const gn_adapt_rule *rule = gn_adapt_rules[3];
    assert_string_equal(rule->name, "repetitions");
    assert_ok(ctx, rule->check(ctx, &options, 1.2));
    assert_fails(ctx, GERNE_EUSAGE, "starts with s = c (1 + beta) = 1",
                 rule->check(ctx, &options, 1));
    options.end = 0.5;
    assert_fails(ctx, GERNE_EUSAGE, "adapt_end 0.5 is below method.adapt_min 1",
                 rule->check(ctx, &options, 1.2));
    options.low = 0;
    assert_ok(ctx, rule->check(ctx, &options, 1.2));
    gerne_ctx_close(ctx);
}

/* ---- heads ---- */

enum { N = 60, WIDTH = 4, CLASSES = 3, SIZE = CLASSES * (WIDTH + 1) };

typedef struct head_case {
    float x[N * WIDTH], weights[N];
    int32_t y[N];
} head_case;

static gn_head_objective random_objective(head_case *t)
{
    gn_stream stream = gn_stream_at(11, GN_RNG_TEST, 0, 0);
    for (size_t i = 0; i < N; i++) {
        t->y[i] = (int32_t)(i % CLASSES);
        t->weights[i] = (float)(gn_random_uniform(&stream) / N);
        for (size_t j = 0; j < WIDTH; j++)
            t->x[i * WIDTH + j] =
                (float)(gn_random_uniform(&stream) - 0.5 + (j == (size_t)t->y[i] ? 0.7 : 0));
    }
    return (gn_head_objective){
        .samples = {t->x, t->y, N, WIDTH, CLASSES}, .weights = t->weights, .l2 = 0.01};
}

static void newton_finds_the_least_loss(void **state)
{
    (void)state;
    static head_case t;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_head_solver solver;
    float head[SIZE] = {0};
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    const gn_head_objective objective = random_objective(&t);
    assert_ok(ctx, gn_head_solver_new(ctx, arena, &objective, &solver));
    double first = gn_head_look(&solver, head);
    double least = gn_head_descend(&solver, head, 20, 30);
    assert_true(least < first);
    gn_head_look(&solver, head);
    for (size_t j = 0; j < SIZE; j++)
        assert_near((double)solver.gradient[j], 0, 2e-5);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

/* The head moves with a weight as the implicit function theorem says: what rule hypergradient is
 * made of. d head / d weight_i = -H^-1 grad CE_i, here along a random direction. */
static void solve_gives_the_move_of_the_fit(void **state)
{
    (void)state;
    static head_case t;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_head_solver solver;
    float head[SIZE] = {0}, ends[2][SIZE], move[SIZE], before[SIZE];
    const float step = 2e-3f;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    const gn_head_objective objective = random_objective(&t);
    assert_ok(ctx, gn_head_solver_new(ctx, arena, &objective, &solver));
    gn_head_descend(&solver, head, 30, 60);
    /* The gradient of CE_0 is the difference of gradients for two weights of sample 0. */
    gn_head_look(&solver, head);
    memcpy(before, solver.gradient, sizeof before);
    t.weights[0] += 1;
    gn_head_look(&solver, head);
    t.weights[0] -= 1;
    float of_sample[SIZE];
    for (size_t j = 0; j < SIZE; j++)
        of_sample[j] = solver.gradient[j] - before[j];
    gn_head_look(&solver, head);
    gn_head_solve(&solver, of_sample, 60, move);
    for (int side = 0; side < 2; side++) {
        memcpy(ends[side], head, sizeof head);
        t.weights[0] += side ? step : -step;
        gn_head_descend(&solver, ends[side], 30, 60);
        t.weights[0] -= side ? step : -step;
    }
    double length = 0, error = 0;
    for (size_t j = 0; j < SIZE; j++) {
        double numeric = ((double)ends[1][j] - (double)ends[0][j]) / (2 * (double)step);
        length += numeric * numeric;
        error += pow(numeric + (double)move[j], 2);
    }
    assert_true(length > 0.01);
    assert_true(sqrt(error / length) < 0.05);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_has_its_rule),
        cmocka_unit_test(contribution_has_the_values_of_the_notes),
        cmocka_unit_test(contribution_balances_what_it_says),
        cmocka_unit_test(slope_is_the_derivative_of_the_loss),
        cmocka_unit_test(schedule_turns_after_so_many_passes),
        cmocka_unit_test(gap_is_that_of_the_means),
        cmocka_unit_test(limits_are_those_of_the_groups),
        cmocka_unit_test(a_balanced_class_stays_at_one),
        cmocka_unit_test(repetitions_need_somewhere_to_go),
        cmocka_unit_test(newton_finds_the_least_loss),
        cmocka_unit_test(solve_gives_the_move_of_the_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
