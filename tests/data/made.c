/* made.c - synthetic, c-mnist and c-cifar10: labels, counts, determinism, bad files. */
#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "data/fetch.h"

static uint64_t group(const gn_dataset *dataset, gn_split split, uint32_t y, uint32_t a)
{
    uint64_t counts[100];
    assert_true(dataset->classes * dataset->attributes <= 100);
    gn_dataset_count(dataset, split, counts);
    return counts[y * dataset->attributes + a];
}

static void test_synthetic(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_SYNTHETIC);
    options.n = 800;
    options.ratio = 0.03;
    gn_dataset *one = test_dataset(ctx, &options), *two = test_dataset(ctx, &options);
    assert_int_equal(one->n, 1200);
    assert_int_equal(one->dimension, 16 * 16 * 3);
    assert_int_equal(group(one, GN_TRAIN, 2, 2), 194); /* 200 less 3 % */
    assert_int_equal(
        group(one, GN_TRAIN, 2, 0) + group(one, GN_TRAIN, 2, 1) + group(one, GN_TRAIN, 2, 3), 6);
    assert_int_equal(group(one, GN_TEST, 1, 3) + group(one, GN_TEST, 1, 0), 12 + 13);
    assert_memory_equal(one->cache, two->cache, one->n * one->dimension);
    char first[GN_SHA256_HEX], second[GN_SHA256_HEX];
    assert_ok(ctx, gn_dataset_fingerprint(ctx, one, first));
    assert_ok(ctx, gn_dataset_fingerprint(ctx, two, second));
    assert_string_equal(first, second);
    gn_dataset_close(two);
    options.seed = 1;
    two = test_dataset(ctx, &options);
    assert_memory_not_equal(one->cache, two->cache, one->n * one->dimension);
    assert_ok(ctx, gn_dataset_fingerprint(ctx, two, second));
    assert_string_not_equal(first, second);
    gn_dataset_close(one);
    gn_dataset_close(two);
    gerne_ctx_close(ctx);
}

static void test_synthetic_of_any_size(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_SYNTHETIC);
    options.n = 240;
    options.classes = 24;
    options.attributes = 3;
    options.size = 9;
    options.ratio = 0;
    gn_dataset *data = test_dataset(ctx, &options);
    assert_int_equal(data->classes, 24);
    assert_string_equal(data->class_names[0], "disc");
    assert_string_equal(data->class_names[23], "shape-23");
    for (size_t i = 0; i < data->n; i++)
        if (data->split[i] == GN_TRAIN)
            assert_int_equal(data->a[i], data->y[i] % 3);
    gn_dataset_close(data);
    gerne_ctx_close(ctx);
}

/* The milestones of the LfF construction by hand: 40 images of class 9 at ratio 0.27 are 3 % for
 * each of nine attributes, so the k-th milestone is round(1.2 k): 1 2 4 5 6 7 8 10 11 40. */
static void test_lff_counts(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    test_write_mnist(ctx, dir, 400, 100);
    gn_data_options options = test_options(ctx, GN_DATA_CMNIST);
    options.dir = dir;
    options.construction = GN_CONSTRUCTION_LFF;
    options.ratio = 0.27;
    gn_dataset *data = test_dataset(ctx, &options);
    static const uint64_t class9[] = {1, 1, 2, 1, 1, 1, 1, 2, 1, 29};
    for (uint32_t a = 0; a < 10; a++) {
        assert_int_equal(group(data, GN_TRAIN, 9, a), class9[a]);
        assert_int_equal(group(data, GN_TEST, 9, a), 1);
    }
    gn_dataset_close(data);
    options.val = 100;
    data = test_dataset(ctx, &options);
    uint64_t train = 0, val = 0;
    for (uint32_t y = 0; y < 10; y++)
        for (uint32_t a = 0; a < 10; a++) {
            train += group(data, GN_TRAIN, y, a);
            val += group(data, GN_VAL, y, a);
        }
    assert_int_equal(train, 300);
    assert_int_equal(val, 100);
    assert_int_equal(group(data, GN_VAL, 9, 9) + group(data, GN_TRAIN, 9, 9), 29);
    assert_in_range(group(data, GN_VAL, 9, 9), 7, 8); /* a quarter of 29 */
    gn_dataset_close(data);
    options.val = 400;
    assert_fails(ctx, GERNE_EUSAGE, "data.val 400 leaves none",
                 gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_dfa_counts(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    test_write_mnist(ctx, dir, 4000, 1000);
    gn_data_options options = test_options(ctx, GN_DATA_CMNIST);
    options.dir = dir;
    options.ratio = 0.5;
    options.val = 500;
    gn_dataset *data = test_dataset(ctx, &options);
    uint64_t aligned = 0, val = 0, test_aligned = 0;
    for (size_t i = 0; i < data->n; i++) {
        aligned += data->split[i] == GN_TRAIN && data->y[i] == data->a[i];
        test_aligned += data->split[i] == GN_TEST && data->y[i] == data->a[i];
        val += data->split[i] == GN_VAL;
    }
    assert_int_equal(val, 500);
    /* Binomial: 3500 at 0.5 + 0.05 and 1000 at 0.1, within four standard deviations. */
    assert_near((double)aligned, 3500 * 0.55, 4 * 29.5);
    assert_near((double)test_aligned, 100, 4 * 9.5);
    for (uint32_t y = 0; y < 10; y++) { /* stratified: 50 of every class */
        uint64_t held = 0;
        for (uint32_t a = 0; a < 10; a++)
            held += group(data, GN_VAL, y, a);
        assert_int_equal(held, 50);
    }
    gn_dataset_close(data);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* Made on the fly or in memory, in whatever order: the same bytes. */
static void check_streamed(gerne_ctx *ctx, gn_data_options options, const char *limit, size_t step)
{
    gn_dataset *cached = test_dataset(ctx, &options);
    options.memory_limit = limit;
    gn_dataset *streamed = test_dataset(ctx, &options);
    assert_true(gn_dataset_in_memory(cached));
    assert_false(gn_dataset_in_memory(streamed));
    gn_fetch *fetch;
    gn_fetch_options fetching = {.threads = 2, .ahead = 64};
    assert_ok(ctx, gn_fetch_new(ctx, streamed, &fetching, &fetch));
    for (size_t i = streamed->n; i >= step; i -= step) {
        uint32_t index = (uint32_t)(i - step);
        const void *const *samples[GN_FIELDS_MAX];
        assert_ok(ctx, gn_fetch_submit(fetch, i, &index, 1));
        assert_ok(ctx, gn_fetch_wait(fetch, samples));
        assert_memory_equal(samples[0][0], gn_dataset_pixels(cached, index), cached->dimension);
        gn_fetch_release(fetch);
    }
    char first[GN_SHA256_HEX], second[GN_SHA256_HEX];
    assert_ok(ctx, gn_dataset_fingerprint(ctx, cached, first));
    assert_ok(ctx, gn_dataset_fingerprint(ctx, streamed, second));
    assert_string_equal(first, second);
    gn_fetch_close(fetch);
    gn_dataset_close(cached);
    gn_dataset_close(streamed);
}

static void test_streaming_gives_the_same(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_SYNTHETIC);
    options.n = 200;
    check_streamed(ctx, options, "20K", 7);
    test_write_mnist(ctx, dir, 4000, 1000);
    options = test_options(ctx, GN_DATA_CMNIST);
    options.dir = dir;
    options.val = 100;
    check_streamed(ctx, options, "100K", 101);
    test_write_cifar(ctx, dir, 40);
    options = test_options(ctx, GN_DATA_CCIFAR10);
    options.dir = dir;
    options.val = 20;
    options.construction = GN_CONSTRUCTION_LFF;
    options.ratio = 0.9; /* every corruption on some pictures */
    static const char *const lists[] = {"type0", "type1", "dfa"};
    for (int i = 0; i < 3; i++) {
        options.corruptions = lists[i];
        check_streamed(ctx, options, "20K", 3);
    }
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_bad_mnist(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_dataset *data;
    gn_data_options options = test_options(ctx, GN_DATA_CMNIST);
    options.val = 5;
    assert_fails(ctx, GERNE_EUSAGE, "data.dir", gn_dataset_open(ctx, &options, &data));
    options.dir = dir;
    assert_fails(ctx, GERNE_EIO, "train-images-idx3-ubyte.gz",
                 gn_dataset_open(ctx, &options, &data));
    test_write_mnist(ctx, dir, 20, 10);
    char labels[8400], images[8400];
    snprintf(labels, sizeof labels, "%s/train-labels-idx1-ubyte", dir);
    snprintf(images, sizeof images, "%s/train-images-idx3-ubyte", dir);
    static const unsigned char few[] = {0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3};
    test_write(ctx, labels, few, sizeof few);
    assert_fails(ctx, GERNE_EDATA, "20 training images but 3 labels",
                 gn_dataset_open(ctx, &options, &data));
    test_write(ctx, labels, few, sizeof few - 1);
    assert_fails(ctx, GERNE_EDATA, "truncated: it has 2 of 3 bytes",
                 gn_dataset_open(ctx, &options, &data));
    test_write(ctx, labels, few, 5);
    assert_fails(ctx, GERNE_EDATA, "too short", gn_dataset_open(ctx, &options, &data));
    static const unsigned char floats[] = {0, 0, 13, 1, 0, 0, 0, 0};
    test_write(ctx, labels, floats, sizeof floats);
    assert_fails(ctx, GERNE_EDATA, "type 0x0d", gn_dataset_open(ctx, &options, &data));
    static const unsigned char cube[] = {0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1};
    test_write(ctx, labels, cube, sizeof cube);
    assert_fails(ctx, GERNE_EDATA, "has 3 dimensions, not 1",
                 gn_dataset_open(ctx, &options, &data));
    unsigned char wrong[28] = {0, 0, 8, 1, 0, 0, 0, 20, 10};
    test_write(ctx, labels, wrong, sizeof wrong);
    assert_fails(ctx, GERNE_EDATA, "label 0 is 10, outside 0..9",
                 gn_dataset_open(ctx, &options, &data));
    unsigned char huge[16] = {0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0, 0, 15, 0, 0, 0, 15, 0};
    test_write(ctx, images, huge, sizeof huge);
    assert_fails(ctx, GERNE_EUSAGE, "more than data.memory_limit leaves",
                 gn_dataset_open(ctx, &options, &data));
    static const char gzip[] = "\x1f\x8b\x08\0\0\0\0\0\0\3garbage";
    test_write(ctx, images, gzip, sizeof gzip);
    assert_fails(ctx, GERNE_EDATA, "cannot be decompressed", gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_bad_cifar(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_dataset *data;
    gn_data_options options = test_options(ctx, GN_DATA_CCIFAR10);
    options.dir = dir;
    options.val = 5;
    assert_fails(ctx, GERNE_EIO, "data_batch_1.bin", gn_dataset_open(ctx, &options, &data));
    test_write_cifar(ctx, dir, 4);
    options.corruptions = "snow,frogg";
    assert_fails(ctx, GERNE_EUSAGE, "no corruption 'frogg'", gn_dataset_open(ctx, &options, &data));
    options.corruptions = "snow,contrats";
    assert_fails(ctx, GERNE_EUSAGE, "'contrats'", gn_dataset_open(ctx, &options, &data));
    assert_string_equal(gerne_hint(ctx), "did you mean 'contrast'?");
    options.corruptions = "snow,fog";
    assert_fails(ctx, GERNE_EUSAGE, "has 2 names", gn_dataset_open(ctx, &options, &data));
    options.corruptions = "type0";
    options.severity = 2;
    assert_fails(ctx, GERNE_EUSAGE, "spatter exists for severity 4 and 5",
                 gn_dataset_open(ctx, &options, &data));
    options.severity = 0;
    options.frost = dir;
    assert_fails(ctx, GERNE_EIO, "frost1.png", gn_dataset_open(ctx, &options, &data));
    options.frost = NULL;
    test_write(ctx, test_path(dir, "data_batch_3.bin"), "12345", 5);
    assert_fails(ctx, GERNE_EDATA, "data_batch_3.bin' has 5 bytes",
                 gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_folds(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_SYNTHETIC);
    options.n = 400; /* 100 to validate: 7 or 6 of every group */
    options.train_on = GN_TRAIN_ON_VAL;
    gn_dataset *data;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_int_equal(data->n, 200);
    assert_int_equal(group(data, GN_TRAIN, 0, 0), 7);
    assert_int_equal(group(data, GN_VAL, 0, 0), 0);
    assert_int_equal(gn_dataset_row(data, 0), 400);
    gn_dataset_close(data);
    uint8_t seen[100] = {0};
    static const char *const folds[] = {"1/3", "2/3", "3/3"};
    for (int fold = 0; fold < 3; fold++) {
        options.fold = folds[fold];
        assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
        for (uint32_t y = 0; y < 4; y++)
            for (uint32_t a = 0; a < 4; a++) { /* every fold has its share of every group */
                assert_in_range(group(data, GN_VAL, y, a), 2, 3);
                assert_in_range(group(data, GN_TRAIN, y, a), 4, 5);
            }
        for (size_t i = 0; i < 100; i++)
            seen[i] = (uint8_t)(seen[i] + (data->split[i] == GN_VAL));
        gn_dataset_close(data);
    }
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1); /* every sample validates once */
    static const char *const wrong[] = {"0/3", "4/3", "1/1", "1", "a/b", "1/3/5"};
    for (int i = 0; i < 6; i++) {
        options.fold = wrong[i];
        assert_fails(ctx, GERNE_EUSAGE, "data.fold", gn_dataset_open(ctx, &options, &data));
    }
    options.fold = "1/3";
    options.train_on = GN_TRAIN_ON_TRAIN;
    assert_fails(ctx, GERNE_EUSAGE, "needs data.train_on val",
                 gn_dataset_open(ctx, &options, &data));
    gerne_ctx_close(ctx);
}

static void test_sizes(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    size_t size;
    assert_ok(ctx, gn_parse_size(ctx, "1000", &size));
    assert_int_equal(size, 1000);
    assert_ok(ctx, gn_parse_size(ctx, "1.5K", &size));
    assert_int_equal(size, 1536);
    assert_ok(ctx, gn_parse_size(ctx, "2G", &size));
    assert_int_equal(size, (size_t)2 << 30);
    static const char *const wrong[] = {"", "G", "-1", "1T", "inf", "1e30", "12 M"};
    for (int i = 0; i < 7; i++)
        assert_fails(ctx, GERNE_EUSAGE, "is not a size", gn_parse_size(ctx, wrong[i], &size));
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synthetic),
        cmocka_unit_test(test_synthetic_of_any_size),
        cmocka_unit_test(test_lff_counts),
        cmocka_unit_test(test_dfa_counts),
        cmocka_unit_test(test_streaming_gives_the_same),
        cmocka_unit_test(test_bad_mnist),
        cmocka_unit_test(test_bad_cifar),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
