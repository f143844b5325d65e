/* Runs beside the report's first: this run minus the first, and only where samples agree. */
#include "report/sections.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "testing.h"

/* A run whose predictions.csv has this content, two classes and no attribute. */
static gn_run_record run_with(gerne_ctx *ctx, const char *directory, const char *content)
{
    gn_run_record run = {.ctx = ctx, .path = directory, .classes = 2, .attributes = 1};
    char path[4096];
    snprintf(path, sizeof path, "%s/predictions.csv", directory);
    assert_ok(ctx, gn_file_write(ctx, path, content, strlen(content)));
    const gn_prediction_columns columns = {.y = "y", .pred = "pred"};
    assert_ok(ctx, gn_predictions_read(ctx, path, &columns, &run.predictions));
    return run;
}

/* Of class 0 four samples, of class 1 two: the first has 2 and 2 right, the others 4 and 1. */
static void test_paired_difference(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory();
    gn_run_record runs[] = {
        run_with(ctx, directory, "index,y,pred\n0,0,0\n1,0,0\n2,0,1\n3,0,1\n4,1,1\n5,1,1\n"),
        run_with(ctx, directory, "index,y,pred\n0,0,0\n1,0,0\n2,0,0\n3,0,0\n4,1,1\n5,1,0\n"),
        run_with(ctx, directory, "index,y,pred\n0,0,0\n1,0,0\n2,0,0\n77,0,0\n4,1,1\n5,1,0\n"),
        run_with(ctx, directory, "index,y,pred\n0,0,0\n1,1,1\n"),
    };
    assert_ok(ctx, gn_pair_runs(runs, 4));
    const gn_comparison *d = &runs[1].difference;
    assert_true(runs[1].is_paired);
    assert_int_equal(d->all.only_first, 2);
    assert_int_equal(d->all.only_second, 1);
    assert_near(d->wga_difference, 0.5 - 0.5, 1e-12);
    assert_near(d->gba_difference, (0.5 - 0.5) / 2, 1e-12);
    assert_near(d->acc_difference, 5.0 / 6 - 4.0 / 6, 1e-12);
    assert_true(d->wga_ci95.lo <= 0 && d->wga_ci95.hi >= 0);
    assert_near(d->mcnemar, 1, 1e-12); /* 1 against 2 of 3 */
    assert_false(runs[2].is_paired);   /* another sample */
    assert_false(runs[3].is_paired);   /* fewer samples */
    for (size_t i = 0; i < 4; i++)
        gn_run_record_free(&runs[i]);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paired_difference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
