/* Correct-n-contrast: the loss of a unit by hand and by differences, ten steps beside PyTorch's
 * (tests/golden/methods_groups.py made the files), and what is said when there is nothing to
 * contrast. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "golden.h"
#include "methods/cnc.h"
#include "train/trainer.h"

/* Cosines with the anchor (1, 0): positives 1 and 0, negatives -1 and 0; tau = 1.
 * L1 = log(e + 1 + 1/e + 1) - 1/2. Around the first positive (1, 0): anchors 1 and 0, easy
 * negatives 0 and 0: L2 = log(e + 1 + 1 + 1) - 1/2. All logits are equal: cross-entropy log 2. */
static void a_unit_by_hand(void **state)
{
    (void)state;
    const float features[8][2] = {{1, 0}, {0, 1}, {2, 0}, {0, 3}, {-1, 0}, {0, 1}, {0, 1}, {0, -2}};
    const float logits[8][2] = {{0}};
    const int32_t labels[8] = {0, 0, 0, 0, 1, 1, 1, 1};
    float weights[8], losses[8];
    for (int i = 0; i < 8; i++)
        weights[i] = 0.5f * 0.25f / 8;
    const gn_cnc_unit unit = {.m = 2,
                              .tau = 1,
                              .lambda = 0.75,
                              .scale = 0.5,
                              .labels = labels,
                              .weights = weights,
                              .scratch = (double[8]){0}};
    const gn_loss loss = gn_cnc_loss(&unit);
    const gn_loss_part part = {.count = 8,
                               .classes = 2,
                               .width = 2,
                               .logits = logits[0],
                               .features = features[0],
                               .losses = losses};
    double e = exp(1), first = log(e + 2 + 1 / e) - 0.5, second = log(e + 3) - 0.5;
    assert_true(loss.wants_features);
    assert_near(loss.evaluate(loss.terms, &part), 0.5 * (0.75 * (first + second) + 0.25 * log(2)),
                1e-6);
    assert_near(losses[3], log(2), 1e-6);
}

enum { M = 3, UNIT = 4 * M, WIDTH = 5 };

static double value_at(const gn_cnc_unit *unit, const float *features)
{
    float logits[UNIT * 2] = {0}, losses[UNIT];
    const gn_loss loss = gn_cnc_loss(unit);
    return loss.evaluate(loss.terms, &(gn_loss_part){.count = UNIT,
                                                     .classes = 2,
                                                     .width = WIDTH,
                                                     .logits = logits,
                                                     .features = features,
                                                     .losses = losses});
}

static void features_get_their_gradient(void **state)
{
    (void)state;
    float features[UNIT * WIDTH], weights[UNIT], gradient[UNIT * WIDTH] = {0};
    float logits[UNIT * 2] = {0}, logit_gradient[UNIT * 2];
    int32_t labels[UNIT];
    gn_stream stream = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < UNIT * WIDTH; i++)
        features[i] = (float)gn_random_normal(&stream);
    memset(features + 4 * WIDTH, 0, WIDTH * sizeof *features); /* one without a direction */
    for (int i = 0; i < UNIT; i++) {
        weights[i] = 0.25f / UNIT;
        labels[i] = i % 2;
    }
    const gn_cnc_unit unit = {.m = M,
                              .tau = 0.5,
                              .lambda = 0.75,
                              .scale = 1,
                              .labels = labels,
                              .weights = weights,
                              .scratch = (double[UNIT]){0}};
    const gn_loss loss = gn_cnc_loss(&unit);
    loss.evaluate(loss.terms, &(gn_loss_part){.count = UNIT,
                                              .classes = 2,
                                              .width = WIDTH,
                                              .logits = logits,
                                              .features = features,
                                              .logit_gradient = logit_gradient,
                                              .feature_gradient = gradient});
    for (int i = 0; i < UNIT * WIDTH; i++) {
        const float step = 1e-2f;
        float here = features[i];
        if (i / WIDTH == 4) {
            assert_near(gradient[i], 0, 0);
            continue;
        }
        features[i] = here + step;
        double up = value_at(&unit, features);
        features[i] = here - step;
        double down = value_at(&unit, features);
        features[i] = here;
        assert_near(gradient[i], (up - down) / (2 * (double)step), 2e-3);
    }
}

/* Slices are the attributes of the golden samples. */
static void leave_slices(gn_run *run)
{
    float *slices;
    assert_ok(run->ctx, gn_run_table(run, "cnc", 0, 0, &slices));
    for (uint32_t s = 0; s < run->n; s++)
        slices[s] = (float)golden_attribute(s);
}

static void ten_steps_are_those_of_pytorch(void **state)
{
    (void)state;
    const golden_case cases[] = {
        {"cnc", "cnc", 1, {"loss"}, {{"method.m", "3"}, {"method.tau", "0.5"}}},
        {"cnc-units", "cnc", 1, {"loss"}, {{"method.m", "1"}, {"method.lambda", "0.4"}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        golden_check_after(&cases[i], false, leave_slices);
}

/* ---- units of a run ---- */

typedef struct fixture {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings settings;
    gn_run_config *config;
    gn_trainer *t;
} fixture;

/* The second stage after a first model that predicts (y + shift of the sample) mod classes. */
static gerne_status open_main(fixture *f, int (*shift)(int32_t y, size_t sample))
{
    const char *const pairs[][2] = {{"method.name", "cnc"}, {"data.n", "400"},
                                    {"threads", "1"},       {"train.batch", "80"},
                                    {"method.m", "5"},      {"train.steps", "3"}};
    float *slices;
    *f = (fixture){.ctx = test_ctx()};
    assert_ok(f->ctx, gn_arena_new(f->ctx, &f->arena));
    f->settings.arena = f->arena;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_ok(f->ctx,
                  gn_settings_add(f->ctx, &f->settings, pairs[i][0], &pairs[i][1], 1, false, 0));
    assert_ok(f->ctx, gn_run_config_new(f->ctx, NULL, &f->settings, &f->config));
    assert_ok(f->ctx, gn_trainer_new(f->ctx, f->config, &f->t));
    assert_ok(f->ctx, gn_trainer_settle(f->t));
    assert_ok(f->ctx, gn_stage_enter(f->t));
    gn_run *run = &f->t->run;
    assert_ok(f->ctx, gn_run_table(run, "cnc", 0, 0, &slices));
    for (size_t i = 0; i < run->n; i++)
        slices[i] = (float)((run->y[i] + shift(run->y[i], i)) % (int)run->classes);
    gn_stage_leave(f->t);
    f->t->at = (gn_position){.stage = 1};
    return gn_stage_enter(f->t);
}

static void close_main(fixture *f)
{
    gn_trainer_close(f->t);
    gn_run_config_close(f->config);
    gn_settings_free(&f->settings);
    gn_arena_close(f->arena);
    gerne_ctx_close(f->ctx);
}

static int every_seventh(int32_t y, size_t sample)
{
    (void)y;
    return sample % 7 == 0 ? 1 + (int)(sample / 7) % 3 : 0;
}

static int never_class_1(int32_t y, size_t sample)
{
    return y == 1 ? 0 : every_seventh(y, sample);
}

/* Anchors and positives are of one class, and so on; samples of a role differ; four units fit. */
static void units_are_made_of_slices(void **state)
{
    (void)state;
    fixture f;
    gn_minibatch *batches;
    gerne_status status = open_main(&f, every_seventh);
    assert_ok(f.ctx, status);
    float *slices;
    assert_ok(f.ctx, gn_run_table(&f.t->run, "cnc", 0, 0, &slices));
    assert_ok(f.ctx, gn_feed_next(f.t->now.feed, 0, &batches));
    assert_int_equal(batches->samples.count, 80);
    for (int u = 0; u < 4; u++) {
        const uint32_t *unit = batches->indices + 20 * u;
        int easy = (int)slices[unit[5]];
        for (int i = 0; i < 5; i++) {
            const int32_t *y = f.t->run.y;
            assert_int_equal(y[unit[i]], u);
            assert_int_equal((int)slices[unit[i]], u);
            assert_int_equal(y[unit[5 + i]], u);
            assert_int_not_equal((int)slices[unit[5 + i]], u);
            assert_int_not_equal(y[unit[10 + i]], u);
            assert_int_equal((int)slices[unit[10 + i]], u);
            assert_int_equal(y[unit[15 + i]], easy);
            assert_int_equal((int)slices[unit[15 + i]], easy);
            for (int j = 0; j < i; j++)
                assert_int_not_equal(unit[i], unit[j]);
        }
    }
    close_main(&f);
}

static void a_class_without_errors_is_refused(void **state)
{
    (void)state;
    fixture f;
    gerne_status status = open_main(&f, never_class_1);
    assert_fails(f.ctx, GERNE_ENOTHING, "cnc: no shortcut found in class", status);
    assert_non_null(strstr(gerne_message(f.ctx), "right on all of its samples"));
    assert_non_null(strstr(gerne_hint(f.ctx), "--method.first_epochs"));
    close_main(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_by_hand),
        cmocka_unit_test(features_get_their_gradient),
        cmocka_unit_test(ten_steps_are_those_of_pytorch),
        cmocka_unit_test(units_are_made_of_slices),
        cmocka_unit_test(a_class_without_errors_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
