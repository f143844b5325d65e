/* Gradients that backward calls final are: nothing changes them until the pass is over. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/pass.h"

enum { SIDE = 32, BYTES = 3 * SIDE * SIDE, COUNT = 6, CLASSES = 3, LONGEST = 9, WORDS = 20 };

/* What has been announced, as it was then. */
typedef struct record {
    gn_block block;
    float *then;
    const float *first; /* where the final gradients began at the last announcement */
    int announced;
} record;

static void note(void *user, const float *first)
{
    record *r = user;
    assert_true(first >= r->block.gradients && first < r->first);
    memcpy(r->then + (first - r->block.gradients), first,
           (size_t)(r->first - first) * sizeof *first);
    r->first = first;
    r->announced++;
}

typedef struct samples {
    uint8_t pixels[COUNT][BYTES];
    int32_t tokens[COUNT][LONGEST], lengths[COUNT], labels[COUNT];
    const void *fields[2][COUNT];
    gn_samples list;
} samples;

static void make_samples(samples *s, bool texts)
{
    gn_stream stream = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        s->labels[i] = i % CLASSES;
        s->lengths[i] = LONGEST - i;
        for (int j = 0; j < BYTES; j++)
            s->pixels[i][j] = (uint8_t)gn_random_below(&stream, 256);
        for (int j = 0; j < LONGEST; j++)
            s->tokens[i][j] = (int32_t)gn_random_below(&stream, WORDS);
        s->fields[0][i] = texts ? (void *)s->tokens[i] : (void *)s->pixels[i];
        s->fields[1][i] = &s->lengths[i];
    }
    s->list = (gn_samples){.count = COUNT, .fields = {s->fields[0]}, .labels = s->labels};
    if (texts)
        s->list.fields[1] = s->fields[1];
    for (int c = 0; c < 3; c++)
        s->list.scale[c] = 1.0f / 64;
}

/* The second pass adds to the gradients of the first, which nobody watches. */
static void check(const gn_model_options *options, bool texts)
{
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    gn_network *network;
    samples *s = calloc(1, sizeof *s);
    assert_non_null(s);
    make_samples(s, texts);
    gn_sample_shape shape = texts ? gn_tokens_shape(LONGEST) : gn_pixels_shape(3, SIDE, SIDE);
    if (texts)
        shape.fields[0].below = WORDS;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    assert_ok(ctx, gn_network_new(ctx, device, options, shape, CLASSES, COUNT, &network));
    assert_ok(ctx, gn_network_initialize(ctx, network, 7));
    record r = {.block = gn_network_trained(network)};
    r.then = calloc(r.block.size, sizeof *r.then);
    assert_non_null(r.then);
    assert_ok(ctx, gn_pass_step(ctx, network, &s->list, NULL, false, &(gn_outcome){0}));
    for (int adds = 0; adds < 2; adds++) {
        r.first = r.block.gradients + r.block.size;
        r.announced = 0;
        gn_store_watch(gn_network_store(network), note, &r);
        assert_ok(ctx, gn_pass_step(ctx, network, &s->list, NULL, adds, &(gn_outcome){0}));
        gn_store_watch(gn_network_store(network), NULL, NULL);
        assert_ptr_equal(r.first, r.block.gradients);
        assert_in_range(r.announced, 2, 1000);
        assert_memory_equal(r.then, r.block.gradients, r.block.size * sizeof *r.then);
    }
    free(r.then);
    free(s);
    gn_network_close(network);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

static void test_final_gradients(void **state)
{
    static const int64_t hidden[] = {30, 20};
    const gn_model_options networks[] = {
        {.arch = "mlp", .hidden = {hidden, 2}},
        {.arch = "convnet3"},
        {.arch = "resnet20"},
        {.arch = "resnet18", .stem = GN_STEM_CIFAR, .bn = GN_BN_FROZEN},
        {.arch = "vit", .depth = 2, .width = 32, .heads = 2, .intermediate = 48, .patch = 8},
        {.arch = "mlp", .hidden = {hidden, 2}, .copies = 2},
        {.arch = "resnet20", .freeze = "layer1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        check(&networks[i], false);
}

static void test_final_gradients_of_texts(void **state)
{
    const gn_model_options bert = {
        .arch = "bert", .depth = 2, .width = 32, .heads = 2, .intermediate = 48};
    (void)state;
    check(&bert, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_final_gradients),
        cmocka_unit_test(test_final_gradients_of_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
