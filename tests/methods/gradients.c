/* Every method of the list, in every stage: the gradient that a step leaves behind is that of the
 * weighted sum of cross-entropies it asked for, and that sum is the loss it reports. Methods treat
 * weights as constants; the passes are recorded as they are asked for, and repeated forward only.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "train/trainer.h"

enum { PASSES_MAX = 8 };

typedef struct asked_pass {
    int network;
    bool accumulate;
    gn_samples samples;
    float *weights; /* copied */
} asked_pass;

static asked_pass asked[PASSES_MAX];
static size_t asked_count;

static void record(int network, const gn_minibatch *batch, const float *weights, bool accumulate)
{
    assert_true(asked_count < PASSES_MAX);
    asked_pass *p = &asked[asked_count++];
    const float *from = weights ? weights : batch->samples.weights;
    size_t count = batch->samples.count;
    *p = (asked_pass){.network = network, .accumulate = accumulate, .samples = batch->samples};
    assert_ok(NULL, gn_alloc(NULL, count, sizeof(float), "weights", &p->weights));
    memcpy(p->weights, from, count * sizeof(float));
}

/* The linker sends the methods' calls here (--wrap). */
gerne_status __real_gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                bool accumulate);
gerne_status __wrap_gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                bool accumulate);
gerne_status __real_gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                    bool accumulate);
gerne_status __wrap_gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                    bool accumulate);

gerne_status __wrap_gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                bool accumulate)
{
    record(i, batch, weights, accumulate);
    return __real_gn_run_pass(run, i, batch, weights, accumulate);
}

gerne_status __wrap_gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                    bool accumulate)
{
    record(i, batch, weights, accumulate);
    return __real_gn_run_backward(run, i, batch, weights, accumulate);
}

/* sum_i w_i CE_i of everything that was asked of a network. */
static double recorded_loss(gn_trainer *t, int network)
{
    double sum = 0;
    for (size_t p = 0; p < asked_count; p++) {
        if (asked[p].network != network)
            continue;
        float *losses;
        size_t count = asked[p].samples.count;
        assert_ok(t->run.ctx, gn_alloc(t->run.ctx, count, sizeof(float), "losses", &losses));
        bool drops = t->config->model.dropout > 0;
        assert_ok(t->run.ctx, gn_forward_pass(t->run.ctx, t->networks[network],
                                              drops ? GN_MODE_TRAIN : GN_MODE_INFER,
                                              &asked[p].samples, &(gn_outcome){.losses = losses}));
        for (size_t i = 0; i < count; i++)
            sum += (double)asked[p].weights[i] * (double)losses[i];
        gn_free(losses);
    }
    return sum;
}

/* The derivative along a direction of length 1, by central differences and by the gradient. */
static void check_direction(gn_trainer *t, int network, const double *direction)
{
    gn_block block = gn_store_block(gn_network_store(t->networks[network]));
    const double step = 2e-3;
    double slope = 0, ends[2];
    float *start;
    assert_ok(t->run.ctx, gn_alloc(t->run.ctx, block.size, sizeof(float), "parameters", &start));
    memcpy(start, block.values, block.size * sizeof(float));
    for (size_t i = 0; i < block.size; i++)
        slope += (double)block.gradients[i] * direction[i];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < block.size; i++)
            block.values[i] = start[i] + (float)((side ? step : -step) * direction[i]);
        ends[side] = recorded_loss(t, network);
    }
    memcpy(block.values, start, block.size * sizeof(float));
    gn_free(start);
    assert_near((ends[1] - ends[0]) / (2 * step), slope, 5e-3);
}

static void check_network(gn_trainer *t, int network)
{
    gn_block block = gn_store_block(gn_network_store(t->networks[network]));
    gn_stream stream = gn_stream_at(3, GN_RNG_TEST, 0, 0);
    double *direction, norm = gn_gradient_norm(block);
    assert_true(norm > 1e-6); /* a step that asks for nothing proves nothing */
    assert_ok(t->run.ctx,
              gn_alloc(t->run.ctx, block.size, sizeof *direction, "a direction", &direction));
    for (size_t i = 0; i < block.size; i++)
        direction[i] = (double)block.gradients[i] / norm;
    check_direction(t, network, direction);
    double length = 0;
    for (size_t i = 0; i < block.size; i++) {
        /* Padding between parameters has no gradient and must stay zero. */
        direction[i] = block.values[i] != 0 ? gn_random_normal(&stream) : 0;
        length += direction[i] * direction[i];
    }
    for (size_t i = 0; i < block.size; i++)
        direction[i] /= sqrt(length);
    check_direction(t, network, direction);
    gn_free(direction);
}

static void check_stage(gn_trainer *t)
{
    gn_minibatch *batches;
    assert_ok(t->run.ctx, gn_stage_enter(t));
    assert_ok(t->run.ctx, gn_feed_next(t->feed, 0, &batches));
    asked_count = 0;
    assert_ok(t->run.ctx, t->run.method->step(&t->run, 0, batches));
    assert_true(asked_count > 0);
    assert_near(recorded_loss(t, 0), t->step_loss, 1e-4);
    for (int i = 0; i < t->run.stage->networks; i++)
        check_network(t, i);
    for (size_t p = 0; p < asked_count; p++)
        gn_free(asked[p].weights);
    gn_stage_leave(t);
}

/* lr = 0: the step leaves its gradient and moves nothing. A linear network has no kinks. */
static void check_method(const gn_method *method, const char *key, const char *value)
{
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    const char *const flags[][2] = {
        {"method.name", method->name}, {"train.lr", "0"},     {"data.n", "400"},
        {"model.arch", "linear"},      {"threads", "1"},      {"train.steps", "5"},
        {"train.per_class", "10"},     {"data.ratio", "0.1"}, {key, value},
    };
    gn_settings settings = {.arena = arena};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i][0])
            assert_ok(ctx, gn_settings_add(ctx, &settings, flags[i][0], &flags[i][1], 1, false, 0));
    gn_run_config *config;
    gn_trainer *t;
    assert_ok(ctx, gn_run_config_new(ctx, NULL, &settings, &config));
    assert_ok(ctx, gn_trainer_new(ctx, config, &t));
    assert_ok(ctx, gn_trainer_settle(t));
    for (int stage = 0; stage < t->stage_count; stage++) {
        t->at = (gn_position){.stage = stage};
        check_stage(t);
    }
    gn_trainer_close(t);
    gn_run_config_close(config);
    gn_settings_free(&settings);
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static void steps_leave_the_gradient_of_their_loss(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++) {
        check_method(gn_methods[i], NULL, NULL);
        check_method(gn_methods[i], "method.attributes", "unknown");
    }
}

static void variants_too(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++)
        for (size_t j = 0; j < gn_methods[i]->option_count; j++) {
            const gn_option *option = &gn_methods[i]->options[j];
            char key[64], word[64];
            if (option->type != GN_CHOICE)
                continue;
            snprintf(key, sizeof key, "method.%s", option->name);
            check_method(gn_methods[i], key, gn_choice_word(option->choices, 1, word, sizeof word));
        }
}

/* With two passes (random augmentation) the same law holds as with one coalesced pass. */
static void augmented_data_takes_two_passes(void **state)
{
    (void)state;
    const gn_method *gerne;
    assert_ok(NULL, gn_method_find(NULL, "gerne", &gerne));
    check_method(gerne, "data.augment", "flip");
}

static void dropout_too(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++)
        check_method(gn_methods[i], "model.dropout", "0.4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_leave_the_gradient_of_their_loss),
        cmocka_unit_test(variants_too),
        cmocka_unit_test(augmented_data_takes_two_passes),
        cmocka_unit_test(dropout_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
