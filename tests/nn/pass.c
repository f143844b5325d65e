/* Passes with inputs made of two samples, and with losses that look at features. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/pass.h"
#include "slope.h"

enum { COUNT = 50, CLASSES = 3, D = 24, CHANNELS = 3, HEIGHT = 5, WIDTH = 4 };
enum { PIXELS = CHANNELS * HEIGHT * WIDTH, BATCH = 16 }; /* 50 = 3 * 16 + 2 */

static const int64_t hidden[] = {30, 20};

/* ---- a network and a pass ---- */

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
} fixture;

static fixture open_fixture(gn_sample_shape shape, double dropout, const char *freeze)
{
    const gn_model_options options = {
        .arch = "mlp", .hidden = {hidden, 2}, .dropout = dropout, .freeze = freeze};
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 2, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, shape, CLASSES, BATCH, &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 6));
    return f;
}

static void close_fixture(fixture *f)
{
    gn_network_close(f->network);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

/* What can be repeated with other parameters. */
typedef struct pass {
    const fixture *f;
    const gn_samples *samples;
    const gn_loss *loss;
} pass;

static double value_of(const void *user)
{
    const pass *p = user;
    float losses[COUNT];
    double value;
    assert_ok(p->f->ctx,
              gn_pass_forward(p->f->ctx, p->f->network, GN_MODE_TRAIN, p->samples, p->loss,
                              &(gn_outcome){.losses = losses, .value = &value}));
    return value;
}

typedef struct answer {
    float losses[COUNT];
    double value;
    float *gradients; /* the network's */
    size_t size;
} answer;

static answer step(const pass *p)
{
    answer a;
    assert_ok(p->f->ctx, gn_pass_step(p->f->ctx, p->f->network, p->samples, p->loss, false,
                                      &(gn_outcome){.losses = a.losses, .value = &a.value}));
    gn_block block = gn_store_block(gn_network_store(p->f->network));
    a.gradients = block.gradients;
    a.size = block.size;
    return a;
}

static void check_slopes(const pass *p)
{
    gn_store *store = gn_network_store(p->f->network);
    step(p);
    test_slope(gn_store_part(store, GN_HEAD), value_of, p);
    test_slope(gn_store_part(store, GN_BODY), value_of, p);
}

/* ---- samples ---- */

static struct {
    float own[COUNT][D], other[COUNT][D], mixed[COUNT][D];
    uint8_t own_bytes[COUNT][PIXELS], other_bytes[COUNT][PIXELS], mixed_bytes[COUNT][PIXELS];
    const void *own_at[COUNT], *other_at[COUNT], *mixed_at[COUNT];
    int32_t labels[COUNT], other_labels[COUNT];
    float weights[COUNT], share[COUNT];
    gn_box boxes[COUNT];
} data;

/* Labels, weights with both signs, and shares; the first two samples are not mixed at all. */
static gn_stream make_targets(void)
{
    gn_stream s = gn_stream_at(4, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        data.labels[i] = i % CLASSES;
        data.other_labels[i] = (int32_t)gn_random_below(&s, CLASSES);
        data.weights[i] = (float)(gn_random_uniform(&s) - 0.3);
        data.share[i] = i < 2 ? (float)i : (float)gn_random_uniform(&s);
    }
    return s;
}

static void make_features(void)
{
    gn_stream s = make_targets();
    for (int i = 0; i < COUNT; i++) {
        data.own_at[i] = data.own[i];
        data.other_at[i] = data.other[i];
        data.mixed_at[i] = data.mixed[i];
        for (int j = 0; j < D; j++) {
            data.own[i][j] = (float)gn_random_normal(&s);
            data.other[i][j] = (float)gn_random_normal(&s);
            data.mixed[i][j] =
                data.share[i] * data.own[i][j] + (1 - data.share[i]) * data.other[i][j];
        }
    }
}

static bool is_in(const gn_box *box, int y, int x)
{
    return y >= box->top && y < box->bottom && x >= box->left && x < box->right;
}

/* Boxes anywhere, up to the whole picture; the first two are empty and everything. */
static void make_pictures(void)
{
    gn_stream s = make_targets();
    for (int i = 0; i < COUNT; i++) {
        gn_box *box = &data.boxes[i];
        data.own_at[i] = data.own_bytes[i];
        data.other_at[i] = data.other_bytes[i];
        data.mixed_at[i] = data.mixed_bytes[i];
        box->top = (uint16_t)gn_random_below(&s, HEIGHT);
        box->left = (uint16_t)gn_random_below(&s, WIDTH);
        box->bottom = (uint16_t)(box->top + 1 + gn_random_below(&s, HEIGHT - box->top));
        box->right = (uint16_t)(box->left + 1 + gn_random_below(&s, WIDTH - box->left));
        if (i < 2)
            *box = i ? (gn_box){0, 0, HEIGHT, WIDTH} : (gn_box){0, 0, 0, 0};
        for (int j = 0; j < PIXELS; j++) {
            int y = j / CHANNELS / WIDTH, x = j / CHANNELS % WIDTH;
            data.own_bytes[i][j] = (uint8_t)gn_random_below(&s, 256);
            data.other_bytes[i][j] = (uint8_t)gn_random_below(&s, 256);
            data.mixed_bytes[i][j] =
                is_in(box, y, x) ? data.other_bytes[i][j] : data.own_bytes[i][j];
        }
    }
}

static gn_samples samples_at(const void *const *fields, const gn_mixture *mixture)
{
    return (gn_samples){.count = COUNT,
                        .fields = {fields},
                        .scale = {0.01f, 0.02f, 0.015f},
                        .shift = {-1, -2, -1.5f},
                        .labels = data.labels,
                        .weights = data.weights,
                        .mixture = mixture,
                        .step = 9};
}

/* ---- inputs made of two samples ---- */

/* The pass mixes; beside it the same network on inputs that were mixed beforehand. */
static void check_mixture(gn_sample_shape shape, const gn_box *boxes, double tolerance)
{
    const gn_mixture mixture = {.fields = {data.other_at},
                                .labels = data.other_labels,
                                .share = data.share,
                                .boxes = boxes};
    const gn_samples mixed = samples_at(data.own_at, &mixture),
                     plain = samples_at(data.mixed_at, NULL);
    const gn_cross_entropy terms = {.labels = data.labels,
                                    .weights = data.weights,
                                    .others = data.other_labels,
                                    .share = data.share};
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    fixture f = open_fixture(shape, 0, "none"), g = open_fixture(shape, 0, "none");
    const pass by_pass = {&f, &mixed, NULL}, by_hand = {&g, &plain, &loss};
    answer a = step(&by_pass), b = step(&by_hand);
    assert_close(a.losses, b.losses, COUNT, tolerance);
    assert_near(a.value, b.value, tolerance);
    assert_int_equal(a.size, b.size);
    assert_close(a.gradients, b.gradients, a.size, tolerance);
    const gn_samples unmixed = samples_at(data.own_at, NULL);
    answer c = step(&(pass){&g, &unmixed, NULL});
    assert_true(c.value < a.value - 1e-3 ||
                c.value > a.value + 1e-3); /* there was something to mix */
    check_slopes(&by_pass);
    close_fixture(&f);
    close_fixture(&g);
}

static void features_are_interpolated(void **state)
{
    (void)state;
    make_features();
    check_mixture(gn_features_shape(D), NULL, 1e-6);
}

static void boxes_are_taken_from_the_other_picture(void **state)
{
    (void)state;
    make_pictures();
    check_mixture(gn_pixels_shape(CHANNELS, HEIGHT, WIDTH), data.boxes, 0);
}

/* ---- a loss that looks at features ---- */

/* sum_i weights[i] (CE_i + (|features_i|^2 - labels[i])^2 / 4): its gradient by the features
 * depends on the sample, and reaches the body beside that of the cross-entropy. */
static double with_features(const void *terms, const gn_loss_part *part)
{
    const gn_cross_entropy *own = terms;
    double value = gn_cross_entropy_loss(own).evaluate(terms, part);
    for (size_t i = 0; i < part->count; i++) {
        const float *x = part->features + i * part->width;
        double weight = (double)own->weights[part->first + i], gap = -own->labels[part->first + i];
        for (size_t j = 0; j < part->width; j++)
            gap += (double)(x[j] * x[j]);
        value += weight * gap * gap / 4;
        for (size_t j = 0; part->feature_gradient && j < part->width; j++)
            part->feature_gradient[i * part->width + j] += (float)(weight * gap * (double)x[j]);
    }
    return value;
}

static const gn_cross_entropy feature_terms = {.labels = data.labels, .weights = data.weights};
static const gn_loss feature_loss = {
    .evaluate = with_features, .terms = &feature_terms, .wants_features = true};

static void feature_losses_reach_the_body(void **state)
{
    (void)state;
    make_features();
    const gn_samples samples = samples_at(data.own_at, NULL);
    for (double dropout = 0; dropout < 0.5; dropout += 0.4) {
        fixture f = open_fixture(gn_features_shape(D), dropout, "none");
        check_slopes(&(pass){&f, &samples, &feature_loss});
        close_fixture(&f);
    }
}

/* A step without features after one with them leaves nothing of the old gradient. */
static void feature_gradients_do_not_linger(void **state)
{
    (void)state;
    make_features();
    const gn_samples samples = samples_at(data.own_at, NULL);
    fixture f = open_fixture(gn_features_shape(D), 0, "none");
    fixture g = open_fixture(gn_features_shape(D), 0, "none");
    step(&(pass){&f, &samples, &feature_loss});
    answer a = step(&(pass){&f, &samples, NULL}), b = step(&(pass){&g, &samples, NULL});
    assert_close(a.gradients, b.gradients, a.size, 0);
    close_fixture(&f);
    close_fixture(&g);
}

static double without_a_body(const void *terms, const gn_loss_part *part)
{
    assert_null(part->feature_gradient);
    return with_features(terms, part);
}

static void frozen_bodies_have_no_feature_gradient(void **state)
{
    (void)state;
    make_features();
    const gn_samples samples = samples_at(data.own_at, NULL);
    const gn_loss loss = {
        .evaluate = without_a_body, .terms = &feature_terms, .wants_features = true};
    fixture f = open_fixture(gn_features_shape(D), 0, "body");
    const pass p = {&f, &samples, &loss};
    step(&p);
    test_slope(gn_store_part(gn_network_store(f.network), GN_HEAD), value_of, &p);
    close_fixture(&f);
}

/* Forward, then backward, as losses that need all logits first do: one micro-batch keeps its
 * activations, more of them run again. */
static void two_halves_are_one_step(void **state)
{
    (void)state;
    make_features();
    for (size_t count = BATCH; count <= COUNT; count += COUNT - BATCH) {
        gn_samples samples = samples_at(data.own_at, NULL);
        samples.count = count;
        fixture f = open_fixture(gn_features_shape(D), 0.4, "none");
        fixture g = open_fixture(gn_features_shape(D), 0.4, "none");
        const pass halves = {&f, &samples, &feature_loss};
        double value;
        float losses[COUNT];
        const gn_outcome outcome = {.losses = losses, .value = &value};
        double forward = value_of(&halves);
        assert_ok(f.ctx,
                  gn_pass_backward(f.ctx, f.network, &samples, &feature_loss, false, &outcome));
        answer whole = step(&(pass){&g, &samples, &feature_loss});
        gn_block block = gn_store_block(gn_network_store(f.network));
        assert_near(value, whole.value, 0);
        assert_near(forward, whole.value, 0);
        assert_close(block.gradients, whole.gradients, whole.size, 0);
        close_fixture(&f);
        close_fixture(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_interpolated),
        cmocka_unit_test(boxes_are_taken_from_the_other_picture),
        cmocka_unit_test(feature_losses_reach_the_body),
        cmocka_unit_test(feature_gradients_do_not_linger),
        cmocka_unit_test(frozen_bodies_have_no_feature_gradient),
        cmocka_unit_test(two_halves_are_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
