/* A batch that ranks share: the losses, the gradients and the statistics of one process. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/network.h"
#include "nn/optimizer.h"
#include "nn/pass.h"
#include "nn/split_pass.h"
#include "ranks/ranks.h"
#include "ranks_fixture.h"

enum { SIDE = 8, BYTES = 3 * SIDE * SIDE, COUNT = 24, CLASSES = 4, STEPS = 2 };

static uint8_t pixels[COUNT][BYTES];
static const void *pointers[COUNT];
static int32_t labels[COUNT];
static float weights[COUNT];

static gn_samples make_samples(void)
{
    gn_stream s = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        labels[i] = i % CLASSES;
        weights[i] = (float)(gn_random_uniform(&s) - 0.3) / COUNT;
        pointers[i] = pixels[i];
        for (int j = 0; j < BYTES; j++)
            pixels[i][j] = (uint8_t)gn_random_below(&s, 256);
    }
    gn_samples samples = {
        .count = COUNT, .fields = {pointers}, .labels = labels, .weights = weights};
    for (int c = 0; c < 3; c++) {
        samples.scale[c] = 1.0f / 64;
        samples.shift[c] = -1;
    }
    return samples;
}

typedef struct split_case {
    const char *arch;
    int bn;
    int64_t micro_batch; /* 0: a rank's share at once */
    bool in_halves;      /* forward, then backward */
    bool near_kinks; /* so many ReLUs behind statistics of 24 numbers that roundings cross some */
} split_case;

/* What a few steps leave, in plain order. */
typedef struct outcome {
    const split_case *what;
    gn_samples samples;
    float losses[STEPS][COUNT];
    int32_t predictions[COUNT];
    float *values;
    size_t size;
} outcome;

static void take_values(gerne_ctx *ctx, const gn_network *network, outcome *o)
{
    const gn_store *store = gn_network_store(network);
    for (int i = 0; i < gn_store_count(store); i++) {
        size_t n = (size_t)gn_store_parameter(store, i)->size;
        o->values = realloc(o->values, (o->size + n) * sizeof *o->values);
        assert_non_null(o->values);
        assert_ok(ctx, gn_store_get(ctx, store, i, o->values + o->size));
        o->size += n;
    }
}

static void step(gerne_ctx *ctx, gn_network *network, outcome *o, float *losses)
{
    const gn_outcome out = {.losses = losses, .predictions = o->predictions};
    const gn_cross_entropy terms = gn_samples_terms(&o->samples);
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    if (!o->what->in_halves) {
        assert_ok(ctx, gn_pass_step(ctx, network, &o->samples, NULL, false, &out));
        return;
    }
    assert_ok(ctx, gn_pass_forward(ctx, network, GN_MODE_TRAIN, &o->samples, &loss, &out));
    assert_ok(ctx, gn_pass_backward(ctx, network, &o->samples, &loss, false, &out));
}

static const int64_t hidden[] = {30, 20};

/* summing: while backward runs, and not after it. */
static void train(gerne_ctx *ctx, outcome *o, bool summing)
{
    const gn_model_options model = {
        .arch = o->what->arch, .hidden = {hidden, 2}, .stem = GN_STEM_CIFAR, .bn = o->what->bn};
    const gn_optimizer_options sgd = {.momentum = 0};
    int64_t share = (int64_t)gn_ranks_share(gn_ranks_of(ctx), 0, COUNT, 1).end;
    gn_device *device;
    gn_network *network;
    gn_optimizer *optimizer;
    assert_ok(ctx, gn_device_new(ctx, 1, GN_FP32, &device));
    assert_ok(ctx, gn_network_new(ctx, device, &model, gn_pixels_shape(3, SIDE, SIDE), CLASSES,
                                  o->what->micro_batch ? o->what->micro_batch : share, &network));
    assert_ok(ctx, gn_network_initialize(ctx, network, 11));
    gn_block block = gn_network_trained(network);
    assert_ok(ctx, gn_optimizer_new(ctx, &sgd, block, &optimizer));
    assert_ok(ctx, gn_split_set_summing(ctx, network, summing));
    for (int k = 0; k < STEPS; k++) {
        step(ctx, network, o, o->losses[k]);
        if (!summing)
            assert_ok(ctx, gn_ranks_sum(ctx, block.gradients, block.size));
        assert_ok(ctx, gn_ranks_sum_wait(ctx));
        gn_optimizer_step(optimizer, 0.1);
    }
    take_values(ctx, network, o);
    gn_optimizer_close(optimizer);
    gn_network_close(network);
    gn_device_close(device);
}

static double difference(const float *a, const float *b, size_t size)
{
    double sum = 0, norm = 0;
    for (size_t i = 0; i < size; i++) {
        sum += pow((double)a[i] - (double)b[i], 2);
        norm += pow((double)b[i], 2);
    }
    assert_true(norm > 0);
    return sqrt(sum / norm);
}

/* Where statistics are formed of parts, a rounding may move an activation over the kink of a ReLU,
 * which changes the gradient: only the losses of the first step are as close as roundings then. */
static void compare(const test_rank *m, const split_case *what, const char *of, bool later,
                    double error)
{
    double tolerance = what->bn != GN_BN_CONCAT ? 1e-6 : later && what->near_kinks ? 1e-2 : 1e-4;
    if (error > tolerance)
        fail_msg("%s, bn %d, micro-batch %lld, %d ranks: %s differ by %.3g", what->arch, what->bn,
                 (long long)what->micro_batch, gn_ranks_size(gn_ranks_of(m->ctx)), of, error);
}

static void play(test_rank *m)
{
    const outcome *alone = m->user;
    outcome o = {.what = alone->what, .samples = alone->samples};
    outcome later = o;
    train(m->ctx, &o, true);
    assert_int_equal(o.size, alone->size);
    if (o.size < 1000000 ||
        gn_ranks_size(gn_ranks_of(m->ctx)) == 2) { /* the large one takes long */
        train(m->ctx, &later, false);
        assert_memory_equal(o.values, later.values, o.size * sizeof *o.values);
    }
    for (int k = 0; k < STEPS; k++)
        compare(m, o.what, "losses", k > 0, difference(o.losses[k], alone->losses[k], COUNT));
    compare(m, o.what, "weights", true, difference(o.values, alone->values, o.size));
    assert_memory_equal(o.predictions, alone->predictions, sizeof o.predictions);
    free(o.values);
    free(later.values);
}

static void test_ranks_equal_one_process(void **state)
{
    static const split_case cases[] = {
        {"mlp", GN_BN_FROZEN, 0, false, false},
        {"mlp", GN_BN_FROZEN, 5, false, false},
        {"mlp", GN_BN_FROZEN, 0, true, false},
        {"mlp", GN_BN_FROZEN, 5, true, false},
        {"resnet20", GN_BN_FROZEN, 0, false, false},
        {"resnet20", GN_BN_CONCAT, 0, false, false},
        {"resnet20", GN_BN_CONCAT, 0, true, false},
        {"resnet18", GN_BN_CONCAT, 0, false, .near_kinks = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome alone = {.what = &cases[i], .samples = make_samples()};
        gerne_ctx *ctx = test_ctx();
        train(ctx, &alone, false);
        for (int ranks = 1; ranks <= 4; ranks++)
            test_on_ranks(ranks, play, &alone);
        free(alone.values);
        gerne_ctx_close(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks_equal_one_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
