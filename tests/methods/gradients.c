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
#include "methods/list.h"
#include "train/trainer.h"

/* What a failure is about, for the message. */
static struct {
    const char *method, *key, *value, *stage;
    int pass;
} now;

/* Fails with the method's name unless the call is GERNE_OK. */
static void must(gerne_ctx *ctx, gerne_status status)
{
    if (status != GERNE_OK)
        fail_msg("method %s, %s %s, stage %s: %s", now.method, now.key ? now.key : "defaults",
                 now.value ? now.value : "", now.stage, gerne_message(ctx));
}

static bool checking;      /* else passes are only made */
static double asked;       /* sum of the values that passes of network 0 had */
static bool some_gradient; /* a step that asks for nothing proves nothing */

/* A number and what it is differentiated by: parameters of a network, or features. */
typedef struct objective {
    gn_run *run;
    gn_network *network;
    const gn_minibatch *batch;
    const gn_loss *loss;
    const float *upstream; /* a body alone: the gradient of its features */
    float *features;       /* a head alone: what it is given */
    size_t count;          /* rows of both */
    float *values;         /* of the variables */
    size_t size;
    double (*value)(const struct objective *o);
} objective;

static double value_of_pass(const objective *o)
{
    gerne_ctx *ctx = o->run->ctx;
    float *losses;
    double value;
    bool drops = gn_network_options(o->network)->dropout > 0;
    assert_ok(ctx, gn_alloc(ctx, o->batch->samples.count, sizeof(float), "losses", &losses));
    assert_ok(ctx, gn_pass_forward(ctx, o->network, drops ? GN_MODE_TRAIN : GN_MODE_INFER,
                                   &o->batch->samples, o->loss,
                                   &(gn_outcome){.losses = losses, .value = &value}));
    gn_free(losses);
    return value;
}

static double value_of_head(const objective *o)
{
    gerne_ctx *ctx = o->run->ctx;
    float *losses;
    assert_ok(ctx, gn_alloc(ctx, o->count, sizeof(float), "losses", &losses));
    assert_ok(ctx, gn_head_forward_rows(ctx, o->network, o->features, o->count));
    const gn_loss_part part = {.count = o->count,
                               .classes = o->run->classes,
                               .logits = gn_logits(o->network),
                               .losses = losses};
    double value = o->loss->evaluate(o->loss->terms, &part);
    gn_free(losses);
    return value;
}

static double value_of_body(const objective *o)
{
    double value = 0;
    size_t size = o->count * (size_t)gn_network_feature_count(o->network);
    assert_ok(o->run->ctx, gn_pass_part(o->run->ctx, o->network, &o->batch->samples, 0,
                                        o->batch->samples.count, true));
    for (size_t i = 0; i < size; i++)
        value += (double)o->upstream[i] * (double)gn_features(o->network)[i];
    return value;
}

/* The derivative along a direction of length 1, by central differences and by the gradient. */
static void check_direction(const objective *o, const double *gradient, const double *direction)
{
    const double step = 2e-3;
    double slope = 0, ends[2];
    float *start;
    assert_ok(o->run->ctx, gn_alloc(o->run->ctx, o->size, sizeof(float), "variables", &start));
    memcpy(start, o->values, o->size * sizeof(float));
    for (size_t i = 0; i < o->size; i++)
        slope += gradient[i] * direction[i];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < o->size; i++)
            o->values[i] = start[i] + (float)((side ? step : -step) * direction[i]);
        ends[side] = o->value(o);
    }
    memcpy(o->values, start, o->size * sizeof(float));
    gn_free(start);
    double numeric = (ends[1] - ends[0]) / (2 * step);
    if (!(fabs(numeric - slope) <= 5e-3 * fmax(1, fabs(slope))))
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

/* Leaves the network's outputs as they were. */
static void check_objective(const objective *o, const double *gradient)
{
    gn_stream stream = gn_stream_at(3, GN_RNG_TEST, 0, 0);
    double *direction;
    assert_ok(o->run->ctx,
              gn_alloc(o->run->ctx, o->size, sizeof *direction, "a direction", &direction));
    memcpy(direction, gradient, o->size * sizeof *direction);
    if (normalize(direction, o->size) > 1e-6) {
        some_gradient = true;
        check_direction(o, gradient, direction);
    }
    for (size_t i = 0; i < o->size; i++)
        /* Padding between parameters has no gradient and must stay zero. */
        direction[i] = o->values[i] != 0 ? gn_random_normal(&stream) : 0;
    normalize(direction, o->size);
    check_direction(o, gradient, direction);
    gn_free(direction);
    (void)o->value(o);
}

/* What a call is about to add to gradients: call it before and after. */
static void subtract_present(const gn_block *block, bool accumulate, double *added)
{
    for (size_t j = 0; j < block->size; j++)
        added[j] = accumulate ? -(double)block->gradients[j] : 0;
}

static void add_present(const gn_block *block, double *added)
{
    for (size_t j = 0; j < block->size; j++)
        added[j] += (double)block->gradients[j];
}

typedef gerne_status pass_fn(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                             bool accumulate);

static gerne_status checked(pass_fn *real, gn_run *run, int i, gn_minibatch *batch,
                            const gn_loss *loss, bool accumulate)
{
    if (!checking)
        return real(run, i, batch, loss, accumulate);
    gn_network *network = gn_run_network(run, i);
    gn_block block = gn_network_trained(network); /* a frozen body has no gradient */
    const objective o = {.run = run,
                         .network = network,
                         .batch = batch,
                         .loss = loss,
                         .values = block.values,
                         .size = block.size,
                         .value = value_of_pass};
    double *gradient;
    assert_ok(run->ctx, gn_alloc(run->ctx, block.size, sizeof *gradient, "a gradient", &gradient));
    subtract_present(&block, accumulate, gradient);
    now.pass++;
    GN_TRY(real(run, i, batch, loss, accumulate));
    add_present(&block, gradient);
    check_objective(&o, gradient);
    if (i == 0)
        asked += value_of_pass(&o);
    gn_free(gradient);
    return GERNE_OK;
}

/* ---- body and head apart ---- */

/* What the last forward calls were given. */
static const gn_minibatch *in_body[GN_NETWORKS_MAX];
static float *in_head[GN_NETWORKS_MAX]; /* copies */
static float *kept; /* what the last backward call gave, out of the reach of further passes */

__typeof__(gn_run_body_forward) __real_gn_run_body_forward, __wrap_gn_run_body_forward;
__typeof__(gn_run_body_backward) __real_gn_run_body_backward, __wrap_gn_run_body_backward;
__typeof__(gn_run_head_forward) __real_gn_run_head_forward, __wrap_gn_run_head_forward;
__typeof__(gn_run_head_backward) __real_gn_run_head_backward, __wrap_gn_run_head_backward;

gerne_status __wrap_gn_run_body_forward(gn_run *run, int i, gn_minibatch *batch,
                                        const float **features)
{
    in_body[i] = batch;
    return __real_gn_run_body_forward(run, i, batch, features);
}

gerne_status __wrap_gn_run_head_forward(gn_run *run, int i, const float *features, size_t count,
                                        const float **logits)
{
    size_t size = count * gn_run_width(run, i);
    gn_free(in_head[i]);
    assert_ok(run->ctx, gn_alloc(run->ctx, size, sizeof(float), "features", &in_head[i]));
    memcpy(in_head[i], features, size * sizeof(float));
    return __real_gn_run_head_forward(run, i, features, count, logits);
}

/* By its parameters, and by the features where a body wants that gradient. */
gerne_status __wrap_gn_run_head_backward(gn_run *run, int i, const gn_loss *loss, size_t count,
                                         bool accumulate, float *losses, const float **upstream)
{
    if (!checking)
        return __real_gn_run_head_backward(run, i, loss, count, accumulate, losses, upstream);
    gn_network *network = gn_run_network(run, i);
    gn_block block = gn_store_part(gn_network_store(network), GN_HEAD);
    size_t numbers = count * gn_run_width(run, i);
    objective o = {.run = run,
                   .network = network,
                   .loss = loss,
                   .features = in_head[i],
                   .count = count,
                   .values = block.values,
                   .size = block.size,
                   .value = value_of_head};
    double *gradient;
    size_t largest = numbers > block.size ? numbers : block.size;
    assert_ok(run->ctx, gn_alloc(run->ctx, largest, sizeof *gradient, "a gradient", &gradient));
    gn_free(kept);
    assert_ok(run->ctx, gn_alloc(run->ctx, numbers, sizeof *kept, "a gradient", &kept));
    subtract_present(&block, accumulate, gradient);
    now.pass++;
    GN_TRY(__real_gn_run_head_backward(run, i, loss, count, accumulate, losses, upstream));
    add_present(&block, gradient);
    if (*upstream)
        memcpy(kept, *upstream, numbers * sizeof *kept);
    check_objective(&o, gradient);
    if (*upstream) {
        for (size_t j = 0; j < numbers; j++)
            gradient[j] = (double)kept[j];
        o.values = o.features;
        o.size = numbers;
        check_objective(&o, gradient);
        *upstream = kept;
    }
    if (i == 0)
        asked += value_of_head(&o);
    gn_free(gradient);
    return GERNE_OK;
}

gerne_status __wrap_gn_run_body_backward(gn_run *run, int i, const float *upstream, size_t count,
                                         bool accumulate)
{
    gn_network *network = gn_run_network(run, i);
    gn_block block = gn_store_part(gn_network_store(network), GN_BODY);
    if (!checking || block.size == 0) /* a linear network has no body */
        return __real_gn_run_body_backward(run, i, upstream, count, accumulate);
    const objective o = {.run = run,
                         .network = network,
                         .batch = in_body[i],
                         .upstream = upstream,
                         .count = count,
                         .values = block.values,
                         .size = block.size,
                         .value = value_of_body};
    double *gradient;
    assert_ok(run->ctx, gn_alloc(run->ctx, block.size, sizeof *gradient, "a gradient", &gradient));
    subtract_present(&block, accumulate, gradient);
    now.pass++;
    GN_TRY(__real_gn_run_body_backward(run, i, upstream, count, accumulate));
    add_present(&block, gradient);
    check_objective(&o, gradient);
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
    must(t->run.ctx, gn_feed_next(t->now.feed, t->at.step, &batches));
    asked = 0;
    some_gradient = false;
    now.pass = 0;
    must(t->run.ctx, t->run.stage->owner->step(&t->run, t->at.step, batches));
    bool fits = checking && without_samples(t);
    t->at.step++;
    assert_true(isfinite(t->now.step_loss));
    if (!checking || fits)
        return;
    if (now.pass == 0)
        fail_msg("method %s, stage %s: a step without a pass", now.method, now.stage);
    if (!some_gradient)
        fail_msg("method %s, stage %s: no gradient", now.method, now.stage);
    if (!(fabs(asked - t->now.step_loss) <= 1e-4))
        fail_msg("method %s, stage %s: the passes' losses are %g, the method logs %g", now.method,
                 now.stage, asked, t->now.step_loss);
}

/* The first step is checked; the others train, so that the stage leaves what the next one needs. */
static void check_stage(gn_trainer *t)
{
    now.stage = t->stages[t->at.stage].name;
    must(t->run.ctx, gn_stage_enter(t));
    const gn_method *owner = t->run.stage->owner;
    bool last = t->run.stage_index == t->stage_count - 1;
    for (checking = true; t->at.step < (last ? 1 : t->run.steps); checking = false)
        check_step(t);
    if (!last) {
        assert_ok(t->run.ctx, gn_stage_bequeath(t));
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
    now.stage = "none";
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    bool soft = key && strcmp(key, "method.membership") == 0; /* needs posteriors */
    bool estimates = soft || (key && strcmp(key, "method.estimator") == 0);
    bool budget =
        estimates ? strcmp(value, "biased") != 0 : method->attributes == GN_ATTRIBUTES_ESTIMATED;
    const char *const flags[][2] = {
        {"method.name", method->name},
        {"train.lr", "0.003"},
        {"train.optimizer", "adam"},
        {"data.n", "400"},
        {"model.arch", "linear"},
        {"threads", "1"},
        {"train.steps", "100"},
        {"train.per_class", "10"},
        {"data.ratio", "0.1"},
        {key, value},
        {estimates ? "method.attributes" : NULL, "unknown"},
        {soft ? "method.estimator" : NULL, "crossfit"},
        {budget ? "method.estimator_epochs" : NULL, "10"},
    };
    gn_settings settings = {.arena = arena};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i][0] && (flags[i][0] == key || !key || strcmp(flags[i][0], key) != 0))
            assert_ok(ctx, gn_settings_add(ctx, &settings, flags[i][0], &flags[i][1], 1, false, 0));
    gn_run_config *config;
    gn_trainer *t;
    must(ctx, gn_run_config_new(ctx, NULL, &settings, &config));
    must(ctx, gn_trainer_new(ctx, config, &t));
    must(ctx, gn_trainer_settle(t));
    for (int stage = 0; stage < t->stage_count; stage++) {
        t->at = (gn_position){.stage = stage};
        check_stage(t);
    }
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        gn_free(in_head[i]);
        in_head[i] = NULL;
    }
    gn_free(kept);
    kept = NULL;
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

/* Methods that use groups take those of any estimator (one without a plan takes its own from
 * elsewhere). */
static void groups_come_from_every_estimator(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++)
        for (size_t j = 0; gn_estimators[j]; j++)
            if (gn_methods[i]->attributes == GN_ATTRIBUTES_GROUPS && gn_estimators[j]->plan)
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

/* Bodies with layers of their own, so that gradients have to get there. */
static void bodies_too(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++)
        check_method(gn_methods[i], "model.arch", "mlp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_leave_the_gradient_of_their_loss),
        cmocka_unit_test(variants_too),
        cmocka_unit_test(groups_come_from_every_estimator),
        cmocka_unit_test(augmented_data_takes_two_passes),
        cmocka_unit_test(dropout_too),
        cmocka_unit_test(bodies_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
