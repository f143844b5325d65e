/* Update rules by hand on two numbers, schedules at their corners, clipping, resuming. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "nn/optimizer.h"

typedef struct fixture {
    gerne_ctx *ctx;
    gn_optimizer *optimizer;
    float values[2], gradients[2];
} fixture;

static void open_fixture(fixture *f, gn_optimizer_options options)
{
    *f = (fixture){.ctx = test_ctx(), .values = {1, -2}};
    gn_block block = {f->values, f->gradients, 2};
    assert_ok(f->ctx, gn_optimizer_new(f->ctx, &options, block, &f->optimizer));
}

static void close_fixture(fixture *f)
{
    gn_optimizer_close(f->optimizer);
    gerne_ctx_close(f->ctx);
}

static void step(fixture *f, float g0, float g1, double lr)
{
    f->gradients[0] = g0;
    f->gradients[1] = g1;
    gn_optimizer_step(f->optimizer, lr);
}

static void test_sgd(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, (gn_optimizer_options){.momentum = 0.9, .weight_decay = 0.1});
    step(&f, 0.5f, 0.25f, 0.1); /* d = 0.5 + 0.1 = 0.6 and 0.25 - 0.2 = 0.05; m = d */
    assert_near((double)f.values[0], 1 - 0.06, 1e-6);
    assert_near((double)f.values[1], -2 - 0.005, 1e-6);
    step(&f, 0, 0, 0.1); /* m = 0.9 * 0.6 + 0.094 = 0.634; m = 0.9 * 0.05 - 0.2005 = -0.1555 */
    assert_near((double)f.values[0], 0.94 - 0.0634, 1e-6);
    assert_near((double)f.values[1], -2.005 + 0.01555, 1e-6);
    close_fixture(&f);
}

static void test_adam_couples_the_decay(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, (gn_optimizer_options){.optimizer = GN_ADAM, .weight_decay = 1});
    step(&f, -1, 0, 0.01); /* d = -1 + 1 = 0 stays; d = -2 moves by lr up to eps */
    assert_near((double)f.values[0], 1, 1e-9);
    assert_near((double)f.values[1], -2 + 0.01, 1e-6);
    close_fixture(&f);
}

static void test_adamw_decays_what_it_moved(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, (gn_optimizer_options){.optimizer = GN_ADAMW, .weight_decay = 0.5});
    step(&f, 3, 0, 0.1);
    double m = 0.3, v = 0.001 * 9, s = 0.1 * sqrt(0.001) / 0.1;
    double moved = 1 - s * m / (sqrt(v) + 1e-8);
    assert_near((double)f.values[0], moved - 0.05 * moved, 1e-6);
    assert_near((double)f.values[1], -2 + 0.05 * 2, 1e-6);
    close_fixture(&f);
}

static void test_clipping(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, (gn_optimizer_options){.clip = 1});
    step(&f, 3, 4, 1); /* norm 5 becomes 1 */
    assert_near((double)f.values[0], 1 - 0.6, 1e-6);
    assert_near((double)f.values[1], -2 - 0.8, 1e-6);
    step(&f, 0.3f, 0.4f, 1); /* norm 0.5 stays */
    assert_near((double)f.values[0], 0.4 - 0.3, 1e-6);
    close_fixture(&f);
}

static void test_schedules(void **state)
{
    (void)state;
    gn_optimizer_options o = {.lr = 0.8, .schedule_every = 10, .schedule_factor = 0.5};
    static const struct {
        int schedule;
        int64_t step;
        double lr;
    } cases[] = {
        {GN_SCHEDULE_CONSTANT, 0, 0.8}, {GN_SCHEDULE_CONSTANT, 99, 0.8},
        {GN_SCHEDULE_LINEAR, 0, 0.8},   {GN_SCHEDULE_LINEAR, 25, 0.6},
        {GN_SCHEDULE_LINEAR, 100, 0},   {GN_SCHEDULE_STEP, 9, 0.8},
        {GN_SCHEDULE_STEP, 10, 0.4},    {GN_SCHEDULE_STEP, 35, 0.1},
        {GN_SCHEDULE_COSINE, 0, 0.8},   {GN_SCHEDULE_COSINE, 50, 0.4},
        {GN_SCHEDULE_COSINE, 100, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        o.schedule = cases[i].schedule;
        assert_near(gn_learning_rate(&o, cases[i].step, 100), cases[i].lr, 1e-12);
    }
}

/* State and step count are all there is: a copy goes on exactly like the original. */
static void test_resuming(void **state)
{
    (void)state;
    gn_optimizer_options o = {.optimizer = GN_ADAMW, .weight_decay = 0.1};
    fixture f, g;
    open_fixture(&f, o);
    open_fixture(&g, o);
    for (int i = 0; i < 5; i++)
        step(&f, (float)i - 2, 1, 0.01);
    size_t size, other;
    float *from = gn_optimizer_state(f.optimizer, &size);
    float *to = gn_optimizer_state(g.optimizer, &other);
    assert_int_equal(size, 4);
    assert_int_equal(size, other);
    memcpy(to, from, size * sizeof *to);
    memcpy(g.values, f.values, sizeof f.values);
    gn_optimizer_set_steps(g.optimizer, gn_optimizer_steps(f.optimizer));
    step(&f, 1, 2, 0.01);
    step(&g, 1, 2, 0.01);
    assert_memory_equal(f.values, g.values, sizeof f.values);
    close_fixture(&f);
    close_fixture(&g);
}

static void test_norm_is_exact_enough(void **state)
{
    (void)state;
    enum { N = 100003 };
    float *gradients = calloc(N, sizeof *gradients);
    for (int i = 0; i < N; i++)
        gradients[i] = 0.5f;
    assert_near(gn_gradient_norm((gn_block){NULL, gradients, N}), 0.5 * sqrt(N), 1e-9 * N);
    free(gradients);
}

/* The rate rises from 0, then its schedule takes the steps that are left. */
static void test_warmup(void **state)
{
    (void)state;
    gn_optimizer_options o = {.lr = 0.8, .warmup = 0.2, .schedule = GN_SCHEDULE_LINEAR};
    static const double rates[][2] = {{0, 0}, {5, 0.2}, {20, 0.8}, {60, 0.4}, {100, 0}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        assert_near(gn_learning_rate(&o, (int64_t)rates[i][0], 100), rates[i][1], 1e-12);
}

static void test_decay_of_stretches(void **state)
{
    (void)state;
    static const gn_stretch stretches[] = {{0, 1, false}, {1, 1, true}};
    for (int kind = GN_SGD; kind <= GN_ADAMW; kind++) {
        fixture f;
        open_fixture(&f, (gn_optimizer_options){.optimizer = kind, .weight_decay = 0.5});
        assert_ok(f.ctx, gn_optimizer_set_decay(f.ctx, f.optimizer, stretches, 2));
        step(&f, 0, 0, 0.1);
        assert_true(f.values[0] == 1);
        assert_true(f.values[1] > -2);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_adam_couples_the_decay),
        cmocka_unit_test(test_adamw_decays_what_it_moved),
        cmocka_unit_test(test_clipping),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_warmup),
        cmocka_unit_test(test_decay_of_stretches),
        cmocka_unit_test(test_resuming),
        cmocka_unit_test(test_norm_is_exact_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
