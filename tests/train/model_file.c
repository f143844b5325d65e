/* Weights that know what they are: what is written comes back, damage is named. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "nn/network_weights.h"
#include "train/model_file.h"

enum { CLASSES = 3, WIDTH = 5 };
static const char *const class_names[] = {"landbird", "sea \"bird\"", "\xc3\xa9tourneau"};
static const char *const attribute_names[] = {"land", "water"};
static const int64_t hidden[] = {7, 4};
static const float mean[WIDTH] = {0.1f, -3.25e-9f, 1e20f, 0, 1.0f / 3};
static const float deviation[WIDTH] = {1, 2, 0.7f, 1e-20f, 3};

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
    char *directory;
    char path[512];
} fixture;

static fixture open_fixture(gn_sample_shape shape)
{
    fixture f = {.ctx = test_ctx(), .directory = test_directory()};
    const gn_model_options options = {
        .arch = "mlp", .hidden = {hidden, 2}, .variant = GN_V1, .stem = GN_STEM_CIFAR};
    assert_ok(f.ctx, gn_device_new(f.ctx, 1, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, shape, CLASSES, 4, &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 11));
    snprintf(f.path, sizeof f.path, "%s/best.safetensors", f.directory);
    return f;
}

static void close_fixture(fixture *f)
{
    gn_network_close(f->network);
    gn_device_close(f->device);
    test_remove_directory(f->directory);
    gerne_ctx_close(f->ctx);
}

static gn_model_card card_of(const fixture *f)
{
    return (gn_model_card){
        .model = *gn_network_options(f->network),
        .shape = *gn_network_shape(f->network),
        .classes = CLASSES,
        .attributes = 2,
        .class_names = class_names,
        .attribute_names = attribute_names,
        .scale = {1.0f / 255, 0.017124753f, 0.5f},
        .shift = {-2.117904f, 0, 1e-7f},
        .method = "gerne",
        .version = gerne_version(),
    };
}

static void assert_same_weights(const fixture *f, const gn_network *other)
{
    gn_block ours = gn_store_block(gn_network_store(f->network)),
             theirs = gn_store_block(gn_network_store(other));
    assert_int_equal(ours.size, theirs.size);
    assert_memory_equal(ours.values, theirs.values, ours.size * sizeof *ours.values);
}

static void test_images(void **state)
{
    (void)state;
    fixture f = open_fixture(gn_pixels_shape(3, 6, 8));
    gn_model_card card = card_of(&f);
    gn_model_file *file;
    gn_network *network;
    assert_ok(f.ctx, gn_model_file_save(f.ctx, f.path, f.network, &card));
    assert_ok(f.ctx, gn_model_file_open(f.ctx, f.path, &file));
    const gn_model_card *back = gn_model_file_card(file);
    assert_non_null(back);
    assert_string_equal(back->model.arch, "mlp");
    assert_int_equal(back->model.hidden.count, 2);
    assert_int_equal(back->model.hidden.items[1], 4);
    assert_int_equal(back->model.variant, GN_V1);
    assert_int_equal(back->model.stem, GN_STEM_CIFAR);
    const gn_sample_shape image = gn_pixels_shape(3, 6, 8);
    assert_true(gn_shapes_equal(&back->shape, &image));
    assert_int_equal(back->classes, CLASSES);
    for (int i = 0; i < CLASSES; i++)
        assert_string_equal(back->class_names[i], class_names[i]);
    assert_int_equal(back->attributes, 2);
    assert_string_equal(back->attribute_names[1], "water");
    assert_memory_equal(back->scale, card.scale, sizeof card.scale);
    assert_memory_equal(back->shift, card.shift, sizeof card.shift);
    assert_null(back->mean);
    assert_string_equal(back->method, "gerne");
    assert_string_equal(back->version, gerne_version());
    assert_ok(f.ctx, gn_model_file_network(f.ctx, file, f.device, 2, &network));
    assert_int_equal(gn_network_batch(network), 2);
    assert_same_weights(&f, network);
    gn_network_close(network);
    gn_model_file_close(file);
    close_fixture(&f);
}

static void test_standardized_features(void **state)
{
    (void)state;
    fixture f = open_fixture(gn_features_shape(WIDTH));
    gn_model_card card = card_of(&f);
    card.mean = mean;
    card.deviation = deviation;
    card.attributes = 0;
    card.method = NULL;
    gn_model_file *file;
    assert_ok(f.ctx, gn_model_file_save(f.ctx, f.path, f.network, &card));
    assert_ok(f.ctx, gn_model_file_open(f.ctx, f.path, &file));
    const gn_model_card *back = gn_model_file_card(file);
    const gn_sample_shape row = gn_features_shape(WIDTH);
    assert_true(gn_shapes_equal(&back->shape, &row));
    assert_int_equal(back->attributes, 0);
    assert_null(back->method);
    assert_memory_equal(back->mean, mean, sizeof mean);
    assert_memory_equal(back->deviation, deviation, sizeof deviation);
    gn_model_file_close(file);
    close_fixture(&f);
}

/* Nothing of time or place: the same network and card give the same bytes. */
static void test_same_bytes(void **state)
{
    (void)state;
    fixture f = open_fixture(gn_pixels_shape(3, 4, 4));
    gn_model_card card = card_of(&f);
    char other[560];
    gn_text one = {0}, two = {0};
    snprintf(other, sizeof other, "%s/elsewhere", f.directory);
    assert_ok(f.ctx, gn_model_file_save(f.ctx, f.path, f.network, &card));
    assert_ok(f.ctx, gn_model_file_save(f.ctx, other, f.network, &card));
    assert_ok(f.ctx, gn_file_read(f.ctx, f.path, 1 << 20, &one));
    assert_ok(f.ctx, gn_file_read(f.ctx, other, 1 << 20, &two));
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.bytes, two.bytes, one.size);
    gn_text_free(&one);
    gn_text_free(&two);
    close_fixture(&f);
}

static void test_bare_weights(void **state)
{
    (void)state;
    fixture f = open_fixture(gn_pixels_shape(3, 4, 4));
    gn_model_file *file;
    gn_network *network;
    assert_ok(f.ctx, gn_network_save(f.ctx, f.network, f.path, GN_WEIGHT_F32, NULL, 0));
    assert_ok(f.ctx, gn_model_file_open(f.ctx, f.path, &file));
    assert_null(gn_model_file_card(file));
    const gn_model_options wrong = {.arch = "resnet18"};
    assert_fails(f.ctx, GERNE_EDATA, "no tensor 'fc.weight'",
                 gn_model_file_describe(f.ctx, file, &wrong, gn_pixels_shape(3, 4, 4)));
    assert_ok(f.ctx, gn_model_file_describe(f.ctx, file, gn_network_options(f.network),
                                            gn_pixels_shape(3, 4, 4)));
    assert_int_equal(gn_model_file_card(file)->classes, CLASSES);
    assert_string_equal(gn_model_file_card(file)->class_names[2], "2");
    assert_ok(f.ctx, gn_model_file_network(f.ctx, file, f.device, 3, &network));
    assert_same_weights(&f, network);
    gn_network_close(network);
    gn_model_file_close(file);
    close_fixture(&f);
}

/* Metadata of somebody who means no good. */
static void test_hostile_metadata(void **state)
{
    (void)state;
    fixture f = open_fixture(gn_pixels_shape(3, 4, 4));
    static const char model[] =
        "{\"arch\":\"mlp\",\"hidden\":[7,4],\"variant\":\"v1\",\"stem\":\"cifar\"}";
    static const struct {
        const char *model, *shape, *classes, *pixels, *rows, *words;
    } cases[] = {
        {model, "[3,4,4]", NULL, NULL, NULL, "no metadata 'class_names'"},
        {model, "[3,4,4]", "[]", NULL, NULL, "class_names"},
        {model, "[3,4,4]", "[\"a\",1,\"c\"]", NULL, NULL, "class_names"},
        {model, "[3,4,4]", "[\"a\"", NULL, NULL, "not valid JSON"},
        {model, "[3,-4,4]", "[\"a\"]", NULL, NULL, "sample_shape"},
        {model, "[3,1e9,4]", "[\"a\"]", NULL, NULL, "sample_shape"},
        {model, "[3,4]", "[\"a\"]", NULL, NULL, "sample_shape"},
        {"[]", "[3,4,4]", "[\"a\"]", NULL, NULL, "'model'"},
        {"{\"arch\":\"mlp\",\"hidden\":[0],\"variant\":\"v1\",\"stem\":\"cifar\"}", "[3,4,4]",
         "[\"a\"]", NULL, NULL, "'model'"},
        {"{\"arch\":\"mlp\",\"variant\":\"v9\",\"stem\":\"cifar\"}", "[3,4,4]", "[\"a\"]", NULL,
         NULL, "'model'"},
        {model, "[3,4,4]", "[\"a\"]", "{\"scale\":[1,2]}", NULL, "normalization"},
        {model, "[3,4,4]", "[\"a\"]", NULL, "{\"mean\":[1,2,3],\"deviation\":[1,1,1]}",
         "standardization"},
        {model, "[3]", "[\"a\"]", NULL, "{\"mean\":[1,2,3],\"deviation\":[1,0,1]}",
         "standardization"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gn_metadata items[6] = {{"gerne", "0.1.0"}};
        size_t count = 1;
        const char *const keys[] = {"model", "sample_shape", "class_names", "normalization",
                                    "standardization"};
        const char *const values[] = {cases[i].model, cases[i].shape, cases[i].classes,
                                      cases[i].pixels, cases[i].rows};
        for (int k = 0; k < 5; k++)
            if (values[k])
                items[count++] = (gn_metadata){keys[k], values[k]};
        gn_model_file *file;
        assert_ok(f.ctx, gn_network_save(f.ctx, f.network, f.path, GN_WEIGHT_F32, items, count));
        assert_fails(f.ctx, GERNE_EDATA, cases[i].words, gn_model_file_open(f.ctx, f.path, &file));
        assert_null(file);
    }
    close_fixture(&f);
}

/* Names for two classes on a head of three. */
static void test_head_of_another_size(void **state)
{
    (void)state;
    fixture f = open_fixture(gn_pixels_shape(3, 4, 4));
    const gn_metadata items[] = {
        {"gerne", "0.1.0"},
        {"model", "{\"arch\":\"mlp\",\"hidden\":[7,4],\"variant\":\"v1\",\"stem\":\"imagenet\"}"},
        {"sample_shape", "[3,4,4]"},
        {"class_names", "[\"a\",\"b\"]"}};
    gn_model_file *file;
    gn_network *network;
    assert_ok(f.ctx, gn_network_save(f.ctx, f.network, f.path, GN_WEIGHT_F32, items, 4));
    assert_ok(f.ctx, gn_model_file_open(f.ctx, f.path, &file));
    assert_fails(f.ctx, GERNE_EDATA, "not that of the class names (2)",
                 gn_model_file_network(f.ctx, file, f.device, 2, &network));
    assert_null(network);
    gn_model_file_close(file);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),           cmocka_unit_test(test_standardized_features),
        cmocka_unit_test(test_same_bytes),       cmocka_unit_test(test_bare_weights),
        cmocka_unit_test(test_hostile_metadata), cmocka_unit_test(test_head_of_another_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
