/* Ten training steps of every network beside PyTorch's: losses and final parameters.
 * tests/golden/networks.py made the files; golden_values.c has the numbers that both make. */
#include "golden_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/loss.h"
#include "nn/model.h"
#include "nn/network.h"
#include "nn/optimizer.h"
#include "nn/weights.h"

enum { STEPS = 10, CLASSES = 10 };

/* Four random quarters and a little noise. */
static float pixel(uint64_t seed, size_t side, size_t i)
{
    size_t column = i % side, row = i / side % side, plane = i / (side * side);
    size_t quarter = (plane * 2 + row / (side / 2)) * 2 + column / (side / 2);
    return golden_value(seed, quarter) + 0.125f * golden_value(seed + 500, i);
}

/* A network as its files name it; tests/golden/networks.py has the same table. */
typedef struct setup {
    const char *name, *arch;
    size_t side, batch;
    int variant, stem;
    const char *last_norm; /* deep networks: the scales that end a residual branch, made small */
    bool plain;            /* without BatchNorm: nothing to freeze, larger steps */
} setup;

static const setup setups[] = {
    {"linear", "linear", 8, 16, .plain = true},
    {"mlp", "mlp", 8, 16, .plain = true},
    {"resnet18", "resnet18", 32, 8, .plain = false},
    {"resnet18-cifar", "resnet18", 16, 8, .stem = GN_STEM_CIFAR, .last_norm = "bn2.weight"},
    {"resnet34", "resnet34", 32, 8, .last_norm = "bn2.weight"},
    {"resnet50", "resnet50", 64, 8, .last_norm = "bn3.weight"},
    {"resnet50-v1", "resnet50", 64, 8, .variant = GN_V1, .last_norm = "bn3.weight"},
    {"resnet20", "resnet20", 32, 8, .plain = false},
    {"convnet", "convnet", 28, 8, .plain = false},
    {"convnet3", "convnet3", 32, 8, .plain = false},
    {"convnet4", "convnet4", 48, 8, .plain = false},
};

typedef struct run {
    gn_device *device;
    gn_network *network;
    gn_optimizer *optimizer;
    size_t batch, inputs, side;
    double lr;
} run;

static double learning_rate(const setup *s, bool frozen, gn_optimizer_kind optimizer)
{
    bool gentle = !s->plain && !frozen; /* training BatchNorm */
    if (optimizer == GN_ADAM)
        return 1e-3;
    if (optimizer == GN_ADAMW)
        return s->plain ? 1e-4 : gentle ? 2e-6 : 2e-5;
    return gentle ? 2e-5 : 1e-3;
}

static run open_run(gerne_ctx *ctx, const setup *s, bool frozen, gn_optimizer_kind optimizer)
{
    static const int64_t hidden[] = {50, 30};
    gn_model_options model = {.arch = s->arch,
                              .hidden = {hidden, 2},
                              .variant = s->variant,
                              .stem = s->stem,
                              .bn = frozen ? GN_BN_FROZEN : GN_BN_SEPARATE};
    gn_optimizer_options rule = {
        .optimizer = (int)optimizer, .weight_decay = 0.01, .momentum = 0.9};
    run r = {.batch = s->batch, .side = s->side, .lr = learning_rate(s, frozen, optimizer)};
    int64_t side = (int64_t)r.side;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &r.device));
    assert_ok(ctx, gn_network_new(ctx, r.device, &model, gn_pixels_shape(3, side, side), CLASSES,
                                  (int64_t)r.batch, &r.network));
    r.inputs = (size_t)gn_network_input_size(r.network);
    golden_fill(ctx, gn_network_store(r.network), s->last_norm);
    assert_ok(ctx, gn_optimizer_new(ctx, &rule, gn_network_trained(r.network), &r.optimizer));
    assert_ok(ctx, gn_network_set_mode(ctx, r.network, GN_MODE_TRAIN));
    return r;
}

static double step(gerne_ctx *ctx, run *r, uint64_t index)
{
    int32_t labels[16];
    float losses[16];
    for (size_t i = 0; i < r->batch; i++)
        labels[i] = (int32_t)((7 * i + index) % CLASSES);
    float *input = gn_network_input(r->network, 0);
    for (size_t i = 0; i < r->batch * r->inputs; i++)
        input[i] = pixel(1000 + index, r->side, i);
    assert_ok(ctx, gn_body_forward(ctx, r->network));
    assert_ok(ctx, gn_head_forward(ctx, r->network, NULL));
    const gn_cross_entropy terms = {.labels = labels, .count = r->batch};
    const gn_loss_part part = {.count = r->batch,
                               .classes = CLASSES,
                               .logits = gn_logits(r->network),
                               .losses = losses,
                               .logit_gradient = gn_logit_gradient(r->network)};
    gn_loss loss = gn_cross_entropy_loss(&terms);
    double mean = loss.evaluate(loss.terms, &part);
    assert_ok(ctx, gn_head_backward(ctx, r->network, false));
    assert_ok(ctx, gn_body_backward(ctx, r->network, NULL, false));
    gn_optimizer_step(r->optimizer, r->lr);
    return mean;
}

/* BatchNorm over eight values amplifies last bits about tenfold a step, so that the order of a
 * kernel's sums shows in later losses. Without it all steps agree. */
static double tolerance(bool frozen, int step)
{
    return frozen || step < STEPS / 2 ? 1e-4 : 5e-3;
}

static void check_run(const setup *s, bool frozen, gn_optimizer_kind optimizer)
{
    static const char *const optimizers[] = {"sgd", "adam", "adamw"};
    gerne_ctx *ctx = test_ctx();
    char name[64], path[4096];
    snprintf(name, sizeof name, "%s-%s-%s", s->name, frozen ? "frozen" : "training",
             optimizers[optimizer]);
    snprintf(path, sizeof path, "%s/tests/golden/networks/%s.safetensors", GERNE_SOURCE_DIR, name);
    gn_weights *golden;
    assert_ok(ctx, gn_weights_open(ctx, path, &golden));
    run r = open_run(ctx, s, frozen, optimizer);
    float losses[STEPS];
    size_t count;
    memcpy(losses, golden_numbers(ctx, golden, "losses", "", &count), sizeof losses);
    assert_int_equal(count, STEPS);
    double worst = 0;
    for (int i = 0; i < STEPS; i++) {
        double ours = step(ctx, &r, (uint64_t)i % 2), theirs = (double)losses[i];
        double error = fabs(ours - theirs) / theirs;
        worst = error > worst ? error : worst;
        if (!(error <= tolerance(frozen, i)))
            fail_msg("%s, step %d: loss %.7f, PyTorch's %.7f", name, i + 1, ours, theirs);
    }
    for (int i = 0; i < gn_store_count(gn_network_store(r.network)); i++)
        if (gn_store_parameter(gn_network_store(r.network), i)->role != GN_FIXED)
            golden_compare(ctx, gn_network_store(r.network), i, golden);
    print_message("%s: worst loss difference %.2g\n", name, worst);
    gn_optimizer_close(r.optimizer);
    gn_network_close(r.network);
    gn_device_close(r.device);
    gn_weights_close(golden);
    gerne_ctx_close(ctx);
}

static const char *wanted;

static void test_network(void **state)
{
    (void)state;
    const setup *s = NULL;
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++)
        if (strcmp(setups[i].name, wanted) == 0)
            s = &setups[i];
    if (!s)
        fail_msg("no golden network '%s'", wanted);
    check_run(s, false, GN_SGD);
    check_run(s, false, GN_ADAMW);
    if (s->plain) {
        check_run(s, false, GN_ADAM);
    } else {
        check_run(s, true, GN_SGD);
        check_run(s, true, GN_ADAMW);
    }
}

/* Every network that the program offers has golden runs; tests/nn/transformers.c has the others. */
static void test_all_networks_are_listed(void **state)
{
    (void)state;
    for (size_t i = 0; gn_architectures[i]; i++) {
        bool listed = gn_architectures[i]->settle != NULL;
        for (size_t j = 0; j < sizeof setups / sizeof setups[0]; j++)
            listed = listed || strcmp(setups[j].arch, gn_architectures[i]->name) == 0;
        if (!listed)
            fail_msg("network '%s' has no golden runs", gn_architectures[i]->name);
    }
}

int main(int argc, char **argv)
{
    wanted = argc > 1 ? argv[1] : "mlp";
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_networks_are_listed),
                                       cmocka_unit_test(test_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
