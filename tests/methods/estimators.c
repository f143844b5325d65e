/* Estimators of groups on the embedded data: what they find, what they hand over for selection,
 * and what they say when there is nothing to find. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "methods/list.h"
#include "train/train.h"

/* One in twenty samples has the colour of another class. */
static const char *const usual[] = {"threads",           "1",       "data.n",      "2000",
                                    "data.ratio",        "0.05",    "train.lr",    "0.02",
                                    "train.batch",       "128",     "train.steps", "160",
                                    "train.eval_every",  "40",      "method.name", "gerne",
                                    "method.attributes", "unknown", NULL};

typedef struct run {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings flags;
    gn_run_config *config;
    char *directory;
    json_t *results;
} run;

static void set(run *r, const char *const *pairs)
{
    for (; pairs && *pairs; pairs += 2)
        assert_ok(r->ctx, gn_settings_add(r->ctx, &r->flags, pairs[0], &pairs[1], 1, false, 0));
}

/* Trains with further keys and values. */
static gerne_status train(run *r, const char *const *pairs)
{
    char out[4200];
    *r = (run){.ctx = test_ctx(), .directory = test_directory()};
    assert_ok(r->ctx, gn_arena_new(r->ctx, &r->arena));
    r->flags.arena = r->arena;
    snprintf(out, sizeof out, "%s/run", r->directory);
    set(r, usual);
    set(r, (const char *const[]){"out", out, "cache", r->directory, NULL});
    set(r, pairs);
    gerne_status status = gn_run_config_new(r->ctx, NULL, &r->flags, &r->config);
    return status == GERNE_OK ? gn_train(r->ctx, r->config, NULL, &r->results) : status;
}

static void train_well(run *r, const char *const *pairs)
{
    gerne_status status = train(r, pairs);
    assert_ok(r->ctx, status);
}

static void end(run *r)
{
    json_decref(r->results);
    gn_run_config_close(r->config);
    gn_settings_free(&r->flags);
    gn_arena_close(r->arena);
    gerne_ctx_close(r->ctx);
    test_remove_directory(r->directory);
}

static double figure(const run *r, const char *path[3])
{
    const json_t *at = r->results;
    for (int i = 0; i < 3 && path[i]; i++)
        at = json_object_get(at, path[i]);
    return json_is_number(at) ? json_number_value(at) : -1;
}

static double val_figure(const run *r, const char *name)
{
    return figure(r, (const char *[]){"splits", "val", name});
}

static void the_minority_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; gn_estimators[i]; i++) {
        const gn_method *e = gn_estimators[i];
        if (!e->plan)
            continue; /* it takes what another has found: tests/cli/groups-of-run.case */
        bool biased = strcmp(e->name, "biased") == 0;
        bool jtt = strcmp(e->name, "jtt") == 0;
        run r;
        const char *const pairs[] = {"method.estimator", e->name,
                                     biased ? "method.t" : "method.estimator_epochs",
                                     biased ? "0.04"
                                     : jtt  ? "5"
                                            : "10",
                                     NULL};
        train_well(&r, pairs);
        double precision = figure(&r, (const char *[]){"pseudo", "precision", NULL});
        double recall = figure(&r, (const char *[]){"pseudo", "recall", NULL});
        print_message("%-7s precision %.3f recall %.3f\n", e->name, precision, recall);
        if (precision < 0.8 || recall < 0.75)
            fail_msg("%s: precision %g, recall %g", e->name, precision, recall);
        bool inferred = e->val_cells >> GN_CELLS_INFERRED & 1;
        bool bias = e->val_cells >> GN_CELLS_BIASED & 1;
        assert_int_equal(val_figure(&r, "inferred_wga") >= 0, inferred);
        assert_int_equal(val_figure(&r, "bias_gba") >= 0, bias);
        end(&r);
    }
}

/* Peers that see changed pictures find the minority, and its groups are the true ones: in the
 * built-in data colour k goes with class k. */
static void hard_samples_have_the_class_of_their_shortcut(void **state)
{
    (void)state;
    run r;
    const char *const pairs[] = {"method.estimator",
                                 "ecs",
                                 "method.ecs_groups",
                                 "classes",
                                 "method.estimator_augment",
                                 "affine",
                                 "method.estimator_epochs",
                                 "10",
                                 NULL};
    train_well(&r, pairs);
    const json_t *pseudo = json_object_get(r.results, "pseudo");
    const json_t *alpha = json_object_get(json_object_get(r.results, "bounds"), "alpha");
    size_t classes = json_array_size(alpha);
    assert_true(classes > 2);
    assert_int_equal(json_array_size(json_object_get(pseudo, "names")), classes);
    for (size_t y = 0; y < classes; y++) {
        const json_t *row = json_array_get(alpha, y);
        assert_int_equal(json_array_size(row), classes);
        assert_true(json_number_value(json_array_get(row, y)) > 0.9);
    }
    assert_true(figure(&r, (const char *[]){"pseudo", "precision", NULL}) > 0.9);
    assert_true(figure(&r, (const char *[]){"pseudo", "recall", NULL}) > 0.9);
    assert_true(val_figure(&r, "inferred_gba") >= 0);
    end(&r);
}

/* The groups that xrm finds here are the true ones, so that its figures are those of two groups a
 * class: colour agrees, or not. */
static void the_configured_figure_chooses(void **state)
{
    (void)state;
    run r;
    const char *const pairs[] = {"method.estimator", "xrm", "select.metric", "inferred_wga", NULL};
    train_well(&r, pairs);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(r.results, "selection"), "metric")),
        "inferred_wga");
    double chosen = val_figure(&r, "inferred_wga");
    double last = figure(&r, (const char *[]){"last", "val", "inferred_wga"});
    assert_true(chosen >= 0 && chosen >= last);
    assert_near(figure(&r, (const char *[]){"pseudo", "flipped", NULL}), 0.05, 0.02);
    end(&r);
}

typedef struct refusal {
    const char *const *pairs;
    gerne_status status;
    const char *words, *hint;
} refusal;

static void what_does_not_exist_cannot_choose(void **state)
{
    (void)state;
    const refusal list[] = {
        {(const char *const[]){"select.metric", "inferred_wga", NULL}, GERNE_EUSAGE,
         "'inferred_wga' does not exist for this run: no estimator",
         "--method.estimator jtt, xrm, mst, ecs or run"},
        {(const char *const[]){"select.metric", "bias_gba", "method.estimator", "xrm", NULL},
         GERNE_EUSAGE, "'bias_gba' does not exist for this run: it has no biased model", "ula"},
        {(const char *const[]){"select.metric", "bias_gba", "select.split", "test", NULL},
         GERNE_EUSAGE, "'bias_gba' exists on the validation split only", "--select.split val"},
        {(const char *const[]){"method.estimator", "xmr", NULL}, GERNE_EUSAGE,
         "there is no estimator 'xmr'", "did you mean 'xrm'?"},
        {(const char *const[]){"method.estimator", "jtt", "method.t", "0.1", NULL}, GERNE_EUSAGE,
         "method.t", "belongs to: estimator biased"},
        {(const char *const[]){"method.estimator", "jtt", "method.estimator_augment", "flip",
                               "model.freeze", "body", NULL},
         GERNE_EUSAGE, "method.estimator_augment changes images, but what the frozen layers make",
         "--method.estimator_augment none"},
        /* After 200 epochs the first model is right everywhere. */
        {(const char *const[]){"method.estimator", "jtt", "method.estimator_epochs", "200",
                               "data.ratio", "0.5", NULL},
         GERNE_ENOTHING, "estimator 'jtt' found no shortcut in class", "--method.estimator_epochs"},
        {(const char *const[]){"method.estimator", "ecs", "method.ecs_hard", "0.999",
                               "method.estimator_epochs", "1", NULL},
         GERNE_ENOTHING, "estimator 'ecs' found no shortcut in class", "--method.estimator_epochs"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        run r;
        gerne_status status = train(&r, list[i].pairs);
        assert_fails(r.ctx, list[i].status, list[i].words, status);
        if (!strstr(gerne_hint(r.ctx), list[i].hint))
            fail_msg("the hint of refusal %zu is: %s", i, gerne_hint(r.ctx));
        end(&r);
    }
}

/* A file's options of an estimator that a flag replaces do not apply. */
static void flags_replace_the_estimator(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_settings file = {0}, flags = {0};
    gn_run_config *config;
    assert_ok(ctx, gn_arena_new(ctx, &file.arena));
    flags.arena = file.arena;
    const char *const t = "0.1", *const xrm = "xrm";
    assert_ok(ctx, gn_settings_add(ctx, &file, "method.t", &t, 1, false, 1));
    assert_ok(ctx, gn_settings_add(ctx, &flags, "method.estimator", &xrm, 1, false, 0));
    assert_ok(ctx, gn_run_config_new(ctx, &file, &flags, &config));
    assert_string_equal(config->estimator->name, "xrm");
    gn_run_config_close(config);
    gn_arena *arena = file.arena;
    gn_settings_free(&file);
    gn_settings_free(&flags);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_minority_is_found),
        cmocka_unit_test(hard_samples_have_the_class_of_their_shortcut),
        cmocka_unit_test(the_configured_figure_chooses),
        cmocka_unit_test(flags_replace_the_estimator),
        cmocka_unit_test(what_does_not_exist_cannot_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
