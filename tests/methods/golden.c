#include "golden.h"

#include "golden_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/weights.h"
#include "train/trainer.h"

enum { STEPS = 10, SAMPLES = 60, CLASSES = 4, BATCH = 12, SIDE = 8, NUMBERS = SIDE * SIDE * 3 };

/* ---- what both sides make from formulas ---- */

static uint8_t pictures[SAMPLES][NUMBERS];

static int32_t label(uint32_t s, bool skewed)
{
    return skewed && s % 7 < 3 ? 0 : (int32_t)((7 * s + s / 5) % CLASSES);
}

/* Most samples have the attribute that their class has too. */
static int32_t attribute(uint32_t s, bool skewed)
{
    return s % 3 < 2 ? label(s, skewed) : (int32_t)((3 * s + 1) % CLASSES);
}

int32_t golden_attribute(uint32_t sample)
{
    return attribute(sample, false);
}

/* They take the place of the run's own. */
static void make_samples(gn_trainer *t, bool skewed)
{
    int32_t attributes[SAMPLES];
    for (uint32_t s = 0; s < SAMPLES; s++) {
        t->input.y[s] = label(s, skewed);
        attributes[s] = attribute(s, skewed);
        for (uint32_t j = 0; j < NUMBERS; j++)
            pictures[s][j] = (uint8_t)floor(((double)golden_value(7000 + s, j) + 1) * 128);
    }
    const gn_grouping grouping = {.a = attributes, .attributes = CLASSES};
    assert_ok(t->run.ctx, gn_run_regroup(&t->run, &grouping));
}

static void fill_network(gerne_ctx *ctx, gn_store *store, int network)
{
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        float values[NUMBERS * 16];
        char name[GN_NAME_MAX + 16];
        assert_true(p->size <= NUMBERS * 16);
        snprintf(name, sizeof name, "%d.%s", network, p->name);
        float scale = p->ndims == 1 ? 0.1f : (float)sqrt(3.0 / (double)p->dims[1]);
        for (int64_t j = 0; j < p->size; j++)
            values[j] = scale * golden_value(golden_name_seed(name), (uint64_t)j);
        assert_ok(ctx, gn_store_set(ctx, store, i, values));
    }
}

/* The samples of step k take the place of those that the run has drawn. */
static void replace_batch(gn_trainer *t, int64_t k, gn_minibatch *batch)
{
    static uint32_t indices[BATCH];
    static int32_t labels[BATCH];
    static const void *sources[BATCH];
    assert_int_equal(batch->samples.count, BATCH);
    for (uint32_t i = 0; i < BATCH; i++) {
        indices[i] = ((uint32_t)k * BATCH + 7 * i) % SAMPLES;
        labels[i] = t->input.y[indices[i]];
        sources[i] = pictures[indices[i]];
    }
    batch->indices = indices;
    batch->samples.labels = labels;
    batch->samples.fields[0] = sources;
    for (int c = 0; c < GN_CHANNELS; c++) {
        batch->samples.scale[c] = 1.0f / 255;
        batch->samples.shift[c] = 0;
    }
}

/* ---- running ---- */

static gn_run_config *configure(gerne_ctx *ctx, gn_arena *arena, const golden_case *c)
{
    const char *const common[][2] = {
        {"method.name", c->method}, {"data.n", "60"},         {"data.size", "8"},
        {"train.batch", "12"},      {"model.hidden", "10,6"}, {"train.optimizer", "adam"},
        {"train.lr", "0.01"},       {"train.steps", "10"},    {"seed", "5"},
        {"threads", "1"},
    };
    gn_settings settings = {.arena = arena};
    gn_run_config *config;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        assert_ok(ctx, gn_settings_add(ctx, &settings, common[i][0], &common[i][1], 1, false, 0));
    for (size_t i = 0; i < 8 && c->flags[i][0]; i++)
        assert_ok(ctx,
                  gn_settings_add(ctx, &settings, c->flags[i][0], &c->flags[i][1], 1, false, 0));
    assert_ok(ctx, gn_run_config_new(ctx, NULL, &settings, &config));
    gn_settings_free(&settings);
    return config;
}

static double logged(gn_trainer *t, const char *name)
{
    for (int i = 0; i < GN_FIGURES_MAX; i++)
        if (strcmp(t->at.figures[i].name, name) == 0)
            return t->at.figures[i].sum / (double)t->at.figures[i].count;
    fail_msg("the method does not log '%s'", name);
    return 0;
}

static void compare(gn_trainer *t, const golden_case *c, const gn_weights *golden, int64_t k)
{
    for (int f = 0; f < 2 && c->figures[f]; f++) {
        float theirs[STEPS];
        const gn_weight *w = gn_weights_find(golden, c->figures[f]);
        assert_non_null(w);
        assert_int_equal(w->count, STEPS);
        assert_ok(t->run.ctx, gn_weight_to_f32(t->run.ctx, w, 0, theirs));
        double ours = logged(t, c->figures[f]);
        if (!(fabs(ours - (double)theirs[k]) <= 1e-4 * fabs((double)theirs[k])))
            fail_msg("%s, step %d: %s is %.7f, PyTorch's %.7f", c->file, (int)k + 1, c->figures[f],
                     ours, (double)theirs[k]);
    }
}

/* A stage that starts from another's weights finds some. */
static void enter(gn_trainer *t, int stage, void (*leave)(gn_run *run))
{
    for (; t->at.stage < stage; t->at.stage++) {
        assert_ok(t->run.ctx, gn_stage_enter(t));
        if (leave)
            leave(&t->run);
        assert_ok(t->run.ctx, gn_stage_bequeath(t));
        gn_stage_leave(t);
    }
    assert_ok(t->run.ctx, gn_stage_enter(t));
}

void golden_check(const golden_case *c, bool skewed)
{
    golden_check_after(c, skewed, NULL);
}

void golden_check_after(const golden_case *c, bool skewed, void (*leave)(gn_run *run))
{
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    gn_trainer *t;
    gn_weights *golden;
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/methods/%s.safetensors", GERNE_SOURCE_DIR,
             c->file);
    assert_ok(ctx, gn_weights_open(ctx, path, &golden));
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    gn_run_config *config = configure(ctx, arena, c);
    assert_ok(ctx, gn_trainer_new(ctx, config, &t));
    assert_ok(ctx, gn_trainer_settle(t));
    assert_int_equal(t->run.n, SAMPLES);
    assert_int_equal(t->run.classes, CLASSES);
    make_samples(t, skewed);
    enter(t, c->stage, leave);
    for (int i = 0; i < t->run.stage->networks; i++)
        fill_network(ctx, gn_network_store(t->now.networks[i]), i);
    for (int64_t k = 0; k < STEPS; k++) {
        gn_minibatch *batches;
        assert_ok(ctx, gn_feed_next(t->now.feed, k, &batches));
        replace_batch(t, k, batches);
        memset(t->at.figures, 0, sizeof t->at.figures);
        assert_ok(ctx, t->run.method->step(&t->run, k, batches));
        compare(t, c, golden, k);
        t->at.step++;
    }
    gn_trainer_close(t);
    gn_run_config_close(config);
    gn_arena_close(arena);
    gn_weights_close(golden);
    gerne_ctx_close(ctx);
}
