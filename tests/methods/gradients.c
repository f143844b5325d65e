/* Every method and estimator of the lists, in every stage: what each pass adds to the gradient is
 * the gradient of the loss that the method asked for, whatever that loss is, and the losses of
 * network 0 add up to the figure that the method logs. Terms of a loss are constants: they are
 * those of the very pass.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "train/trainer.h"

/* What a failure is about, for the message. */
static struct {
    const char *method, *key, *value, *stage;
    int pass;
} now;

static bool checking; /* else passes are only made */
static double asked;  /* sum of the values that passes of network 0 had */

static double value_of(gn_run *run, gn_network *network, const gn_minibatch *batch,
                       const gn_loss *loss)
{
    float *losses;
    double value;
    bool drops = gn_network_options(network)->dropout > 0;
    assert_ok(run->ctx, gn_alloc(run->ctx, batch->samples.count, sizeof(float), "losses", &losses));
    assert_ok(run->ctx, gn_pass_forward(run->ctx, network, drops ? GN_MODE_TRAIN : GN_MODE_INFER,
                                        &batch->samples, loss,
                                        &(gn_outcome){.losses = losses, .value = &value}));
    gn_free(losses);
    return value;
}

/* The derivative along a direction of length 1, by central differences and by the gradient. */
static void check_direction(gn_run *run, gn_network *network, const gn_minibatch *batch,
                            const gn_loss *loss, const double *gradient, const double *direction)
{
    gn_block block = gn_store_block(gn_network_store(network));
    const double step = 2e-3;
    double slope = 0, ends[2];
    float *start;
    assert_ok(run->ctx, gn_alloc(run->ctx, block.size, sizeof(float), "parameters", &start));
    memcpy(start, block.values, block.size * sizeof(float));
    for (size_t i = 0; i < block.size; i++)
        slope += gradient[i] * direction[i];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < block.size; i++)
            block.values[i] = start[i] + (float)((side ? step : -step) * direction[i]);
        ends[side] = value_of(run, network, batch, loss);
    }
    memcpy(block.values, start, block.size * sizeof(float));
    gn_free(start);
    double numeric = (ends[1] - ends[0]) / (2 * step);
    if (!(fabs(numeric - slope) <= 5e-3))
        fail_msg("method %s, %s %s, stage %s, pass %d: slope %g by differences, %g by the gradient",
                 now.method, now.key ? now.key : "defaults", now.value ? now.value : "", now.stage,
                 now.pass, numeric, slope);
}

static double normalize(double *direction, size_t size)
{
    double length = 0;
    for (size_t i = 0; i < size; i++)
        length += direction[i] * direction[i];
    for (size_t i = 0; i < size && length > 0; i++)
        direction[i] /= sqrt(length);
    return sqrt(length);
}

/* gradient: what the pass has added. */
static void check_pass(gn_run *run, gn_network *network, const gn_minibatch *batch,
                       const gn_loss *loss, const double *gradient)
{
    gn_block block = gn_store_block(gn_network_store(network));
    gn_stream stream = gn_stream_at(3, GN_RNG_TEST, 0, 0);
    double *direction;
    assert_ok(run->ctx,
              gn_alloc(run->ctx, block.size, sizeof *direction, "a direction", &direction));
    memcpy(direction, gradient, block.size * sizeof *direction);
    if (!(normalize(direction, block.size) >
          1e-6)) /* a pass that asks for nothing proves nothing */
        fail_msg("method %s, stage %s, pass %d: no gradient", now.method, now.stage, now.pass);
    check_direction(run, network, batch, loss, gradient, direction);
    for (size_t i = 0; i < block.size; i++)
        /* Padding between parameters has no gradient and must stay zero. */
        direction[i] = block.values[i] != 0 ? gn_random_normal(&stream) : 0;
    normalize(direction, block.size);
    check_direction(run, network, batch, loss, gradient, direction);
    gn_free(direction);
}

typedef gerne_status pass_fn(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                             bool accumulate);

static gerne_status checked(pass_fn *real, gn_run *run, int i, gn_minibatch *batch,
                            const gn_loss *loss, bool accumulate)
{
    if (!checking)
        return real(run, i, batch, loss, accumulate);
    gn_network *network = gn_run_network(run, i);
    gn_block block = gn_store_block(gn_network_store(network));
    double *gradient;
    assert_ok(run->ctx, gn_alloc(run->ctx, block.size, sizeof *gradient, "a gradient", &gradient));
    for (size_t j = 0; accumulate && j < block.size; j++)
        gradient[j] = -(double)block.gradients[j];
    now.pass++;
    GN_TRY(real(run, i, batch, loss, accumulate));
    for (size_t j = 0; j < block.size; j++)
        gradient[j] += (double)block.gradients[j];
    check_pass(run, network, batch, loss, gradient);
    if (i == 0)
        asked += value_of(run, network, batch, loss);
    gn_free(gradient);
    return GERNE_OK;
}

/* The linker sends the methods' calls here (--wrap). */
pass_fn __real_gn_run_pass, __wrap_gn_run_pass, __real_gn_run_backward, __wrap_gn_run_backward;

gerne_status __wrap_gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                                bool accumulate)
{
    return checked(__real_gn_run_pass, run, i, batch, loss, accumulate);
}

gerne_status __wrap_gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                                    bool accumulate)
{
    return checked(__real_gn_run_backward, run, i, batch, loss, accumulate);
}

/* Steps without samples fit a head to features: their own tests check that objective. */
static bool without_samples(gn_trainer *t)
{
    gn_plan plan = {0};
    assert_ok(t->run.ctx, t->run.stage->owner->plan(&t->run, t->at.step, &plan));
    return plan.count == 0;
}

static void check_step(gn_trainer *t)
{
    gn_minibatch *batches;
    assert_ok(t->run.ctx, gn_feed_next(t->now.feed, t->at.step, &batches));
    asked = 0;
    now.pass = 0;
    assert_ok(t->run.ctx, t->run.stage->owner->step(&t->run, t->at.step, batches));
    bool fits = checking && without_samples(t);
    t->at.step++;
    assert_true(isfinite(t->now.step_loss));
    if (!checking || fits)
        return;
    assert_true(now.pass > 0);
    if (!(fabs(asked - t->now.step_loss) <= 1e-4))
        fail_msg("method %s, stage %s: the passes' losses are %g, the method logs %g", now.method,
                 now.stage, asked, t->now.step_loss);
}

/* The first step is checked; the others train, so that the stage leaves what the next one needs. */
static void check_stage(gn_trainer *t)
{
    assert_ok(t->run.ctx, gn_stage_enter(t));
    now.stage = t->run.stage->name;
    const gn_method *owner = t->run.stage->owner;
    bool last = t->run.stage_index == t->stage_count - 1;
    for (checking = true; t->at.step < (last ? 1 : t->run.steps); checking = false)
        check_step(t);
    if (!last) {
        assert_ok(t->run.ctx, gn_plain_weights_take(t->run.ctx, t->now.networks[0], &t->inherited));
        if (owner->finish)
            assert_ok(t->run.ctx, owner->finish(&t->run));
    }
    gn_stage_leave(t);
}

/* A linear network has no kinks. */
static void check_method(const gn_method *method, const char *key, const char *value)
{
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    now.method = method->name;
    now.key = key;
    now.value = value;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    bool estimates = key && strcmp(key, "method.estimator") == 0;
    const char *const flags[][2] = {
        {"method.name", method->name},
        {"train.lr", "0.01"},
        {"data.n", "400"},
        {"model.arch", "linear"},
        {"threads", "1"},
        {"train.steps", "100"},
        {"train.per_class", "10"},
        {"data.ratio", "0.1"},
        {key, value},
        {estimates ? "method.attributes" : NULL, "unknown"},
        {estimates && strcmp(value, "biased") != 0 ? "method.estimator_epochs" : NULL, "10"},
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

/* Methods that use groups take those of any estimator. */
static void groups_come_from_every_estimator(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++)
        for (size_t j = 0; gn_estimators[j]; j++)
            if (gn_methods[i]->attributes == GN_ATTRIBUTES_GROUPS)
                check_method(gn_methods[i], "method.estimator", gn_estimators[j]->name);
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
        cmocka_unit_test(groups_come_from_every_estimator),
        cmocka_unit_test(augmented_data_takes_two_passes),
        cmocka_unit_test(dropout_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
