/* The band, choices among grid points, and the writers of tables. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "reproduce/band.h"
#include "reproduce/cell.h"
#include "study/sheet.h"

static gn_agreement judge(double ours, double paper, double sd)
{
    return gn_agreement_of(&(gn_spread){.n = 1, .mean = ours}, &(gn_paper_figure){paper, sd});
}

static void test_band(void **state)
{
    (void)state;
    assert_true(gn_band(&(gn_paper_figure){50, 3.5}) == 3.5);
    assert_true(gn_band(&(gn_paper_figure){50, 0.1}) == 1);
    assert_true(gn_band(&(gn_paper_figure){50, NAN}) == 1);
    assert_int_equal(judge(51, 50, 0.1), GN_INSIDE);
    assert_int_equal(judge(51.01, 50, 0.1), GN_ABOVE);
    assert_int_equal(judge(49, 50, 0.1), GN_INSIDE);
    assert_int_equal(judge(48.99, 50, NAN), GN_BELOW);
    assert_int_equal(judge(47, 50, 3), GN_INSIDE);
    assert_int_equal(judge(NAN, 50, 3), GN_NOT_COMPARED);
    assert_int_equal(judge(50, NAN, NAN), GN_NOT_COMPARED);
    assert_string_equal(gn_agreement_name(GN_BELOW), "below");
}

static json_t *results(double val, double test, double oracle, double lo, double hi)
{
    return json_pack("{s:{s:s,s:s},s:{s:{s:f},s:{s:f,s:[f,f]}},s:{s:{s:{s:f}}}}", "selection",
                     "metric", "wga", "split", "val", "splits", "val", "wga", val, "test", "wga",
                     test, "wga_ci95", lo, hi, "oracle", "splits", "test", "wga", oracle);
}

/* Two grid points with two seeds: validation prefers the first, the oracle the second. */
static void test_choice(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_trial trials[5] = {
        {.state = GN_TRIAL_DONE, .results = results(0.80, 0.60, 0.61, 0.5, 0.7)},
        {.state = GN_TRIAL_DONE, .results = results(0.90, 0.64, 0.65, 0.55, 0.8)},
        {.state = GN_TRIAL_DONE, .results = results(0.70, 0.70, 0.72, 0.6, 0.8)},
        {.state = GN_TRIAL_DONE, .results = results(0.95, 0.74, 0.74, 0.6, 0.8)},
        {.state = GN_TRIAL_FAILED, .reason = "it diverged"},
    };
    const gn_trial_list list = {.items = trials, .count = 5};
    const char *betas[] = {"0", "1", "2"};
    gn_setting axis = {.key = "method.beta", .items = betas, .count = 3};
    gn_cell_run runs[5];
    for (size_t i = 0; i < 5; i++)
        runs[i] = (gn_cell_run){i / 2, i};
    gn_cell cell = {.dataset = gn_paper_dataset_find("waterbirds"),
                    .axes = {.list = &axis, .count = 1},
                    .runs = runs,
                    .run_count = 5};
    const gn_cell_result *out = &cell.result;
    assert_ok(ctx, gn_cell_sum_up(ctx, &list, &cell));
    assert_int_equal(out->done, 4);
    assert_int_equal(out->failed, 1);
    assert_string_equal(out->failure->reason, "it diverged");
    assert_int_equal(out->honest.point, 0); /* means 0.85 and 0.825 on validation */
    assert_near(out->honest.measure.mean, 62, 1e-9);
    assert_near(out->honest.measure.sd, sqrt(8), 1e-9);
    assert_near(out->honest.interval.lo, 50, 1e-9);
    assert_near(out->honest.interval.hi, 80, 1e-9);
    assert_int_equal(out->oracle.point, 1);
    assert_near(out->oracle.measure.mean, 73, 1e-9);

    /* A point whose seeds are not all done does not win yet. */
    trials[1].state = GN_TRIAL_WAITING;
    assert_ok(ctx, gn_cell_sum_up(ctx, &list, &cell));
    assert_int_equal(out->honest.point, 1);
    assert_int_equal(out->honest.measure.n, 2);

    cell.run_count = 0;
    assert_ok(ctx, gn_cell_sum_up(ctx, &list, &cell));
    assert_true(out->honest.measure.n == 0 && isnan(out->honest.measure.mean));
    for (size_t i = 0; i < 4; i++)
        json_decref(trials[i].results);
    gerne_ctx_close(ctx);
}

static void test_sheet(void **state)
{
    (void)state;
    static const char *const columns[] = {"name", "mean", "x_y"};
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_sheet *sheet;
    gn_text text = {0};
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    assert_ok(ctx, gn_sheet_new(ctx, arena, "50 % & more", columns, 3, &sheet));
    assert_ok(ctx, gn_sheet_add(ctx, sheet, "a|b<i>"));
    assert_ok(ctx, gn_sheet_add_spread(ctx, sheet, 77.789, 0.9));
    assert_ok(ctx, gn_sheet_add_signed(ctx, sheet, 1.25, 1));
    assert_ok(ctx, gn_sheet_add(ctx, sheet, "100% $x_1$ {\\}~^"));
    assert_ok(ctx, gn_sheet_add_spread(ctx, sheet, 63.12, NAN));
    assert_ok(ctx, gn_sheet_add_number(ctx, sheet, NAN, 2));
    assert_int_equal(gn_sheet_rows(sheet), 2);

    assert_ok(ctx, gn_sheet_print(ctx, sheet, &text));
    assert_string_equal(text.bytes, "50 % & more\n\n"
                                    "  name                       mean   x_y\n"
                                    "  a|b<i>            77.79 +- 0.90  +1.2\n"
                                    "  100% $x_1$ {\\}~^          63.12     -\n");
    gn_text_clear(&text);
    assert_ok(ctx, gn_sheet_markdown(ctx, sheet, &text));
    assert_string_equal(text.bytes, "## 50 % &amp; more\n\n"
                                    "| name | mean | x\\_y |\n"
                                    "|---|---:|---:|\n"
                                    "| a\\|b&lt;i&gt; | 77.79 \xc2\xb1 0.90 | +1.2 |\n"
                                    "| 100% $x\\_1$ {\\\\}~^ | 63.12 | - |\n");
    gn_text_clear(&text);
    sheet->note = "a note #1";
    assert_ok(ctx, gn_sheet_latex(ctx, sheet, &text));
    assert_non_null(strstr(text.bytes, "\\begin{tabular}{lrr}"));
    assert_non_null(
        strstr(text.bytes, "a|b\\textless{}i\\textgreater{} & 77.79 $\\pm$ 0.90 & +1.2"));
    assert_non_null(strstr(text.bytes, "100\\% \\$x\\_1\\$ \\{\\textbackslash{}\\}"
                                       "\\textasciitilde{}\\textasciicircum{} & 63.12 & -"));
    assert_non_null(strstr(text.bytes, "\\caption{50 \\% \\& more. a note \\#1}"));
    json_t *json = gn_sheet_json(sheet);
    const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    assert_string_equal(json_string_value(json_array_get(row, 0)), "a|b<i>");
    assert_near(json_number_value(json_array_get(row, 2)), 1.25, 1e-12);
    json_decref(json);
    gn_text_free(&text);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_band),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_sheet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
