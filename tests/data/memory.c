/* memory.c - every allocation fails once: no crash, no leak (sanitizers look), a plain status. */
#include "helpers.h"

#include <stdio.h>

#include "base/memory.h"
#include "data/fetch.h"

/* Opens again and again with the n-th allocation failing until one attempt comes through. */
static void check_open(gerne_ctx *ctx, const gn_data_options *options)
{
    for (long n = 1; n < 2000; n++) {
        gn_dataset *data = NULL;
        gn_fail_allocation(n);
        gerne_status status = gn_dataset_open(ctx, options, &data);
        if (status == GERNE_OK)
            status = gn_dataset_prepare(ctx, data, 1);
        gn_fail_allocation(0);
        if (status != GERNE_OK)
            assert_int_equal(status, GERNE_ENOMEM);
        gn_dataset_close(data);
        if (status == GERNE_OK) {
            assert_true(n > 5); /* some did fail */
            return;
        }
    }
    fail_msg("2000 allocations were not enough");
}

static void test_made(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_SYNTHETIC);
    options.n = 20;
    check_open(ctx, &options);
    test_write_mnist(ctx, dir, 40, 10);
    options = test_options(ctx, GN_DATA_CMNIST);
    options.dir = dir;
    options.val = 5;
    check_open(ctx, &options);
    test_write_cifar(ctx, dir, 2);
    options.format = GN_DATA_CCIFAR10;
    check_open(ctx, &options);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_files(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "train/%d/1/x_%d_1.png", i, i);
        test_write_png(ctx, test_path(dir, name), 6, 5, i, i, i);
    }
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    static const int64_t small[] = {4};
    options.resize = (gn_ints){small, 1};
    for (int layout = GN_LAYOUT_FOLDERS; layout <= GN_LAYOUT_PLAIN; layout++) {
        options.layout = layout;
        if (layout != GN_LAYOUT_CELEBA)
            check_open(ctx, &options);
    }
    test_write_text(ctx, test_path(dir, "metadata.csv"),
                    "filename,y,a,split\ntrain/0/1/x_0_1.png,a,b,0\ntrain/1/1/x_1_1.png,b,c,1\n");
    options.layout = GN_LAYOUT_METADATA;
    check_open(ctx, &options);
    options = test_options(ctx, GN_DATA_FEATURES);
    options.file = GERNE_SOURCE_DIR "/tests/golden/data/features/packed.npz";
    options.standardize = true;
    check_open(ctx, &options);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_made), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
