/* What frozen layers compute is a dataset: it is right, kept, found again, and mended when damaged.
 */
#include "testing.h"

#include <math.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "nn/network_weights.h"
#include "nn/pass.h"
#include "train/frozen.h"
#include "train/inference.h"

enum { WIDTH = 9, TRAINING = 48 };
static const int64_t hidden[] = {13, WIDTH};

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_dataset *data;
    gn_model_options model;
    char *cache;
    int warnings;
} fixture;

static void count_warnings(void *user, gerne_log_level level, const char *line)
{
    (void)line;
    *(int *)user += level == GERNE_LOG_WARNING;
}

static gn_dataset *make_data(gerne_ctx *ctx, int64_t seed, const char *memory_limit)
{
    gn_data_options options;
    gn_dataset *data;
    assert_ok(ctx, gn_data_options_default(ctx, &options));
    options.n = TRAINING;
    options.size = 8;
    options.seed = seed;
    options.memory_limit = memory_limit;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_ok(ctx, gn_dataset_prepare(ctx, data, 2));
    return data;
}

static void open_fixture(fixture *f)
{
    *f = (fixture){.ctx = test_ctx(),
                   .cache = test_directory(),
                   .model = {.arch = "mlp", .hidden = {hidden, 2}, .freeze = "body"}};
    gerne_set_log(f->ctx, count_warnings, &f->warnings);
    assert_ok(f->ctx, gn_device_new(f->ctx, 1, GN_FP32, &f->device));
    f->data = make_data(f->ctx, 0, "2G");
}

static void close_fixture(fixture *f)
{
    gn_dataset_close(f->data);
    gn_device_close(f->device);
    test_remove_directory(f->cache);
    gerne_ctx_close(f->ctx);
}

static gn_frozen *freeze(fixture *f, uint64_t seed, const gn_dataset *data)
{
    const gn_frozen_options options = {
        .model = &f->model, .cache = f->cache, .seed = seed, .threads = 2};
    gn_frozen *frozen;
    assert_ok(f->ctx, gn_frozen_features(f->ctx, f->device, &options, data, &frozen));
    return frozen;
}

/* The only file of the cache; fails when there is not exactly one. */
static const char *cached_file(const fixture *f, char path[1024], int wanted)
{
    char folder[512];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/features", f->cache);
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.') {
            snprintf(path, 1024, "%s/%s", folder, entry->d_name);
            count++;
        }
    closedir(directory);
    assert_int_equal(count, wanted);
    return path;
}

static void assert_right_features(const fixture *f, const gn_frozen *frozen)
{
    const gn_dataset *data = f->data, *features = gn_frozen_dataset(frozen);
    const void *pixels[2 * TRAINING];
    float wanted[2 * TRAINING * WIDTH];
    assert_true(data->n <= 2 * TRAINING);
    gn_samples samples = {.count = data->n, .fields = {pixels}};
    memcpy(samples.scale, data->scale, sizeof data->scale);
    memcpy(samples.shift, data->shift, sizeof data->shift);
    for (size_t i = 0; i < data->n; i++)
        pixels[i] = gn_dataset_pixels(data, i);
    assert_ok(f->ctx, gn_pass_forward(f->ctx, gn_frozen_network(frozen), GN_MODE_INFER, &samples,
                                      NULL, &(gn_outcome){.features = wanted}));
    assert_int_equal(features->field, GN_FEATURES);
    assert_int_equal(features->n, data->n);
    assert_int_equal(features->dimension, WIDTH);
    for (size_t i = 0; i < data->n; i++)
        assert_close(gn_dataset_features(features, i), wanted + i * WIDTH, WIDTH, 1e-6);
}

static void test_features_and_labels(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    gn_frozen *frozen = freeze(&f, 4, f.data);
    const gn_dataset *features = gn_frozen_dataset(frozen);
    assert_false(gn_frozen_cached(frozen));
    assert_right_features(&f, frozen);
    assert_memory_equal(features->y, f.data->y, f.data->n * sizeof *f.data->y);
    assert_memory_equal(features->a, f.data->a, f.data->n * sizeof *f.data->a);
    assert_memory_equal(features->split, f.data->split, f.data->n);
    assert_int_equal(features->classes, f.data->classes);
    assert_string_equal(features->class_names[1], f.data->class_names[1]);
    assert_string_equal(features->attribute_names[2], f.data->attribute_names[2]);
    assert_int_equal(f.warnings, 1); /* random weights */
    gn_frozen_close(frozen);
    close_fixture(&f);
}

static void test_found_again(void **state)
{
    (void)state;
    fixture f;
    char path[1024], one[GN_SHA256_HEX], two[GN_SHA256_HEX];
    open_fixture(&f);
    gn_frozen *frozen = freeze(&f, 4, f.data);
    assert_ok(f.ctx, gn_dataset_fingerprint(f.ctx, gn_frozen_dataset(frozen), one));
    gn_frozen_close(frozen);
    frozen = freeze(&f, 4, f.data);
    assert_true(gn_frozen_cached(frozen));
    assert_right_features(&f, frozen);
    assert_ok(f.ctx, gn_dataset_fingerprint(f.ctx, gn_frozen_dataset(frozen), two));
    assert_string_equal(one, two);
    gn_frozen_close(frozen);
    cached_file(&f, path, 1);
    frozen = freeze(&f, 5, f.data); /* another body */
    assert_false(gn_frozen_cached(frozen));
    gn_frozen_close(frozen);
    cached_file(&f, path, 2);
    gn_dataset *other = make_data(f.ctx, 1, "2G"); /* other data */
    frozen = freeze(&f, 4, other);
    assert_false(gn_frozen_cached(frozen));
    gn_frozen_close(frozen);
    gn_dataset_close(other);
    cached_file(&f, path, 3);
    close_fixture(&f);
}

/* Every kind of damage is noticed, and the file is made again. */
static void test_damage(void **state)
{
    (void)state;
    fixture f;
    char path[1024];
    gn_text good = {0}, bad = {0};
    open_fixture(&f);
    gn_frozen_close(freeze(&f, 4, f.data));
    cached_file(&f, path, 1);
    assert_ok(f.ctx, gn_file_read(f.ctx, path, 1 << 20, &good));
    for (int kind = 0; kind < 5; kind++) {
        gn_text_clear(&bad);
        size_t size = kind == 0 ? 0 : kind == 1 ? good.size / 2 : good.size;
        assert_ok(f.ctx, gn_text_add_bytes(f.ctx, &bad, good.bytes, size));
        if (kind >= 2) {
            const size_t places[] = {200, good.size - 5, good.size - 70};
            bad.bytes[places[kind - 2]] ^= 1;
        }
        assert_ok(f.ctx, gn_file_write(f.ctx, path, bad.bytes, bad.size));
        f.warnings = 0;
        gn_frozen *frozen = freeze(&f, 4, f.data);
        assert_false(gn_frozen_cached(frozen));
        assert_int_equal(f.warnings, 2); /* random weights, and the damage */
        assert_right_features(&f, frozen);
        gn_frozen_close(frozen);
        gn_text_clear(&bad);
        assert_ok(f.ctx, gn_file_read(f.ctx, path, 1 << 20, &bad));
        assert_int_equal(bad.size, good.size);
        assert_memory_equal(bad.bytes, good.bytes, good.size);
    }
    gn_text_free(&good);
    gn_text_free(&bad);
    close_fixture(&f);
}

static int stop_at_once(void *user, const gerne_progress *progress)
{
    (void)user;
    return strcmp(progress->what, "features") == 0;
}

static void test_interrupted(void **state)
{
    (void)state;
    fixture f;
    char path[1024];
    gn_frozen *frozen;
    open_fixture(&f);
    const gn_frozen_options options = {.model = &f.model, .cache = f.cache, .threads = 1};
    gerne_set_progress(f.ctx, stop_at_once, NULL);
    assert_int_equal(gn_frozen_features(f.ctx, f.device, &options, f.data, &frozen),
                     GERNE_EINTERRUPTED);
    assert_null(frozen);
    cached_file(&f, path, 0); /* not even a temporary one */
    close_fixture(&f);
}

/* Body and head together say what the head says about the features; heads move both ways. */
static void test_head(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    gn_frozen *frozen = freeze(&f, 4, f.data);
    gn_network *head;
    const void *pixels[2 * TRAINING];
    const void *rows[2 * TRAINING];
    float whole[2 * TRAINING * 4], ours[2 * TRAINING * 4];
    char path[600];
    snprintf(path, sizeof path, "%s/whole.safetensors", f.cache);
    assert_ok(f.ctx, gn_frozen_new_network(f.ctx, frozen, false, 77, 16, &head));
    for (int from_file = 0; from_file < 2; from_file++) {
        if (!from_file) {
            assert_ok(f.ctx, gn_frozen_put(f.ctx, frozen, head));
            assert_ok(f.ctx, gn_network_save(f.ctx, gn_frozen_network(frozen), path, GN_WEIGHT_F32,
                                             NULL, 0));
        } else { /* a head that model.weights brings wins over a fresh one */
            gn_network_close(head);
            gn_frozen_close(frozen);
            f.model.weights = path;
            frozen = freeze(&f, 5, f.data);
            assert_ok(f.ctx, gn_frozen_new_network(f.ctx, frozen, false, 78, 16, &head));
        }
        gn_samples images = {.count = f.data->n, .fields = {pixels}};
        gn_samples features = {.count = f.data->n, .fields = {rows}};
        memcpy(images.scale, f.data->scale, sizeof f.data->scale);
        memcpy(images.shift, f.data->shift, sizeof f.data->shift);
        for (size_t i = 0; i < f.data->n; i++) {
            pixels[i] = gn_dataset_pixels(f.data, i);
            rows[i] = gn_dataset_features(gn_frozen_dataset(frozen), i);
        }
        assert_ok(f.ctx, gn_pass_forward(f.ctx, gn_frozen_network(frozen), GN_MODE_INFER, &images,
                                         NULL, &(gn_outcome){.logits = whole}));
        assert_ok(f.ctx, gn_pass_forward(f.ctx, head, GN_MODE_INFER, &features, NULL,
                                         &(gn_outcome){.logits = ours}));
        assert_close(ours, whole, f.data->n * 4, 1e-5);
    }
    gn_network_close(head);
    gn_frozen_close(frozen);
    close_fixture(&f);
}

/* The body's weights count, not the file they came from; streamed samples give the same. */
static void test_key_is_content(void **state)
{
    (void)state;
    fixture f;
    char one[600], two[600];
    open_fixture(&f);
    gn_frozen *frozen = freeze(&f, 4, f.data);
    snprintf(one, sizeof one, "%s/one.safetensors", f.cache);
    snprintf(two, sizeof two, "%s/two.safetensors", f.cache);
    gn_network *network = gn_frozen_network(frozen);
    assert_ok(f.ctx, gn_network_save(f.ctx, network, one, GN_WEIGHT_F32, NULL, 0));
    gn_network *head;
    assert_ok(f.ctx, gn_frozen_new_network(f.ctx, frozen, false, 77, 16, &head));
    assert_ok(f.ctx, gn_frozen_put(f.ctx, frozen, head));
    assert_ok(f.ctx, gn_network_save(f.ctx, network, two, GN_WEIGHT_F32, NULL, 0));
    gn_network_close(head);
    gn_frozen_close(frozen);
    const char *const files[] = {one, two};
    for (int i = 0; i < 2; i++) {
        f.model.weights = files[i];
        frozen = freeze(&f, 9, f.data);
        assert_true(gn_frozen_cached(frozen));
        gn_frozen_close(frozen);
    }
    gn_dataset *streamed = make_data(f.ctx, 0, "4K");
    assert_false(gn_dataset_in_memory(streamed));
    frozen = freeze(&f, 9, streamed);
    assert_right_features(&f, frozen);
    gn_frozen_close(frozen);
    gn_dataset_close(streamed);
    close_fixture(&f);
}

/* ---- behind a layer ---- */

/* The gradient of the mean loss of all samples, of what trains, and each sample's loss. */
static void step(const fixture *f, gn_network *network, const gn_dataset *data, float *losses)
{
    const void *sources[2 * TRAINING];
    gn_samples samples = {.count = data->n, .fields = {sources}, .labels = data->y};
    memcpy(samples.scale, data->scale, sizeof data->scale);
    memcpy(samples.shift, data->shift, sizeof data->shift);
    for (size_t i = 0; i < data->n; i++)
        sources[i] = gn_dataset_field(data, i, 0);
    assert_ok(f->ctx, gn_pass_step(f->ctx, network, &samples, NULL, false,
                                   &(gn_outcome){.losses = losses}));
}

/* Length of a - b as a fraction of that of b. */
static double relative_difference(const float *a, const float *b, size_t count)
{
    double difference = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        length += pow((double)b[i], 2);
    }
    return sqrt(difference / length);
}

/* Weights and gradients of the part that trains lie at the end of the whole, in the same order.
 * Frozen layers are computed with their norms folded into the convolutions, so that the last bits
 * differ, and a unit whose input is next to 0 may pass its gradient on in one of the two alone:
 * losses are compared one by one, gradients by length. */
static void assert_same_step(const fixture *f, const gn_frozen *frozen, gn_network *rest,
                             double loss_tolerance, double gradient_tolerance)
{
    gn_network *whole = gn_frozen_network(frozen);
    const gn_store *ours = gn_network_store(rest), *wanted = gn_network_store(whole);
    int shift = gn_store_count(wanted) - gn_store_count(ours);
    static float a[64 * 64 * 9], b[64 * 64 * 9];
    float losses[2][2 * TRAINING];
    step(f, whole, f->data, losses[0]);
    step(f, rest, gn_frozen_dataset(frozen), losses[1]);
    assert_close(losses[1], losses[0], f->data->n, loss_tolerance);
    assert_true(shift > 0);
    assert_int_equal(gn_network_trained(rest).size, gn_network_trained(whole).size);
    for (int i = 0; i < gn_store_count(ours); i++) {
        const gn_parameter *p = gn_store_parameter(ours, i);
        assert_string_equal(p->name, gn_store_parameter(wanted, i + shift)->name);
        assert_true((size_t)p->size <= sizeof a / sizeof a[0]);
        assert_ok(f->ctx, gn_store_get(f->ctx, ours, i, a));
        assert_ok(f->ctx, gn_store_get(f->ctx, wanted, i + shift, b));
        assert_close(a, b, (size_t)p->size, 0);
        if (p->role > GN_SHIFT)
            continue;
        assert_ok(f->ctx, gn_store_get_gradient(f->ctx, ours, i, a));
        assert_ok(f->ctx, gn_store_get_gradient(f->ctx, wanted, i + shift, b));
        assert_true(relative_difference(a, b, (size_t)p->size) < gradient_tolerance);
    }
}

static void test_layers(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *layer;
        int activations;
        double loss_tolerance, gradient_tolerance;
    } cases[] = {
        {"resnet20", "layer2", GN_KEEP_F32, 1e-5, 2e-3},
        {"resnet20", "layer2", GN_KEEP_F16, 1e-2, 2e-2},
        {"resnet20", "conv1", GN_KEEP_F32, 1e-5, 2e-3},
        {"resnet20", "layer3.0", GN_KEEP_F32, 1e-5, 2e-3},
        {"vit", "blocks.0", GN_KEEP_F32, 1e-5, 1e-4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        char path[1024];
        open_fixture(&f);
        f.model = (gn_model_options){.arch = cases[i].arch,
                                     .freeze = cases[i].layer,
                                     .activations = cases[i].activations,
                                     .bn = GN_BN_FROZEN,
                                     .depth = 2,
                                     .width = 32,
                                     .heads = 2,
                                     .patch = 4};
        gn_frozen *frozen = freeze(&f, 4, f.data);
        gn_network *rest;
        assert_true(gn_network_can_cut(gn_frozen_network(frozen)));
        assert_ok(f.ctx, gn_frozen_new_network(f.ctx, frozen, false, 77, 16, &rest));
        assert_ok(f.ctx, gn_frozen_put(f.ctx, frozen, rest)); /* its fresh head */
        assert_same_step(&f, frozen, rest, cases[i].loss_tolerance, cases[i].gradient_tolerance);
        gn_network_close(rest);
        gn_frozen_close(frozen);
        cached_file(&f, path, 1);
        frozen = freeze(&f, 4, f.data);
        assert_true(gn_frozen_cached(frozen));
        gn_frozen_close(frozen);
        close_fixture(&f);
    }
}

/* Numbers beyond 65504 are refused, and nothing is left. */
static void test_layers_that_overflow(void **state)
{
    (void)state;
    fixture f;
    char path[1024];
    gn_frozen *frozen;
    open_fixture(&f);
    for (int c = 0; c < GN_CHANNELS; c++)
        f.data->scale[c] = 1e6f;
    f.model = (gn_model_options){.arch = "resnet20", .freeze = "layer1", .bn = GN_BN_FROZEN};
    const gn_frozen_options options = {.model = &f.model, .cache = f.cache, .threads = 1};
    assert_fails(f.ctx, GERNE_EDATA, "16 bits",
                 gn_frozen_features(f.ctx, f.device, &options, f.data, &frozen));
    cached_file(&f, path, 0);
    close_fixture(&f);
}

/* Several processes at once: all succeed, one good file remains. */
static void test_processes_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    fixture f;
    char path[1024];
    open_fixture(&f);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            const gn_frozen_options options = {
                .model = &f.model, .cache = f.cache, .seed = 4, .threads = 1};
            gn_frozen *frozen;
            _exit(gn_frozen_features(f.ctx, f.device, &options, f.data, &frozen) == GERNE_OK ? 0
                                                                                             : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int code;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    cached_file(&f, path, 1);
    gn_frozen *frozen = freeze(&f, 4, f.data);
    assert_true(gn_frozen_cached(frozen));
    assert_right_features(&f, frozen);
    gn_frozen_close(frozen);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_at_once), /* first: before this process has threads */
        cmocka_unit_test(test_features_and_labels),
        cmocka_unit_test(test_found_again),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_key_is_content),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_layers_that_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
