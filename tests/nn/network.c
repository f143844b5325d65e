/* What a network promises as a whole: micro-batches, bits, modes, freezing, bfloat16, files. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "nn/network_weights.h"
#include "nn/optimizer.h"
#include "nn/pass.h"

enum { SIDE = 8, BYTES = 3 * SIDE * SIDE, COUNT = 40, CLASSES = 4 };

static uint8_t pixels[COUNT][BYTES];
static const void *pointers[COUNT];
static int32_t labels[COUNT];
static float weights[COUNT];

/* Bright quarters tell the class, the rest is noise: a task that learns. */
static gn_samples make_samples(void)
{
    gn_stream s = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        labels[i] = i % CLASSES;
        weights[i] = (float)(gn_random_uniform(&s) - 0.3) / COUNT;
        pointers[i] = pixels[i];
        for (int j = 0; j < BYTES; j++) {
            int row = j / 3 / SIDE, column = j / 3 % SIDE;
            int quarter = row / (SIDE / 2) * 2 + column / (SIDE / 2);
            pixels[i][j] = (uint8_t)(gn_random_below(&s, 128) + (quarter == labels[i] ? 100 : 0));
        }
    }
    gn_samples samples = {.count = COUNT, .fields = {pointers}, .labels = labels};
    for (int c = 0; c < 3; c++) {
        samples.scale[c] = 1.0f / 64;
        samples.shift[c] = -1;
    }
    return samples;
}

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
} fixture;

static const int64_t hidden[] = {30, 20};

static gn_model_options options_of(const char *arch)
{
    return (gn_model_options){.arch = arch, .hidden = {hidden, 2}, .stem = GN_STEM_CIFAR};
}

static fixture open_with(gn_model_options options, int64_t batch, gn_precision precision)
{
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 2, precision, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, gn_pixels_shape(3, SIDE, SIDE),
                                    CLASSES, batch, &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 11));
    return f;
}

static void close_fixture(fixture *f)
{
    gn_network_close(f->network);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

static float *gradients(const fixture *f, size_t *size)
{
    gn_block block = gn_store_block(gn_network_store(f->network));
    float *copy = malloc(block.size * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, block.gradients, block.size * sizeof *copy);
    *size = block.size;
    return copy;
}

static double relative_difference(const float *a, const float *b, size_t size)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < size; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        norm += pow((double)b[i], 2);
    }
    assert_true(norm > 0);
    return sqrt(difference / norm);
}

static void test_micro_batches_equal_one_batch(void **state)
{
    (void)state;
    static const char *const archs[] = {"linear", "mlp", "resnet18", "resnet20"};
    gn_samples samples = make_samples();
    samples.weights = weights;
    gn_outcome outcome = {0};
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        gn_model_options options = options_of(archs[i]);
        options.bn = GN_BN_FROZEN;
        fixture whole = open_with(options, COUNT, GN_FP32);
        fixture parts = open_with(options, 7, GN_FP32); /* 40 = 5 * 7 + 5: a padded tail */
        assert_ok(whole.ctx,
                  gn_pass_step(whole.ctx, whole.network, &samples, NULL, false, &outcome));
        assert_ok(parts.ctx,
                  gn_pass_step(parts.ctx, parts.network, &samples, NULL, false, &outcome));
        size_t size, other;
        float *a = gradients(&whole, &size), *b = gradients(&parts, &other);
        assert_int_equal(size, other);
        double error = relative_difference(b, a, size);
        if (error > 1e-5)
            fail_msg("%s: gradients differ by %.3g", archs[i], error);
        free(a);
        free(b);
        close_fixture(&whole);
        close_fixture(&parts);
    }
}

/* Trains a few steps and returns all parameters. */
static float *train(const char *arch, gn_precision precision, int steps, double *losses,
                    size_t *size)
{
    gn_samples samples = make_samples();
    fixture f = open_with(options_of(arch), COUNT, precision);
    gn_optimizer_options sgd = {.momentum = 0.9, .weight_decay = 1e-4};
    gn_optimizer *optimizer;
    assert_ok(f.ctx, gn_optimizer_new(f.ctx, &sgd, gn_network_trained(f.network), &optimizer));
    float each[COUNT];
    gn_outcome outcome = {.losses = each};
    for (int i = 0; i < steps; i++) {
        assert_ok(f.ctx, gn_pass_step(f.ctx, f.network, &samples, NULL, false, &outcome));
        gn_optimizer_step(optimizer, 0.01);
        losses[i] = 0;
        for (int j = 0; j < COUNT; j++)
            losses[i] += (double)each[j] / COUNT;
    }
    gn_block block = gn_store_block(gn_network_store(f.network));
    float *values = malloc(block.size * sizeof *values);
    memcpy(values, block.values, block.size * sizeof *values);
    *size = block.size;
    gn_optimizer_close(optimizer);
    close_fixture(&f);
    return values;
}

static void test_same_seed_same_bits(void **state)
{
    (void)state;
    static const char *const archs[] = {"mlp", "resnet18"};
    for (int i = 0; i < 2; i++) {
        double losses[2][5];
        size_t size, other;
        float *a = train(archs[i], GN_FP32, 5, losses[0], &size);
        float *b = train(archs[i], GN_FP32, 5, losses[1], &other);
        assert_int_equal(size, other);
        assert_memory_equal(a, b, size * sizeof *a);
        assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
        free(a);
        free(b);
    }
}

static void test_bf16_stays_near_fp32(void **state)
{
    (void)state;
    enum { STEPS = 50 };
    static const char *const archs[] = {"mlp", "resnet20"};
    for (int i = 0; i < 2; i++) {
        double fp32[STEPS], bf16[STEPS];
        size_t size;
        free(train(archs[i], GN_FP32, STEPS, fp32, &size));
        free(train(archs[i], GN_BF16, STEPS, bf16, &size));
        assert_true(fp32[STEPS - 1] < 0.5 * fp32[0]); /* it learns */
        assert_true(bf16[1] != fp32[1]);              /* it is another precision */
        for (int j = 0; j < STEPS; j++)
            assert_near(bf16[j], fp32[j], 0.02 * fp32[0]);
    }
}

static void test_frozen_parts_stay(void **state)
{
    (void)state;
    gn_samples samples = make_samples();
    gn_outcome outcome = {0};
    for (int freeze = GN_FREEZE_BODY; freeze <= GN_FREEZE_HEAD; freeze++) {
        gn_model_options options = options_of("resnet18");
        options.freeze = freeze == GN_FREEZE_BODY ? "body" : "head";
        fixture f = open_with(options, COUNT, GN_FP32);
        gn_store *store = gn_network_store(f.network);
        gn_block body = gn_store_part(store, GN_BODY), head = gn_store_part(store, GN_HEAD);
        gn_block still = freeze == GN_FREEZE_BODY ? body : head;
        gn_block moving = freeze == GN_FREEZE_BODY ? head : body;
        float *before = malloc(still.size * sizeof *before);
        memcpy(before, still.values, still.size * sizeof *before);
        float first = moving.values[3];
        size_t count;
        float *statistics = gn_store_statistics(store, &count);
        float mean = statistics[0];
        gn_optimizer *optimizer;
        gn_optimizer_options sgd = {.weight_decay = 0.1};
        assert_ok(f.ctx, gn_optimizer_new(f.ctx, &sgd, gn_network_trained(f.network), &optimizer));
        assert_ok(f.ctx, gn_pass_step(f.ctx, f.network, &samples, NULL, false, &outcome));
        gn_optimizer_step(optimizer, 0.1);
        assert_memory_equal(before, still.values, still.size * sizeof *before);
        assert_true(first != moving.values[3]);
        if (freeze == GN_FREEZE_BODY)
            assert_true(mean == statistics[0]); /* a frozen body keeps its running statistics too */
        else
            assert_true(mean != statistics[0]);
        free(before);
        gn_optimizer_close(optimizer);
        close_fixture(&f);
    }
}

static void test_head_runs_again_on_edited_features(void **state)
{
    (void)state;
    gn_samples samples = make_samples();
    fixture f = open_with(options_of("mlp"), COUNT, GN_FP32);
    assert_ok(f.ctx, gn_network_set_mode(f.ctx, f.network, GN_MODE_TRAIN));
    assert_ok(f.ctx, gn_pass_part(f.ctx, f.network, &samples, 0, COUNT, true));
    size_t d = (size_t)gn_network_feature_count(f.network);
    assert_int_equal(d, 20);
    float *features = malloc(COUNT * d * sizeof *features);
    memcpy(features, gn_features(f.network), COUNT * d * sizeof *features);
    assert_ok(f.ctx, gn_head_forward(f.ctx, f.network, NULL));
    float first[COUNT * CLASSES];
    memcpy(first, gn_logits(f.network), sizeof first);
    for (size_t i = 0; i < COUNT * d; i++)
        features[i] = 0;
    assert_ok(f.ctx, gn_head_forward(f.ctx, f.network, features));
    float bias[CLASSES];
    int last = gn_store_count(gn_network_store(f.network)) - 1;
    assert_ok(f.ctx, gn_store_get(f.ctx, gn_network_store(f.network), last, bias));
    for (int i = 0; i < COUNT; i++)
        assert_close(gn_logits(f.network) + i * CLASSES, bias, CLASSES, 0);
    assert_ok(f.ctx, gn_head_forward(f.ctx, f.network, gn_features(f.network)));
    assert_memory_equal(gn_logits(f.network), first, sizeof first);
    free(features);
    close_fixture(&f);
}

static void assert_same_bytes(gerne_ctx *ctx, const char *path, const char *copy)
{
    gn_text a = {0}, b = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 1 << 24, &a));
    assert_ok(ctx, gn_file_read(ctx, copy, 1 << 24, &b));
    assert_true(a.size > 0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    gn_text_free(&a);
    gn_text_free(&b);
}

/* Moves the statistics from their initial 0 and 1, so that a file that lacks them shows. */
static void train_a_step(const fixture *f)
{
    gn_samples samples = make_samples();
    gn_outcome outcome = {0};
    assert_ok(f->ctx, gn_pass_step(f->ctx, f->network, &samples, NULL, false, &outcome));
}

static void test_files_round_trip(void **state)
{
    (void)state;
    char *directory = test_directory(), path[4200], copy[4200];
    snprintf(path, sizeof path, "%s/a.safetensors", directory);
    snprintf(copy, sizeof copy, "%s/b.safetensors", directory);
    fixture f = open_with(options_of("resnet20"), COUNT, GN_FP32);
    train_a_step(&f);
    gn_metadata metadata = {"classes", "4"};
    assert_ok(f.ctx, gn_network_save(f.ctx, f.network, path, GN_WEIGHT_F32, &metadata, 1));
    gn_block block = gn_store_block(gn_network_store(f.network));
    float *before = malloc(block.size * sizeof *before);
    memcpy(before, block.values, block.size * sizeof *before);
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 12));
    assert_true(memcmp(before, block.values, block.size * sizeof *before) != 0);
    gn_match match;
    assert_ok(f.ctx, gn_network_load(f.ctx, f.network, path, &match));
    assert_false(match.head_replaced);
    assert_memory_equal(before, block.values, block.size * sizeof *before);
    assert_ok(f.ctx, gn_network_save(f.ctx, f.network, copy, GN_WEIGHT_F32, &metadata, 1));
    assert_same_bytes(f.ctx, path, copy); /* statistics and metadata came through, too */
    free(before);
    close_fixture(&f);
    /* Another architecture is refused by name and changes nothing. */
    f = open_with(options_of("resnet18"), 4, GN_FP32);
    assert_fails(f.ctx, GERNE_EDATA, "conv1.weight", gn_network_load(f.ctx, f.network, path, NULL));
    close_fixture(&f);
    test_remove_directory(directory);
}

/* Both copies start alike from a file of one body; the head, of another width, starts fresh. */
static void test_a_file_fills_every_copy(void **state)
{
    (void)state;
    char *directory = test_directory(), path[4200];
    snprintf(path, sizeof path, "%s/a.safetensors", directory);
    fixture f = open_with(options_of("resnet20"), COUNT, GN_FP32);
    int64_t width = gn_network_feature_count(f.network);
    assert_ok(f.ctx, gn_network_save(f.ctx, f.network, path, GN_WEIGHT_F32, NULL, 0));
    close_fixture(&f);
    gn_model_options twin = options_of("resnet20");
    twin.copies = 2;
    f = open_with(twin, COUNT, GN_FP32);
    assert_int_equal(gn_network_feature_count(f.network), 2 * width);
    assert_string_equal(gn_store_parameter(gn_network_store(f.network), 0)->name,
                        "copy0.conv1.weight");
    gn_match match;
    assert_ok(f.ctx, gn_network_load(f.ctx, f.network, path, &match));
    assert_true(match.head_replaced);
    gn_samples samples = make_samples();
    float *features = malloc((size_t)(COUNT * 2 * width) * sizeof *features);
    assert_ok(f.ctx, gn_pass_forward(f.ctx, f.network, GN_MODE_INFER, &samples, NULL,
                                     &(gn_outcome){.features = features}));
    for (int i = 0; i < COUNT; i++)
        assert_memory_equal(features + 2 * width * i, features + 2 * width * i + width,
                            (size_t)width * sizeof *features);
    free(features);
    close_fixture(&f);
    test_remove_directory(directory);
}

/* What training starts from is the same as all weights drawn and the file's put over them. */
static void test_a_start_from_a_file(void **state)
{
    (void)state;
    char *directory = test_directory(), path[4200];
    snprintf(path, sizeof path, "%s/a.safetensors", directory);
    fixture f = open_with(options_of("resnet20"), COUNT, GN_FP32);
    assert_ok(f.ctx, gn_network_save(f.ctx, f.network, path, GN_WEIGHT_F32, NULL, 0));
    close_fixture(&f);
    gn_model_options twin = options_of("resnet20");
    twin.copies = 2; /* its head is wider than the file's */
    f = open_with(twin, COUNT, GN_FP32);
    gn_block block = gn_store_block(gn_network_store(f.network));
    size_t size = block.size * sizeof *block.values;
    float *expected = malloc(size);
    gn_match match;
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 12));
    assert_ok(f.ctx, gn_network_load(f.ctx, f.network, path, &match));
    memcpy(expected, block.values, size);
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 13));
    assert_true(memcmp(expected, block.values, size) != 0);
    assert_ok(f.ctx, gn_network_start(f.ctx, f.network, path, 12, &match));
    assert_true(match.head_replaced);
    assert_memory_equal(expected, block.values, size);
    free(expected);
    close_fixture(&f);
    test_remove_directory(directory);
}

static void test_initial_weights(void **state)
{
    (void)state;
    fixture f = open_with(options_of("resnet18"), 2, GN_FP32);
    gn_store *store = gn_network_store(f.network);
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        float *values = malloc((size_t)p->size * sizeof *values);
        assert_ok(f.ctx, gn_store_get(f.ctx, store, i, values));
        double sum = 0, square = 0, largest = 0, n = (double)p->size;
        for (int64_t j = 0; j < p->size; j++) {
            sum += (double)values[j];
            square += (double)values[j] * (double)values[j];
            largest = fmax(largest, fabs((double)values[j]));
        }
        if (p->ndims == 4) { /* N(0, 2 / fan_out) */
            double variance = 2.0 / (double)(p->dims[0] * p->dims[2] * p->dims[3]);
            assert_near(sum / n, 0, 5 * sqrt(variance / n));
            assert_near(square / n, variance, 5 * variance * sqrt(2 / n));
        } else if (p->role == GN_WEIGHT) { /* U(-1/sqrt(512), 1/sqrt(512)) */
            assert_true(largest <= 1 / sqrt(512) && largest > 0.98 / sqrt(512));
            assert_near(square / n, 1.0 / 512 / 3, 0.1 / 512 / 3);
        } else if (p->role == GN_SCALE || p->role == GN_VARIANCE) {
            assert_true(sum == n && square == n);
        } else if (p->role != GN_BIAS) {
            assert_true(square == 0);
        }
        free(values);
    }
    close_fixture(&f);
}

static void test_impossible_networks_are_refused(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    gn_network *network;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    gn_model_options options = options_of("resnet81");
    gn_sample_shape image = gn_pixels_shape(3, SIDE, SIDE), features = gn_features_shape(12);
    assert_fails(ctx, GERNE_EUSAGE, "no network 'resnet81'",
                 gn_network_new(ctx, device, &options, image, 2, 4, &network));
    assert_string_equal(gerne_hint(ctx), "did you mean 'resnet18'?");
    options.arch = "resnet50";
    assert_fails(ctx, GERNE_EUSAGE, "needs images",
                 gn_network_new(ctx, device, &options, features, 2, 4, &network));
    assert_null(network);
    options = options_of("mlp");
    static const int64_t huge[] = {1000000, 1000000, 1000000};
    options.hidden = (gn_ints){huge, 3};
    assert_fails(ctx, GERNE_ENOMEM, "no memory",
                 gn_network_new(ctx, device, &options, image, 2, 4, &network));
    options = options_of("resnet18");
    assert_ok(ctx, gn_network_new(ctx, device, &options, image, 2, 4000000, &network));
    assert_fails(ctx, GERNE_ENOMEM, "a batch of 4000000 samples needs",
                 gn_network_set_mode(ctx, network, GN_MODE_TRAIN));
    gn_network_close(network);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_micro_batches_equal_one_batch),
        cmocka_unit_test(test_same_seed_same_bits),
        cmocka_unit_test(test_bf16_stays_near_fp32),
        cmocka_unit_test(test_frozen_parts_stay),
        cmocka_unit_test(test_head_runs_again_on_edited_features),
        cmocka_unit_test(test_files_round_trip),
        cmocka_unit_test(test_a_file_fills_every_copy),
        cmocka_unit_test(test_a_start_from_a_file),
        cmocka_unit_test(test_initial_weights),
        cmocka_unit_test(test_impossible_networks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
