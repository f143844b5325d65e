/* real.c - the published datasets, where they are at hand: counts, and pixels as Pillow has them.
 */
#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "data/fetch.h"
#include "data/image.h"

static const char *folder(const char *name)
{
    return test_path(test_real_data(), name);
}

static void check_groups(const gn_dataset *data, gn_split split, const uint64_t *wanted)
{
    uint64_t counts[4];
    gn_dataset_count(data, split, counts);
    for (int g = 0; g < 4; g++)
        assert_int_equal(counts[g], wanted[g]);
}

/* The counts that the authors of Waterbirds publish. */
static void test_waterbirds_groups(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = folder("waterbirds224");
    options.preset = GN_PRESET_WATERBIRDS;
    gn_dataset *data;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    check_groups(data, GN_TRAIN, (uint64_t[]){3498, 184, 56, 1057});
    check_groups(data, GN_VAL, (uint64_t[]){467, 466, 133, 133});
    check_groups(data, GN_TEST, (uint64_t[]){2255, 2255, 642, 642});
    assert_int_equal(data->height, 224);
    gn_dataset_close(data);
    gerne_ctx_close(ctx);
}

enum { PART = 12, EVERY = 500, FIRST = 24 };

/* Compares the part of PART x PART at (top, left); returns how many values are off by more than 1.
 */
static size_t far_off(const uint8_t *pixels, size_t width, size_t top, size_t left,
                      const uint8_t *wanted)
{
    size_t off = 0;
    for (size_t y = 0; y < PART; y++)
        for (size_t i = 0; i < PART * 3; i++)
            off += abs(pixels[((y + top) * width + left) * 3 + i] - wanted[y * PART * 3 + i]) > 1;
    return off;
}

static void test_waterbirds_pixels(void **state)
{
    (void)state;
    static const int64_t resize[] = {96}, crop[] = {80};
    gerne_ctx *ctx = test_ctx();
    gn_text golden = {0};
    test_golden(ctx, "waterbirds.bin", &golden);
    assert_int_equal(golden.size, FIRST * 2 * PART * PART * 3);
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = folder("waterbirds224");
    options.memory_limit = "40M"; /* streamed */
    size_t off = 0;
    for (int transformed = 0; transformed < 2; transformed++) {
        options.resize = (gn_ints){resize, (size_t)transformed};
        options.crop = (gn_ints){crop, (size_t)transformed};
        gn_dataset *data = test_dataset(ctx, &options);
        assert_false(gn_dataset_in_memory(data));
        gn_fetch *fetch;
        gn_fetch_options fetching = {.threads = 2, .ahead = FIRST};
        assert_ok(ctx, gn_fetch_new(ctx, data, &fetching, &fetch));
        uint32_t rows[FIRST];
        for (uint32_t i = 0; i < FIRST; i++)
            rows[i] = i * EVERY;
        const void *const *samples[GN_FIELDS_MAX];
        assert_ok(ctx, gn_fetch_submit(fetch, 0, rows, FIRST));
        assert_ok(ctx, gn_fetch_wait(fetch, samples));
        for (size_t i = 0; i < FIRST; i++) {
            const uint8_t *wanted =
                (const uint8_t *)golden.bytes + (2 * i + (size_t)transformed) * PART * PART * 3;
            off += far_off(samples[0][i], data->width, transformed ? 40 : 100,
                           transformed ? 30 : 90, wanted);
        }
        gn_fetch_close(fetch);
        gn_dataset_close(data);
    }
    assert_true((double)off <= 0.001 * (double)golden.size);
    gn_text_free(&golden);
    gerne_ctx_close(ctx);
}

static uint64_t conflicting(const gn_dataset *data, gn_split split)
{
    uint64_t count = 0;
    for (size_t i = 0; i < data->n; i++)
        count += data->split[i] == split && data->y[i] != data->a[i];
    return count;
}

static void test_cmnist(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_data_options options = test_options(ctx, GN_DATA_CMNIST);
    options.dir = folder("mnist");
    options.construction = GN_CONSTRUCTION_LFF;
    /* What LfF's own generator gives on MNIST. */
    static const struct {
        double ratio;
        uint64_t conflicting;
    } published[] = {{0.05, 3000}, {0.02, 1199}, {0.01, 598}, {0.005, 300}};
    gn_dataset *data = NULL;
    for (int i = 0; i < 4; i++) {
        gn_dataset_close(data);
        options.ratio = published[i].ratio;
        assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
        assert_int_equal(conflicting(data, GN_TRAIN), published[i].conflicting);
    }
    static const uint64_t zeros[] = {5893, 4, 3, 3, 4, 3, 3, 3, 4, 3};
    uint64_t counts[100];
    gn_dataset_count(data, GN_TRAIN, counts);
    for (int a = 0; a < 10; a++)
        assert_int_equal(counts[a], zeros[a]);
    gn_dataset_close(data);
    options.construction = GN_CONSTRUCTION_DFA;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    uint64_t splits[3] = {0};
    for (size_t i = 0; i < data->n; i++)
        splits[data->split[i]]++;
    assert_int_equal(splits[GN_TRAIN], 55000);
    assert_int_equal(splits[GN_VAL], 5000);
    assert_int_equal(splits[GN_TEST], 10000);
    /* 55,000 * 0.005 * 0.9 = 247.5 within four standard deviations; DFA's release has 249. */
    assert_near((double)conflicting(data, GN_TRAIN), 247.5, 4 * 15.7);
    gn_dataset_close(data);
    gerne_ctx_close(ctx);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#elif defined(__has_feature)
static const bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
static const bool sanitized = false;
#endif

/* Everything is read, at most the limit is held: 1.8 GB of pixels in 48 MB. */
static void test_memory(void **state)
{
    (void)state;
    if (sanitized || getenv("GERNE_LAUNCHER")) {
        print_message("a sanitizer has its own memory: the peak means nothing\n");
        skip();
    }
    gerne_ctx *ctx = test_ctx();
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = folder("waterbirds224");
    options.memory_limit = "48M";
    gn_dataset *data = test_dataset(ctx, &options);
    gn_fetch *fetch;
    gn_fetch_options fetching = {.threads = 2, .ahead = 100000};
    assert_ok(ctx, gn_fetch_new(ctx, data, &fetching, &fetch));
    assert_int_equal(gn_fetch_slots(fetch), ((size_t)48 << 20) / (224 * 224 * 3));
    uint32_t rows[100];
    for (uint32_t step = 0; step < 20; step++) {
        for (uint32_t i = 0; i < 100; i++)
            rows[i] = (step * 100 + i) * 5 % (uint32_t)data->n;
        const void *const *samples[GN_FIELDS_MAX];
        assert_ok(ctx, gn_fetch_submit(fetch, step, rows, 100));
        assert_ok(ctx, gn_fetch_wait(fetch, samples));
        gn_fetch_release(fetch);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < (48 + 24) * 1024); /* and room to decode */
    gn_fetch_close(fetch);
    gn_dataset_close(data);
    gerne_ctx_close(ctx);
}

int main(void)
{
    if (!test_real_data())
        test_skip_all("the folder with real data is absent (set GERNE_REAL_DATA)");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), /* first: it measures the peak of the process */
        cmocka_unit_test(test_waterbirds_groups),
        cmocka_unit_test(test_waterbirds_pixels),
        cmocka_unit_test(test_cmnist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
