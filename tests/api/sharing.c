/* One model, several threads: networks that are shared, kept and reused. */
#include <pthread.h>

#include "api/model.h"
#include "fixture.h"

typedef struct worker {
    gerne_model *model;
    const gerne_dataset *dataset;
    double sum;
    gerne_status status;
} worker;

static void *predict_in_thread(void *argument)
{
    worker *w = argument;
    gerne_ctx *ctx;
    gerne_predictions *p = NULL;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return NULL;
    for (int round = 0; round < 3; round++) {
        w->status = gerne_model_predict(ctx, w->model, w->dataset, GERNE_ALL, 0, &p);
        for (size_t i = 0; i < gerne_predictions_count(p); i++)
            w->sum += gerne_predictions_probabilities(p)[2 * i];
        gerne_predictions_close(p);
    }
    gerne_ctx_close(ctx);
    return NULL;
}

static void threads_share_a_model(void **state)
{
    enum { THREADS = 4 };
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_model *model = train_model(f, dataset);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.model = model, .dataset = dataset, .status = GERNE_EINTERNAL};
        assert_int_equal(pthread_create(&threads[i], NULL, predict_in_thread, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].status, GERNE_OK);
        assert_true(workers[i].sum == workers[0].sum && workers[0].sum > 0);
    }
    gerne_model_close(model);
    gerne_dataset_close(dataset);
}

/* Networks are kept for later calls, by the number of samples: a few rows, many, few again, from
 * more threads than networks are kept for. Whoever runs them, each number gives its own bits. */
enum { SIZES = 4, CALLERS = 7 };
static const size_t sizes[SIZES] = {1, 3, 30, N};

typedef struct caller {
    gerne_model *model;
    gerne_dataset *const *datasets;
    double sums[SIZES];
    bool same;
} caller;

static double sum_of(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset)
{
    gerne_predictions *p = NULL;
    double sum = 0;
    if (gerne_model_predict(ctx, model, dataset, GERNE_ALL, 0, &p) != GERNE_OK)
        return -1;
    for (size_t i = 0; i < gerne_predictions_count(p); i++)
        sum += (double)(i + 1) * gerne_predictions_probabilities(p)[2 * i];
    gerne_predictions_close(p);
    return sum;
}

/* The first sample's probability among all. */
static double first_of(fixture *f, gerne_model *model, const gerne_dataset *dataset)
{
    gerne_predictions *p;
    assert_ok(f->ctx, gerne_model_predict(f->ctx, model, dataset, GERNE_ALL, 0, &p));
    double first = gerne_predictions_probabilities(p)[0];
    gerne_predictions_close(p);
    return first;
}

static void *call_again(void *argument)
{
    caller *c = argument;
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return NULL;
    c->same = true;
    for (int round = 0; round < 12; round++) {
        size_t which = (size_t)(round * 7 + round / 4) % SIZES;
        double sum = sum_of(ctx, c->model, c->datasets[which]);
        c->same = c->same && sum == c->sums[which];
    }
    gerne_ctx_close(ctx);
    return NULL;
}

static void networks_are_reused(void **state)
{
    fixture *f = *state;
    gerne_arrays arrays = features_of(f);
    gerne_dataset *whole = dataset_of(f, &arrays), *datasets[SIZES];
    gerne_model *model = train_model(f, whole);
    caller callers[CALLERS] = {{.model = model, .datasets = datasets}};
    pthread_t threads[CALLERS];
    for (size_t i = 0; i < SIZES; i++) {
        arrays.n = sizes[i];
        datasets[i] = dataset_of(f, &arrays);
        callers[0].sums[i] = sum_of(f->ctx, model, datasets[i]);
        assert_true(callers[0].sums[i] > 0);
    }
    assert_near(callers[0].sums[0], first_of(f, model, whole), 1e-6);
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = callers[0];
        assert_int_equal(pthread_create(&threads[i], NULL, call_again, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(callers[i].same);
    }
    assert_in_range(model->idle_count, 1, GN_IDLE_MAX);
    gerne_model_close(model);
    for (size_t i = 0; i < SIZES; i++)
        gerne_dataset_close(datasets[i]);
    gerne_dataset_close(whole);
}

/* The fixture's models run on one thread; the caller's own OpenMP regions keep theirs. */
static void openmp_of_the_caller_is_left_alone(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    int before = gn_threads_of_caller();
    gn_restore_threads(3);
    gerne_model *model = train_model(f, dataset);
    assert_int_equal(gn_threads_of_caller(), 3);
    for (int round = 0; round < 2; round++) { /* a network that is built, and one that was kept */
        assert_true(sum_of(f->ctx, model, dataset) > 0);
        assert_int_equal(gn_threads_of_caller(), 3);
    }
    gn_restore_threads(before);
    gerne_model_close(model);
    gerne_dataset_close(dataset);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_share_a_model),
        TEST(networks_are_reused),
        TEST(openmp_of_the_caller_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
