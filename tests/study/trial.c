/* From settings to results: ids, going on, and what counts as a failed trial. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "study/result.h"
#include "study/worker.h"
#include "train/train.h"

typedef struct fixture {
    gerne_ctx *ctx;
    gn_arena *arena;
    char *dir;
    gn_settings base, changes;
    gn_ledger *ledger;
} fixture;

static void add(fixture *f, gn_settings *settings, const char *key, const char *value)
{
    assert_ok(f->ctx, gn_settings_add(f->ctx, settings, key, &value, 1, false, 0));
}

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.ctx = test_ctx(), .dir = test_directory()};
    assert_ok(f.ctx, gn_arena_new(f.ctx, &f.arena));
    f.base.arena = f.changes.arena = f.arena;
    gn_settings flags = {.arena = f.arena};
    add(&f, &flags, "data.n", "400");
    add(&f, &flags, "model.arch", "linear");
    add(&f, &flags, "train.steps", "6");
    add(&f, &flags, "train.checkpoint_every", "1");
    add(&f, &flags, "threads", "1");
    add(&f, &flags, "seed", "7");
    add(&f, &flags, "out", "elsewhere");
    assert_ok(f.ctx, gn_base_settings(f.ctx, NULL, &flags, &f.base));
    gn_settings_free(&flags);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    gn_ledger_close(f->ledger);
    gn_settings_free(&f->base);
    gn_settings_free(&f->changes);
    gn_arena_close(f->arena);
    test_remove_directory(f->dir);
    gerne_ctx_close(f->ctx);
    return 0;
}

static gn_trial make(fixture *f, int64_t seed)
{
    gn_trial trial = {.tag = "", .seed = seed};
    assert_ok(f->ctx, gn_trial_make(f->ctx, f->arena, &f->base, &f->changes, &trial));
    return trial;
}

static void base_drops_what_is_a_runs_own(void **state)
{
    fixture *f = *state;
    assert_null(gn_settings_find(&f->base, "seed"));
    assert_null(gn_settings_find(&f->base, "out"));
    assert_non_null(gn_settings_find(&f->base, "train.steps"));
    gn_text text = {0};
    assert_ok(f->ctx, gn_base_describe(f->ctx, &f->base, &text));
    assert_non_null(strstr(text.bytes, "train.steps: 6\n"));
    assert_non_null(strstr(text.bytes, "train.lr: 0.01\n")); /* a default */
    assert_null(strstr(text.bytes, "\nout:"));
    gn_text_free(&text);
}

static void ids_follow_the_configuration(void **state)
{
    fixture *f = *state;
    gn_trial a = make(f, 0), b = make(f, 1);
    assert_string_not_equal(a.id, b.id);
    assert_string_equal(a.settings, "{}");
    add(f, &f->changes, "train.lr", "0.01"); /* the default, spelt out */
    gn_trial same = make(f, 0);
    assert_string_equal(same.id, a.id);
    assert_string_equal(same.settings, "{\"train.lr\":\"0.01\"}");
    f->changes.count = 0;
    add(f, &f->changes, "train.lr", "0.002");
    assert_string_not_equal(make(f, 0).id, a.id);
    f->changes.count = 0;
    add(f, &f->changes, "train.rl", "1");
    assert_fails(f->ctx, GERNE_EUSAGE, "train.rl",
                 gn_trial_make(f->ctx, f->arena, &f->base, &f->changes, &a));
}

static void open_with(fixture *f, const gn_trial *trials, size_t count)
{
    assert_ok(f->ctx, gn_ledger_open(f->ctx, f->dir, "tune", "x\n", &f->ledger));
    assert_ok(f->ctx, gn_ledger_plan(f->ledger, trials, count));
}

static gn_trial only_trial(fixture *f, gn_trial_list *list)
{
    assert_ok(f->ctx, gn_ledger_list(f->ledger, list));
    assert_int_equal(list->count, 1);
    return list->items[0];
}

static int calls;

static int stop_at_third(void *user, const gerne_progress *progress)
{
    (void)user;
    (void)progress;
    return ++calls == 4;
}

/* A stopped study goes on in the same run directory and ends with the results of one that was not
 * stopped. */
static void an_interrupt_loses_nothing(void **state)
{
    fixture *f = *state;
    gn_trial planned = make(f, 3);
    gn_trial_list list;
    open_with(f, &planned, 1);
    const gn_study_work work = {.what = "tune", .cache = f->dir};
    calls = 0;
    gerne_set_progress(f->ctx, stop_at_third, NULL);
    assert_fails(f->ctx, GERNE_EINTERRUPTED, "interrupted", gn_study_run(f->ctx, f->ledger, &work));
    assert_string_equal(gerne_hint(f->ctx), "the same command resumes it");
    gerne_set_progress(f->ctx, NULL, NULL);
    assert_int_equal(only_trial(f, &list).state, GN_TRIAL_WAITING);
    gn_trial_list_free(&list);
    assert_ok(f->ctx, gn_study_run(f->ctx, f->ledger, &work));
    gn_trial trial = only_trial(f, &list);
    assert_int_equal(trial.state, GN_TRIAL_DONE);
    assert_int_equal(json_integer_value(json_object_get(trial.results, "seed")), 3);
    assert_null(json_object_get(json_object_get(json_object_get(trial.results, "splits"), "val"),
                                "groups"));
    double stopped = gn_result_figure(gn_result_splits(trial.results, false), "test", "gba");
    assert_true(stopped > 0 && stopped <= 1);
    assert_true(isnan(gn_result_figure(gn_result_splits(trial.results, false), "test", "nothing")));

    char path[512];
    gn_run_config *config;
    json_t *results;
    snprintf(path, sizeof path, "%s/undisturbed", f->dir);
    assert_ok(f->ctx, gn_trial_config(f->ctx, planned.config, path, f->dir, &config));
    assert_ok(f->ctx, gn_train(f->ctx, config, NULL, &results));
    gn_run_config_close(config);
    /* to the 15 digits that are kept */
    assert_near(gn_result_figure(gn_result_splits(results, false), "test", "gba"), stopped, 1e-14);
    assert_near(gn_result_figure(gn_result_splits(results, false), "val", "wga"),
                gn_result_figure(gn_result_splits(trial.results, false), "val", "wga"), 1e-14);
    json_decref(results);
    gn_trial_list_free(&list);
}

static void assert_failed(fixture *f, const char *words)
{
    gn_trial_list list;
    const gn_study_work work = {.what = "tune", .cache = f->dir};
    gn_trial planned = make(f, 0);
    open_with(f, &planned, 1);
    assert_ok(f->ctx, gn_study_run(f->ctx, f->ledger, &work));
    gn_trial trial = only_trial(f, &list);
    assert_int_equal(trial.state, GN_TRIAL_FAILED);
    if (!strstr(trial.reason, words))
        fail_msg("'%s' is not in '%s'", words, trial.reason);
    gn_trial_list_free(&list);
}

static void divergence_is_a_failed_trial(void **state)
{
    fixture *f = *state;
    add(f, &f->changes, "train.lr", "100000");
    assert_failed(f, "diverged at step");
}

static void a_bad_beta_is_a_failed_trial(void **state)
{
    fixture *f = *state;
    add(f, &f->changes, "method.beta", "50");
    assert_failed(f, "beta 50");
}

static void put(fixture *f, const char *id, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/trials/%s", f->dir, id);
    assert_ok(f->ctx, gn_make_directory(f->ctx, path));
    snprintf(path, sizeof path, "%s/trials/%s/%s", f->dir, id, name);
    assert_ok(f->ctx, gn_file_write(f->ctx, path, text, strlen(text)));
}

/* A finished run whose metric does not exist. */
static void nan_is_a_failed_trial(void **state)
{
    fixture *f = *state;
    gn_trial planned = make(f, 0);
    put(f, planned.id, "config.yaml", planned.config);
    put(f, planned.id, "results.json",
        "{\"selection\":{\"metric\":\"wga\",\"split\":\"val\"},"
        "\"splits\":{\"val\":{\"wga\":null}}}");
    assert_failed(f, "wga on the val split is not a number");
}

/* What a killed process left behind is thrown away when it cannot be used. */
static void a_damaged_checkpoint_starts_anew(void **state)
{
    fixture *f = *state;
    gn_trial planned = make(f, 0);
    gn_trial_list list;
    char path[512];
    put(f, planned.id, "config.yaml", planned.config);
    put(f, planned.id, "last.ckpt", "half of a checkpoint");
    snprintf(path, sizeof path, "%s/trials/%s/errors", f->dir, planned.id);
    assert_ok(f->ctx, gn_make_directory(f->ctx, path));
    put(f, planned.id, "errors/0.png", "a picture");
    open_with(f, &planned, 1);
    const gn_study_work work = {.what = "tune", .cache = f->dir};
    assert_ok(f->ctx, gn_study_run(f->ctx, f->ledger, &work));
    assert_int_equal(only_trial(f, &list).state, GN_TRIAL_DONE);
    gn_trial_list_free(&list);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(base_drops_what_is_a_runs_own),    CASE(ids_follow_the_configuration),
        CASE(an_interrupt_loses_nothing),       CASE(divergence_is_a_failed_trial),
        CASE(a_bad_beta_is_a_failed_trial),     CASE(nan_is_a_failed_trial),
        CASE(a_damaged_checkpoint_starts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
