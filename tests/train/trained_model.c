/* A trained model without a command line: opened, used on data by several threads, judged. */
#include "testing.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "train/judge.h"

enum { CLASSES = 4, SIDE = 8, THREADS = 3 };
static const char *const names[CLASSES] = {"saltire", "ring", "cross",
                                           "disc"}; /* not in the order of the data */

typedef struct fixture {
    gerne_ctx *ctx;
    char *directory;
    char path[512];
    gn_trained_options options;
} fixture;

/* A network of random weights for the synthetic images, as a model file. */
static void save_model(const fixture *f)
{
    static const int64_t hidden[] = {6};
    const gn_model_options model = {.arch = "mlp", .hidden = {hidden, 1}};
    gn_device *device;
    gn_network *network;
    assert_ok(f->ctx, gn_device_new(f->ctx, 1, GN_FP32, &device));
    assert_ok(f->ctx, gn_network_new(f->ctx, device, &model, gn_pixels_shape(3, SIDE, SIDE),
                                     CLASSES, 4, &network));
    assert_ok(f->ctx, gn_network_initialize(f->ctx, network, 5));
    const gn_model_card card = {.model = model,
                                .shape = *gn_network_shape(network),
                                .classes = CLASSES,
                                .class_names = names,
                                .scale = {0.01f, 0.01f, 0.01f},
                                .version = gerne_version()};
    assert_ok(f->ctx, gn_model_file_save(f->ctx, f->path, network, &card));
    gn_network_close(network);
    gn_device_close(device);
}

static fixture open_fixture(void)
{
    fixture f = {.ctx = test_ctx(), .directory = test_directory()};
    snprintf(f.path, sizeof f.path, "%s/model.safetensors", f.directory);
    f.options = (gn_trained_options){.threads = 1, .has_data = true};
    assert_ok(f.ctx, gn_data_options_default(f.ctx, &f.options.data));
    f.options.data.n = 80;
    f.options.data.size = SIDE;
    save_model(&f);
    return f;
}

static void close_fixture(fixture *f)
{
    test_remove_directory(f->directory);
    gerne_ctx_close(f->ctx);
}

typedef struct user {
    gn_trained_model *model;
    const gn_model_data *data;
    gn_judgement judgement;
    bool fine;
} user;

static void *judge(void *argument)
{
    user *u = argument;
    gerne_ctx *ctx;
    gn_predictor *predictor = NULL;
    u->fine = gerne_ctx_new(&ctx) == GERNE_OK &&
              gn_predictor_new(ctx, u->model, u->data, &predictor) == GERNE_OK &&
              gn_judge(ctx, u->model, u->data, predictor, &u->judgement) == GERNE_OK;
    gn_predictor_close(predictor);
    gerne_ctx_close(ctx);
    return NULL;
}

static void test_threads_share_a_model(void **state)
{
    (void)state;
    fixture f = open_fixture();
    gn_trained_model *model;
    gn_model_data data;
    user users[THREADS];
    pthread_t threads[THREADS];
    assert_ok(f.ctx, gn_trained_model_open(f.ctx, f.path, &f.options, &model));
    assert_int_equal(gn_trained_model_card(model)->classes, CLASSES);
    assert_ok(f.ctx, gn_trained_model_data(f.ctx, model, GN_TEST, &data));
    assert_int_equal(data.dataset->n, 20); /* the other splits are not read */
    for (int i = 0; i < THREADS; i++)
        users[i] = (user){.model = model, .data = &data};
    judge(&users[0]);
    for (int i = 1; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, judge, &users[i]), 0);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    const gn_predictions *first = &users[0].judgement.predictions;
    for (int i = 0; i < THREADS; i++) {
        const gn_predictions *mine = &users[i].judgement.predictions;
        assert_true(users[i].fine);
        assert_int_equal(mine->count, 20);
        assert_memory_equal(mine->probabilities, first->probabilities,
                            20 * CLASSES * sizeof *mine->probabilities);
    }
    for (size_t i = 0; i < 20; i++) /* classes are matched by name */
        assert_string_equal(names[first->y[i]], data.dataset->class_names[data.dataset->y[i]]);
    assert_int_equal(users[0].judgement.metrics.n, 20);
    assert_string_equal(users[0].judgement.names.classes[0], "saltire");
    for (int i = 0; i < THREADS; i++)
        gn_judgement_free(&users[i].judgement);
    gn_model_data_close(&data);
    gn_trained_model_close(model);
    close_fixture(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    fixture f = open_fixture();
    gn_trained_model *model;
    gn_model_data data;
    char nowhere[600];
    snprintf(nowhere, sizeof nowhere, "%s/none", f.directory);
    assert_fails(f.ctx, GERNE_EUSAGE, "no run directory or file",
                 gn_trained_model_open(f.ctx, nowhere, &f.options, &model));
    assert_null(model);
    assert_fails(f.ctx, GERNE_EUSAGE, "no best.safetensors",
                 gn_trained_model_open(f.ctx, f.directory, &f.options, &model));
    f.options.model_flag = "model.stem";
    assert_fails(f.ctx, GERNE_EUSAGE, "'--model.stem' conflicts with the metadata",
                 gn_trained_model_open(f.ctx, f.path, &f.options, &model));
    f.options.model_flag = NULL;
    f.options.has_data = false;
    assert_ok(f.ctx, gn_trained_model_open(f.ctx, f.path, &f.options, &model));
    assert_fails(f.ctx, GERNE_EUSAGE, "no data given for",
                 gn_trained_model_data(f.ctx, model, GN_TEST, &data));
    assert_null(data.dataset);
    gn_trained_model_close(model);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_share_a_model),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("trained_model", tests, NULL, NULL);
}
