/* Runs with model.dropout: two passes instead of one, any micro-batch, a frozen body, and going on
 * after an interrupt. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "train/train.h"
#include "train/trainer.h"

enum { STEPS = 5 };

typedef struct fixture {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings settings;
    gn_run_config *config;
    gn_trainer *t;
} fixture;

static void set(fixture *f, const char *key, const char *value)
{
    assert_ok(f->ctx, gn_settings_add(f->ctx, &f->settings, key, &value, 1, false, 0));
}

/* more: key, value, ..., NULL */
static void configure(fixture *f, const char *dropout, const char *const *more)
{
    *f = (fixture){.ctx = test_ctx()};
    assert_ok(f->ctx, gn_arena_new(f->ctx, &f->arena));
    f->settings.arena = f->arena;
    set(f, "data.n", "400");
    set(f, "train.steps", "5");
    set(f, "train.per_class", "9");
    set(f, "train.lr", "0.1");
    set(f, "model.hidden", "16");
    set(f, "threads", "1");
    set(f, "model.dropout", dropout);
    for (; *more; more += 2)
        set(f, more[0], more[1]);
    assert_ok(f->ctx, gn_run_config_new(f->ctx, NULL, &f->settings, &f->config));
}

static void enter(fixture *f)
{
    assert_ok(f->ctx, gn_trainer_new(f->ctx, f->config, &f->t));
    assert_ok(f->ctx, gn_trainer_settle(f->t));
    assert_ok(f->ctx, gn_stage_enter(f->t));
}

static void close_run(fixture *f)
{
    gn_trainer_close(f->t);
    gn_run_config_close(f->config);
    gn_settings_free(&f->settings);
    gn_arena_close(f->arena);
    gerne_ctx_close(f->ctx);
}

static void two_passes_where_masks_differ(void **state)
{
    (void)state;
    static const char *const none[] = {NULL}, *const biased[] = {"method.beta", "-1", NULL};
    static const struct {
        const char *dropout;
        const char *const *more;
        size_t batches;
    } cases[] = {{"0", none, 1}, {"0.3", none, 2}, {"0.3", biased, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        gn_plan plan = {0};
        configure(&f, cases[i].dropout, cases[i].more);
        enter(&f);
        assert_ok(f.ctx, f.t->run.method->plan(&f.t->run, 0, &plan));
        assert_int_equal(plan.count, cases[i].batches);
        close_run(&f);
    }
}

/* The two batches of a step are told apart by the places of their samples. */
static void batches_of_a_step_have_places_of_their_own(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    fixture f;
    gn_minibatch *batches;
    configure(&f, "0.3", none);
    enter(&f);
    for (int64_t k = 0; k < 2; k++) {
        assert_ok(f.ctx, gn_feed_next(f.t->now.feed, k, &batches));
        assert_int_equal(batches[0].samples.step, k);
        assert_int_equal(batches[1].samples.step, k);
        assert_int_equal(batches[0].samples.place, 0);
        assert_int_equal(batches[1].samples.place, batches[0].samples.count);
    }
    close_run(&f);
}

/* ---- micro-batches ---- */

/* The weights of network 0 after a few steps; the caller frees them. */
static float *train(const char *dropout, const char *const *more, size_t *size)
{
    fixture f;
    configure(&f, dropout, more);
    enter(&f);
    for (int k = 0; k < STEPS; k++) {
        gn_minibatch *batches;
        assert_ok(f.ctx, gn_feed_next(f.t->now.feed, k, &batches));
        assert_ok(f.ctx, f.t->run.method->step(&f.t->run, k, batches));
        f.t->at.step++;
    }
    gn_block block = gn_store_block(gn_network_store(f.t->now.networks[0]));
    float *values = malloc(block.size * sizeof *values);
    assert_non_null(values);
    memcpy(values, block.values, block.size * sizeof *values);
    *size = block.size;
    close_run(&f);
    return values;
}

static double distance(const float *a, const float *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += pow((double)a[i] - (double)b[i], 2);
    return sqrt(sum);
}

/* groupdro and lff make their weights of the losses of a first forward pass, which runs apart from
 * the backward pass when the micro-batch is small. */
static void micro_batches_do_not_matter(void **state)
{
    (void)state;
    static const char *const methods[] = {"gerne", "erm",      "groupdro", "lff",
                                          "focal", "bsoftmax", "mixup",    "lisa"};
    static const char *const freezes[] = {"none", "body"};
    char *cache = test_directory();
    for (size_t i = 0; i < 2 * sizeof methods / sizeof methods[0]; i++) {
        const char *method = methods[i / 2], *freeze = freezes[i % 2];
        const char *const small[] = {"method.name", method, "model.freeze",      freeze,
                                     "cache",       cache,  "train.micro_batch", "7",
                                     NULL};
        const char *const large[] = {"method.name", method, "model.freeze",      freeze,
                                     "cache",       cache,  "train.micro_batch", "200",
                                     NULL};
        size_t size, sizes[2];
        float *a = train("0.4", small, &size), *b = train("0.4", large, &sizes[0]);
        float *plain = train("0", large, &sizes[1]);
        assert_int_equal(size, sizes[0]);
        assert_int_equal(size, sizes[1]);
        double apart = distance(a, b, size), moved = distance(b, plain, size);
        if (apart > 1e-4 * moved || moved < 1e-3)
            fail_msg("%s, %s frozen: micro-batches differ by %.3g, dropout moves by %.3g", method,
                     freeze, apart, moved);
        free(a);
        free(b);
        free(plain);
    }
    test_remove_directory(cache);
}

/* ---- going on ---- */

static int stop_in_the_middle(void *user, const gerne_progress *progress)
{
    (void)user;
    return strcmp(progress->what, "train") == 0 && progress->done == 3;
}

static gn_text weights_of(const fixture *f, const char *directory)
{
    const char *path;
    gn_text bytes = {0};
    assert_ok(f->ctx, gn_path_join(f->ctx, f->arena, directory, "best.safetensors", &path));
    assert_ok(f->ctx, gn_file_read(f->ctx, path, 1 << 24, &bytes));
    return bytes;
}

static void interrupted_runs_go_on_with_the_same_masks(void **state)
{
    (void)state;
    char *directory = test_directory(), whole[4200], stopped[4200];
    snprintf(whole, sizeof whole, "%s/whole", directory);
    snprintf(stopped, sizeof stopped, "%s/stopped", directory);
    const char *const first[] = {"out", whole, NULL}, *const second[] = {"out", stopped, NULL};
    fixture f, g;
    configure(&f, "0.4", first);
    assert_ok(f.ctx, gn_train(f.ctx, f.config, NULL, NULL));
    configure(&g, "0.4", second);
    gerne_set_progress(g.ctx, stop_in_the_middle, NULL);
    assert_fails(g.ctx, GERNE_EINTERRUPTED, "after step 3 of 5",
                 gn_train(g.ctx, g.config, NULL, NULL));
    gerne_set_progress(g.ctx, NULL, NULL);
    assert_ok(g.ctx, gn_train_resume(g.ctx, stopped, NULL, NULL));
    gn_text a = weights_of(&f, whole), b = weights_of(&g, stopped);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    gn_text_free(&a);
    gn_text_free(&b);
    close_run(&f);
    close_run(&g);
    test_remove_directory(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_passes_where_masks_differ),
        cmocka_unit_test(batches_of_a_step_have_places_of_their_own),
        cmocka_unit_test(micro_batches_do_not_matter),
        cmocka_unit_test(interrupted_runs_go_on_with_the_same_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
