/* Reading predictions: label order, rows of one split, pairing, and no leak when memory ends. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "metrics/comparison.h"
#include "metrics/metrics.h"
#include "metrics/predictions_csv.h"

static gerne_ctx *ctx;
static char *directory;
static const gn_prediction_columns usual = {.y = "y", .a = "a", .pred = "pred"};

static int open_all(void **state)
{
    (void)state;
    ctx = test_ctx();
    directory = test_directory();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
    return 0;
}

/* A file with this content; the path is valid until the next call with the same name. */
static const char *file_with(const char *name, const char *content)
{
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    assert_ok(ctx, gn_file_write(ctx, path, content, strlen(content)));
    return path;
}

/* Integers sort by value, whatever the order of rows; probabilities follow the classes. */
static void labels_are_sorted(void **state)
{
    (void)state;
    gn_prediction_file file;
    const char *path = file_with("a.csv", "prob_10,y,prob_9,a\n"
                                          "0.25,10,0.75,x\n"
                                          "0.5,9,0.5,b\n");
    assert_ok(ctx, gn_predictions_read(ctx, path, &usual, &file));
    const gn_predictions *p = &file.predictions;
    assert_int_equal(p->classes, 2);
    assert_int_equal(p->count, 2);
    assert_string_equal(gn_labels_names(file.classes)[0], "9");
    assert_string_equal(gn_labels_names(file.attributes)[1], "x");
    assert_int_equal(p->y[0], 1);
    assert_int_equal(p->a[0], 1);
    assert_int_equal(p->pred[0], 0);
    assert_int_equal(p->pred[1], 0); /* a tie goes to the lowest index */
    assert_near(p->probabilities[0], 0.75, 0);
    assert_near(p->probabilities[1], 0.25, 0);
    gn_prediction_file_free(&file);
}

static void classes_come_from_y_or_are_given(void **state)
{
    (void)state;
    gn_prediction_file file;
    const char *path = file_with("b.csv", "y,a,pred\ncat,0,dog\ncat,1,cat\n");
    assert_fails(ctx, GERNE_EDATA, "line 2, column 'pred': 'dog' never occurs in column 'y'",
                 gn_predictions_read(ctx, path, &usual, &file));
    gn_prediction_file_free(&file);
    gn_prediction_columns given = usual;
    given.classes = (const char *const[]){"dog", "cat", "ant"};
    given.class_count = 3;
    assert_ok(ctx, gn_predictions_read(ctx, path, &given, &file));
    assert_int_equal(file.predictions.classes, 3);
    assert_int_equal(file.predictions.pred[0], 2);
    gn_prediction_file_free(&file);
    given.class_count = 1;
    assert_fails(ctx, GERNE_EDATA, "line 2, column 'y': 'cat' is not a class",
                 gn_predictions_read(ctx, path, &given, &file));
    gn_prediction_file_free(&file);
}

static void one_split_can_be_chosen(void **state)
{
    (void)state;
    gn_prediction_file file;
    const char *path = file_with("c.csv", "y,a,pred,split\n0,0,0,val\n1,0,1,test\n0,1,1,test\n");
    assert_ok(ctx, gn_predictions_read(ctx, path, &usual, &file));
    assert_int_equal(file.predictions.count, 3);
    assert_true(file.splits_mixed);
    gn_prediction_file_free(&file);
    gn_prediction_columns test = usual;
    test.split = "test";
    assert_ok(ctx, gn_predictions_read(ctx, path, &test, &file));
    assert_int_equal(file.predictions.count, 2);
    assert_false(file.splits_mixed);
    gn_prediction_file_free(&file);
    test.split = "train";
    assert_fails(ctx, GERNE_EDATA, "no row of split 'train'",
                 gn_predictions_read(ctx, path, &test, &file));
    gn_prediction_file_free(&file);
}

static void check_pairing(const char *content, const char *words)
{
    gn_prediction_file first, second;
    const char *one = file_with("one.csv", "index,y,a,pred\n7,0,x,0\n8,1,y,0\n");
    const char *other = file_with("other.csv", content);
    assert_ok(ctx, gn_predictions_read(ctx, one, &usual, &first));
    assert_ok(ctx, gn_predictions_read(ctx, other, &usual, &second));
    gerne_status status = gn_predictions_check_paired(ctx, &first, "one", &second, "other");
    if (words)
        assert_fails(ctx, GERNE_EDATA, words, status);
    else
        assert_ok(ctx, status);
    gn_prediction_file_free(&first);
    gn_prediction_file_free(&second);
}

static void other_samples_are_noticed(void **state)
{
    (void)state;
    check_pairing("y,a,pred\n0,x,1\n1,y,0\n", NULL);
    check_pairing("y,a,prob_0,prob_1,prob_2\n0,x,1,0,0\n1,y,0,0,1\n", NULL);
    check_pairing("index,y,a,pred\n7,0,x,1\n9,1,y,0\n", "the index of row 2");
    check_pairing("y,a,pred\n0,x,1\n1,x,0\n", "the attribute of row 2");
    check_pairing("y,a,pred\n1,x,1\n0,y,0\n", "the class of row 1");
    check_pairing("y,a,pred\n0,x,0\n", "one has 2 rows and other has 1");
}

/* What is written is read back: awkward labels, probabilities to nine digits. */
static void written_lines_are_read_back(void **state)
{
    (void)state;
    static const char *const classes[] = {"a \"b\", c", "two\nlines"};
    static const double probabilities[][2] = {{1 / 3.0, 2 / 3.0}, {1 - 1e-12, 1e-12}};
    gn_text out = {0};
    assert_ok(ctx, gn_predictions_add_header(ctx, classes, 2, true, &out));
    for (uint64_t i = 0; i < 2; i++) {
        gn_prediction_line line = {.index = i + 7,
                                   .y = classes[i],
                                   .a = i ? "x" : " w",
                                   .split = "test",
                                   .pred = classes[1 - i],
                                   .probabilities = probabilities[i],
                                   .file = i ? "b, c.png" : "a.png"};
        assert_ok(ctx, gn_predictions_add_line(ctx, &line, 2, &out));
    }
    assert_non_null(strstr(out.bytes, "0.333333333,0.666666667,a.png\n"));
    assert_ptr_equal(strstr(out.bytes, "index,y,a,split,pred,\"prob_a \"\"b\"\", c\","), out.bytes);
    assert_non_null(strstr(out.bytes, "lines\",file\n"));
    assert_non_null(strstr(out.bytes, ",\"b, c.png\"\n"));
    gn_prediction_file file;
    assert_ok(ctx, gn_predictions_read(ctx, file_with("e.csv", out.bytes), &usual, &file));
    assert_int_equal(file.predictions.count, 2);
    assert_string_equal(gn_labels_names(file.classes)[0], classes[0]);
    assert_string_equal(gn_labels_names(file.classes)[1], classes[1]);
    assert_string_equal(gn_labels_names(file.attributes)[0], " w");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(file.predictions.y[i], i);
        assert_int_equal(file.predictions.a[i], i);
        assert_int_equal(file.predictions.pred[i], 1 - i);
        assert_near(file.predictions.probabilities[2 * i], probabilities[i][0], 1e-9);
        assert_near(file.predictions.probabilities[2 * i + 1], probabilities[i][1], 1e-9);
    }
    gn_prediction_file_free(&file);
    gn_text_free(&out);
}

static gerne_status whole_way(const char *path, const gn_prediction_columns *columns)
{
    gn_prediction_file file;
    gn_metrics metrics = {0};
    gn_comparison comparison = {0};
    gerne_status status = gn_predictions_read(ctx, path, columns, &file);
    if (status == GERNE_OK)
        status = gn_predictions_check_paired(ctx, &file, "a", &file, "b");
    if (status == GERNE_OK)
        status = gn_metrics_compute(ctx, &file.predictions, NULL, &metrics);
    if (status == GERNE_OK)
        status = gn_compare(ctx, &file.predictions, &file.predictions, 100, 0, &comparison);
    gn_comparison_free(&comparison);
    gn_metrics_free(&metrics);
    gn_prediction_file_free(&file);
    return status;
}

/* Every allocation fails once; the sanitizer sees that nothing leaks. */
static void memory_may_end_anywhere(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "index,y,a,pred\n1,u,x,v\n2,v,y,v\n3,u,y,u\n",
        "y,a,prob_u,prob_v\nu,x,0.1,0.9\nv,y,0.5,0.5\nv,x,0.2,0.8\n",
        "y,a,score\nu,x,0.9\nv,,0.5\nv,x,0.8\n",
    };
    gn_prediction_columns columns = usual;
    for (int i = 0; i < 3; i++) {
        columns.score = i == 2 ? "score" : NULL;
        columns.missing = GN_MISSING_GROUP;
        const char *path = file_with("d.csv", contents[i]);
        long n = 1;
        for (;; n++) {
            gn_fail_allocation(n);
            gerne_status status = whole_way(path, &columns);
            gn_fail_allocation(0);
            if (status == GERNE_OK)
                break;
            assert_int_equal(status, GERNE_ENOMEM);
            assert_true(n < 1000);
        }
        assert_true(n > 10);
    }
}

/* Names as results.json has them keep their order; the file of a run without attributes has empty
 * cells in column a. */
static void given_names_keep_their_order(void **state)
{
    (void)state;
    static const char *const classes[] = {"u", "b", "v"}, *const attributes[] = {"y", "x"};
    gn_prediction_columns columns = usual;
    columns.classes = classes;
    columns.class_count = 3;
    columns.attributes = attributes;
    columns.attribute_count = 2;
    columns.in_order = columns.decisions_only = true;
    gn_prediction_file file;
    const char *path = file_with("e.csv", "y,a,pred,prob_u,prob_b,prob_v\nv,x,b,0,1,0\n");
    assert_ok(ctx, gn_predictions_read(ctx, path, &columns, &file));
    assert_int_equal(file.predictions.y[0], 2);
    assert_int_equal(file.predictions.a[0], 1);
    assert_int_equal(file.predictions.pred[0], 1);
    assert_null(file.predictions.probabilities);
    gn_prediction_file_free(&file);
    path = file_with("f.csv", "y,a,pred\nv,z,b\n");
    assert_fails(ctx, GERNE_EDATA, "'z' is not an attribute",
                 gn_predictions_read(ctx, path, &columns, &file));
    gn_prediction_file_free(&file);
    columns.a = NULL;
    columns.attribute_count = 0;
    path = file_with("g.csv", "y,a,pred\nv,,b\n");
    assert_ok(ctx, gn_predictions_read(ctx, path, &columns, &file));
    assert_int_equal(file.predictions.attributes, 1);
    assert_string_equal(gn_labels_names(file.attributes)[0], "all");
    gn_prediction_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_sorted),
        cmocka_unit_test(classes_come_from_y_or_are_given),
        cmocka_unit_test(one_split_can_be_chosen),
        cmocka_unit_test(other_samples_are_noticed),
        cmocka_unit_test(written_lines_are_read_back),
        cmocka_unit_test(given_names_keep_their_order),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
