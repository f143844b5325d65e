/* What a search varies, and which configurations come of it. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tune/points.h"

typedef struct fixture {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings base, search;
    gn_run_config *config;
    gn_space space;
    gn_limiter limiter;
    gn_points points;
} fixture;

static void add(fixture *f, gn_settings *settings, const char *key, const char *value)
{
    assert_ok(f->ctx, gn_settings_add(f->ctx, settings, key, &value, 1, false, 1));
}

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.ctx = test_ctx()};
    assert_ok(f.ctx, gn_arena_new(f.ctx, &f.arena));
    f.base.arena = f.search.arena = f.arena;
    f.base.source = "test";
    add(&f, &f.base, "data.n", "400");
    add(&f, &f.base, "train.lr", "0.01");
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    gn_points_free(&f->points);
    gn_limiter_close(&f->limiter);
    gn_run_config_close(f->config);
    gn_settings_free(&f->base);
    gn_settings_free(&f->search);
    gn_arena_close(f->arena);
    gerne_ctx_close(f->ctx);
    return 0;
}

static gerne_status read_space(fixture *f)
{
    return gn_space_read(f->ctx, f->arena, &f->base, &f->search, &f->space);
}

/* Two classes of 100: 90 and 10, 95 and 5. At c = 0.5 the share of the largest, 0.95, reaches 0 at
 * beta = 0.95 / (0.5 * 0.45) - 1 = 3.2222; at c = 1 at 1.1111. */
static void open_points(fixture *f)
{
    static const int64_t counts[] = {90, 10, 5, 95};
    const gn_settings none = {.arena = f->arena};
    assert_ok(f->ctx, read_space(f));
    assert_ok(f->ctx, gn_run_config_new(f->ctx, &f->base, &none, &f->config));
    assert_ok(f->ctx, gn_limiter_open(f->ctx, f->arena, f->config, counts, 2, 2, &f->limiter));
}

static const char *value(const fixture *f, size_t point, const char *key)
{
    const gn_setting *s = gn_settings_find(&f->points.items[point], key);
    assert_non_null(s);
    return s->items[0];
}

static void grid(fixture *f, int steps)
{
    const gn_points_request request = {.space = &f->space, .limiter = &f->limiter, .steps = steps};
    assert_ok(f->ctx, gn_points_grid(f->ctx, f->arena, &request, &f->points));
}

static void draw(fixture *f, uint64_t seed, size_t count)
{
    const gn_points_request request = {
        .space = &f->space, .limiter = &f->limiter, .seed = seed, .count = count};
    gn_points_free(&f->points);
    assert_ok(f->ctx, gn_points_random(f->ctx, f->arena, &request, &f->points));
}

static void axes_are_read(void **state)
{
    fixture *f = *state;
    const char *const list[] = {"0.25", "0.5"};
    add(f, &f->search, "search.method.beta", "0, 0.5 ,1");
    assert_ok(f->ctx, gn_settings_add(f->ctx, &f->search, "search.method.c", list, 2, true, 1));
    add(f, &f->search, "search.train.lr", "1e-3..1e-1");
    add(f, &f->search, "search.train.momentum", "0.5..0.9 linear 3");
    add(f, &f->search, "search.train.steps", "10..20 log 2");
    assert_ok(f->ctx, read_space(f));
    gn_text text = {0};
    assert_ok(f->ctx, gn_space_describe(f->ctx, &f->space, &text));
    assert_string_equal(text.bytes, "search.method.c: 0.25,0.5\n"
                                    "search.train.lr: 0.001..0.1 log 5\n"
                                    "search.train.momentum: 0.5..0.9 linear 3\n"
                                    "search.train.steps: 10..20 log 2\n"
                                    "search.method.beta: 0,0.5,1\n");
    gn_text_free(&text);
}

static void bad_axes_are_refused(void **state)
{
    static const struct {
        const char *key, *value, *words;
    } cases[] = {
        {"search.method.beta", "", "is not a value"},
        {"search.method.beta", "1,,2", "is not a value"},
        {"search.method.beta", "one", "'one' is not a number"},
        {"search.method.c", "0.5,2", "'2' is outside (0, 1]"},
        {"search.method.c", "0.5..3", "'3' is outside (0, 1]"},
        {"search.train.lr", "1..", "is not a range"},
        {"search.train.lr", "..1", "is not a range"},
        {"search.train.lr", "1..2..3", "is not a range"},
        {"search.train.lr", "1..inf", "is not a range"},
        {"search.train.lr", "1..2 logarithmic", "is not a range"},
        {"search.train.lr", "1..2 1", "is not a range"},
        {"search.train.lr", "2..1", "is empty"},
        {"search.train.lr", "0..1", "starts above 0"},
        {"search.train.batch", "auto", "no default range"},
        {"search.seed", "0,1", "cannot be searched over"},
        {"search.train.lrr", "1", "no option 'train.lrr'"},
        {"search.", "1", "no option ''"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        f->search.count = 0;
        add(f, &f->search, cases[i].key, cases[i].value);
        assert_fails(f->ctx, GERNE_EUSAGE, cases[i].words, read_space(f));
    }
}

static void a_grid_takes_every_combination(void **state)
{
    fixture *f = *state;
    add(f, &f->search, "search.method.beta", "0,1");
    add(f, &f->search, "search.train.lr", "0.01..1 3");
    open_points(f);
    grid(f, 10);
    assert_int_equal(f->points.count, 6);
    assert_string_equal(value(f, 0, "train.lr"), "0.01");
    assert_string_equal(value(f, 1, "method.beta"), "1");
    assert_string_equal(value(f, 2, "train.lr"), "0.1");
    assert_string_equal(value(f, 5, "train.lr"), "1");
}

static void beta_outside_its_interval_is_left_out(void **state)
{
    fixture *f = *state;
    add(f, &f->search, "search.method.beta", "0,1.2,3.3");
    add(f, &f->search, "search.method.c", "0.5,1");
    open_points(f);
    grid(f, 10);
    assert_int_equal(f->points.count, 3); /* 0 and 1.2 at c = 0.5, 0 at c = 1 */
    assert_int_equal(f->points.dropped, 3);
    assert_string_equal(f->points.example, "beta 3.3 is outside [-1.222, 3.222] at c = 0.5");
}

/* No debiasing, no extrapolation, two steps from balance, and 0.99 of the bound. */
static void the_usual_grid_follows_the_bounds(void **state)
{
    fixture *f = *state;
    static const char *const half[] = {"-1", "0", "1", "2.111", "3.19"};
    static const char *const full[] = {"-1", "0", "0.5556", "1.1"};
    open_points(f);
    assert_int_equal(f->space.count, 3);
    grid(f, 2);
    assert_int_equal(f->points.dropped, 0);
    assert_int_equal(f->points.count, 3 * (5 + 4));
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(value(f, i, "method.c"), "0.5");
        assert_string_equal(value(f, i, "train.lr"), "0.003162");
        assert_string_equal(value(f, i, "method.beta"), half[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(value(f, 23 + i, "method.c"), "1");
        assert_string_equal(value(f, 23 + i, "train.lr"), "0.03162");
        assert_string_equal(value(f, 23 + i, "method.beta"), full[i]);
    }
}

static void guessed_groups_add_t(void **state)
{
    fixture *f = *state;
    add(f, &f->base, "method.attributes", "unknown");
    add(f, &f->base, "method.t", "0.1");
    open_points(f);
    assert_int_equal(f->space.count, 4);
    assert_true(f->space.limited);
    const gn_point_value point[4] = {{"0.5"}, {"0.1"}, {"0.01"}};
    gn_limits limits;
    /* 10 of 100 hard: (0.9 + 0.25) / (0.5 * 0.4) - 1, the share of the rest being let down to -0.25
     */
    assert_ok(f->ctx, gn_limits_at(f->ctx, &f->limiter, &f->space, point, 2, &limits));
    assert_near(limits.allowed.hi, 4.75, 1e-9);
    assert_string_equal(limits.at, "c = 0.5, t = 0.1");
    grid(f, 2);
    assert_string_equal(value(f, 0, "method.t"), "0.05");
    assert_int_equal(f->points.dropped, 0);
}

static void random_points_are_pure_and_inside(void **state)
{
    fixture *f = *state;
    char first[32], lr[32];
    add(f, &f->search, "search.method.beta", "0..9");
    add(f, &f->search, "search.method.c", "0.5,1");
    add(f, &f->search, "search.train.lr", "1e-4..1");
    open_points(f);
    draw(f, 1, 200);
    assert_int_equal(f->points.count, 200);
    assert_int_equal(f->points.dropped, 0);
    size_t low = 0, near_bound = 0;
    for (size_t i = 0; i < 200; i++) {
        double c, beta, rate;
        assert_true(gn_parse_double(value(f, i, "method.c"), &c));
        assert_true(gn_parse_double(value(f, i, "method.beta"), &beta));
        assert_true(gn_parse_double(value(f, i, "train.lr"), &rate));
        double bound = 0.95 / (c * 0.45) - 1;
        assert_true(beta >= 0 && beta <= bound);
        near_bound += beta > 0.5 * bound;
        low += rate < 1e-2;
    }
    /* half of a log range lies below its middle: 100 +- 4 sigma of a binomial (7.1) */
    assert_in_range(low, 72, 128);
    assert_in_range(near_bound, 72, 128);
    snprintf(first, sizeof first, "%s", value(f, 3, "method.beta"));
    snprintf(lr, sizeof lr, "%s", value(f, 3, "train.lr"));
    draw(f, 1, 10); /* fewer: the same beginning */
    assert_string_equal(value(f, 3, "method.beta"), first);
    assert_string_equal(value(f, 3, "train.lr"), lr);
    draw(f, 2, 10);
    assert_string_not_equal(value(f, 3, "train.lr"), lr);
}

static void whole_numbers_stay_whole(void **state)
{
    fixture *f = *state;
    add(f, &f->search, "search.train.steps", "10..1000 log");
    open_points(f);
    draw(f, 0, 50);
    for (size_t i = 0; i < f->points.count; i++) {
        int64_t steps;
        assert_true(gn_parse_int(value(f, i, "train.steps"), &steps));
        assert_in_range(steps, 10, 1000);
    }
    assert_in_range(f->points.count, 30, 50); /* equal ones are drawn once */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(axes_are_read),
        CASE(bad_axes_are_refused),
        CASE(a_grid_takes_every_combination),
        CASE(beta_outside_its_interval_is_left_out),
        CASE(the_usual_grid_follows_the_bounds),
        CASE(guessed_groups_add_t),
        CASE(random_points_are_pure_and_inside),
        CASE(whole_numbers_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
