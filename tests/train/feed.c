/* Batches by lists of samples, through the feed: which samples, labels, weights and pixels come. */
#include "testing.h"

#include <string.h>

#include "train/trainer.h"

enum { STEPS = 3 };

static const uint32_t first[STEPS][3] = {{3, 1, 4}, {1, 5, 9}, {2, 6, 5}};
static const uint32_t second[2] = {1, 0}; /* through the map below */
static const uint32_t map[2] = {77, 4};   /* -> samples 4, 77 */
static bool joined;

/* Two lists a step, the first one another in each step. */
static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    (void)run;
    plan->joined = joined;
    plan->batches[plan->count++] = (gn_request){.samples = first[k], .count = 3, .scale = -2};
    plan->batches[plan->count++] = (gn_request){.samples = second, .count = 2, .map = map};
    return GERNE_OK;
}

typedef struct fixture {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings settings;
    gn_run_config *config;
    gn_trainer *t;
    gn_method method;
    gn_feed *feed;
} fixture;

/* A run of ERM that is made to draw by the plan above. */
static fixture *open_feed(void)
{
    static const char *const pairs[][2] = {{"method.name", "erm"},   {"data.n", "400"},
                                           {"train.steps", "3"},     {"train.batch", "8"},
                                           {"model.arch", "linear"}, {"threads", "1"}};
    static fixture f;
    f = (fixture){.ctx = test_ctx()};
    assert_ok(f.ctx, gn_arena_new(f.ctx, &f.arena));
    f.settings.arena = f.arena;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_ok(f.ctx,
                  gn_settings_add(f.ctx, &f.settings, pairs[i][0], &pairs[i][1], 1, false, 0));
    assert_ok(f.ctx, gn_run_config_new(f.ctx, NULL, &f.settings, &f.config));
    assert_ok(f.ctx, gn_trainer_new(f.ctx, f.config, &f.t));
    assert_ok(f.ctx, gn_trainer_settle(f.t));
    assert_ok(f.ctx, gn_stage_enter(f.t));
    f.method = *f.t->run.method;
    f.method.plan = plan;
    f.t->stages[0].owner = &f.method;
    assert_ok(f.ctx, gn_feed_new(&f.t->run, f.t->input.data, f.t->input.samples[GN_TRAIN].items, 1,
                                 &f.feed));
    return &f;
}

static void close_feed(fixture *f)
{
    gn_feed_close(f->feed);
    gn_trainer_close(f->t);
    gn_run_config_close(f->config);
    gn_settings_free(&f->settings);
    gn_arena_close(f->arena);
    gerne_ctx_close(f->ctx);
}

static void check_batch(const fixture *f, const gn_minibatch *batch, size_t from,
                        const uint32_t *samples, size_t count, double weight)
{
    const gn_trainer *t = f->t;
    size_t bytes = t->input.data->dimension; /* of pixels, one each */
    for (size_t i = 0; i < count; i++) {
        uint32_t sample = samples[i], row = t->input.samples[GN_TRAIN].items[sample];
        assert_int_equal(batch->indices[from + i], sample);
        assert_int_equal(batch->samples.labels[from + i], t->run.y[sample]);
        assert_near(batch->samples.weights[from + i], weight, 1e-7);
        assert_memory_equal(batch->samples.fields[0][from + i],
                            gn_dataset_field(t->input.data, row, 0), bytes);
    }
}

static void lists_come_as_they_are(void **state)
{
    (void)state;
    fixture *f = open_feed();
    gn_minibatch *batches;
    joined = false;
    for (int64_t k = 0; k < STEPS; k++) {
        const uint32_t mapped[2] = {4, 77};
        assert_ok(f->ctx, gn_feed_next(f->feed, k, &batches));
        assert_int_equal(batches[0].samples.count, 3);
        assert_int_equal(batches[1].samples.count, 2);
        assert_null(batches[0].biased);
        assert_int_equal(batches[0].samples.step, k);
        assert_int_equal(batches[1].samples.place, 3);
        check_batch(f, &batches[0], 0, first[k], 3, -2.0 / 3);
        check_batch(f, &batches[1], 0, mapped, 2, 0.5);
    }
    close_feed(f);
}

static void joined_lists_are_one_batch(void **state)
{
    (void)state;
    joined = true;
    fixture *f = open_feed();
    const uint32_t mapped[2] = {4, 77};
    gn_minibatch *batches;
    assert_ok(f->ctx, gn_feed_next(f->feed, 0, &batches));
    assert_int_equal(batches[0].samples.count, 5);
    check_batch(f, &batches[0], 0, first[0], 3, -2.0 / 3);
    check_batch(f, &batches[0], 3, mapped, 2, 0.5);
    close_feed(f);
}

/* A pass over a list is the pass over its samples: losses and gradient do not ask how they came. */
static void a_pass_takes_them(void **state)
{
    (void)state;
    joined = false;
    fixture *f = open_feed();
    gn_minibatch *batches;
    float losses[3];
    assert_ok(f->ctx, gn_feed_next(f->feed, 0, &batches));
    assert_ok(f->ctx, gn_run_pass(&f->t->run, 0, &batches[0], NULL, false));
    memcpy(losses, batches[0].losses[0], sizeof losses);
    assert_ok(f->ctx, gn_run_pass(&f->t->run, 0, &batches[1], NULL, false));
    assert_near(batches[1].losses[0][0], losses[2], 1e-6); /* both are sample 4 */
    assert_true(losses[0] != losses[1]);
    close_feed(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_come_as_they_are),
        cmocka_unit_test(joined_lists_are_one_batch),
        cmocka_unit_test(a_pass_takes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
