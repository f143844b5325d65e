/* A network over a dataset: the same figures whatever the batch and wherever samples lie. */
#include "testing.h"

#include <string.h>

#include "nn/pass.h"
#include "train/inference.h"

enum { TRAINING = 60 }; /* synthetic: 15 more each in validation and test */

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_dataset *data;
} fixture;

static fixture open_data(const char *memory_limit)
{
    fixture f = {.ctx = test_ctx()};
    gn_data_options options;
    assert_ok(f.ctx, gn_data_options_default(f.ctx, &options));
    options.n = TRAINING;
    options.size = 8;
    options.memory_limit = memory_limit;
    assert_ok(f.ctx, gn_dataset_open(f.ctx, &options, &f.data));
    assert_ok(f.ctx, gn_dataset_prepare(f.ctx, f.data, 2));
    assert_ok(f.ctx, gn_device_new(f.ctx, 1, GN_FP32, &f.device));
    return f;
}

static void close_data(fixture *f)
{
    gn_dataset_close(f->data);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

static gn_network *make_network(const fixture *f, int64_t batch)
{
    static const int64_t hidden[] = {12};
    const gn_model_options options = {.arch = "mlp", .hidden = {hidden, 1}};
    gn_network *network;
    assert_ok(f->ctx, gn_network_new(f->ctx, f->device, &options, gn_dataset_shape(f->data),
                                     f->data->classes, batch, &network));
    assert_ok(f->ctx, gn_network_initialize(f->ctx, network, 3));
    return network;
}

static gn_predictions predict(const fixture *f, int64_t batch, gn_split split)
{
    gn_network *network = make_network(f, batch);
    gn_inference *inference;
    gn_sample_list list;
    gn_predictions predictions;
    gn_predictions_init(&predictions, (int32_t)f->data->classes, (int32_t)f->data->attributes,
                        true);
    assert_ok(f->ctx, gn_inference_new(f->ctx, network, f->data,
                                       &(gn_inference_options){.threads = 2}, &inference));
    assert_ok(f->ctx, gn_samples_of_split(f->ctx, f->data, split, &list));
    assert_ok(f->ctx,
              gn_inference_predict(inference, "evaluate", list.items, list.count, &predictions));
    assert_int_equal(predictions.count, list.count);
    gn_sample_list_free(&list);
    gn_inference_close(inference);
    gn_network_close(network);
    return predictions;
}

static void test_split_and_labels(void **state)
{
    (void)state;
    fixture f = open_data("2G");
    gn_predictions all = predict(&f, 7, GN_SPLITS), test = predict(&f, 7, GN_TEST);
    assert_int_equal(all.count, f.data->n);
    size_t seen = 0;
    for (size_t i = 0; i < f.data->n; i++) {
        assert_int_equal(all.y[i], f.data->y[i]);
        assert_int_equal(all.a[i], f.data->a[i]);
        if (f.data->split[i] == GN_TEST)
            assert_int_equal(test.pred[seen++], all.pred[i]);
    }
    assert_true(seen > 0);
    assert_int_equal(seen, test.count);
    gn_predictions_free(&all);
    gn_predictions_free(&test);
    close_data(&f);
}

/* Neither the size of a batch nor streaming changes what comes out. */
static void test_same_from_everywhere(void **state)
{
    (void)state;
    fixture memory = open_data("2G"), streamed = open_data("4K");
    assert_true(gn_dataset_in_memory(memory.data));
    assert_false(gn_dataset_in_memory(streamed.data));
    gn_predictions one = predict(&memory, 16, GN_SPLITS), two = predict(&memory, 5, GN_SPLITS),
                   three = predict(&streamed, 16, GN_SPLITS);
    assert_int_equal(one.count, three.count);
    for (size_t i = 0; i < one.count * memory.data->classes; i++) {
        assert_near(two.probabilities[i], one.probabilities[i], 1e-6);
        assert_near(three.probabilities[i], one.probabilities[i], 1e-6);
    }
    gn_predictions_free(&one);
    gn_predictions_free(&two);
    gn_predictions_free(&three);
    close_data(&memory);
    close_data(&streamed);
}

/* The reference: the pass of nn over the same samples, given as pointers. */
typedef struct collected {
    float *features, *logits;
    size_t width, classes, count;
} collected;

static gerne_status collect(void *user, const gn_inferred *inferred)
{
    collected *c = user;
    memcpy(c->features + c->count * c->width, inferred->features,
           inferred->count * c->width * sizeof(float));
    if (inferred->logits)
        memcpy(c->logits + c->count * c->classes, inferred->logits,
               inferred->count * c->classes * sizeof(float));
    c->count += inferred->count;
    return GERNE_OK;
}

static void compare_with_nn(const fixture *f, gn_network *network, const collected *c)
{
    const gn_dataset *data = f->data;
    const void *pixels[2 * TRAINING];
    float features[2 * TRAINING * 12], logits[2 * TRAINING * 4];
    gn_samples samples = {.count = data->n, .fields = {pixels}};
    memcpy(samples.scale, data->scale, sizeof data->scale);
    memcpy(samples.shift, data->shift, sizeof data->shift);
    for (size_t i = 0; i < data->n; i++)
        pixels[i] = gn_dataset_pixels(data, i);
    assert_ok(f->ctx, gn_pass_forward(f->ctx, network, GN_MODE_INFER, &samples, NULL,
                                      &(gn_outcome){.features = features, .logits = logits}));
    assert_close(c->features, features, data->n * c->width, 1e-6);
    if (c->logits)
        assert_close(c->logits, logits, data->n * c->classes, 1e-6);
}

static void test_features_and_logits(void **state)
{
    (void)state;
    fixture f = open_data("2G");
    gn_network *network = make_network(&f, 11);
    gn_sample_list list;
    float features[2 * TRAINING * 12], logits[2 * TRAINING * 4];
    assert_true(f.data->n <= 2 * TRAINING);
    assert_ok(f.ctx, gn_samples_of_split(f.ctx, f.data, GN_SPLITS, &list));
    for (int body_only = 0; body_only < 2; body_only++) {
        gn_inference *inference;
        collected c = {features, body_only ? NULL : logits, 12, f.data->classes, 0};
        const gn_inference_options options = {.threads = 1, .body_only = body_only};
        assert_ok(f.ctx, gn_inference_new(f.ctx, network, f.data, &options, &inference));
        assert_ok(f.ctx, gn_inference_run(inference, NULL, list.items, list.count, collect, &c));
        assert_int_equal(c.count, f.data->n);
        compare_with_nn(&f, network, &c);
        gn_inference_close(inference);
    }
    gn_sample_list_free(&list);
    gn_network_close(network);
    close_data(&f);
}

static int stop_at_once(void *user, const gerne_progress *progress)
{
    (void)user;
    return progress->done > 0;
}

/* An interrupted pass over streamed samples leaves the object usable. */
static void test_interrupted(void **state)
{
    (void)state;
    fixture f = open_data("64K");
    gn_network *network = make_network(&f, 4);
    gn_inference *inference;
    gn_sample_list list;
    gn_predictions predictions;
    gn_predictions_init(&predictions, 4, 4, true);
    assert_ok(f.ctx, gn_inference_new(f.ctx, network, f.data, &(gn_inference_options){.threads = 2},
                                      &inference));
    assert_ok(f.ctx, gn_samples_of_split(f.ctx, f.data, GN_SPLITS, &list));
    gerne_set_progress(f.ctx, stop_at_once, NULL);
    assert_int_equal(
        gn_inference_predict(inference, "evaluate", list.items, list.count, &predictions),
        GERNE_EINTERRUPTED);
    gerne_set_progress(f.ctx, NULL, NULL);
    gn_predictions_clear(&predictions);
    assert_ok(f.ctx,
              gn_inference_predict(inference, "evaluate", list.items, list.count, &predictions));
    assert_int_equal(predictions.count, f.data->n);
    gn_predictions reference = predict(&f, 4, GN_SPLITS);
    assert_memory_equal(predictions.pred, reference.pred, f.data->n * sizeof *reference.pred);
    gn_predictions_free(&reference);
    gn_predictions_free(&predictions);
    gn_sample_list_free(&list);
    gn_inference_close(inference);
    gn_network_close(network);
    close_data(&f);
}

static void test_wrong_shape(void **state)
{
    (void)state;
    fixture f = open_data("2G");
    const gn_model_options options = {.arch = "linear"};
    gn_network *network;
    gn_inference *inference;
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, gn_pixels_shape(3, 16, 12), 4, 8,
                                    &network));
    assert_fails(f.ctx, GERNE_EUSAGE, "16 x 12",
                 gn_inference_new(f.ctx, network, f.data, &(gn_inference_options){.threads = 1},
                                  &inference));
    assert_null(inference);
    assert_string_equal(gerne_hint(f.ctx), "--data.resize 16,12");
    gn_network_close(network);
    close_data(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_and_labels),    cmocka_unit_test(test_same_from_everywhere),
        cmocka_unit_test(test_features_and_logits), cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_wrong_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
