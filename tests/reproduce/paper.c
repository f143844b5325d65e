/* The paper's tables as data, the cells behind them, and what is chosen of them. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "reproduce/cells.h"
#include "train/options.h"

static gn_paper_figure at(const gn_paper_table *t, const char *method, const char *setting,
                          const char *column)
{
    for (size_t r = 0; r < t->row_count; r++)
        for (size_t c = 0; c < t->column_count; c++)
            if (strcmp(t->rows[r].method, method) == 0 &&
                strcmp(t->rows[r].setting, setting) == 0 && strcmp(t->columns[c], column) == 0)
                return t->rows[r].figures[c];
    fail_msg("no %s %s %s", method, setting, column);
    return (gn_paper_figure){0};
}

/* Shapes and some cells, typed from the paper's tables by hand. */
static void test_tables(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_paper_table t;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    assert_ok(ctx, gn_paper_table_read(ctx, arena, "table1", &t));
    assert_int_equal(t.row_count, 10);
    assert_int_equal(t.column_count, 9);
    size_t figures = 0;
    for (size_t r = 0; r < t.row_count; r++)
        for (size_t c = 0; c < t.column_count; c++)
            figures += isnan(t.rows[r].figures[c].mean) ? 0 : 1;
    assert_int_equal(figures, 90 - 1 - 4); /* Group DRO on bFFHQ, DeNetDM on C-MNIST */
    gn_paper_figure f = at(&t, "gerne", "known", "c-mnist/0.5");
    assert_near(f.mean, 77.79, 1e-12);
    assert_near(f.sd, 0.90, 1e-12);
    f = at(&t, "gerne", "unknown", "c-mnist/5");
    assert_near(f.mean, 90.98, 1e-12);
    assert_near(f.sd, 0.13, 1e-12);
    f = at(&t, "groupdro", "known", "c-cifar10/5");
    assert_near(f.mean, 57.32, 1e-12);
    assert_true(isnan(f.sd));
    f = at(&t, "denetdm", "unknown", "bffhq/0.5");
    assert_near(f.mean, 75.70, 1e-12);
    assert_ok(ctx, gn_paper_table_read(ctx, arena, "table2", &t));
    assert_int_equal(t.row_count, 28 + 1); /* JTT is ours: the paper gives no figure */
    f = at(&t, "gerne", "val", "waterbirds");
    assert_near(f.mean, 90.21, 1e-12);
    assert_near(f.sd, 0.42, 1e-12);
    f = at(&t, "crt", "unknown", "civilcomments");
    assert_near(f.mean, 67.80, 1e-12);
    assert_true(isnan(at(&t, "jtt", "val", "celeba").mean));
    assert_ok(ctx, gn_paper_table_read(ctx, arena, "table3", &t));
    f = at(&t, "gerne", "folds", "celeba");
    assert_near(f.mean, 88.63, 1e-12);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static void test_figures(void **state)
{
    (void)state;
    gn_paper_figure f;
    assert_true(gn_paper_figure_parse("", &f));
    assert_true(isnan(f.mean) && isnan(f.sd));
    assert_true(gn_paper_figure_parse("63.12", &f));
    assert_true(f.mean == 63.12 && isnan(f.sd));
    assert_true(gn_paper_figure_parse("1.5 +- 0.25", &f));
    assert_true(f.mean == 1.5 && f.sd == 0.25);
    assert_false(gn_paper_figure_parse("about 3", &f));
    assert_false(gn_paper_figure_parse("3 +- much", &f));
    assert_false(gn_paper_figure_parse("1111111111111111111111111111111111111111", &f));
}

/* Fig. 2's losses obey L_ext = (1 + beta) L_lb - beta L_b; the digits allow 0.005. */
static void test_figure_2(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_csv *csv;
    size_t rows = 0;
    assert_ok(ctx, gn_paper_open(ctx, "fig2.csv", &csv));
    for (bool more = true;; rows++) {
        double beta, b, lb, ext;
        assert_ok(ctx, gn_csv_next(csv, &more));
        if (!more)
            break;
        assert_true(gn_parse_double(gn_csv_cell(csv, 0), &beta));
        assert_true(gn_parse_double(gn_csv_cell(csv, 2), &b));
        assert_true(gn_parse_double(gn_csv_cell(csv, 3), &lb));
        assert_true(gn_parse_double(gn_csv_cell(csv, 4), &ext));
        assert_near(ext, (1 + beta) * lb - beta * b, 0.005);
    }
    assert_int_equal(rows, 4 * 7);
    gn_csv_close(csv);
    assert_ok(ctx, gn_paper_open(ctx, "fig3.csv", &csv));
    assert_int_equal(gn_csv_columns(csv), 6);
    gn_csv_close(csv);
    assert_fails(ctx, GERNE_EINTERNAL, "no embedded file 'nothing.csv'",
                 gn_paper_open(ctx, "nothing.csv", &csv));
    gerne_ctx_close(ctx);
}

static void test_choosing(void **state)
{
    (void)state;
    const char *path = "c-mnist/0.5/known/gerne";
    assert_true(gn_path_chosen(path, NULL));
    assert_true(gn_path_chosen(path, "c-mnist"));
    assert_true(gn_path_chosen(path, "c-mnist/"));
    assert_true(gn_path_chosen(path, "c-mnist/0.5"));
    assert_true(gn_path_chosen(path, "bffhq,c-mnist/0.5/known"));
    assert_true(gn_path_chosen(path, path));
    assert_false(gn_path_chosen(path, "c-mn"));
    assert_false(gn_path_chosen(path, "c-mnist/0"));
    assert_false(gn_path_chosen(path, "c-mnist/0.5/known/gerne/x"));
    assert_false(gn_path_chosen(path, ""));
    assert_true(gn_word_chosen("erm", NULL));
    assert_true(gn_word_chosen("erm", "gerne,erm"));
    assert_false(gn_word_chosen("erm", "gerne,erma"));
}

/* At every point of its grid. */
static void check_cell(gerne_ctx *ctx, gn_arena *arena, gn_cell *cell, bool in_table1)
{
    assert_ok(ctx, gn_cell_settings_read(ctx, arena, cell));
    size_t folds = gn_grid_size(&cell->folds);
    for (size_t p = 0; p < gn_grid_size(&cell->axes) * folds; p++) {
        gn_settings flags = {.arena = arena};
        gn_run_config *config;
        assert_ok(ctx, gn_cell_flags(ctx, cell, &flags));
        assert_ok(ctx, gn_cell_changes(ctx, cell, p / folds, p % folds, &flags));
        assert_ok(ctx, gn_run_config_new(ctx, &cell->base, &flags, &config));
        assert_string_equal(config->method->name, cell->method);
        double ratio;
        if (cell->ratio[0] && strcmp(cell->dataset->name, "bffhq") != 0) {
            assert_true(gn_parse_double(cell->ratio, &ratio));
            assert_near(100 * config->data.ratio, ratio, 1e-9);
        }
        bool wants_known = strcmp(cell->setting, "known") == 0;
        if (in_table1)
            assert_int_equal(config->method_choice.attributes, wants_known ? GN_KNOWN : GN_UNKNOWN);
        /* Both choices of a checkpoint, where there is more than one and both are shown. */
        bool both = strncmp(cell->base_name, "adapt-", strlen("adapt-")) != 0 &&
                    strncmp(cell->base_name, "estimators-", strlen("estimators-")) != 0;
        assert_true(!both || config->train.log_test ||
                    config->train.eval_every == config->train.steps);
        gn_run_config_close(config);
        gn_settings_free(&flags);
    }
    gn_cell_settings_free(cell);
}

/* Every cell's configuration is one that train understands. */
static void test_configurations(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_cells all, table1;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    assert_ok(ctx, gn_cells_read(ctx, arena, NULL, NULL, &all));
    assert_ok(ctx, gn_cells_read(ctx, arena, "table1", NULL, &table1));
    assert_true(all.count > table1.count);
    for (size_t i = 0; i < all.count; i++)
        check_cell(ctx, arena, &all.list[i], false);
    size_t c_mnist = 0;
    for (size_t i = 0; i < table1.count; i++) {
        check_cell(ctx, arena, &table1.list[i], true);
        c_mnist += strcmp(table1.list[i].dataset->name, "c-mnist") == 0;
    }
    assert_int_equal(c_mnist, 4 * 9); /* without DeNetDM, which the paper leaves empty */
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static const gn_cell *first_of_dataset(const gn_cells *cells, const gn_cell *of)
{
    const gn_cell *first = cells->list;
    while (first->dataset != of->dataset)
        first++;
    return first;
}

/* What the grids share, and what a row may have for itself: two values of up to two options of the
 * method; batches of half the size for gerne, which draws two; no schedule for dfa. */
static void check_rule(const gn_cell *cell, const gn_cell *first)
{
    size_t shared = 0, own = 0;
    assert_string_equal(cell->base_name, first->base_name);
    for (size_t i = 0; i < cell->axes.count; i++) {
        const gn_setting *axis = &cell->axes.list[i];
        if (strncmp(axis->key, "train.", 6) != 0) {
            assert_int_equal(axis->count, 2);
            own++;
            continue;
        }
        const gn_setting *same = gn_settings_find(&first->axes, axis->key);
        assert_non_null(same);
        assert_int_equal(axis->count, same->count);
        for (size_t j = 0; j < axis->count; j++)
            assert_string_equal(axis->items[j], same->items[j]);
        shared++;
    }
    assert_int_equal(shared, strcmp(cell->dataset->name, "synthetic") == 0 ? 1 : 2);
    assert_true(own <= 2);
    for (size_t i = 0; i < cell->fixed.count; i++) {
        const char *key = cell->fixed.list[i].key;
        if (strncmp(key, "train.", 6) == 0 && strncmp(key, "train.per_", 10) != 0)
            assert_string_equal(cell->method, "dfa");
        if (strncmp(key, "train.per_", 10) == 0)
            assert_string_equal(cell->method, "gerne");
    }
}

/* The methods of a dataset are compared with one grid of learning rates and weight decays. */
static void test_one_rule(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_cells cells;
    size_t checked = 0;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    assert_ok(ctx, gn_cells_read(ctx, arena, "methods", NULL, &cells));
    for (size_t i = 0; i < cells.count; i++)
        assert_ok(ctx, gn_cell_settings_read(ctx, arena, &cells.list[i]));
    for (size_t i = 0; i < cells.count; i++) {
        if (strncmp(cells.list[i].dataset->name, "civilcomments", 13) == 0)
            continue;
        check_rule(&cells.list[i], first_of_dataset(&cells, &cells.list[i]));
        checked++;
    }
    assert_true(checked > 100);
    gn_cells_free(&cells);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static void test_grid(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    gn_cell cell = {.base_name = "c-mnist-erm",
                    .path = "x",
                    .overrides = "a.b=1|2  c.d=3 e.f=x|y|z g.h=1/3+2/3"};
    assert_ok(ctx, gn_cell_settings_read(ctx, arena, &cell));
    assert_int_equal(gn_grid_size(&cell.axes), 6);
    assert_int_equal(cell.fixed.count, 1);
    assert_int_equal(gn_grid_size(&cell.folds), 2);
    assert_string_equal(gn_grid_value(&cell.folds, 1, 0), "2/3");
    assert_string_equal(gn_grid_value(&cell.axes, 0, 0), "1");
    assert_string_equal(gn_grid_value(&cell.axes, 4, 0), "2");
    assert_string_equal(gn_grid_value(&cell.axes, 4, 1), "y");
    const char *words;
    assert_ok(ctx, gn_cell_point_words(ctx, arena, &cell, 5, &words));
    assert_string_equal(words, "b = 2, f = z");
    gn_cell_settings_free(&cell);
    cell.overrides = "";
    assert_ok(ctx, gn_cell_settings_read(ctx, arena, &cell));
    assert_int_equal(gn_grid_size(&cell.axes), 1);
    gn_cell_settings_free(&cell);
    cell.overrides = "a.b";
    assert_fails(ctx, GERNE_EINTERNAL, "not key=value", gn_cell_settings_read(ctx, arena, &cell));
    cell.base_name = "nowhere";
    assert_fails(ctx, GERNE_EINTERNAL, "no file 'nowhere.yaml'",
                 gn_cell_settings_read(ctx, arena, &cell));
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static const gn_cell *find(const gn_cells *cells, const char *path)
{
    for (size_t i = 0; i < cells->count; i++)
        if (strcmp(cells->list[i].path, path) == 0)
            return &cells->list[i];
    fail_msg("no cell %s", path);
    return NULL;
}

static void test_cells(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_cells cells;
    char *folder = test_directory();
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    gn_reproduce_options options = {
        .what = "table1", .budget = "quick", .places = {.data = folder, .mnist = "/nowhere/mnist"}};
    assert_ok(ctx, gn_cells_make(ctx, arena, &options, &cells));
    assert_int_equal(cells.count, 85);
    const gn_cell *s = find(&cells, "c-mnist/0.5/known/gerne");
    assert_int_equal(s->state, GN_CELL_DATA_MISSING);
    assert_string_equal(s->reason, "C-MNIST is not in '/nowhere/mnist'");
    assert_non_null(strstr(s->hint, "gerne data fetch mnist"));
    assert_near(s->paper.mean, 77.79, 1e-12);
    assert_int_equal(find(&cells, "bffhq/0.5/unknown/dfa")->state, GN_CELL_NO_CONFIGURATION);
    gn_cells_free(&cells);

    /* The witness makes the data present. */
    const char *mnist, *file;
    assert_ok(ctx, gn_path_join(ctx, arena, folder, "mnist", &mnist));
    assert_ok(ctx, gn_make_directory(ctx, mnist));
    assert_ok(ctx, gn_path_join(ctx, arena, mnist, "train-images-idx3-ubyte", &file));
    assert_ok(ctx, gn_file_write(ctx, file, "x", 1));
    options.places.mnist = NULL;
    options.only = "c-mnist/0.5,c-mnist/5/known";
    options.method = "gerne,erm";
    assert_ok(ctx, gn_cells_make(ctx, arena, &options, &cells));
    assert_int_equal(cells.count, 4);
    assert_int_equal(cells.list[0].state, GN_CELL_RUNNABLE);
    assert_string_equal(cells.list[0].dir, mnist);
    gn_cells_free(&cells);

    options.only = "c-mnist/0.5/knwon";
    assert_fails(ctx, GERNE_EUSAGE, "table1 has no cell 'c-mnist/0.5/knwon'",
                 gn_cells_make(ctx, arena, &options, &cells));
    assert_non_null(strstr(gerne_hint(ctx), "'c-mnist/0.5/known'"));
    options.only = NULL;
    options.method = "gernee";
    assert_fails(ctx, GERNE_EUSAGE, "table1 has no method 'gernee'",
                 gn_cells_make(ctx, arena, &options, &cells));
    assert_non_null(strstr(gerne_hint(ctx), "'gerne'"));
    options.only = "c-mnist/0.5/known";
    options.method = "erm";
    assert_fails(ctx, GERNE_EUSAGE, "both", gn_cells_make(ctx, arena, &options, &cells));

    options =
        (gn_reproduce_options){.what = "table2", .budget = "quick", .places = {.data = folder}};
    assert_ok(ctx, gn_cells_make(ctx, arena, &options, &cells));
    s = find(&cells, "civilcomments/known/gerne");
    assert_int_equal(s->state, GN_CELL_DATA_MISSING);
    assert_non_null(strstr(s->reason, "CivilComments is not in"));
    assert_int_equal(find(&cells, "waterbirds/val/cnc")->state, GN_CELL_NO_CONFIGURATION);
    gn_cells_free(&cells);
    gn_arena_close(arena);
    test_remove_directory(folder);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),         cmocka_unit_test(test_figures),
        cmocka_unit_test(test_figure_2),       cmocka_unit_test(test_choosing),
        cmocka_unit_test(test_cells),          cmocka_unit_test(test_grid),
        cmocka_unit_test(test_configurations), cmocka_unit_test(test_one_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
