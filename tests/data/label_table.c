/* label_table.c - a CSV of labels: splits, the ranking of columns, and no leak when memory ends. */
#include "helpers.h"

#include <stdio.h>

#include "data/label_table.h"
#include "data/source.h"
#include "debias/groups.h"

/* On the training rows, place follows the class but for one; shape does not; id is unique; the
 * test rows say the opposite of place. */
static const char text[] = "id,y,place,shape,split\n"
                           "1,cat,in,round,0\n2,cat,in,,0\n3,cat,in,round,0\n4,cat,out,flat,0\n"
                           "5,dog,out,round,0\n6,dog,out,,0\n7,dog,out,flat,0\n8,dog,out,round,0\n"
                           "9,cat,out,flat,2\n10,dog,in,flat,2\n11,cat,out,flat,2\n";

static void test_ranking(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000];
    snprintf(path, sizeof path, "%s/labels.csv", dir);
    test_write_text(ctx, path, text);
    gn_label_table table;
    gn_label_columns columns = {.y = "y"};
    assert_ok(ctx, gn_label_table_read(ctx, path, &columns, &table));
    assert_string_equal(table.split, "train");
    assert_string_equal(table.a, "place");
    assert_int_equal(table.groups->total, 8);
    assert_int_equal(table.all->total, 11);
    assert_int_equal(gerne_groups_count(table.groups, 0, 1), 1);
    assert_int_equal(table.ranked, 3);
    assert_string_equal(table.ranking[0].name, "place");
    /* 3, 1; 0, 4: phi^2 = 144 / (4 * 4 * 3 * 5); less 1/7, over 1 - 1/7. */
    double v = table.ranking[0].association.cramers_v_unbiased;
    assert_near(v * v, (0.6 - 1 / 7.0) / (6 / 7.0), 1e-12);
    for (size_t i = 1; i < 3; i++) /* id and shape */
        assert_near(table.ranking[i].association.cramers_v_unbiased, 0, 1e-7);
    gn_label_table_free(&table);
    columns.a = "shape";
    assert_fails(ctx, GERNE_EDATA, "2 of 8 rows have no 'shape'",
                 gn_label_table_read(ctx, path, &columns, &table));
    gn_label_table_free(&table);
    columns.missing = GN_MISSING_DROP;
    columns.split = "all";
    assert_ok(ctx, gn_label_table_read(ctx, path, &columns, &table));
    assert_int_equal(table.groups->total, 9);
    assert_null(table.all);
    assert_null(table.ranking);
    gn_label_table_free(&table);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* An empty cell of a candidate is ignored for that candidate alone, or is a value of a group. */
static void test_gaps_of_candidates(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000];
    snprintf(path, sizeof path, "%s/labels.csv", dir);
    test_write_text(ctx, path, "y,part,place\n0,0,p\n0,0,p\n0,0,\n1,0,q\n1,0,q\n1,2,q\n");
    gn_label_table table;
    gn_label_columns columns = {.y = "y", .split_column = "part"};
    assert_fails(ctx, GERNE_EDATA, "1 of 5 rows has no 'place'",
                 gn_label_table_read(ctx, path, &columns, &table));
    assert_int_equal(table.ranked, 1); /* not the split */
    assert_int_equal(table.ranking[0].values, 2);
    gn_label_table_free(&table);
    columns.missing = GN_MISSING_DROP;
    assert_ok(ctx, gn_label_table_read(ctx, path, &columns, &table));
    assert_int_equal(table.groups->total, 4);
    assert_int_equal(table.ranking[0].values, table.groups->attributes);
    gn_label_table_free(&table);
    columns.missing = GN_MISSING_GROUP;
    assert_ok(ctx, gn_label_table_read(ctx, path, &columns, &table));
    assert_int_equal(table.groups->total, 5);
    assert_int_equal(table.ranking[0].values, 3);
    gn_label_table_free(&table);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_words_for_splits(void **state)
{
    (void)state;
    static const char *const words[GN_SPLITS][8] = {
        {"0", "0.0", "0.00", "train", "Training", "TRAIN"},
        {"1", "1.0", "val", "Valid", "VALIDATION", "dev", "Eval"},
        {"2", "2.0", "test", "Testing", "TEST"},
    };
    static const char *const others[] = {"",   "3",    "0.5",  "0.",     "0.0.0",  "00",
                                         ".0", "-0.0", "trai", "trains", "train.0"};
    gn_split split;
    for (int s = 0; s < GN_SPLITS; s++)
        for (int i = 0; i < 8 && words[s][i]; i++) {
            assert_true(gn_parse_split(words[s][i], &split));
            assert_int_equal(split, s);
        }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(gn_parse_split(others[i], &split));
}

static void test_every_allocation_fails_once(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000];
    snprintf(path, sizeof path, "%s/labels.csv", dir);
    test_write_text(ctx, path, text);
    const gn_label_columns columns = {.y = "y"};
    long n = 1;
    for (gerne_status status = GERNE_ENOMEM; status != GERNE_OK; n++) {
        gn_label_table table;
        gn_fail_allocation(n);
        status = gn_label_table_read(ctx, path, &columns, &table);
        gn_fail_allocation(0);
        assert_true(status == GERNE_OK || status == GERNE_ENOMEM);
        gn_label_table_free(&table);
    }
    assert_true(n > 30); /* it did get far */
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_gaps_of_candidates),
        cmocka_unit_test(test_words_for_splits),
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
