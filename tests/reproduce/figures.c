/* Curves out of logs, and appendix B in numbers. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "reproduce/run_logs.h"
#include "reproduce/variance.h"

static void write_file(gerne_ctx *ctx, const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(ctx, gn_file_write(ctx, path, text, strlen(text)));
}

/* Two runs with two evaluations; a stage of another name and the end do not count. */
static void write_run(gerne_ctx *ctx, const char *dir, const char *id, double first, double second)
{
    char folder[256], log[2048];
    snprintf(folder, sizeof folder, "%s/trials/%s", dir, id);
    assert_ok(ctx, gn_make_directory(ctx, folder));
    snprintf(log, sizeof log,
             "{\"event\":\"start\",\"train_counts\":[[10,90],[5,95]]}\n"
             "{\"event\":\"evaluation\",\"stage\":\"biased\",\"epoch\":1,\"test\":{\"gba\":0.9}}\n"
             "{\"event\":\"evaluation\",\"stage\":\"main\",\"epoch\":40,\"train\":{\"L_b\":0.5},"
             "\"test\":{\"gba\":%g,\"acc_avg\":0.5,\"minority_acc\":0.4}}\n"
             "{\"event\":\"evaluation\",\"stage\":\"main\",\"epoch\":50,\"train\":{},"
             "\"test\":{\"gba\":%g,\"acc_avg\":0.6,\"minority_acc\":0.5}}\n"
             "{\"event\":\"end\"}\n{\"event\":\"eval",
             first, second);
    write_file(ctx, folder, "log.jsonl", log);
    write_file(ctx, folder, "results.json",
               "{\"splits\":{\"test\":{\"groups\":[{\"y\":0,\"a\":0,\"n\":30},"
               "{\"y\":0,\"a\":1,\"n\":20},{\"y\":1,\"a\":0,\"n\":50}]}}}");
}

static void test_curves(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_trial trials[3] = {
        {.state = GN_TRIAL_DONE}, {.state = GN_TRIAL_DONE}, {.state = GN_TRIAL_FAILED}};
    gn_cell_run runs[3] = {{.trial = 0}, {.trial = 1}, {.trial = 2}};
    const gn_cell cell = {.runs = runs, .run_count = 3};
    for (int i = 0; i < 3; i++)
        snprintf(trials[i].id, sizeof trials[i].id, "run%d", i);
    write_run(ctx, dir, "run0", 0.2, 0.6);
    write_run(ctx, dir, "run1", 0.4, 0.7);
    gn_reproduction r = {
        .ctx = ctx, .dir = dir, .trials = {.items = trials, .count = 3}, .figures = json_array()};
    assert_ok(ctx, gn_arena_new(ctx, &r.arena));
    gn_run_logs curves;
    gn_track curve;
    assert_ok(ctx, gn_run_logs_read(&r, &cell, 0, &curves));
    assert_int_equal(curves.count, 2);
    assert_near(curves.minority_share, 0.8, 1e-12);
    assert_ok(ctx, gn_track_of(&r, &curves, "test", "gba", &curve));
    assert_int_equal(curve.count, 2);
    assert_near(curve.x[1], 50, 1e-12);
    assert_near(curve.mean[0], 0.3, 1e-12);
    assert_near(curve.width[0], sqrt(0.02), 1e-12); /* 0.2 and 0.4: 2 times 0.01 over 1 */
    /* 0.5 = 0.8 * 0.4 + 0.2 * 0.9 */
    gn_track majority;
    assert_ok(ctx, gn_track_of(&r, &curves, "test", "majority_acc", &majority));
    assert_near(majority.mean[0], 0.9, 1e-12);
    gn_track loss;
    assert_ok(ctx, gn_track_of(&r, &curves, "train", "L_b", &loss));
    assert_int_equal(loss.count, 1); /* the second evaluation has none */
    gn_spread plateau;
    assert_ok(ctx, gn_run_logs_plateau(&r, &curves, "test", "gba", 45, &plateau));
    assert_int_equal(plateau.n, 2);
    assert_near(plateau.mean, 0.65, 1e-12);
    assert_ok(ctx, gn_run_logs_plateau(&r, &curves, "test", "gba", 60, &plateau));
    assert_true(plateau.n == 0 && isnan(plateau.mean));

    json_t *figure = gn_figure_add(r.figures, "Title", (gn_figure_axis){"epoch", "", false},
                                   (gn_figure_axis){"accuracy", "%", false}, NULL);
    assert_ok(ctx, gn_figure_add_series(ctx, figure, "ours", &curve, 100, false));
    const json_t *series = json_array_get(json_object_get(figure, "series"), 0);
    assert_near(json_number_value(json_array_get(json_object_get(series, "y"), 1)), 65, 1e-9);
    assert_near(json_number_value(json_array_get(json_object_get(series, "lo"), 0)),
                30 - 100 * sqrt(0.02), 1e-9);
    assert_true(json_is_false(json_object_get(series, "dashed")));
    gn_run_logs_free(&curves);

    write_file(ctx, dir, "trials/run0/log.jsonl", "{\"event\":\n");
    assert_fails(ctx, GERNE_EDATA, "log.jsonl", gn_run_logs_read(&r, &cell, 0, &curves));
    gn_run_logs_free(&curves);
    json_decref(r.figures);
    gn_arena_close(r.arena);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* By hand at c = 0.5, beta = 1: w = 1/2, so SW has (1/4) / (3/4); GERNE 4 * 3/4 + 1. */
static void test_variance(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_variance_check k;
    assert_ok(ctx, gn_variance_measure(ctx, 0.5, 1, 800, &k));
    assert_near(k.derived.weighted, 1.0 / 3, 1e-12);
    assert_near(k.derived.independent, 4, 1e-12);
    assert_near(k.derived.shared, 1, 1e-12);
    assert_true(gn_variance_agrees(&k));
    k.gerne = 5;
    assert_false(gn_variance_agrees(&k));
    /* Where aligned samples vanish SW has no variance left, GERNE has. */
    assert_ok(ctx, gn_variance_measure(ctx, 0.5, 3, 800, &k));
    assert_true(gn_variance_agrees(&k));
    assert_true(k.sw < 0.01 && k.gerne > 15 && k.shared > 2);
    assert_fails(ctx, GERNE_EUSAGE, "c", gn_variance_measure(ctx, 0, 1, 10, &k));
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
