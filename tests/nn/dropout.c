/* model.dropout: how many features a mask zeroes, what a mask depends on, and its gradient. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/pass.h"
#include "slope.h"

enum { D = 40, COUNT = 50, CLASSES = 3 };

static float features[COUNT][D];
static const void *pointers[COUNT];
static int32_t labels[COUNT];
static float weights[COUNT];
static const int64_t hidden[] = {30, 20};

static gn_samples make_samples(void)
{
    gn_stream s = gn_stream_at(4, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        labels[i] = i % CLASSES;
        weights[i] = (float)(gn_random_uniform(&s) - 0.3);
        pointers[i] = features[i];
        for (int j = 0; j < D; j++)
            features[i][j] = (float)gn_random_normal(&s);
    }
    return (gn_samples){
        .count = COUNT, .fields = {pointers}, .labels = labels, .weights = weights, .step = 9};
}

typedef struct fixture {
    gerne_ctx *ctx;
    gn_device *device;
    gn_network *network;
} fixture;

static fixture open_fixture(const char *arch, double rate, int64_t outputs, int64_t batch)
{
    const gn_model_options options = {.arch = arch, .hidden = {hidden, 2}, .dropout = rate};
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_device_new(f.ctx, 2, GN_FP32, &f.device));
    assert_ok(f.ctx, gn_network_new(f.ctx, f.device, &options, gn_features_shape(D), outputs, batch,
                                    &f.network));
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 6));
    return f;
}

static void close_fixture(fixture *f)
{
    gn_network_close(f->network);
    gn_device_close(f->device);
    gerne_ctx_close(f->ctx);
}

/* ---- masks ---- */

enum { BATCH = 500 };
typedef float masks[BATCH][D];

/* A linear network that puts out its input; samples of ones show the masks themselves. */
static fixture open_mirror(double rate)
{
    fixture f = open_fixture("linear", rate, D, BATCH);
    gn_store *store = gn_network_store(f.network);
    float identity[D * D] = {0}, zero[D] = {0};
    for (int j = 0; j < D; j++)
        identity[j * D + j] = 1;
    assert_int_equal(gn_store_count(store), 2);
    assert_ok(f.ctx, gn_store_set(f.ctx, store, 0, identity));
    assert_ok(f.ctx, gn_store_set(f.ctx, store, 1, zero));
    return f;
}

static void show(const fixture *f, gn_mode mode, uint64_t step, uint64_t place, masks out)
{
    assert_ok(f->ctx, gn_network_set_mode(f->ctx, f->network, mode));
    for (int i = 0; i < BATCH * D; i++)
        gn_network_input(f->network, 0)[i] = 1;
    gn_network_set_masks(f->network, step, place);
    assert_ok(f->ctx, gn_body_forward(f->ctx, f->network));
    assert_ok(f->ctx, gn_head_forward(f->ctx, f->network, NULL));
    memcpy(out, gn_logits(f->network), sizeof(masks));
}

/* The share of places where two masks agree, which is p^2 + (1-p)^2 for independent ones. */
static void assert_independent(masks a, masks b, double rate)
{
    double wanted = rate * rate + (1 - rate) * (1 - rate), same = 0;
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < D; j++)
            same += (a[i][j] == 0) == (b[i][j] == 0);
    assert_near(same / (BATCH * D), wanted, 5 * sqrt(wanted * (1 - wanted) / (BATCH * D)));
}

static void masks_have_their_rate(void **state)
{
    (void)state;
    static const double rates[] = {0.1, 0.5, 0.9};
    static masks seen;
    for (int r = 0; r < 3; r++) {
        double rate = rates[r], sum = 0;
        fixture f = open_mirror(rate);
        show(&f, GN_MODE_TRAIN, 3, 0, seen);
        for (int i = 0; i < BATCH; i++)
            for (int j = 0; j < D; j++) {
                if (seen[i][j] != 0)
                    assert_near(seen[i][j], 1 / (1 - rate), 1e-5);
                sum += (double)seen[i][j];
            }
        /* One item is 0 or 1 / (1-p): mean 1, variance p / (1-p). */
        assert_near(sum / (BATCH * D), 1, 5 * sqrt(rate / (1 - rate) / (BATCH * D)));
        close_fixture(&f);
    }
}

static void masks_follow_seed_step_and_place(void **state)
{
    (void)state;
    enum { MOVED = 7 };
    static masks first, other;
    fixture f = open_mirror(0.3);
    show(&f, GN_MODE_TRAIN, 3, 0, first);
    show(&f, GN_MODE_TRAIN, 4, 0, other);
    assert_independent(first, other, 0.3);
    show(&f, GN_MODE_TRAIN, 3, BATCH, other);
    assert_independent(first, other, 0.3);
    show(&f, GN_MODE_TRAIN, 3, MOVED, other);
    assert_memory_equal(first[MOVED], other[0], (BATCH - MOVED) * sizeof first[0]);
    show(&f, GN_MODE_TRAIN, 3, 0, other); /* again */
    assert_memory_equal(first, other, sizeof first);
    close_fixture(&f);

    f = open_mirror(0.3);
    gn_block block = gn_store_block(gn_network_store(f.network));
    float *kept = malloc(block.size * sizeof *kept);
    memcpy(kept, block.values, block.size * sizeof *kept);
    assert_ok(f.ctx, gn_network_initialize(f.ctx, f.network, 7));
    memcpy(block.values, kept, block.size * sizeof *kept);
    show(&f, GN_MODE_TRAIN, 3, 0, other);
    assert_independent(first, other, 0.3);
    free(kept);
    close_fixture(&f);
}

static void inference_drops_nothing(void **state)
{
    (void)state;
    static masks seen;
    fixture f = open_mirror(0.5);
    show(&f, GN_MODE_TRAIN, 3, 0, seen);
    show(&f, GN_MODE_INFER, 3, 0, seen);
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < D; j++)
            assert_true(seen[i][j] == 1);
    close_fixture(&f);
}

/* ---- networks ---- */

typedef struct pass {
    const fixture *f;
    const gn_samples *samples;
} pass;

/* With the masks held still. */
static double loss(const void *user)
{
    const pass *p = user;
    float losses[COUNT];
    double value;
    assert_ok(p->f->ctx, gn_pass_forward(p->f->ctx, p->f->network, GN_MODE_TRAIN, p->samples, NULL,
                                         &(gn_outcome){.losses = losses, .value = &value}));
    return value;
}

static void gradients_are_those_of_the_masked_loss(void **state)
{
    (void)state;
    static const char *const archs[] = {"linear", "mlp"};
    const gn_samples samples = make_samples();
    for (int i = 0; i < 2; i++) {
        fixture f = open_fixture(archs[i], 0.4, CLASSES, 16); /* 50 = 3 * 16 + 2 */
        gn_store *store = gn_network_store(f.network);
        assert_ok(f.ctx, gn_pass_step(f.ctx, f.network, &samples, NULL, false, &(gn_outcome){0}));
        const pass again = {&f, &samples};
        test_slope(gn_store_part(store, GN_HEAD), loss, &again);
        if (i == 1)
            test_slope(gn_store_part(store, GN_BODY), loss, &again);
        close_fixture(&f);
    }
}

static void micro_batches_see_the_same_masks(void **state)
{
    (void)state;
    const gn_samples samples = make_samples();
    fixture whole = open_fixture("mlp", 0.4, CLASSES, COUNT);
    fixture parts = open_fixture("mlp", 0.4, CLASSES, 7);
    float a[COUNT], b[COUNT], plain[COUNT];
    assert_ok(whole.ctx, gn_pass_step(whole.ctx, whole.network, &samples, NULL, false,
                                      &(gn_outcome){.losses = a}));
    assert_ok(parts.ctx, gn_pass_step(parts.ctx, parts.network, &samples, NULL, false,
                                      &(gn_outcome){.losses = b}));
    assert_ok(whole.ctx, gn_pass_forward(whole.ctx, whole.network, GN_MODE_INFER, &samples, NULL,
                                         &(gn_outcome){.losses = plain}));
    assert_close(a, b, COUNT, 1e-5);
    double moved = 0;
    for (int i = 0; i < COUNT; i++)
        moved += fabs((double)a[i] - (double)plain[i]) / COUNT;
    assert_true(moved > 1e-2); /* else there would be no masks to compare */
    gn_block x = gn_store_block(gn_network_store(whole.network));
    gn_block y = gn_store_block(gn_network_store(parts.network));
    assert_int_equal(x.size, y.size);
    assert_close(x.gradients, y.gradients, x.size, 1e-5);
    close_fixture(&whole);
    close_fixture(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_have_their_rate),
        cmocka_unit_test(masks_follow_seed_step_and_place),
        cmocka_unit_test(inference_drops_nothing),
        cmocka_unit_test(gradients_are_those_of_the_masked_loss),
        cmocka_unit_test(micro_batches_see_the_same_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
