/* When a run evaluates, how long it is, and what averaged weights are. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "run_fixture.h"

static void open_run(run_fixture *f, const char *const *pairs)
{
    run_configure(f, pairs);
    run_enter(f);
}

/* 1,000 samples, 4 classes of 30: an epoch is 1000 / 120 = 8 1/3 steps. */
static void evaluations_follow_epochs(void **state)
{
    (void)state;
    const char *const pairs[] = {
        "data.n", "1000",       "train.per_class", "30", "train.epochs", "3.5", "threads",
        "1",      "model.arch", "linear",          NULL};
    const int64_t wanted[] = {9, 17, 25, 30}; /* ceil(8 1/3 e), and the end: ceil(3.5 * 8 1/3) */
    run_fixture f;
    open_run(&f, pairs);
    assert_int_equal(f.t->run.steps, 30);
    size_t found = 0;
    for (f.t->at.step = 1; f.t->at.step <= f.t->run.steps; f.t->at.step++)
        if (gn_evaluation_due(f.t, f.t->at.step)) {
            assert_in_range(found, 0, 3);
            assert_int_equal(f.t->at.step, wanted[found++]);
        }
    assert_int_equal(found, 4);
    run_close(&f);
}

static void eval_every_overrides(void **state)
{
    (void)state;
    const char *const pairs[] = {"data.n",           "400",    "train.steps", "10",
                                 "train.eval_every", "4",      "threads",     "1",
                                 "model.arch",       "linear", NULL};
    run_fixture f;
    open_run(&f, pairs);
    int64_t sum = 0;
    for (f.t->at.step = 1; f.t->at.step <= 10; f.t->at.step++)
        sum += gn_evaluation_due(f.t, f.t->at.step) ? f.t->at.step : 0;
    assert_int_equal(sum, 4 + 8 + 10);
    run_close(&f);
}

/* Evaluations follow steps 4, 8, 12, ...; the best so far is that of step 8. */
static void patience_counts_evaluations(void **state)
{
    (void)state;
    const char *const pairs[] = {"data.n",
                                 "400",
                                 "train.steps",
                                 "100",
                                 "train.eval_every",
                                 "4",
                                 "train.patience",
                                 "3",
                                 "model.arch",
                                 "linear",
                                 "threads",
                                 "1",
                                 NULL};
    run_fixture f;
    open_run(&f, pairs);
    f.t->at.step = 40;
    assert_false(gn_out_of_patience(f.t)); /* nothing is evaluated yet */
    f.t->at.best = (gn_choice_made){.step = 8, .value = 0.5};
    for (f.t->at.step = 8; f.t->at.step < 20; f.t->at.step++)
        assert_false(gn_out_of_patience(f.t));
    assert_true(gn_out_of_patience(f.t));
    f.t->at.best.step = 20;
    assert_false(gn_out_of_patience(f.t));
    run_close(&f);
}

/* The weights after each of a few steps, by a run without averaging. */
enum { STEPS = 6, ENOUGH = 20000 };

static void take_step(gn_trainer *t)
{
    gn_minibatch *batches;
    assert_ok(t->run.ctx, gn_feed_next(t->now.feed, t->at.step, &batches));
    assert_ok(t->run.ctx, t->run.method->step(&t->run, t->at.step, batches));
    gn_update_average(t);
    t->at.step++;
}

static void check_average(const char *kind, const double (*weights)[STEPS])
{
    const char *const pairs[] = {"data.n",
                                 "400",
                                 "train.steps",
                                 "6",
                                 "threads",
                                 "1",
                                 "train.lr",
                                 "0.1",
                                 "model.arch",
                                 "linear",
                                 "train.average",
                                 kind,
                                 "train.average_decay",
                                 "0.5",
                                 NULL};
    static float history[STEPS][ENOUGH];
    run_fixture f;
    open_run(&f, pairs);
    gn_block block = gn_store_block(gn_network_store(f.t->now.networks[0]));
    assert_in_range(block.size, 1, ENOUGH);
    for (int k = 0; k < STEPS; k++) {
        take_step(f.t);
        memcpy(history[k], block.values, block.size * sizeof(float));
    }
    double moved = 0;
    for (size_t i = 0; i < block.size; i++) {
        double mean = 0;
        for (int k = 0; k < STEPS; k++)
            mean += (*weights)[k] * (double)history[k][i];
        assert_near(f.t->now.average[i], mean, 1e-6);
        moved += fabs(mean - (double)history[STEPS - 1][i]);
    }
    assert_true(moved > 1e-3); /* else any weights would do */
    gn_swap_average(f.t);
    assert_near(f.t->now.average[0], history[STEPS - 1][0], 0);
    run_close(&f);
}

/* Tail: the mean of the last half. Ema: memory 0.5, shorter at first: (n + 1) / (n + 10) of the old
 * mean is kept for n = 1, 2, ... as long as that is below 0.5. */
static void averages_are_means_of_the_weights(void **state)
{
    (void)state;
    const double tail[STEPS] = {0, 0, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3};
    double ema[STEPS] = {1};
    for (int k = 1; k < STEPS; k++) {
        double keep = fmin(0.5, (k + 1) / (k + 10.0));
        for (int j = 0; j < k; j++)
            ema[j] *= keep;
        ema[k] = 1 - keep;
    }
    check_average("tail", &tail);
    check_average("ema", (const double(*)[STEPS]) & ema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluations_follow_epochs),
        cmocka_unit_test(eval_every_overrides),
        cmocka_unit_test(patience_counts_evaluations),
        cmocka_unit_test(averages_are_means_of_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
