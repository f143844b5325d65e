/* features.c - matrices of features in all their forms, good and bad. */
#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "debias/missing.h"

#define FEATURES GERNE_SOURCE_DIR "/tests/golden/data/features/"

static const char *labels_text = "y,a,split\n0,land,0\n1,water,0\n0,land,0\n1,water,1\n0,\xc3\xbc"
                                 "ber,2\n1,land,2\n";

static void check_matrix(const gn_dataset *data, double scale, double shift)
{
    assert_int_equal(data->n, 6);
    assert_int_equal(data->dimension, 3);
    assert_true(gn_dataset_in_memory(data));
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(data->y[i], i % 2);
        for (size_t j = 0; j < 3; j++)
            assert_near((double)gn_dataset_features(data, i)[j],
                        scale * ((double)i + (double)j / 4 - 2) + shift, 0);
    }
}

static void check_labels(const gn_dataset *data)
{
    static const uint8_t split[] = {0, 0, 0, 1, 2, 2};
    static const int32_t a[] = {0, 1, 0, 1, 2, 0};
    assert_int_equal(data->attributes, 3);
    assert_string_equal(data->attribute_names[2], "\xc3\xbc"
                                                  "ber");
    assert_memory_equal(data->split, split, sizeof split);
    assert_memory_equal(data->a, a, sizeof a);
}

static void test_npz(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    static const char *const files[] = {FEATURES "plain.npz", FEATURES "packed.npz"};
    char first[GN_SHA256_HEX], second[GN_SHA256_HEX];
    for (int i = 0; i < 2; i++) {
        options.file = files[i];
        gn_dataset *data = test_dataset(ctx, &options);
        check_matrix(data, 1, 0);
        check_labels(data);
        assert_ok(ctx, gn_dataset_fingerprint(ctx, data, i ? second : first));
        gn_dataset_close(data);
    }
    assert_string_equal(first, second); /* the same values, whatever the file */
    options.file = FEATURES "half.npz"; /* no attributes, no splits */
    gn_dataset *data = test_dataset(ctx, &options);
    check_matrix(data, 1, 0);
    assert_int_equal(data->attributes, 0);
    assert_null(data->a);
    assert_int_equal(data->split[5], GN_TRAIN);
    gn_dataset_close(data);
    options.file = FEATURES "plain.npz";
    options.a = "none";
    data = test_dataset(ctx, &options);
    assert_int_equal(data->attributes, 0);
    gn_dataset_close(data);
    gerne_ctx_close(ctx);
}

static void test_npz_names(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    static const char *const z[] = {"z"}, *const two[] = {"x", "z"};
    options.file = FEATURES "plain.npz"; /* the other way round: a is the class */
    options.y = "a";
    options.a = "y";
    options.split = "split";
    gn_dataset *data = test_dataset(ctx, &options);
    assert_int_equal(data->classes, 3);
    assert_int_equal(data->attributes, 2);
    assert_string_equal(data->class_names[0], "land");
    gn_dataset_close(data);
    options.y = "none"; /* splits stay */
    options.a = "none";
    data = test_dataset(ctx, &options);
    assert_null(data->y);
    assert_int_equal(data->split[5], GN_TEST);
    gn_dataset_close(data);
    options.a = "land"; /* a name that was asked for is never passed over */
    assert_fails(ctx, GERNE_EDATA, "no array 'land'", gn_dataset_open(ctx, &options, &data));
    assert_string_equal(
        gerne_hint(ctx),
        "--data.a NAME names another; its arrays are 'x', 'y', 'a', 'split', 'unused'");
    options.a = NULL;
    options.split = NULL;
    options.x = (gn_texts){two, 2};
    assert_fails(ctx, GERNE_EUSAGE, "are one array", gn_dataset_open(ctx, &options, &data));
    options.file = FEATURES "no-x.npz";
    options.x = (gn_texts){z, 1};
    data = test_dataset(ctx, &options);
    assert_int_equal(data->dimension, 3);
    gn_dataset_close(data);
    options.file = FEATURES "f4.npy";
    assert_fails(ctx, GERNE_EUSAGE, "'" FEATURES "f4.npy' is neither",
                 gn_dataset_open(ctx, &options, &data));
    gerne_ctx_close(ctx);
}

static void test_csv_columns(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000];
    snprintf(path, sizeof path, "%s/table.csv", dir);
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    static const char *const wanted[] = {"e_*", "w[0]"}, *const wrong[] = {"e_*", "f_*"};
    options.file = path;
    test_write_text(ctx, path, "id,e_0,y,e_y,w[0],w0\nr1,1,cat,2,3,x\nr2,4,dog,5,6,x\n");
    gn_dataset *data;
    assert_fails(ctx, GERNE_EDATA, "column 'id': 'r1' is not a number",
                 gn_dataset_open(ctx, &options, &data));
    assert_non_null(strstr(gerne_hint(ctx), "--data.x"));
    options.x = (gn_texts){wanted, 2};
    data = test_dataset(ctx, &options);
    assert_int_equal(data->dimension, 3);
    static const float second[] = {4, 5, 6};
    assert_memory_equal(gn_dataset_features(data, 1), second, sizeof second);
    gn_dataset_close(data);
    options.y = "e_y"; /* a label is not a feature, whatever the patterns say */
    data = test_dataset(ctx, &options);
    assert_int_equal(data->dimension, 2);
    gn_dataset_close(data);
    options.x = (gn_texts){wrong, 2};
    assert_fails(ctx, GERNE_EDATA, "no column 'f_*'", gn_dataset_open(ctx, &options, &data));
    assert_non_null(strstr(gerne_hint(ctx), "--data.x NAME names another; its columns are 'id'"));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_npy_with_labels(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    char labels[5000], raw[5000];
    snprintf(labels, sizeof labels, "%s/labels.csv", dir);
    snprintf(raw, sizeof raw, "%s/matrix.f32", dir);
    test_write_text(ctx, labels, labels_text);
    options.labels = labels;
    static const char *const files[] = {FEATURES "f4.npy", FEATURES "f8-fortran.npy",
                                        FEATURES "u1.npy"};
    for (int i = 0; i < 3; i++) {
        options.file = files[i];
        gn_dataset *data = test_dataset(ctx, &options);
        check_matrix(data, i == 2 ? 4 : 1, i == 2 ? 8 : 0);
        check_labels(data);
        assert_int_equal(data->rows_owned == NULL, i == 0); /* float32 is mapped, not copied */
        gn_dataset_close(data);
    }
    float values[18];
    for (int i = 0; i < 18; i++)
        values[i] = (float)(i / 3 + (i % 3) / 4.0 - 2);
    test_write(ctx, raw, values, sizeof values);
    options.file = raw;
    gn_dataset *data = test_dataset(ctx, &options);
    check_matrix(data, 1, 0);
    gn_dataset_close(data);
    test_write(ctx, raw, values, sizeof values - 3);
    assert_fails(ctx, GERNE_EDATA, "not a multiple of 6 rows",
                 gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, labels, "y\n1\n2\n");
    options.file = FEATURES "f4.npy";
    assert_fails(ctx, GERNE_EDATA, "has 6 rows", gn_dataset_open(ctx, &options, &data));
    options.labels = NULL;
    assert_fails(ctx, GERNE_EUSAGE, "data.labels is not given",
                 gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_csv(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000];
    snprintf(path, sizeof path, "%s/table.csv", dir);
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    options.file = path;
    test_write_text(ctx, path,
                    "f0,y,f1,a,f2,split\n-2,0,-1.75,land,-1.5,train\n-1,1,-0.75,water,-0.5,train\n"
                    "0,0,.25,land,.5,train\n1,1,1.25,water,1.5,val\n2,0,2.25,\xc3\xbc"
                    "ber,2.5,test\n3,1,3.25,land,3.5,test\n");
    gn_dataset *data = test_dataset(ctx, &options);
    check_matrix(data, 1, 0);
    check_labels(data);
    gn_dataset_close(data);
    test_write_text(ctx, path, "f0,y\n1,0\nx,1\n");
    assert_fails(ctx, GERNE_EDATA, "line 3, column 'f0': 'x' is not a number",
                 gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, path, "f0,y\n1,0\n2,\n");
    assert_fails(ctx, GERNE_EDATA, "rows has no 'y'", gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, path, "y,split\n1,0\n");
    assert_fails(ctx, GERNE_EDATA, "no column of features", gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, path, "f,y,split\n1,0,7\n");
    assert_fails(ctx, GERNE_EDATA, "column 'split': '7' is not a split",
                 gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, path, "f,y\n");
    assert_fails(ctx, GERNE_EDATA, "no samples", gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, path, "f,g\n1,2\n");
    assert_fails(ctx, GERNE_EDATA, "'y'", gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* Rows without a label: refused with their number, dropped without shifting the features, or a
 * group of their own. */
static void test_missing_labels(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    char labels[5000];
    snprintf(labels, sizeof labels, "%s/labels.csv", dir);
    test_write_text(ctx, labels, "y;Reviewer Gender\n0;f\n1;\n0;m\n1;m\n0;\n1;f\n"); /* six rows */
    options.file = FEATURES "f4.npy";
    options.labels = labels;
    options.a = "Reviewer Gender";
    gn_dataset *data;
    assert_fails(ctx, GERNE_EDATA, "2 of 6 rows have no 'Reviewer Gender'",
                 gn_dataset_open(ctx, &options, &data));
    options.missing = GN_MISSING_DROP;
    data = test_dataset(ctx, &options);
    static const int32_t kept_rows[] = {0, 2, 3, 5}, kept_a[] = {0, 1, 1, 0};
    assert_int_equal(data->n, 4);
    assert_memory_equal(data->a, kept_a, sizeof kept_a);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(gn_dataset_row(data, i), kept_rows[i]);
        assert_int_equal(data->y[i], kept_rows[i] % 2);
        assert_near((double)gn_dataset_features(data, i)[0], kept_rows[i] - 2, 0);
    }
    gn_dataset_close(data);
    options.missing = GN_MISSING_GROUP;
    data = test_dataset(ctx, &options);
    static const int32_t a[] = {1, 0, 2, 2, 0, 1};
    assert_int_equal(data->n, 6);
    assert_string_equal(data->attribute_names[0], GN_MISSING_NAME);
    assert_memory_equal(data->a, a, sizeof a);
    gn_dataset_close(data);
    options.missing = GN_MISSING_DROP;
    test_write_text(ctx, labels, "y,Reviewer Gender\n0,\n1,\n0,\n,m\n0,\n1,\n");
    assert_fails(ctx, GERNE_EDATA, "no row has both", gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_bad_files(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000], labels[5000];
    gn_dataset *data;
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    assert_fails(ctx, GERNE_EUSAGE, "data.file", gn_dataset_open(ctx, &options, &data));
    snprintf(labels, sizeof labels, "%s/labels.csv", dir);
    test_write_text(ctx, labels, labels_text);
    options.labels = labels;
    static const struct {
        const char *file, *words;
        gerne_status status;
    } cases[] = {
        {FEATURES "big-endian.npy", "big-endian", GERNE_EDATA},
        {FEATURES "complex.npy", "<c8", GERNE_EDATA},
        {FEATURES "integers.npy", "has type i8", GERNE_EDATA},
        {FEATURES "cube.npy", "more than two dimensions", GERNE_EDATA},
        {FEATURES "no-x.npz", "no array 'x'", GERNE_EDATA},
        {FEATURES "uneven.npz", "'y' is not a list of 6 labels", GERNE_EDATA},
        {FEATURES "bomb.npz", "more than data.memory_limit", GERNE_EUSAGE},
        {FEATURES "nothing.npz", "cannot open", GERNE_EIO},
        {FEATURES, "is a directory", GERNE_EIO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        options.file = cases[i].file;
        assert_fails(ctx, cases[i].status, cases[i].words, gn_dataset_open(ctx, &options, &data));
    }
    static const char *const whole[] = {FEATURES "f4.npy", FEATURES "plain.npz"};
    for (int kind = 0; kind < 2; kind++) {
        gn_text bytes = {0};
        assert_ok(ctx, gn_file_read(ctx, whole[kind], 1 << 20, &bytes));
        snprintf(path, sizeof path, "%s/cut.%s", dir, kind ? "npz" : "npy");
        options.file = path;
        /* The directory of a zip is not needed, so the end of it may be missing. */
        size_t step = kind ? 37 : 1, limit = kind ? 400 : bytes.size;
        for (size_t keep = 0; keep < limit; keep += step) {
            test_write(ctx, path, bytes.bytes, keep);
            assert_int_equal(gn_dataset_open(ctx, &options, &data), GERNE_EDATA);
        }
        gn_text_free(&bytes);
    }
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_values_that_are_not_finite(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000], labels[5000];
    snprintf(path, sizeof path, "%s/matrix.f32", dir);
    snprintf(labels, sizeof labels, "%s/labels.csv", dir);
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    options.file = path;
    options.labels = labels;
    test_write_text(ctx, labels, "y,split\n0,0\n1,0\n0,0\n1,2\n");
    float values[8] = {1, 2, 3, 4, 5, (float)(1e300 * 1e300), 7, 8};
    test_write(ctx, path, values, sizeof values);
    gn_dataset *data;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_fails(ctx, GERNE_EDATA, "row 2: feature 1 is not a finite float",
                 gn_dataset_prepare(ctx, data, 2));
    gn_dataset_close(data);
    options.skip_bad = true;
    options.standardize = true;
    data = test_dataset(ctx, &options);
    assert_int_equal(data->n, 3);
    assert_int_equal(data->skipped, 1);
    assert_int_equal(gn_dataset_row(data, 2), 3);
    /* Training rows (1, 2) and (3, 4): mean (2, 3), deviation 1. */
    assert_near((double)gn_dataset_features(data, 0)[0], -1, 0);
    assert_near((double)gn_dataset_features(data, 1)[1], 1, 0);
    assert_near((double)gn_dataset_features(data, 2)[0], 5, 0);
    assert_near((double)data->mean[1], 3, 0);
    gn_dataset_close(data);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_held_out(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[5000];
    snprintf(path, sizeof path, "%s/table.csv", dir);
    gn_text table = {0};
    assert_ok(ctx, gn_text_add(ctx, &table, "y,a,split,x\n"));
    for (int i = 0; i < 500; i++) /* groups of 40, 160, 160 and 40; a test split of 100 */
        assert_ok(ctx, gn_text_add(ctx, &table, "%d,%d,%s,%d\n", i % 2,
                                   i % 10 < 2 ? 1 - i % 2 : i % 2, i < 400 ? "train" : "test", i));
    test_write_text(ctx, path, table.bytes);
    gn_data_options options = test_options(ctx, GN_DATA_FEATURES);
    options.file = path;
    options.val = 50;
    gn_dataset *data, *again, *other;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_ok(ctx, gn_dataset_open(ctx, &options, &again));
    options.seed = 1;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &other));
    uint64_t counts[4], sum = 0;
    gn_dataset_count(data, GN_VAL, counts);
    for (int g = 0; g < 4; g++)
        sum += counts[g];
    assert_int_equal(sum, 50);
    assert_int_equal(counts[0], 20);
    assert_int_equal(counts[1], 5);
    gn_dataset_count(data, GN_TEST, counts);
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], 100);
    assert_memory_equal(data->split, again->split, data->n);
    assert_memory_not_equal(data->split, other->split, data->n);
    gn_dataset_close(data);
    gn_dataset_close(again);
    gn_dataset_close(other);
    options.val = 400;
    assert_fails(ctx, GERNE_EUSAGE, "data.val 400 leaves none of the 400 training samples",
                 gn_dataset_open(ctx, &options, &data));
    gn_text_free(&table);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz),
        cmocka_unit_test(test_npz_names),
        cmocka_unit_test(test_csv_columns),
        cmocka_unit_test(test_npy_with_labels),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_values_that_are_not_finite),
        cmocka_unit_test(test_missing_labels),
        cmocka_unit_test(test_held_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
