/* A real file of ImageNet weights opens, lists and converts. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/weights.h"

static char path[4200];

static void test_resnet50_opens(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    assert_int_equal(gn_weights_count(weights), 267); /* 53 convolutions, 53 x 4 of bn, fc */
    assert_string_equal(gn_weights_metadata(weights, "arch"), "resnet50-v1");
    const gn_weight *stem = gn_weights_find(weights, "conv1.weight");
    const gn_weight *fc = gn_weights_find(weights, "fc.weight");
    assert_non_null(stem);
    assert_non_null(fc);
    static const int64_t stem_dims[] = {64, 3, 7, 7}, fc_dims[] = {1000, 2048};
    assert_memory_equal(stem->dims, stem_dims, sizeof stem_dims);
    assert_memory_equal(fc->dims, fc_dims, sizeof fc_dims);
    size_t items = 0;
    for (size_t i = 0; i < gn_weights_count(weights); i++) {
        const gn_weight *weight = gn_weights_at(weights, i);
        float *values = malloc(weight->count * sizeof *values);
        assert_non_null(values);
        assert_ok(ctx, gn_weight_to_f32(ctx, weight, GN_WEIGHT_FINITE, values));
        items += weight->count;
        free(values);
    }
    assert_int_equal(items, 25557032 + 53120); /* torchvision's parameters, and the statistics */
    gn_weights_close(weights);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const char *data = test_real_data();
    snprintf(path, sizeof path, "%s/weights/resnet50-v1-imagenet.safetensors", data ? data : "");
    if (!data || access(path, R_OK) != 0)
        test_skip_all("no weights/resnet50-v1-imagenet.safetensors among real data "
                      "(GERNE_REAL_DATA)");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet50_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
