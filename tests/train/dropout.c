/* Runs with model.dropout: two passes instead of one, any micro-batch, a frozen body, and going on
 * after an interrupt. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "train/train.h"
#include "run_fixture.h"

enum { STEPS = 5 };

/* more: key, value, ..., NULL */
static void configure(run_fixture *f, const char *dropout, const char *const *more)
{
    const char *const pairs[] = {
        "data.n",       "400", "train.steps", "5", "train.per_class", "9",     "train.lr", "0.1",
        "model.hidden", "16",  "threads",     "1", "model.dropout",   dropout, NULL};
    run_configure_more(f, pairs, more);
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
        run_fixture f;
        gn_plan plan = {0};
        configure(&f, cases[i].dropout, cases[i].more);
        run_enter(&f);
        assert_ok(f.ctx, f.t->run.method->plan(&f.t->run, 0, &plan));
        assert_int_equal(plan.count, cases[i].batches);
        run_close(&f);
    }
}

/* The two batches of a step are told apart by the places of their samples. */
static void batches_of_a_step_have_places_of_their_own(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    run_fixture f;
    gn_minibatch *batches;
    configure(&f, "0.3", none);
    run_enter(&f);
    for (int64_t k = 0; k < 2; k++) {
        assert_ok(f.ctx, gn_feed_next(f.t->now.feed, k, &batches));
        assert_int_equal(batches[0].samples.step, k);
        assert_int_equal(batches[1].samples.step, k);
        assert_int_equal(batches[0].samples.place, 0);
        assert_int_equal(batches[1].samples.place, batches[0].samples.count);
    }
    run_close(&f);
}

/* ---- micro-batches ---- */

/* The weights of network 0 after a few steps; the caller frees them. */
static float *train(const char *dropout, const char *const *more, size_t *size)
{
    run_fixture f;
    configure(&f, dropout, more);
    run_enter(&f);
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
    run_close(&f);
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

static gn_text weights_of(const run_fixture *f, const char *directory)
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
    run_fixture f, g;
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
    run_close(&f);
    run_close(&g);
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
