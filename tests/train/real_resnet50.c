/* Real weights on real images: features and logits are PyTorch's (tests/golden/real_resnet50.py).
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "train/inference.h"
#include "train/model_file.h"

enum { IMAGES = 4, SLICE = 32, FEATURE_STEP = 64, LOGIT_STEP = 32, FEATURES = 2048, LOGITS = 1000 };

static char images[4200], weights[4200];

static json_t *read_golden(gerne_ctx *ctx)
{
    gn_text text = {0};
    json_t *json;
    const char *path = GERNE_SOURCE_DIR "/tests/golden/real_resnet50.json";
    assert_ok(ctx, gn_file_read(ctx, path, 1 << 20, &text));
    assert_ok(ctx, gn_json_parse(ctx, text.bytes, text.size, path, &json));
    gn_text_free(&text);
    return json;
}

/* Only the images of the golden file, listed beside the folder. */
static gn_dataset *open_images(gerne_ctx *ctx, const json_t *golden, const char *directory)
{
    gn_text csv = {0};
    char path[512];
    gn_data_options options;
    gn_dataset *data;
    assert_ok(ctx, gn_text_add(ctx, &csv, "filename,y\n"));
    for (size_t i = 0; i < IMAGES; i++)
        assert_ok(ctx,
                  gn_text_add(ctx, &csv, "%s,%zu\n",
                              json_string_value(json_object_get(json_array_get(golden, i), "file")),
                              i % 2));
    snprintf(path, sizeof path, "%s/metadata.csv", directory);
    assert_ok(ctx, gn_file_write(ctx, path, csv.bytes, csv.size));
    gn_text_free(&csv);
    assert_ok(ctx, gn_data_options_default(ctx, &options));
    options.format = GN_DATA_IMAGES;
    options.dir = images;
    options.file = path;
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_ok(ctx, gn_dataset_prepare(ctx, data, 2));
    assert_int_equal(data->n, IMAGES);
    return data;
}

/* A slice within 1e-3 of the whole vector's norm, and the norm itself. */
static void check(const float *values, size_t count, size_t step, const json_t *slice,
                  const json_t *norm)
{
    double sum = 0, wanted = json_number_value(norm);
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * (double)values[i];
    assert_near(sqrt(sum), wanted, 1e-3);
    assert_int_equal(json_array_size(slice), SLICE);
    for (size_t i = 0; i < SLICE; i++)
        assert_near((double)values[i * step] / wanted,
                    json_number_value(json_array_get(slice, i)) / wanted, 1e-3);
}

static gerne_status compare(void *user, const gn_inferred *inferred)
{
    const json_t *golden = user;
    for (size_t i = 0; i < inferred->count; i++) {
        const json_t *image = json_array_get(golden, inferred->samples[i]);
        const float *logits = inferred->logits + i * LOGITS;
        check(inferred->features + i * FEATURES, FEATURES, FEATURE_STEP,
              json_object_get(image, "features"), json_object_get(image, "feature_norm"));
        check(logits, LOGITS, LOGIT_STEP, json_object_get(image, "logits"),
              json_object_get(image, "logit_norm"));
        int top = 0;
        for (int k = 1; k < LOGITS; k++)
            if (logits[k] > logits[top])
                top = k;
        assert_int_equal(top, json_integer_value(json_object_get(image, "top")));
    }
    return GERNE_OK;
}

static void test_pytorch_agrees(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory();
    json_t *golden = read_golden(ctx), *list = json_object_get(golden, "images");
    assert_int_equal(json_array_size(list), IMAGES);
    gn_dataset *data = open_images(ctx, list, directory);
    const gn_model_options options = {.arch = "resnet50", .variant = GN_V1};
    gn_device *device;
    gn_model_file *file;
    gn_network *network;
    gn_inference *inference;
    gn_sample_list all;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    assert_ok(ctx, gn_model_file_open(ctx, weights, &file));
    assert_ok(ctx, gn_model_file_describe(ctx, file, &options, gn_dataset_shape(data)));
    assert_ok(ctx, gn_model_file_network(ctx, file, device, IMAGES, &network));
    assert_int_equal(gn_network_feature_count(network), FEATURES);
    assert_int_equal(gn_network_classes(network), LOGITS);
    assert_ok(ctx, gn_inference_new(ctx, network, data, &(gn_inference_options){.threads = 1},
                                    &inference));
    assert_ok(ctx, gn_samples_of_split(ctx, data, GN_SPLITS, &all));
    assert_ok(ctx, gn_inference_run(inference, NULL, all.items, all.count, compare, list));
    gn_sample_list_free(&all);
    gn_inference_close(inference);
    gn_network_close(network);
    gn_model_file_close(file);
    gn_device_close(device);
    gn_dataset_close(data);
    json_decref(golden);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const char *data = test_real_data();
    snprintf(images, sizeof images, "%s/waterbirds224", data ? data : "");
    snprintf(weights, sizeof weights, "%s/weights/resnet50-v1-imagenet.safetensors",
             data ? data : "");
    if (!data || access(images, R_OK) != 0 || access(weights, R_OK) != 0)
        test_skip_all("no waterbirds224 and weights/resnet50-v1-imagenet.safetensors among real "
                      "data (GERNE_REAL_DATA)");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pytorch_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
