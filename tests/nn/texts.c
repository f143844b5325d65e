/* Texts of several lengths: how a batch is cut, masks, what is refused, files of weights. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/network_weights.h"
#include "nn/pass.h"

enum { COUNT = 40, LONGEST = 90, WORDS = 60, CLASSES = 3 };

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
    float *gradient;
    size_t size;
} fixture;

static gn_sample_shape texts_shape(int64_t words)
{
    gn_sample_shape shape = gn_tokens_shape(LONGEST);
    shape.fields[0].below = words;
    return shape;
}

static gn_model_options small_bert(double dropout)
{
    return (gn_model_options){.arch = "bert",
                              .depth = 2,
                              .width = 32,
                              .heads = 2,
                              .intermediate = 48,
                              .inner_dropout = dropout};
}

static fixture open_fixture(const gn_model_options *options, int64_t batch, gn_precision precision)
{
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 2, precision, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, options, texts_shape(WORDS), CLASSES, batch,
                                    &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 3));
    gn_block block = gn_network_trained(f.network);
    gn_stream s = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    for (size_t i = 0; i < block.size; i++) /* larger than usual: more than one class is likely */
        block.values[i] += block.values[i] != 0 ? (float)(0.1 * gn_random_normal(&s)) : 0;
    f.size = block.size;
    f.gradient = calloc(f.size ? f.size : 1, sizeof *f.gradient);
    return f;
}

static void close_fixture(fixture *f)
{
    free(f->gradient);
    gn_network_close(f->network);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

/* Texts of 1 to LONGEST tokens, 1,800 in all: more than run at once. */
typedef struct texts {
    int32_t tokens[COUNT][LONGEST], lengths[COUNT], labels[COUNT];
    float weights[COUNT];
    const void *ids[COUNT], *counts[COUNT];
    gn_samples samples;
} texts;

static void make_texts(texts *t, bool reversed)
{
    gn_stream s = gn_stream_at(4, GN_RNG_TEST, 0, 0);
    for (size_t k = 0; k < COUNT; k++) {
        size_t i = reversed ? COUNT - 1 - k : k;
        t->lengths[i] = (int32_t)(1 + 37 * k % LONGEST);
        for (int32_t j = 0; j < t->lengths[i]; j++)
            t->tokens[i][j] = (int32_t)gn_random_below(&s, WORDS);
        t->labels[i] = (int32_t)(k % CLASSES);
        t->weights[i] = k % 2 ? -0.05f : 0.1f;
        t->ids[i] = t->tokens[i];
        t->counts[i] = &t->lengths[i];
    }
    t->samples = (gn_samples){.count = COUNT,
                              .fields = {t->ids, t->counts},
                              .labels = t->labels,
                              .weights = t->weights,
                              .step = 7};
}

static double run(fixture *f, const gn_samples *samples, float *losses)
{
    double value;
    assert_ok(f->ctx, gn_pass_step(f->ctx, f->network, samples, NULL, false,
                                   &(gn_outcome){.losses = losses, .value = &value}));
    memcpy(f->gradient, gn_network_trained(f->network).gradients, f->size * sizeof *f->gradient);
    return value;
}

static void assert_same_vector(const float *a, const float *b, size_t count, double tolerance)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        norm += pow((double)b[i], 2);
    }
    assert_true(norm > 0);
    if (!(sqrt(difference) <= tolerance * sqrt(norm)))
        fail_msg("differs by %.3g of its norm", sqrt(difference / norm));
}

/* Neither the order of texts nor where a batch is cut changes losses or gradients. */
static void test_order_does_not_matter(void **state)
{
    (void)state;
    static texts forward, backward;
    float losses[2][COUNT];
    gn_model_options options = small_bert(0);
    fixture f = open_fixture(&options, 64, GN_FP32), g = open_fixture(&options, 64, GN_FP32);
    make_texts(&forward, false);
    make_texts(&backward, true);
    assert_false(gn_pass_fits(f.network, &forward.samples));
    double value = run(&f, &forward.samples, losses[0]);
    assert_near(run(&g, &backward.samples, losses[1]), value, 1e-5);
    for (size_t i = 0; i < COUNT; i++)
        assert_near((double)losses[0][i], (double)losses[1][COUNT - 1 - i], 1e-5);
    assert_same_vector(g.gradient, f.gradient, f.size, 1e-4);
    close_fixture(&f);
    close_fixture(&g);
}

/* Masks belong to a sample's place in its step, however the batch is cut. */
static void test_masks_do_not_depend_on_the_cut(void **state)
{
    (void)state;
    static texts t;
    float losses[3][COUNT];
    gn_model_options options = small_bert(0.3);
    make_texts(&t, false);
    fixture f = open_fixture(&options, 64, GN_FP32), g = open_fixture(&options, 3, GN_FP32);
    run(&f, &t.samples, losses[0]);
    run(&g, &t.samples, losses[1]);
    assert_same_vector(losses[1], losses[0], COUNT, 1e-5);
    assert_same_vector(g.gradient, f.gradient, f.size, 1e-4);
    gn_network_keep_whole(f.network);
    run(&f, &t.samples, losses[1]);
    assert_same_vector(losses[1], losses[0], COUNT, 1e-5);
    t.samples.step++; /* other masks */
    run(&f, &t.samples, losses[2]);
    assert_true(memcmp(losses[1], losses[2], sizeof losses[1]) != 0);
    close_fixture(&f);
    close_fixture(&g);
}

/* The same bits again, also after other sizes have grown the memory in between. */
static void test_runs_repeat(void **state)
{
    (void)state;
    static texts t;
    gn_model_options options = small_bert(0.1);
    float losses[2][COUNT];
    make_texts(&t, false);
    fixture f = open_fixture(&options, 64, GN_FP32), g = open_fixture(&options, 64, GN_FP32);
    gn_samples few = t.samples;
    few.count = 2;
    run(&f, &few, losses[0]);
    run(&f, &t.samples, losses[0]);
    run(&f, &few, losses[0]);
    run(&f, &t.samples, losses[0]);
    run(&g, &t.samples, losses[1]);
    assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
    assert_memory_equal(f.gradient, g.gradient, f.size * sizeof *f.gradient);
    close_fixture(&f);
    close_fixture(&g);
}

/* Inference runs in pieces, and gives what training passes without masks give. */
static void test_inference(void **state)
{
    (void)state;
    static texts t;
    static float logits[2][COUNT * CLASSES];
    gn_model_options options = small_bert(0);
    make_texts(&t, false);
    fixture f = open_fixture(&options, 64, GN_FP32);
    for (int i = 0; i < 2; i++)
        assert_ok(f.ctx, gn_pass_forward(f.ctx, f.network, i ? GN_MODE_INFER : GN_MODE_TRAIN,
                                         &t.samples, NULL, &(gn_outcome){.logits = logits[i]}));
    assert_same_vector(logits[1], logits[0], COUNT * CLASSES, 1e-5);
    assert_ok(f.ctx, gn_network_set_mode(f.ctx, f.network, GN_MODE_INFER));
    assert_ok(f.ctx, gn_pass_part(f.ctx, f.network, &t.samples, 0, COUNT, false));
    assert_same_vector(gn_logits(f.network), logits[0], COUNT * CLASSES, 1e-5);
    close_fixture(&f);
}

static void test_bfloat16(void **state)
{
    (void)state;
    static texts t;
    float losses[2][COUNT];
    gn_model_options options = small_bert(0.1);
    make_texts(&t, false);
    fixture f = open_fixture(&options, 64, GN_FP32), g = open_fixture(&options, 64, GN_BF16);
    run(&f, &t.samples, losses[0]);
    run(&g, &t.samples, losses[1]);
    assert_same_vector(losses[1], losses[0], COUNT, 2e-2);
    assert_same_vector(g.gradient, f.gradient, f.size, 0.1);
    close_fixture(&f);
    close_fixture(&g);
}

/* ---- files ---- */

typedef struct renamed {
    const char *from, *to;
} renamed;

/* Replaces the first name that fits, in place. */
static void rename_tensor(char *name, size_t size, const renamed *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *found = strstr(name, names[i].from);
        if (!found)
            continue;
        char rest[200];
        snprintf(rest, sizeof rest, "%s", found + strlen(names[i].from));
        snprintf(found, size - (size_t)(found - name), "%s%s", names[i].to, rest);
    }
}

/* What f has, under other names; tensors whose names contain without are missing. */
static void write_file(fixture *f, const char *path, const renamed *names, size_t count,
                       const char *const *without)
{
    enum { MOST = 64 };
    static gn_weight_out tensors[MOST];
    static char called[MOST][200];
    static float *values[MOST];
    const gn_store *store = gn_network_store(f->network);
    size_t n = 0;
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        bool left_out = false;
        for (const char *const *w = without; *w; w++)
            left_out = left_out || strstr(p->name, *w);
        if (left_out)
            continue;
        assert_true(n < MOST);
        snprintf(called[n], sizeof called[n], "%s", p->name);
        rename_tensor(called[n], sizeof called[n], names, count);
        values[n] = calloc((size_t)p->size, sizeof(float));
        assert_ok(f->ctx, gn_store_get(f->ctx, store, i, values[n]));
        tensors[n] =
            (gn_weight_out){.name = called[n], .ndims = (size_t)p->ndims, .data = values[n]};
        memcpy(tensors[n].dims, p->dims, sizeof p->dims);
        n++;
    }
    assert_ok(f->ctx,
              gn_safetensors_write(f->ctx, path, GN_WEIGHT_F32, tensors, n,
                                   &(gn_metadata){"model", "{\"num_attention_heads\": 2}"}, 1));
    for (size_t i = 0; i < n; i++)
        free(values[i]);
}

/* The features that a network of this file gives to the texts. */
static gn_transformer features_of(const char *path, const gn_samples *samples, float *features)
{
    gn_model_options options = {.arch = "bert", .weights = path};
    fixture f = open_fixture(&options, 64, GN_FP32);
    assert_ok(f.ctx, gn_network_load(f.ctx, f.network, path, NULL));
    assert_ok(f.ctx, gn_pass_forward(f.ctx, f.network, GN_MODE_INFER, samples, NULL,
                                     &(gn_outcome){.features = features}));
    gn_transformer sizes = gn_network_options(f.network)->transformer;
    close_fixture(&f);
    return sizes;
}

static void test_files_of_the_field(void **state)
{
    (void)state;
    static const renamed bare[] = {{"bert.", ""}};
    static const renamed distil[] = {
        {"bert.encoder.layer", "distilbert.transformer.layer"},
        {"bert.embeddings", "distilbert.embeddings"},
        {"attention.self.query", "attention.q_lin"},
        {"attention.self.key", "attention.k_lin"},
        {"attention.self.value", "attention.v_lin"},
        {"attention.output.dense", "attention.out_lin"},
        {"attention.output.LayerNorm", "sa_layer_norm"},
        {"intermediate.dense", "ffn.lin1"},
        {"output.dense", "ffn.lin2"},
        {"output.LayerNorm", "output_layer_norm"},
        {"sa_layer_norm", "sa_layer_norm"},
    };
    static texts t;
    static float features[3][COUNT * 32];
    char path[4096];
    gn_model_options options = small_bert(0);
    fixture f = open_fixture(&options, 64, GN_FP32);
    make_texts(&t, false);
    char *directory = test_directory();
    snprintf(path, sizeof path, "%s/bert.safetensors", directory);
    assert_ok(f.ctx, gn_pass_forward(f.ctx, f.network, GN_MODE_INFER, &t.samples, NULL,
                                     &(gn_outcome){.features = features[0]}));
    write_file(&f, path, NULL, 0, (const char *const[]){NULL});
    gn_transformer sizes = features_of(path, &t.samples, features[1]);
    assert_memory_equal(features[1], features[0], sizeof features[0]);
    assert_int_equal(sizes.depth, 2);
    assert_int_equal(sizes.width, 32);
    assert_int_equal(sizes.heads, 2);
    assert_int_equal(sizes.intermediate, 48);
    assert_int_equal(sizes.vocabulary, WORDS);
    write_file(&f, path, bare, 1, (const char *const[]){"classifier", NULL});
    features_of(path, &t.samples, features[1]);
    assert_memory_equal(features[1], features[0], sizeof features[0]);
    /* Without segments and pooler: as of a network whose segment is zero. */
    write_file(&f, path, distil, sizeof distil / sizeof distil[0],
               (const char *const[]){"classifier", "pooler", "token_type", NULL});
    sizes = features_of(path, &t.samples, features[1]);
    assert_int_equal(sizes.segments, 0);
    assert_false(sizes.pooler);
    write_file(&f, path, bare, 1,
               (const char *const[]){"classifier", "pooler", "token_type", NULL});
    features_of(path, &t.samples, features[2]);
    assert_memory_equal(features[1], features[2], sizeof features[1]);
    test_remove_directory(directory);
    close_fixture(&f);
}

/* ---- what is refused ---- */

static void refuse(fixture *f, const gn_model_options *options, gn_sample_shape shape,
                   const char *message)
{
    gn_network *network;
    assert_fails(f->ctx, GERNE_EUSAGE, message,
                 gn_network_new(f->ctx, f->device, options, shape, 2, 4, &network));
}

static void test_refused_networks(void **state)
{
    (void)state;
    char path[4096];
    gn_model_options options = small_bert(0), with_file = {.arch = "bert", .weights = path};
    gn_model_options mlp = {.arch = "mlp"}, vit = {.arch = "vit", .patch = 5};
    fixture f = open_fixture(&options, 4, GN_FP32);
    char *directory = test_directory();
    snprintf(path, sizeof path, "%s/bert.safetensors", directory);
    write_file(&f, path, NULL, 0, (const char *const[]){NULL});
    refuse(&f, &options, gn_pixels_shape(3, 8, 8), "'bert' needs texts, but the data are images");
    refuse(&f, &mlp, texts_shape(WORDS), "needs images or features, but the data are texts");
    refuse(&f, &vit, gn_pixels_shape(3, 8, 8), "cannot be cut into patches of 5");
    refuse(&f, &with_file, texts_shape(WORDS + 1), "the vocabulary has 61 words");
    gn_sample_shape longer = texts_shape(WORDS);
    longer.fields[0].dims[0] = 513;
    refuse(&f, &with_file, longer, "has 512 positions");
    with_file.depth = 3;
    refuse(&f, &with_file, texts_shape(WORDS), "model.depth is 3");
    options.heads = 5;
    refuse(&f, &options, texts_shape(WORDS), "cannot be divided into 5 heads");
    test_remove_directory(directory);
    close_fixture(&f);
}

/* Along its gradient, which run has left, the loss grows by the gradient's norm. */
static void assert_slope(fixture *f, const gn_samples *samples)
{
    const float step = 1e-3f;
    double square = 0, ends[2];
    float losses[COUNT];
    gn_block block = gn_network_trained(f->network);
    for (size_t i = 0; i < f->size; i++)
        square += (double)f->gradient[i] * (double)f->gradient[i];
    float *start = calloc(f->size ? f->size : 1, sizeof *start);
    memcpy(start, block.values, f->size * sizeof *start);
    for (int side = 0; side < 2; side++) {
        float by = (side ? step : -step) / (float)sqrt(square);
        for (size_t i = 0; i < f->size; i++)
            block.values[i] = start[i] + by * f->gradient[i];
        assert_ok(f->ctx, gn_pass_step(f->ctx, f->network, samples, NULL, false,
                                       &(gn_outcome){.losses = losses, .value = &ends[side]}));
    }
    free(start);
    assert_near((ends[1] - ends[0]) / (2 * (double)step * sqrt(square)), 1, 0.02);
}

/* Every text with the next one: the logits of the pair are mixed, and so are the labels. */
static void test_mixed_texts(void **state)
{
    (void)state;
    static texts t;
    static float logits[COUNT][CLASSES], mixed[COUNT][CLASSES];
    float share[COUNT], losses[COUNT];
    const void *ids[COUNT], *counts[COUNT];
    int32_t labels[COUNT];
    gn_model_options options = small_bert(0);
    fixture f = open_fixture(&options, 8, GN_FP32);
    make_texts(&t, false);
    assert_ok(f.ctx, gn_pass_forward(f.ctx, f.network, GN_MODE_INFER, &t.samples, NULL,
                                     &(gn_outcome){.logits = logits[0]}));
    for (size_t i = 0; i < COUNT; i++) {
        size_t next = (i + 1) % COUNT;
        share[i] = 0.1f * (float)(i % 10);
        ids[i] = t.ids[next];
        counts[i] = t.counts[next];
        labels[i] = t.labels[next];
    }
    const gn_mixture mixture = {.fields = {ids, counts}, .labels = labels, .share = share};
    t.samples.mixture = &mixture;
    assert_ok(f.ctx, gn_pass_step(f.ctx, f.network, &t.samples, NULL, false,
                                  &(gn_outcome){.losses = losses, .logits = mixed[0]}));
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < CLASSES; k++)
            assert_near(
                (double)mixed[i][k],
                (double)(share[i] * logits[i][k] + (1 - share[i]) * logits[(i + 1) % COUNT][k]),
                1e-5);
    double sum = 0, value = run(&f, &t.samples, losses);
    for (size_t i = 0; i < COUNT; i++)
        sum += (double)t.weights[i] * (double)losses[i];
    assert_near(value, sum, 1e-6);
    assert_slope(&f, &t.samples);
    close_fixture(&f);
}

static void test_refused_samples(void **state)
{
    (void)state;
    static texts t;
    gn_model_options options = small_bert(0);
    fixture f = open_fixture(&options, 64, GN_FP32);
    make_texts(&t, false);
    for (int32_t length = 0; length <= LONGEST + 1; length += LONGEST + 1) {
        t.lengths[3] = length;
        assert_fails(f.ctx, GERNE_EINTERNAL, "not of 1 to 90",
                     gn_pass_step(f.ctx, f.network, &t.samples, NULL, false, &(gn_outcome){0}));
    }
    t.lengths[3] = 1;
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_masks_do_not_depend_on_the_cut),
        cmocka_unit_test(test_runs_repeat),
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_files_of_the_field),
        cmocka_unit_test(test_refused_networks),
        cmocka_unit_test(test_mixed_texts),
        cmocka_unit_test(test_refused_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
