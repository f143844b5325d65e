/* Ten training steps of every network beside PyTorch's: losses and final parameters.
 * tests/golden/networks.py made the files; value() and name_seed() are the same there. */
#include "testing.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/loss.h"
#include "nn/network.h"
#include "nn/optimizer.h"
#include "nn/weights.h"

enum { STEPS = 10, CLASSES = 10, SLICE = 24 };

static float value(uint64_t seed, uint64_t i)
{
    uint64_t z = ((seed << 32) + i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (float)((double)(z >> 40) / 8388608.0 - 1.0);
}

static uint32_t name_seed(const char *name)
{
    uint32_t h = 0x811C9DC5u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x01000193u;
    return h;
}

/* Four random quarters and a little noise. */
static float pixel(uint64_t seed, size_t side, size_t i)
{
    size_t column = i % side, row = i / side % side, plane = i / (side * side);
    size_t quarter = (plane * 2 + row / (side / 2)) * 2 + column / (side / 2);
    return value(seed, quarter) + 0.125f * value(seed + 500, i);
}

static void fill_parameters(gerne_ctx *ctx, gn_store *store)
{
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        float *values = calloc((size_t)p->size, sizeof *values);
        for (int64_t j = 0; j < p->size; j++) {
            float u = value(name_seed(p->name), (uint64_t)j);
            if (p->role == GN_SCALE || p->role == GN_VARIANCE)
                u = (1.0f + 0.1f * u) * (strstr(p->name, "bn3.weight") ? 0.25f : 1.0f);
            else if (p->ndims == 1)
                u = 0.1f * u;
            else
                u = (float)sqrt(3.0 / (double)(p->size / p->dims[0])) * u;
            values[j] = u;
        }
        assert_ok(ctx, gn_store_set(ctx, store, i, values));
        free(values);
    }
}

static const float *expected(gerne_ctx *ctx, const gn_weights *golden, const char *kind,
                             const char *name, size_t *count)
{
    static float values[64];
    char full[256];
    snprintf(full, sizeof full, "%s%s", kind, name);
    const gn_weight *w = gn_weights_find(golden, full);
    if (!w)
        fail_msg("the golden file has no '%s'", full);
    assert_true(w->count <= 64);
    assert_ok(ctx, gn_weight_to_f32(ctx, w, 0, values));
    *count = w->count;
    return values;
}

static void compare_parameter(gerne_ctx *ctx, const gn_store *store, int index,
                              const gn_weights *golden)
{
    const gn_parameter *p = gn_store_parameter(store, index);
    size_t size = (size_t)p->size, count;
    float *ours = calloc(size, sizeof *ours);
    assert_ok(ctx, gn_store_get(ctx, store, index, ours));
    double norm = 0;
    for (size_t i = 0; i < size; i++)
        norm += (double)ours[i] * (double)ours[i];
    norm = sqrt(norm);
    double theirs_norm = (double)expected(ctx, golden, "norm:", p->name, &count)[0];
    assert_near(norm / theirs_norm, 1, 1e-3);
    const float *theirs = expected(ctx, golden, "slice:", p->name, &count);
    size_t stride = size / SLICE > 0 ? size / SLICE : 1;
    double difference = 0, slice = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)ours[i * stride] - (double)theirs[i];
        difference += d * d;
        slice += (double)theirs[i] * (double)theirs[i];
    }
    if (sqrt(difference) > 1e-3 * sqrt(slice))
        fail_msg("%s differs by %.3g of its norm", p->name, sqrt(difference / slice));
    free(ours);
}

typedef struct run {
    gn_device *device;
    gn_network *network;
    gn_optimizer *optimizer;
    size_t batch, inputs, side;
    double lr;
} run;

/* "resnet50-v1-frozen-sgd" */
static run open_run(gerne_ctx *ctx, const char *name)
{
    static const int64_t hidden[] = {50, 30};
    bool mlp = strncmp(name, "mlp", 3) == 0, big = strncmp(name, "resnet50", 8) == 0;
    gn_model_options model = {.arch = mlp   ? "mlp"
                                      : big ? "resnet50"
                                            : "resnet18",
                              .hidden = {hidden, 2},
                              .variant = strstr(name, "-v1-") ? GN_V1 : GN_V1_5,
                              .bn = strstr(name, "frozen") ? GN_BN_FROZEN : GN_BN_SEPARATE};
    gn_optimizer_options rule = {.weight_decay = 0.01, .momentum = 0.9};
    bool gentle = !mlp && !strstr(name, "frozen");
    run r = {.batch = mlp ? 16 : 8, .side = mlp ? 8 : big ? 64 : 32, .lr = gentle ? 2e-5 : 1e-3};
    const char *kind = strrchr(name, '-') + 1;
    if (strcmp(kind, "adam.safetensors") == 0) {
        rule.optimizer = GN_ADAM;
        r.lr = 1e-3;
    } else if (strcmp(kind, "adamw.safetensors") == 0) {
        rule.optimizer = GN_ADAMW;
        r.lr = mlp ? 1e-4 : gentle ? 2e-6 : 2e-5;
    }
    int64_t side = (int64_t)r.side;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &r.device));
    assert_ok(ctx, gn_network_new(ctx, r.device, &model, gn_pixels_shape(3, side, side), CLASSES,
                                  (int64_t)r.batch, &r.network));
    r.inputs = (size_t)gn_network_input_size(r.network);
    fill_parameters(ctx, gn_network_store(r.network));
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

static void check_file(const char *name)
{
    gerne_ctx *ctx = test_ctx();
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/networks/%s", GERNE_SOURCE_DIR, name);
    gn_weights *golden;
    assert_ok(ctx, gn_weights_open(ctx, path, &golden));
    run r = open_run(ctx, name);
    float losses[STEPS];
    size_t count;
    memcpy(losses, expected(ctx, golden, "losses", "", &count), sizeof losses);
    assert_int_equal(count, STEPS);
    double worst = 0;
    for (int i = 0; i < STEPS; i++) {
        double ours = step(ctx, &r, (uint64_t)i % 2), theirs = (double)losses[i];
        double error = fabs(ours - theirs) / theirs;
        worst = error > worst ? error : worst;
        if (!(error <= 1e-4))
            fail_msg("%s, step %d: loss %.7f, PyTorch's %.7f", name, i + 1, ours, theirs);
    }
    for (int i = 0; i < gn_store_count(gn_network_store(r.network)); i++)
        compare_parameter(ctx, gn_network_store(r.network), i, golden);
    print_message("%s: worst loss difference %.2g\n", name, worst);
    gn_optimizer_close(r.optimizer);
    gn_network_close(r.network);
    gn_device_close(r.device);
    gn_weights_close(golden);
    gerne_ctx_close(ctx);
}

static const char *wanted_prefix;

static void test_all_files(void **state)
{
    (void)state;
    DIR *folder = opendir(GERNE_SOURCE_DIR "/tests/golden/networks");
    assert_non_null(folder);
    int checked = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, wanted_prefix, strlen(wanted_prefix)) == 0) {
            check_file(entry->d_name);
            checked++;
        }
    closedir(folder);
    assert_true(checked >= 3);
}

int main(int argc, char **argv)
{
    wanted_prefix = argc > 1 ? argv[1] : "mlp";
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
