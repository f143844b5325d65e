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

static void rank(fixture *f, gn_ranking *out)
{
    assert_ok(f->ctx, gn_rank(f->ctx, &f->list, "val", "gba", out));
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
    assert_string_equal(r.items[0].settings, b);
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
    assert_string_equal(r.items[0].settings, b);
    assert_string_equal(r.items[1].settings, a);
    assert_int_equal(r.items[1].failed, 1);
    assert_string_equal(r.items[2].settings, c);
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
    assert_string_equal(r.items[0].settings, b);
    assert_string_equal(r.items[1].settings, c);
    assert_string_equal(r.items[2].settings, a);
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
        CASE(nothing_done_has_no_winner),
        CASE(the_document_is_as_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
