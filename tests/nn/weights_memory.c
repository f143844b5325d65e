/* Every allocation fails once: each time a clear status, nothing leaked (run under SAN=address),
 * nothing half written. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "files.h"

typedef gerne_status job_fn(gerne_ctx *ctx, const char *path);

static const float data[5000];
static const gn_weight_out tensors[] = {{.name = "a", .ndims = 1, .dims = {5000}, .data = data},
                                        {.name = "b", .ndims = 1, .dims = {2}, .data = data}};
static const gn_metadata metadata[] = {{"k", "v"}, {"j", "w"}};

static gerne_status write_job(gerne_ctx *ctx, const char *path)
{
    return gn_safetensors_write(ctx, path, GN_WEIGHT_BF16, tensors, 2, metadata, 2);
}

static gerne_status read_job(gerne_ctx *ctx, const char *path)
{
    gn_weights *weights;
    gerne_status status = gn_weights_open(ctx, path, &weights);
    assert_true(weights ? status == GERNE_OK : status != GERNE_OK);
    gn_weights_close(weights);
    return status;
}

static gerne_status match_job(gerne_ctx *ctx, const char *path)
{
    static const gn_wanted wanted[] = {{.name = "conv.weight", .ndims = 1, .dims = {1}},
                                       {.name = "none", .ndims = 0}};
    gn_weights *weights;
    GN_TRY(gn_weights_open(ctx, path, &weights));
    const gn_weight *found[2];
    gerne_status status = gn_weights_match(ctx, weights, wanted, 2, NULL, found, NULL);
    gn_weights_close(weights);
    return status;
}

/* Returns how many allocations the job makes. */
static long fail_each(job_fn *job, const char *path, gerne_status at_last)
{
    for (long n = 1;; n++) {
        gerne_ctx *ctx = test_ctx();
        gn_fail_allocation(n);
        gerne_status status = job(ctx, path);
        gn_fail_allocation(0);
        bool done = status == at_last;
        if (!done && status != GERNE_ENOMEM)
            fail_msg("allocation %ld: %s", n, gerne_message(ctx));
        if (!done)
            assert_non_null(strstr(gerne_message(ctx), "no memory"));
        gerne_ctx_close(ctx);
        if (done)
            return n - 1;
        assert_true(n < 1000);
    }
}

static void test_reading(void **state)
{
    (void)state;
    static const char path[] = GERNE_SOURCE_DIR "/tests/golden/weights/checkpoint.pth";
    static const char net[] = GERNE_SOURCE_DIR "/tests/golden/weights/state.pth";
    assert_in_range(fail_each(read_job, path, GERNE_OK), 8, 1000);
    assert_in_range(fail_each(match_job, net, GERNE_EDATA), 8, 1000);
}

static void test_writing_and_reading_back(void **state)
{
    (void)state;
    char *directory = test_directory(), path[4096];
    snprintf(path, sizeof path, "%s/a", directory);
    for (long n = 1; !gn_path_exists(path); n++) {
        gerne_ctx *ctx = test_ctx();
        gn_fail_allocation(n);
        gerne_status status = write_job(ctx, path);
        gn_fail_allocation(0);
        if (status != GERNE_OK)
            assert_int_equal(status, GERNE_ENOMEM);
        gerne_ctx_close(ctx);
        assert_true(n < 1000);
    }
    assert_int_equal(fail_each(write_job, path, GERNE_OK) > 0, 1);
    assert_in_range(fail_each(read_job, path, GERNE_OK), 5, 1000);
    test_remove_directory(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_writing_and_reading_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
