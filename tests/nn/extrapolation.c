/* The paper's gradient on a real network: the coalesced pass equals the two batches it stands for,
 * and GERNE's special cases are the other methods, bit for bit. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/pass.h"

enum {
    N = 3000,
    CLASSES = 3,
    ATTRIBUTES = 2,
    D = 40,
    PER_CLASS = 100,
    MOST = 4 * PER_CLASS * CLASSES
};

static float features[N][D];
static int32_t y[N], a[N];

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
    gerne_groups *groups;
    gerne_batch *batch;
} fixture;

static void make_data(double minority)
{
    gn_stream s = gn_stream_at(8, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++) {
        y[i] = i % CLASSES;
        a[i] = gn_random_uniform(&s) < minority ? 1 - y[i] % 2 : y[i] % 2;
        for (int j = 0; j < D; j++)
            features[i][j] = (float)gn_random_normal(&s) + (j == a[i] ? 2.0f : 0.0f);
    }
}

static fixture open_fixture(double minority)
{
    static const int64_t hidden[] = {50, 30};
    gn_model_options options = {.arch = "mlp", .hidden = {hidden, 2}};
    fixture f = {.ctx = test_ctx()};
    make_data(minority);
    assert_ok(f.ctx, gn_device_new(f.ctx, 2, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, gn_features_shape(D), CLASSES, 128,
                                    &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 3));
    assert_ok(f.ctx, gerne_groups_from_labels(f.ctx, y, a, N, CLASSES, ATTRIBUTES, &f.groups));
    assert_ok(f.ctx, gerne_batch_new(f.ctx, &f.batch));
    return f;
}

static void close_fixture(fixture *f)
{
    gerne_batch_close(f->batch);
    gerne_groups_close(f->groups);
    gn_network_close(f->network);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

/* Adds factor times the gradient of the draw's loss. */
static void pass(fixture *f, double c, double beta, gerne_draw draw, double factor, bool accumulate)
{
    static const void *rows[MOST];
    static int32_t labels[MOST];
    static float weights[MOST];
    gerne_sampler *sampler;
    gerne_sampler_options options = {.seed = 5, .per_class = PER_CLASS, .c = c, .beta = beta};
    assert_ok(f->ctx, gerne_sampler_new(f->ctx, f->groups, &options, &sampler));
    assert_ok(f->ctx, gerne_sampler_draw(f->ctx, sampler, draw, 17, f->batch));
    size_t count = gerne_batch_size(f->batch);
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        uint32_t sample = gerne_batch_samples(f->batch)[i];
        rows[i] = features[sample];
        labels[i] = y[sample];
        weights[i] = (float)factor * gerne_batch_weights(f->batch)[i];
    }
    gn_samples samples = {.count = count, .fields = {rows}, .labels = labels, .weights = weights};
    gn_outcome outcome = {0};
    assert_ok(f->ctx, gn_pass_step(f->ctx, f->network, &samples, NULL, accumulate, &outcome));
    gerne_sampler_close(sampler);
}

static float *copy_gradients(const fixture *f, size_t *size)
{
    gn_block block = gn_store_block(gn_network_store(f->network));
    float *copy = malloc(block.size * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, block.gradients, block.size * sizeof *copy);
    *size = block.size;
    return copy;
}

static void test_one_pass_equals_two_batches(void **state)
{
    (void)state;
    static const double cases[][2] = {{0.5, 1}, {0.5, 1.9}, {1, 0.5}, {0.25, -0.5}, {0.5, 0.3}};
    fixture f = open_fixture(0.03);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double c = cases[i][0], beta = cases[i][1];
        pass(&f, c, beta, GERNE_DRAW_EXTRAPOLATED, 1, false);
        size_t size;
        float *one = copy_gradients(&f, &size);
        pass(&f, c, beta, GERNE_DRAW_LESS_BIASED, 1 + beta, false);
        pass(&f, c, beta, GERNE_DRAW_BIASED, -beta, true);
        float *two = copy_gradients(&f, &size);
        double difference = 0, norm = 0;
        for (size_t j = 0; j < size; j++) {
            difference += pow((double)one[j] - (double)two[j], 2);
            norm += pow((double)two[j], 2);
        }
        assert_true(norm > 0);
        if (sqrt(difference / norm) > 2e-6)
            fail_msg("c = %g, beta = %g: gradients differ by %.3g", c, beta,
                     sqrt(difference / norm));
        free(one);
        free(two);
    }
    close_fixture(&f);
}

/* The gradients of (c, beta) in one pass against those of a plain draw. Every group lasts for a
 * batch here: a sample drawn twice would be one term of the sum there and two here. */
static void check_same_bits(double c, double beta, gerne_draw plain)
{
    fixture f = open_fixture(0.1);
    size_t size;
    pass(&f, c, beta, GERNE_DRAW_EXTRAPOLATED, 1, false);
    float *gerne = copy_gradients(&f, &size);
    pass(&f, c, beta, plain, 1, false);
    float *other = copy_gradients(&f, &size);
    assert_memory_equal(gerne, other, size * sizeof *gerne);
    free(gerne);
    free(other);
    close_fixture(&f);
}

static void test_beta_minus_one_is_class_balanced_erm(void **state)
{
    (void)state;
    check_same_bits(0.5, -1, GERNE_DRAW_BIASED);
    check_same_bits(1, -1, GERNE_DRAW_BIASED);
}

static void test_beta_zero_is_the_less_biased_batch(void **state)
{
    (void)state;
    check_same_bits(1, 0, GERNE_DRAW_LESS_BIASED); /* c = 1: Resampling */
    check_same_bits(0.5, 0, GERNE_DRAW_LESS_BIASED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass_equals_two_batches),
        cmocka_unit_test(test_beta_minus_one_is_class_balanced_erm),
        cmocka_unit_test(test_beta_zero_is_the_less_biased_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
