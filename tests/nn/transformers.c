/* Ten training steps of a small BERT and ViT beside PyTorch's: losses and final parameters.
 * tests/golden/transformers.py made the files and has the same numbers. */
#include "golden_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/decay.h"
#include "nn/pass.h"

enum { STEPS = 10, CLASSES = 10, WORDS = 50, LONGEST = 12, TEXTS = 6, SIDE = 16, IMAGES = 8 };
static const int32_t lengths[TEXTS] = {12, 3, 7, 1, 9, 5};

typedef struct setup {
    const char *name, *arch;
    gn_optimizer_kind optimizer;
    double dropout;
    bool compat;
} setup;

static const setup setups[] = {
    {"bert-sgd", "bert", GN_SGD, 0, false},
    {"bert-adamw", "bert", GN_ADAMW, 0, false},
    {"bert-compat-adamw", "bert", GN_ADAMW, 0, true},
    {"bert-dropout-sgd", "bert", GN_SGD, 0.2, false},
    {"bert-dropout-adamw", "bert", GN_ADAMW, 0.2, false},
    {"vit-sgd", "vit", GN_SGD, 0, false},
    {"vit-adamw", "vit", GN_ADAMW, 0, false},
};

typedef struct run {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
    gn_optimizer *optimizer;
    bool texts;
    double lr;
} run;

/* Four texts at a time, so that a batch of six is cut. */
static run open_run(const setup *s)
{
    run r = {.ctx = test_ctx(), .texts = strcmp(s->arch, "bert") == 0};
    const gn_model_options model = {.arch = s->arch,
                                    .depth = 2,
                                    .width = 32,
                                    .heads = 4,
                                    .intermediate = r.texts ? 64 : 128,
                                    .patch = 4,
                                    .inner_dropout = s->dropout};
    const gn_optimizer_options rule = {.optimizer = (int)s->optimizer,
                                       .weight_decay = s->optimizer == GN_SGD ? 0.01 : 0.1,
                                       .momentum = 0.9,
                                       .compat_bert_decay = s->compat};
    gn_sample_shape shape = r.texts ? gn_tokens_shape(LONGEST) : gn_pixels_shape(3, SIDE, SIDE);
    shape.fields[0].below = WORDS;
    r.lr = s->optimizer == GN_SGD ? 1e-2 : 1e-3;
    assert_ok(r.ctx, gn_device_new(r.ctx, 2, GN_FP32, &r.device));
    assert_ok(r.ctx, gn_network_new(r.ctx, r.device, &model, shape, CLASSES, r.texts ? 4 : IMAGES,
                                    &r.network));
    assert_ok(r.ctx, gn_network_initialize(r.ctx, r.network, 6));
    golden_fill(r.ctx, gn_network_store(r.network), NULL);
    assert_ok(r.ctx, gn_network_optimizer(r.ctx, &rule, r.network, &r.optimizer));
    return r;
}

static void close_run(run *r)
{
    gn_optimizer_close(r->optimizer);
    gn_network_close(r->network);
    gn_device_close(r->device);
    gerne_ctx_close(r->ctx);
}

static double text_step(run *r, uint64_t index)
{
    static int32_t tokens[TEXTS][LONGEST];
    const void *ids[TEXTS], *counts[TEXTS];
    int32_t labels[TEXTS];
    float losses[TEXTS];
    double loss;
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t j = 0; j < LONGEST; j++)
            tokens[i][j] =
                (int32_t)((golden_value(2000 + index % 2, i * LONGEST + j) + 1) * (WORDS / 2.0f));
        ids[i] = tokens[i];
        counts[i] = &lengths[i];
        labels[i] = (int32_t)((7 * i + index % 2) % CLASSES);
    }
    const gn_samples samples = {
        .count = TEXTS, .fields = {ids, counts}, .labels = labels, .step = index};
    assert_ok(r->ctx, gn_pass_step(r->ctx, r->network, &samples, NULL, false,
                                   &(gn_outcome){.losses = losses, .value = &loss}));
    return loss;
}

/* Four random quarters and a little noise, as numbers that are not bytes: past the loading. */
static double image_step(run *r, uint64_t index)
{
    enum { PIXELS = 3 * SIDE * SIDE };
    int32_t labels[IMAGES];
    float losses[IMAGES];
    assert_ok(r->ctx, gn_network_set_mode(r->ctx, r->network, GN_MODE_TRAIN));
    float *input = gn_network_input(r->network, 0);
    for (size_t i = 0; i < IMAGES * PIXELS; i++) {
        size_t column = i % SIDE, row = i / SIDE % SIDE, plane = i / (SIDE * SIDE);
        size_t quarter = (plane * 2 + row / (SIDE / 2)) * 2 + column / (SIDE / 2);
        input[i] =
            golden_value(1000 + index % 2, quarter) + 0.125f * golden_value(1500 + index % 2, i);
    }
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = (int32_t)((7 * i + index % 2) % CLASSES);
    assert_ok(r->ctx, gn_body_forward(r->ctx, r->network));
    assert_ok(r->ctx, gn_head_forward(r->ctx, r->network, NULL));
    const gn_cross_entropy terms = {.labels = labels, .count = IMAGES};
    const gn_loss_part part = {.count = IMAGES,
                               .classes = CLASSES,
                               .logits = gn_logits(r->network),
                               .losses = losses,
                               .logit_gradient = gn_logit_gradient(r->network)};
    gn_loss loss = gn_cross_entropy_loss(&terms);
    double mean = loss.evaluate(loss.terms, &part);
    assert_ok(r->ctx, gn_head_backward(r->ctx, r->network, false));
    assert_ok(r->ctx, gn_body_backward(r->ctx, r->network, NULL, false));
    return mean;
}

/* A bias of all keys cancels in the softmax: its gradient is rounding noise, which Adam scales up.
 */
static bool has_no_gradient(const char *name)
{
    return strstr(name, "attention.self.key.bias") || strstr(name, "attn.qkv.bias");
}

static void check_run(const setup *s)
{
    run r = open_run(s);
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/networks/%s.safetensors", GERNE_SOURCE_DIR,
             s->name);
    gn_weights *golden;
    size_t count;
    float losses[STEPS];
    assert_ok(r.ctx, gn_weights_open(r.ctx, path, &golden));
    memcpy(losses, golden_numbers(r.ctx, golden, "losses", "", &count), sizeof losses);
    assert_int_equal(count, STEPS);
    double worst = 0;
    for (int i = 0; i < STEPS; i++) {
        double ours = r.texts ? text_step(&r, (uint64_t)i) : image_step(&r, (uint64_t)i);
        double theirs = (double)losses[i], error = fabs(ours - theirs) / theirs;
        gn_optimizer_step(r.optimizer, r.lr);
        worst = error > worst ? error : worst;
        if (!(error <= 1e-4))
            fail_msg("%s, step %d: loss %.7f, PyTorch's %.7f", s->name, i + 1, ours, theirs);
    }
    const gn_store *store = gn_network_store(r.network);
    for (int i = 0; i < gn_store_count(store); i++)
        if (s->optimizer == GN_SGD || !has_no_gradient(gn_store_parameter(store, i)->name))
            golden_compare(r.ctx, store, i, golden);
    print_message("%s: worst loss difference %.2g\n", s->name, worst);
    gn_weights_close(golden);
    close_run(&r);
}

static void test_golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++)
        check_run(&setups[i]);
}

/* Every transformer that the program offers has golden runs. */
static void test_all_are_listed(void **state)
{
    (void)state;
    for (size_t i = 0; gn_architectures[i]; i++) {
        bool listed = gn_architectures[i]->initialization != GN_INIT_TRUNCATED;
        for (size_t j = 0; j < sizeof setups / sizeof setups[0]; j++)
            listed = listed || strcmp(setups[j].arch, gn_architectures[i]->name) == 0;
        if (!listed)
            fail_msg("network '%s' has no golden runs", gn_architectures[i]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_all_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
