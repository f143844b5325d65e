/* Seeds are put together, and the best configuration is found by the rules of ranking.h. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "study/summary.h"

enum { TRIALS_MAX = 16 };

typedef struct fixture {
    gerne_ctx *ctx;
    gn_trial items[TRIALS_MAX];
    gn_trial_list list;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.ctx = test_ctx()};
    f.list.items = f.items;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < f->list.count; i++)
        json_decref(f->items[i].results);
    gerne_ctx_close(f->ctx);
    return 0;
}

/* value: the gba of validation; that of the test split is half of it. NaN: the trial failed. */
static void add(fixture *f, const char *settings, int level, double value)
{
    gn_trial *t = &f->items[f->list.count];
    *t =
        (gn_trial){.settings = settings, .tag = "", .level = level, .seed = (int64_t)f->list.count};
    snprintf(t->id, sizeof t->id, "%016zu", f->list.count++);
    t->state = isnan(value) ? GN_TRIAL_FAILED : GN_TRIAL_DONE;
    t->reason = isnan(value) ? "diverged" : NULL;
    if (!isnan(value))
        t->results = json_pack("{s:{s:{s:f,s:[f,f]},s:{s:f}}}", "splits", "val", "gba", value,
                               "gba_ci95", value - 0.1, value + 0.1, "test", "gba", value / 2);
}

/* Like add, with a seed of its own. */
static void add_seed(fixture *f, const char *settings, int64_t seed, double value)
{
    add(f, settings, 0, value);
    f->items[f->list.count - 1].seed = seed;
}

static void rank(fixture *f, gn_ranking *out)
{
    assert_ok(f->ctx, gn_rank(f->ctx, &f->list, "val", "gba", out));
}

static void assert_is(const gn_ranking *r, size_t rank, const char *settings)
{
    assert_string_equal(r->items[rank].trials[0]->settings, settings);
}

static const char a[] = "{\"method.beta\":\"0\"}", b[] = "{\"method.beta\":\"1\"}",
                  c[] = "{\"method.beta\":\"2\"}";

/* 0.7, 0.8, 0.9: mean 0.8, sd 0.1, se 0.1 / sqrt(3). */
static void seeds_are_put_together(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    add(f, a, 0, 0.5);
    add(f, b, 0, 0.7);
    add(f, a, 0, 0.5);
    add(f, b, 0, 0.9);
    add(f, b, 0, 0.8);
    rank(f, &r);
    assert_int_equal(r.count, 2);
    assert_is(&r, 0, b);
    assert_int_equal(r.items[0].figure.n, 3);
    assert_near(r.items[0].figure.mean, 0.8, 1e-12);
    assert_near(r.items[0].figure.sd, 0.1, 1e-12);
    assert_near(r.items[0].figure.se, 0.0577350269189626, 1e-12);
    assert_near(r.items[0].interval.lo, 0.7, 1e-12);
    assert_near(r.items[0].interval.hi, 0.9, 1e-12);
    assert_near(r.items[0].test[0].mean, 0.4, 1e-12);
    assert_true(isnan(r.items[0].test[1].mean)); /* there is no wga */
    assert_ptr_equal(gn_ranking_best(&r), &r.items[0]);
    gn_ranking_free(&r);
}

static void a_lost_seed_ranks_behind(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    add(f, a, 0, 0.99);
    add(f, a, 0, (double)NAN);
    add(f, b, 0, 0.6);
    add(f, b, 0, 0.6);
    add(f, c, 0, (double)NAN);
    rank(f, &r);
    assert_is(&r, 0, b);
    assert_is(&r, 1, a);
    assert_int_equal(r.items[1].failed, 1);
    assert_is(&r, 2, c);
    gn_ranking_free(&r);
}

static void higher_levels_and_earlier_plans_win(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    add(f, a, 0, 0.9);
    add(f, b, 1, 0.8);
    add(f, c, 1, 0.8);
    rank(f, &r);
    assert_is(&r, 0, b);
    assert_is(&r, 1, c);
    assert_is(&r, 2, a);
    gn_ranking_free(&r);
}

static void assert_difference(gn_difference d, gn_difference_test test, double mean, double lo,
                              double hi)
{
    assert_int_equal(d.test, test);
    assert_near(d.mean, mean, 1e-12);
    assert_near(d.interval.lo, lo, 1e-9);
    assert_near(d.interval.hi, hi, 1e-9);
}

static void differences_have_intervals(void **state)
{
    (void)state;
    /* sd 0.1, se 0.1 / sqrt(3), and t = 4.302652729911275 at two degrees of freedom. */
    const double values[] = {-0.1, -0.2, -0.3};
    gn_difference d = gn_difference_over_seeds(values, 3);
    double half = 4.302652729911275 * 0.1 / sqrt(3);
    assert_difference(d, GN_PAIRED_OVER_SEEDS, -0.2, -0.2 - half, -0.2 + half);
    assert_false(gn_difference_significant(&d));
    /* t = 12.706204736174698 at one. */
    d = gn_difference_over_seeds((const double[]){-0.10, -0.12}, 2);
    assert_difference(d, GN_PAIRED_OVER_SEEDS, -0.11, -0.11 - 0.12706204736174698,
                      -0.11 + 0.12706204736174698);
    d = gn_difference_over_seeds((const double[]){-0.2, -0.2}, 2); /* without any spread */
    assert_true(gn_difference_significant(&d));
    d = gn_difference_over_seeds(values, 1);
    assert_int_equal(d.test, GN_NOT_TESTED);
    assert_false(gn_difference_significant(&d));

    d = gn_difference_of_figures(0.7, (gn_interval){0.67, 0.74}, 0.8, (gn_interval){0.7, 0.84});
    assert_difference(d, GN_METRIC_INTERVALS, -0.1, -0.1 - 0.05,
                      -0.1 + hypot(0.04, 0.1)); /* 3, 4, 5 */
    assert_false(gn_difference_significant(&d));
    d = gn_difference_of_figures(0.7, (gn_interval){0.67, 0.71}, 0.8, (gn_interval){0.76, 0.84});
    assert_true(gn_difference_significant(&d));
    d = gn_difference_of_figures(0.7, (gn_interval){NAN, NAN}, 0.8, (gn_interval){0.76, 0.84});
    assert_int_equal(d.test, GN_NOT_TESTED);
}

static void ranks_are_compared_seed_by_seed(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    gn_text text = {0};
    for (int seed = 0; seed < 3; seed++) {
        add_seed(f, a, seed, 0.9 - 0.2 * seed); /* seeds matter more than options */
        add_seed(f, b, seed, 0.9 - 0.2 * seed - 0.05 - 0.001 * seed);
        add_seed(f, c, seed, seed == 1 ? 0.75 : 0.85 - 0.2 * seed); /* above a with seed 1 only */
    }
    rank(f, &r);
    assert_is(&r, 0, a);
    assert_is(&r, 1, c);
    assert_is(&r, 2, b);
    assert_true(isnan(r.items[0].to_first.mean));
    assert_true(gn_ranked_ties(&r.items[1]));
    assert_false(gn_ranked_ties(&r.items[2])); /* always five points less */
    assert_ok(f->ctx, gn_ranking_describe_ties(f->ctx, &r, &text));
    assert_string_equal(text.bytes, "no significant difference from rank 1: rank 2 (5 % level; "
                                    "paired t-test over seeds; each rank on its own)");
    gn_text_free(&text);
    gn_ranking_free(&r);
}

static void one_seed_is_compared_by_intervals(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    gn_text text = {0};
    add_seed(f, a, 0, 0.9);
    add_seed(f, b, 0, 0.8);  /* within hypot(0.1, 0.1) */
    add_seed(f, c, 0, 0.75); /* not */
    add_seed(f, "{\"method.beta\":\"3\"}", 0, (double)NAN);
    rank(f, &r);
    assert_true(gn_ranked_ties(&r.items[1]));
    assert_false(gn_ranked_ties(&r.items[2]));
    assert_int_equal(r.items[3].to_first.test, GN_NOT_TESTED);
    assert_ok(f->ctx, gn_ranking_describe_ties(f->ctx, &r, &text));
    assert_non_null(strstr(text.bytes, "rank 1: rank 2 (5 % level; from the 95 % intervals"));
    gn_text_free(&text);
    gn_ranking_free(&r);
    /* A metric without an interval. */
    assert_ok(f->ctx, gn_rank(f->ctx, &f->list, "test", "gba", &r));
    assert_int_equal(r.items[1].to_first.test, GN_NOT_TESTED);
    assert_near(r.items[1].to_first.mean, -0.05, 1e-12);
    assert_ok(f->ctx, gn_ranking_describe_ties(f->ctx, &r, &text));
    assert_non_null(strstr(text.bytes, "no rank could be tested"));
    gn_text_free(&text);
    gn_ranking_free(&r);
}

static void warnings_are_counted_and_said(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    gn_text text = {0};
    json_t *study;
    const gn_study_info info = {
        .kind = "tune", .title = "t", .command = "c", .metric = "gba", .split = "val"};
    add(f, a, 0, 0.9);
    add(f, a, 0, 0.8);
    add(f, b, 0, 0.5);
    json_object_set_new(f->items[1].results, "warnings", json_pack("[s,s]", "first", "second"));
    json_object_set_new(f->items[2].results, "warnings", json_array());
    rank(f, &r);
    assert_int_equal(r.items[0].warned, 1);
    assert_string_equal(r.items[0].warning, "first");
    assert_int_equal(r.items[1].warned, 0);
    assert_ok(f->ctx, gn_ranked_describe_warnings(f->ctx, &r.items[0], &text));
    assert_string_equal(text.bytes, "1 of 2 runs warned: first");
    assert_ok(f->ctx, gn_study_json(f->ctx, &info, &f->list, &r, &study));
    const json_t *trial = json_array_get(json_object_get(study, "trials"), 1);
    assert_int_equal(json_array_size(json_object_get(trial, "warnings")), 2);
    const json_t *best = json_array_get(json_object_get(study, "ranking"), 0);
    assert_int_equal(json_integer_value(json_object_get(best, "warned")), 1);
    assert_string_equal(json_string_value(json_object_get(best, "warning")), "first");
    assert_true(json_is_null(json_object_get(best, "difference")));
    json_decref(study);
    gn_text_free(&text);
    gn_ranking_free(&r);
}

static void nothing_done_has_no_winner(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    rank(f, &r);
    assert_null(gn_ranking_best(&r));
    gn_ranking_free(&r);
    add(f, a, 0, (double)NAN);
    rank(f, &r);
    assert_null(gn_ranking_best(&r));
    gn_ranking_free(&r);
}

static void the_document_is_as_promised(void **state)
{
    fixture *f = *state;
    gn_ranking r;
    json_t *study, *notes = json_pack("[s]", "a <b>note</b>");
    add(f, a, 0, 0.5);
    add(f, b, 0, (double)NAN);
    rank(f, &r);
    gn_study_info info = {.kind = "tune",
                          .title = "t",
                          .command = "gerne tune",
                          .metric = "gba",
                          .split = "test",
                          .notes = notes};
    assert_ok(f->ctx, gn_study_json(f->ctx, &info, &f->list, &r, &study));
    assert_true(json_is_true(json_object_get(study, "complete")));
    assert_true(json_is_true(json_object_get(json_object_get(study, "selection"), "oracle")));
    const json_t *trials = json_object_get(study, "trials");
    assert_string_equal(json_string_value(json_object_get(json_array_get(trials, 1), "reason")),
                        "diverged");
    assert_true(json_is_true(json_object_get(json_array_get(trials, 1), "diverged")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(trials, 0), "run")),
                        "trials/0000000000000000");
    const json_t *first = json_array_get(json_object_get(study, "ranking"), 0);
    assert_true(json_is_null(json_object_get(first, "sd"))); /* of one run: none */
    assert_int_equal(json_array_size(json_object_get(study, "parameters")), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(study, "counts"), "failed")), 1);
    json_decref(study);
    info.split = "val";
    f->items[0].state = GN_TRIAL_RUNNING;
    assert_ok(f->ctx, gn_study_json(f->ctx, &info, &f->list, &r, &study));
    assert_true(json_is_false(json_object_get(study, "complete")));
    assert_true(json_is_false(json_object_get(json_object_get(study, "selection"), "oracle")));
    json_decref(study);
    json_decref(notes);
    gn_ranking_free(&r);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(seeds_are_put_together),
        CASE(a_lost_seed_ranks_behind),
        CASE(higher_levels_and_earlier_plans_win),
        cmocka_unit_test(differences_have_intervals),
        CASE(ranks_are_compared_seed_by_seed),
        CASE(one_seed_is_compared_by_intervals),
        CASE(warnings_are_counted_and_said),
        CASE(nothing_done_has_no_winner),
        CASE(the_document_is_as_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
