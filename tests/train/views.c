/* model.views: the kept views of training samples are what they should be, a step draws one of them
 * by seed, step and sample, and only a training step does. */
#include "testing.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/augment.h"
#include "data/fetch.h"
#include "nn/pass.h"
#include "run_fixture.h"
#include "train/train.h"

enum { WIDTH = 9, TRAINING = 48, SAMPLES_MAX = 2 * TRAINING, VIEWS = 4, PIXELS_MAX = 8 * 8 * 3 };
enum { SEED_OF_VIEWS = 0x76696577 }; /* "view": another one would make all caches worthless */
static const int64_t hidden[] = {13, WIDTH};

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_dataset *data;
    gn_model_options model;
    char *cache;
    int threads;
} fixture;

static void open_data(fixture *f, gn_augment augment)
{
    gn_data_options options;
    assert_ok(f->ctx, gn_data_options_default(f->ctx, &options));
    options.n = TRAINING;
    options.size = 8;
    options.augment = (int)augment;
    assert_ok(f->ctx, gn_dataset_open(f->ctx, &options, &f->data));
    assert_ok(f->ctx, gn_dataset_prepare(f->ctx, f->data, 2));
    assert_in_range(f->data->n, TRAINING + 1, SAMPLES_MAX);
    assert_int_equal(gn_count_split(f->data, GN_TRAIN), TRAINING);
}

static void open_fixture(fixture *f)
{
    *f = (fixture){
        .ctx = test_ctx(),
        .cache = test_directory(),
        .threads = 2,
        .model = {.arch = "mlp", .hidden = {hidden, 2}, .freeze = "body", .views = VIEWS}};
    assert_ok(f->ctx, gn_device_new(f->ctx, 1, GN_FP32, &f->device));
    open_data(f, GN_AUGMENT_RANDOM);
}

static void close_fixture(fixture *f)
{
    gn_dataset_close(f->data);
    gn_device_close(f->device);
    test_remove_directory(f->cache);
    gerne_ctx_close(f->ctx);
}

static gn_frozen *freeze_for(fixture *f, int64_t views, bool evaluates)
{
    f->model.views = views;
    const gn_frozen_options options = {.model = &f->model,
                                       .cache = f->cache,
                                       .seed = 4,
                                       .threads = f->threads,
                                       .evaluates = evaluates};
    gn_frozen *frozen;
    assert_ok(f->ctx, gn_frozen_features(f->ctx, f->device, &options, f->data, &frozen));
    return frozen;
}

static gn_frozen *freeze(fixture *f, int64_t views)
{
    return freeze_for(f, views, false);
}

static int count_files(const char *cache)
{
    char folder[512];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/features", cache);
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* The only file of the cache. */
static const char *cached_file(const char *cache, char path[1024])
{
    char folder[512];
    assert_int_equal(count_files(cache), 1);
    snprintf(folder, sizeof folder, "%s/features", cache);
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            snprintf(path, 1024, "%s/%s", folder, entry->d_name);
    closedir(directory);
    return path;
}

/* ---- what is kept ---- */

static void view_0_is_what_is_kept_without_views(void **state)
{
    (void)state;
    static const char *const layers[] = {"body", "layer2"};
    for (int i = 0; i < 2; i++) {
        fixture f;
        open_fixture(&f);
        f.model.freeze = layers[i]; /* a layer's numbers have 16 bits */
        f.model.arch = i ? "resnet20" : "mlp";
        f.model.bn = GN_BN_FROZEN;
        gn_frozen *one = freeze(&f, 1), *several = freeze(&f, VIEWS);
        const gn_dataset *a = gn_frozen_dataset(one), *b = gn_frozen_dataset(several);
        size_t bytes = a->dimension * (i ? sizeof(uint16_t) : sizeof(float));
        assert_int_equal(b->n, a->n);
        assert_int_equal(b->dimension, a->dimension);
        assert_int_equal(b->halves != NULL, i);
        for (size_t s = 0; s < a->n; s++) {
            assert_memory_equal(gn_dataset_field(b, s, 0), gn_dataset_field(a, s, 0), bytes);
            assert_memory_equal(gn_dataset_view(b, s, 0), gn_dataset_field(a, s, 0), bytes);
        }
        gn_frozen_close(one);
        gn_frozen_close(several);
        close_fixture(&f);
    }
}

/* The network on the picture, changed by the stream of its view and sample. */
static void assert_is_view(const fixture *f, const gn_frozen *frozen, size_t sample, size_t view)
{
    const gn_dataset *data = f->data;
    uint8_t changed[PIXELS_MAX];
    float wanted[WIDTH];
    const void *pixels[] = {changed};
    gn_samples samples = {.count = 1, .fields = {pixels}};
    gn_stream stream = gn_stream_at(SEED_OF_VIEWS, GN_RNG_AUGMENT, view, sample);
    gn_augment_picture(data->augment, &stream, data->height, data->width,
                       gn_dataset_pixels(data, sample), changed);
    memcpy(samples.scale, data->scale, sizeof data->scale);
    memcpy(samples.shift, data->shift, sizeof data->shift);
    assert_ok(f->ctx, gn_pass_forward(f->ctx, gn_frozen_network(frozen), GN_MODE_INFER, &samples,
                                      NULL, &(gn_outcome){.features = wanted}));
    assert_close(gn_dataset_view(gn_frozen_dataset(frozen), sample, view), wanted, WIDTH, 1e-6);
}

static void views_are_changed_pictures(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    gn_frozen *frozen = freeze(&f, VIEWS);
    const gn_dataset *features = gn_frozen_dataset(frozen);
    size_t pairs = 0, apart = 0;
    for (size_t s = 0; s < features->n; s++) {
        bool trains = f.data->split[s] == GN_TRAIN;
        assert_int_equal(gn_dataset_view_count(features, s), trains ? VIEWS : 1);
        for (size_t v = 1; trains && v < VIEWS; v++) {
            assert_is_view(&f, frozen, s, v);
            for (size_t w = 0; w < v; w++, pairs++)
                apart += memcmp(gn_dataset_view(features, s, v), gn_dataset_view(features, s, w),
                                WIDTH * sizeof(float)) != 0;
        }
    }
    /* One operation in ten leaves a picture as it is. */
    assert_int_equal(pairs, TRAINING * VIEWS * (VIEWS - 1) / 2);
    assert_in_range(apart, pairs * 3 / 4, pairs);
    gn_frozen_close(frozen);
    close_fixture(&f);
}

static void the_same_key_gives_the_same_bytes(void **state)
{
    (void)state;
    gn_text bytes[2] = {{0}};
    char path[2][1024];
    for (int i = 0; i < 2; i++) {
        fixture f;
        open_fixture(&f);
        f.threads = i ? 3 : 1; /* that decode */
        gn_frozen_close(freeze(&f, VIEWS));
        cached_file(f.cache, path[i]);
        assert_ok(f.ctx, gn_file_read(f.ctx, path[i], 1 << 20, &bytes[i]));
        close_fixture(&f);
    }
    assert_string_equal(strrchr(path[0], '/'), strrchr(path[1], '/'));
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].bytes, bytes[1].bytes, bytes[0].size);
    gn_text_free(&bytes[0]);
    gn_text_free(&bytes[1]);
}

static void fingerprint_of(const fixture *f, gn_frozen *frozen, char hex[GN_SHA256_HEX])
{
    assert_ok(f->ctx, gn_dataset_fingerprint(f->ctx, gn_frozen_dataset(frozen), hex));
    assert_false(gn_frozen_cached(frozen));
    gn_frozen_close(frozen);
}

static void number_and_kind_are_in_the_key(void **state)
{
    (void)state;
    fixture f;
    char one[GN_SHA256_HEX], two[GN_SHA256_HEX], other[GN_SHA256_HEX];
    open_fixture(&f);
    fingerprint_of(&f, freeze(&f, VIEWS), one);
    fingerprint_of(&f, freeze(&f, VIEWS - 1), two);
    gn_dataset_close(f.data);
    open_data(&f, GN_AUGMENT_COLOR);
    fingerprint_of(&f, freeze(&f, VIEWS), other);
    assert_string_not_equal(one, two);
    assert_string_not_equal(one, other);
    assert_int_equal(count_files(f.cache), 3);
    close_fixture(&f);
}

/* A bit of the last view, in front of the trailer: see frozen.c. */
static void damage_of_a_view_is_noticed(void **state)
{
    (void)state;
    enum { TRAILER = 80 };
    fixture f;
    char path[1024];
    gn_text good = {0}, mended = {0};
    open_fixture(&f);
    gn_frozen_close(freeze(&f, VIEWS));
    cached_file(f.cache, path);
    assert_ok(f.ctx, gn_file_read(f.ctx, path, 1 << 20, &good));
    good.bytes[good.size - TRAILER - 8] ^= 1;
    assert_ok(f.ctx, gn_file_write(f.ctx, path, good.bytes, good.size));
    good.bytes[good.size - TRAILER - 8] ^= 1;
    gn_frozen *frozen = freeze(&f, VIEWS);
    assert_false(gn_frozen_cached(frozen));
    gn_frozen_close(frozen);
    assert_ok(f.ctx, gn_file_read(f.ctx, path, 1 << 20, &mended));
    assert_int_equal(mended.size, good.size);
    assert_memory_equal(mended.bytes, good.bytes, good.size);
    gn_text_free(&good);
    gn_text_free(&mended);
    close_fixture(&f);
}

typedef struct seen_progress {
    uint64_t last, total;
    bool wrong;
} seen_progress;

static int watch_progress(void *user, const gerne_progress *progress)
{
    seen_progress *seen = user;
    if (strcmp(progress->what, "features") != 0)
        return 0;
    seen->wrong = seen->wrong || progress->done <= seen->last ||
                  (seen->total && progress->total != seen->total);
    seen->last = progress->done;
    seen->total = progress->total;
    return 0;
}

static void progress_counts_all_rows(void **state)
{
    (void)state;
    fixture f;
    seen_progress seen = {0};
    open_fixture(&f);
    gerne_set_progress(f.ctx, watch_progress, &seen);
    gn_frozen_close(freeze(&f, VIEWS));
    assert_false(seen.wrong);
    assert_int_equal(seen.last, f.data->n + (VIEWS - 1) * TRAINING);
    assert_int_equal(seen.total, seen.last);
    close_fixture(&f);
}

static void an_evaluation_computes_no_views(void **state)
{
    (void)state;
    fixture f;
    seen_progress seen = {0};
    open_fixture(&f);
    gerne_set_progress(f.ctx, watch_progress, &seen);
    gn_frozen_close(freeze_for(&f, VIEWS, true));
    assert_int_equal(seen.total, f.data->n);
    gn_frozen_close(freeze(&f, VIEWS));
    gn_frozen *frozen = freeze_for(&f, VIEWS, true); /* reads those that are there */
    assert_true(gn_frozen_cached(frozen));
    assert_int_equal(gn_dataset_view_count(gn_frozen_dataset(frozen), 0),
                     f.data->split[0] == GN_TRAIN ? VIEWS : 1);
    gn_frozen_close(frozen);
    assert_int_equal(count_files(f.cache), 2);
    close_fixture(&f);
}

/* ---- what is drawn ---- */

static size_t view_at(const gn_dataset *features, size_t sample, const void *row)
{
    for (size_t v = 0; v < gn_dataset_view_count(features, sample); v++)
        if (gn_dataset_view(features, sample, v) == row)
            return v;
    fail_msg("no view of sample %zu", sample);
    return 0;
}

enum { STEPS = 200 };

/* The view of every sample in every step. */
static void draw(const fixture *f, const gn_dataset *features, uint64_t seed, gn_augment augment,
                 uint8_t drawn[STEPS][SAMPLES_MAX])
{
    uint32_t all[SAMPLES_MAX];
    gn_fetch *fetch;
    const gn_fetch_options options = {
        .threads = 1, .ahead = features->n, .seed = seed, .augment = augment};
    for (uint32_t i = 0; i < features->n; i++)
        all[i] = i;
    assert_ok(f->ctx, gn_fetch_new(f->ctx, features, &options, &fetch));
    for (uint64_t k = 0; k < STEPS; k++) {
        const void *const *fields[GN_FIELDS_MAX];
        assert_ok(f->ctx, gn_fetch_submit(fetch, k, all, features->n));
        assert_ok(f->ctx, gn_fetch_wait(fetch, fields));
        for (size_t i = 0; i < features->n; i++)
            drawn[k][i] = (uint8_t)view_at(features, i, fields[0][i]);
        gn_fetch_release(fetch);
    }
    gn_fetch_close(fetch);
}

/* Of n draws with probability p, counts lie within five standard deviations of n p. */
static void assert_count(size_t found, double n, double p)
{
    assert_near((double)found, n * p, 5 * sqrt(n * p * (1 - p)));
}

static void draws_are_uniform(void **state)
{
    (void)state;
    static uint8_t drawn[STEPS][SAMPLES_MAX], again[STEPS][SAMPLES_MAX];
    fixture f;
    open_fixture(&f);
    gn_frozen *frozen = freeze(&f, VIEWS);
    const gn_dataset *features = gn_frozen_dataset(frozen);
    size_t counts[VIEWS] = {0}, pairs[VIEWS][VIEWS] = {{0}}, other_seed = 0;
    draw(&f, features, 7, GN_AUGMENT_RANDOM, drawn);
    draw(&f, features, 8, GN_AUGMENT_RANDOM, again);
    for (size_t i = 0; i < features->n; i++) {
        size_t own[VIEWS] = {0};
        for (size_t k = 0; k < STEPS; k++) {
            if (f.data->split[i] != GN_TRAIN) {
                assert_int_equal(drawn[k][i], 0);
                continue;
            }
            counts[drawn[k][i]]++;
            own[drawn[k][i]]++;
            other_seed += drawn[k][i] == again[k][i];
            if (k > 0)
                pairs[drawn[k - 1][i]][drawn[k][i]]++;
        }
        for (size_t v = 0; f.data->split[i] == GN_TRAIN && v < VIEWS; v++)
            assert_count(own[v], STEPS, 1.0 / VIEWS);
    }
    assert_count(other_seed, TRAINING * STEPS, 1.0 / VIEWS);
    for (size_t v = 0; v < VIEWS; v++) {
        assert_count(counts[v], TRAINING * STEPS, 1.0 / VIEWS);
        for (size_t w = 0; w < VIEWS; w++) /* steps do not know of each other */
            assert_count(pairs[v][w], TRAINING * (STEPS - 1), 1.0 / (VIEWS * VIEWS));
    }
    draw(&f, features, 7, GN_AUGMENT_RANDOM, again);
    assert_memory_equal(again, drawn, sizeof drawn);
    draw(&f, features, 7, GN_AUGMENT_NONE, again);
    for (size_t i = 0; i < sizeof again; i++)
        assert_int_equal(again[i / SAMPLES_MAX][i % SAMPLES_MAX], 0);
    gn_frozen_close(frozen);
    close_fixture(&f);
}

/* ---- runs ---- */

static const char *const usual[] = {"data.n",
                                    "400",
                                    "data.size",
                                    "8",
                                    "data.augment",
                                    "flip",
                                    "train.steps",
                                    "5",
                                    "train.per_class",
                                    "9",
                                    "train.lr",
                                    "0.1",
                                    "model.hidden",
                                    "16",
                                    "model.freeze",
                                    "body",
                                    "model.views",
                                    "3",
                                    "threads",
                                    "1",
                                    NULL};

static void passes_are_not_fixed(void **state)
{
    (void)state;
    static const char *const none[] = {NULL}, *const one[] = {"model.views", "1", NULL};
    for (int i = 0; i < 2; i++) {
        run_fixture f;
        gn_plan plan = {0};
        run_configure_more(&f, usual, i ? one : none);
        run_enter(&f);
        assert_int_equal(f.t->run.fixed, i);
        assert_ok(f.ctx, f.t->run.method->plan(&f.t->run, 0, &plan));
        assert_int_equal(plan.count, i ? 1 : 2); /* batches of GERNE */
        run_close(&f);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more[7], *words, *hint;
    } cases[] = {
        {{"data.augment", "none"}, "data.augment is none", "--data.augment"},
        {{"model.freeze", "none"}, "needs a frozen body or layer", "--model.freeze body"},
        {{"model.freeze", "head"}, "needs a frozen body or layer", "--model.freeze body"},
        {{"model.arch", "resnet20", "model.freeze", "layer2", "model.activations", "recompute"},
         "cannot be combined with model.activations recompute",
         "--model.activations fp16"},
        {{"model.arch", "resnet20", "model.freeze", "layer2.1.conv1"},
         "cannot be cut behind 'layer2.1.conv1'",
         "--model.freeze body"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_fixture f;
        run_configure_more(&f, usual, cases[i].more);
        assert_ok(f.ctx, gn_trainer_new(f.ctx, f.config, &f.t));
        assert_fails(f.ctx, GERNE_EUSAGE, cases[i].words, gn_trainer_settle(f.t));
        assert_non_null(strstr(gerne_hint(f.ctx), cases[i].hint));
        run_close(&f);
    }
}

static int stop_in_the_middle(void *user, const gerne_progress *progress)
{
    (void)user;
    return strcmp(progress->what, "train") == 0 && progress->done == 3;
}

static gn_text weights_of(const run_fixture *f)
{
    const char *path;
    gn_text bytes = {0};
    assert_ok(f->ctx,
              gn_path_join(f->ctx, f->arena, f->config->top.out, "best.safetensors", &path));
    assert_ok(f->ctx, gn_file_read(f->ctx, path, 1 << 24, &bytes));
    return bytes;
}

/* Stopped and resumed a run has the same bits; without views it has others. */
static void interrupted_runs_draw_the_same_views(void **state)
{
    (void)state;
    char *directory = test_directory(), out[3][4200], cache[4200];
    run_fixture f[3];
    gn_text weights[3];
    snprintf(cache, sizeof cache, "%s/cache", directory);
    for (int i = 0; i < 3; i++) {
        snprintf(out[i], sizeof out[i], "%s/%d", directory, i);
        const char *const more[] = {"out", out[i], "cache", cache, "model.views", i < 2 ? "3" : "1",
                                    NULL};
        run_configure_more(&f[i], usual, more);
        if (i == 1) {
            gerne_set_progress(f[i].ctx, stop_in_the_middle, NULL);
            assert_fails(f[i].ctx, GERNE_EINTERRUPTED, "after step 3 of 5",
                         gn_train(f[i].ctx, f[i].config, NULL, NULL));
            gerne_set_progress(f[i].ctx, NULL, NULL);
            assert_ok(f[i].ctx, gn_train_resume(f[i].ctx, out[i], NULL, NULL));
        } else {
            assert_ok(f[i].ctx, gn_train(f[i].ctx, f[i].config, NULL, NULL));
        }
        weights[i] = weights_of(&f[i]);
    }
    assert_int_equal(weights[1].size, weights[0].size);
    assert_memory_equal(weights[1].bytes, weights[0].bytes, weights[0].size);
    assert_true(weights[2].size != weights[0].size ||
                memcmp(weights[2].bytes, weights[0].bytes, weights[0].size) != 0);
    for (int i = 0; i < 3; i++) {
        gn_text_free(&weights[i]);
        run_close(&f[i]);
    }
    test_remove_directory(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view_0_is_what_is_kept_without_views),
        cmocka_unit_test(views_are_changed_pictures),
        cmocka_unit_test(the_same_key_gives_the_same_bytes),
        cmocka_unit_test(number_and_kind_are_in_the_key),
        cmocka_unit_test(damage_of_a_view_is_noticed),
        cmocka_unit_test(progress_counts_all_rows),
        cmocka_unit_test(an_evaluation_computes_no_views),
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(passes_are_not_fixed),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(interrupted_runs_draw_the_same_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
