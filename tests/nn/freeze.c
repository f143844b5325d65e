/* model.freeze with the name of a layer: what is before it stays, what follows has the gradients
 * that it has in the whole network. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/pass.h"

enum { COUNT = 8, SIDE = 16, CLASSES = 3, WORDS = 30, LONGEST = 12 };

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
} fixture;

static gn_sample_shape shape_of(const char *arch)
{
    gn_sample_shape texts = gn_tokens_shape(LONGEST);
    texts.fields[0].below = WORDS;
    return strcmp(arch, "bert") == 0 ? texts : gn_pixels_shape(3, SIDE, SIDE);
}

static fixture open_fixture(const char *arch, const char *freeze, int bn)
{
    const gn_model_options options = {
        .arch = arch, .freeze = freeze, .bn = bn, .depth = 3, .width = 32, .heads = 2, .patch = 4};
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 2, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, shape_of(arch), CLASSES, COUNT,
                                    &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 2));
    return f;
}

static void close_fixture(fixture *f)
{
    gn_network_close(f->network);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

/* Bytes of an image are tokens of a text, too. */
static void step(fixture *f)
{
    static uint8_t pixels[COUNT][3 * SIDE * SIDE];
    static int32_t tokens[COUNT][LONGEST], lengths[COUNT], labels[COUNT];
    const void *first[COUNT], *second[COUNT];
    bool texts = gn_network_takes_tokens(f->network);
    gn_stream s = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < sizeof pixels[i]; j++)
            pixels[i][j] = (uint8_t)gn_random_u64(&s);
        for (size_t j = 0; j < LONGEST; j++)
            tokens[i][j] = pixels[i][j] % WORDS;
        lengths[i] = (int32_t)(1 + 5 * i % LONGEST);
        labels[i] = (int32_t)(i % CLASSES);
        first[i] = texts ? (const void *)tokens[i] : pixels[i];
        second[i] = &lengths[i];
    }
    const gn_samples samples = {.count = COUNT,
                                .fields = {first, second},
                                .scale = {0.01f, 0.01f, 0.01f},
                                .labels = labels};
    assert_ok(f->ctx, gn_pass_step(f->ctx, f->network, &samples, NULL, false, &(gn_outcome){0}));
}

static const struct {
    const char *arch, *freeze, *trained; /* the first parameter behind what is frozen */
} cases[] = {
    {"bert", "encoder.layer.1", "bert.encoder.layer.2.attention.self.query.weight"},
    {"bert", "bert.embeddings", "bert.encoder.layer.0.attention.self.query.weight"},
    {"vit", "blocks.0", "blocks.1.norm1.weight"},
    {"resnet20", "layer2", "layer3.0.conv1.weight"},
    {"resnet18", "conv1", "bn1.weight"},
};

static void compare_gradients(fixture *whole, fixture *f, const char *trained)
{
    const gn_store *store = gn_network_store(f->network);
    gn_block block = gn_network_trained(f->network);
    bool found = false;
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        if (p->role > GN_SHIFT)
            continue;
        gn_block own = gn_store_parameter_block(store, i);
        found = found || strcmp(p->name, trained) == 0;
        if (strcmp(p->name, trained) == 0)
            assert_ptr_equal(own.values, block.values);
        if (!found) {
            assert_true(own.values + own.size <= block.values);
            continue;
        }
        float *a = calloc(own.size, sizeof *a), *b = calloc(own.size, sizeof *b);
        assert_ok(f->ctx, gn_store_get_gradient(f->ctx, store, i, a));
        assert_ok(f->ctx, gn_store_get_gradient(f->ctx, gn_network_store(whole->network), i, b));
        assert_close(a, b, (size_t)p->size, 1e-5);
        free(a);
        free(b);
    }
    assert_true(found);
    assert_ptr_equal(block.values + block.size,
                     gn_store_block(store).values + gn_store_block(store).size);
}

static void test_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture whole = open_fixture(cases[i].arch, NULL, GN_BN_FROZEN);
        fixture f = open_fixture(cases[i].arch, cases[i].freeze, GN_BN_FROZEN);
        step(&whole);
        step(&f);
        compare_gradients(&whole, &f, cases[i].trained);
        close_fixture(&whole);
        close_fixture(&f);
    }
}

/* BatchNorm of frozen layers keeps its statistics; that of the others moves. */
static void test_statistics_of_frozen_layers_stay(void **state)
{
    (void)state;
    fixture f = open_fixture("resnet20", "layer2", GN_BN_CONCAT);
    assert_true(gn_network_couples_samples(f.network));
    step(&f);
    const gn_store *store = gn_network_store(f.network);
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        float values[64];
        if (p->role != GN_MEAN)
            continue;
        assert_ok(f.ctx, gn_store_get(f.ctx, store, i, values));
        if (strncmp(p->name, "layer3", 6) == 0)
            assert_true(values[0] != 0);
        else
            assert_true(values[0] == 0);
    }
    close_fixture(&f);
    f = open_fixture("resnet20", "layer3", GN_BN_CONCAT);
    assert_false(gn_network_couples_samples(f.network)); /* nothing but the head trains */
    step(&f);
    close_fixture(&f);
}

static void test_unknown_layers(void **state)
{
    (void)state;
    fixture f = open_fixture("resnet20", "none", GN_BN_FROZEN);
    gn_network *network;
    static const char *const names[] = {"layer4", "layer", "", "conv1.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const gn_model_options options = {.arch = "resnet20", .freeze = names[i]};
        assert_fails(f.ctx, GERNE_EUSAGE, "has no layer",
                     gn_network_new(f.ctx, f.device, &options, shape_of("resnet20"), CLASSES, COUNT,
                                    &network));
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_statistics_of_frozen_layers_stay),
        cmocka_unit_test(test_unknown_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
