/* What callers may get wrong: a status and a sentence, never a crash. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

static gerne_dataset *no_dataset;
static char *no_text;

/* ---- NULL ---- */

#define REFUSES_NULL(ctx, expression) assert_fails(ctx, GERNE_EUSAGE, "is NULL", expression)

static void null_in_the_core(void **state)
{
    fixture *f = *state;
    gerne_ctx *ctx = f->ctx;
    gerne_groups *groups;
    gerne_sampler *sampler;
    gerne_pseudo *pseudo;
    gerne_batch *batch;
    gerne_sampler_options options = {.per_class = 4, .c = 0.5};
    gerne_bounds bounds;
    const int64_t counts[] = {1, 2, 3, 4};
    const char *const holes[] = {"a", NULL};
    double p[4], t = 0.5;
    float scores[N] = {0};
    assert_int_equal(gerne_ctx_new(NULL), GERNE_EUSAGE);
    assert_string_equal(gerne_message(NULL), "");
    REFUSES_NULL(ctx, gerne_groups_from_counts(ctx, NULL, 2, 2, &groups));
    REFUSES_NULL(ctx, gerne_groups_from_counts(ctx, counts, 2, 2, NULL));
    REFUSES_NULL(ctx, gerne_groups_from_labels(ctx, NULL, NULL, N, 2, 1, &groups));
    assert_int_equal(gerne_groups_from_counts(NULL, NULL, 2, 2, &groups), GERNE_EUSAGE);
    assert_ok(ctx, gerne_groups_from_labels(ctx, f->y, f->a, N, 2, 2, &groups));
    REFUSES_NULL(ctx, gerne_groups_set_names(ctx, groups, holes, NULL));
    REFUSES_NULL(ctx, gerne_groups_set_names(ctx, NULL, NULL, NULL));
    REFUSES_NULL(ctx, gerne_law_fill(ctx, groups, GERNE_LAW_BIASED, 1, 0, NULL));
    REFUSES_NULL(ctx, gerne_law_fill(ctx, NULL, GERNE_LAW_BIASED, 1, 0, p));
    assert_fails(ctx, GERNE_EUSAGE, "not a law",
                 gerne_law_fill(ctx, groups, (gerne_law)9, 1, 0, p));
    REFUSES_NULL(ctx, gerne_bounds_of(ctx, NULL, 0.5, &bounds));
    REFUSES_NULL(ctx, gerne_bounds_json(ctx, NULL, 0.5, NULL, &no_text));
    REFUSES_NULL(ctx, gerne_check_beta(ctx, NULL, 0.5, 1, 0));
    REFUSES_NULL(ctx, gerne_sampler_new(ctx, groups, NULL, &sampler));
    REFUSES_NULL(ctx, gerne_sampler_new(ctx, NULL, &options, &sampler));
    REFUSES_NULL(ctx, gerne_batch_new(ctx, NULL));
    assert_ok(ctx, gerne_batch_new(ctx, &batch));
    REFUSES_NULL(ctx, gerne_sampler_draw(ctx, NULL, GERNE_DRAW_BIASED, 0, batch));
    REFUSES_NULL(ctx, gerne_pseudo_new(ctx, f->y, NULL, N, 2, &pseudo));
    assert_ok(ctx, gerne_pseudo_new(ctx, f->y, scores, N, 2, &pseudo));
    REFUSES_NULL(ctx, gerne_pseudo_assign(ctx, pseudo, 0.5, false, NULL));
    REFUSES_NULL(ctx, gerne_pseudo_judge(ctx, pseudo, NULL, 2, &t, 1, false, NULL));
    REFUSES_NULL(ctx, gerne_audit(ctx, NULL, GERNE_JSON, &no_text));
    REFUSES_NULL(ctx, gerne_audit(ctx, groups, GERNE_JSON, NULL));
    REFUSES_NULL(ctx, gerne_bias_of(ctx, NULL, &(gerne_bias){.size = sizeof(gerne_bias)}));
    REFUSES_NULL(ctx, gerne_bias_of(ctx, groups, NULL));
    REFUSES_NULL(ctx, gerne_evaluate(ctx, NULL, NULL, GERNE_JSON, &no_text));
    assert_int_equal(gerne_groups_count(groups, 7, 0), 0);
    assert_true(isnan(gerne_groups_alpha(groups, 0, 7)));
    assert_int_equal(gerne_groups_total(NULL), 0);
    assert_null(gerne_batch_samples(NULL));
    gerne_pseudo_close(pseudo);
    gerne_batch_close(batch);
    gerne_groups_close(groups);
}

static void null_in_training(void **state)
{
    fixture *f = *state;
    gerne_ctx *ctx = f->ctx;
    gerne_config *config = configure(f, "null");
    gerne_arrays arrays = features_of(f);
    gerne_model *model;
    gerne_predictions *predictions;
    gerne_labels *no_labels;
    const gerne_label_columns odd = {.size = sizeof odd, .missing = (gerne_missing)7};
    gerne_tensor tensor = {.size = sizeof tensor};
    float value;
    assert_int_equal(gerne_config_new(NULL, &config), GERNE_EUSAGE);
    REFUSES_NULL(ctx, gerne_config_new(ctx, NULL));
    REFUSES_NULL(ctx, gerne_config_set(ctx, NULL, "seed", "1"));
    REFUSES_NULL(ctx, gerne_config_set(ctx, config, NULL, "1"));
    REFUSES_NULL(ctx, gerne_config_read(ctx, config, NULL));
    REFUSES_NULL(ctx, gerne_config_parse(ctx, config, NULL));
    REFUSES_NULL(ctx, gerne_config_get(ctx, config, NULL, &no_text));
    REFUSES_NULL(ctx, gerne_config_get(ctx, config, "seed", NULL));
    REFUSES_NULL(ctx, gerne_config_yaml(ctx, NULL, &no_text));
    REFUSES_NULL(ctx, gerne_config_keys(ctx, NULL));
    REFUSES_NULL(ctx, gerne_dataset_from_arrays(ctx, NULL, &no_dataset));
    REFUSES_NULL(ctx, gerne_dataset_from_arrays(ctx, &arrays, NULL));
    REFUSES_NULL(ctx, gerne_dataset_open(ctx, NULL, &no_dataset));
    REFUSES_NULL(ctx, gerne_dataset_groups(ctx, NULL, GERNE_ALL, &(gerne_groups *){0}));
    REFUSES_NULL(ctx, gerne_dataset_audit(ctx, NULL, GERNE_ALL, GERNE_JSON, &no_text));
    REFUSES_NULL(ctx, gerne_dataset_set_name(ctx, NULL, "birds"));
    REFUSES_NULL(ctx, gerne_labels_open(ctx, NULL, NULL, &no_labels));
    REFUSES_NULL(ctx, gerne_labels_open(ctx, "labels.csv", NULL, NULL));
    REFUSES_NULL(ctx, gerne_labels_audit(ctx, NULL, GERNE_JSON, &no_text));
    assert_null(gerne_labels_groups(NULL));
    assert_fails(ctx, GERNE_EUSAGE, "missing 7",
                 gerne_labels_open(ctx, "labels.csv", &odd, &no_labels));
    REFUSES_NULL(ctx, gerne_train(ctx, NULL, NULL, GERNE_JSON, &no_text));
    REFUSES_NULL(ctx, gerne_resume(ctx, NULL, NULL, GERNE_JSON, &no_text));
    REFUSES_NULL(ctx, gerne_model_open(ctx, NULL, NULL, &model));
    REFUSES_NULL(ctx, gerne_model_open(ctx, "runs", NULL, NULL));
    REFUSES_NULL(ctx, gerne_model_predict(ctx, NULL, NULL, GERNE_ALL, 0, &predictions));
    REFUSES_NULL(ctx, gerne_model_predict_each(ctx, NULL, NULL, GERNE_ALL, NULL, NULL));
    REFUSES_NULL(ctx, gerne_model_evaluate(ctx, NULL, NULL, GERNE_ALL, NULL, GERNE_JSON, &no_text));
    REFUSES_NULL(ctx, gerne_model_metadata(ctx, NULL, &no_text));
    REFUSES_NULL(ctx, gerne_model_tensor(ctx, NULL, 0, &tensor));
    REFUSES_NULL(ctx, gerne_model_export(ctx, NULL, &(gerne_export_options){0}));
    REFUSES_NULL(ctx, gerne_model_read(ctx, NULL, "fc1.bias", &value, 1));
    assert_int_equal(gerne_dataset_count(NULL, GERNE_ALL), 0);
    assert_int_equal(gerne_model_classes(NULL), 0);
    assert_null(gerne_model_class_name(NULL, 0));
    assert_null(gerne_predictions_features(NULL));
    gerne_dataset_close(NULL);
    gerne_model_close(NULL);
    gerne_predictions_close(NULL);
    gerne_config_close(NULL);
    gerne_stop(NULL);
    gerne_set_log(NULL, NULL, NULL);
    gerne_config_close(config);
}

/* ---- arrays ---- */

static void refuses(fixture *f, gerne_arrays arrays, gerne_status status, const char *words)
{
    assert_fails(f->ctx, status, words, gerne_dataset_from_arrays(f->ctx, &arrays, &no_dataset));
    assert_null(no_dataset);
}

static void arrays_of_wrong_sizes(void **state)
{
    fixture *f = *state;
    const gerne_arrays right = features_of(f);
    gerne_arrays wrong = right;
    wrong.size = 0;
    refuses(f, wrong, GERNE_EUSAGE, "gerne_arrays.size is 0");
    wrong.size = sizeof wrong + 8;
    refuses(f, wrong, GERNE_EUSAGE, "gerne_arrays.size is");
    wrong = right;
    wrong.n = 0;
    refuses(f, wrong, GERNE_EDATA, "there are no samples");
    wrong.n = (size_t)1 << 40;
    refuses(f, wrong, GERNE_EDATA, "there are more than");
    wrong = right;
    wrong.dimension = 0;
    refuses(f, wrong, GERNE_EUSAGE, "features have 0 columns");
    wrong = right;
    wrong.features = NULL;
    refuses(f, wrong, GERNE_EUSAGE, "none of them is given");
    wrong.pixels = f->pixels[0];
    wrong.height = SIDE;
    refuses(f, wrong, GERNE_EUSAGE, "images are 8 x 0 pixels");
    wrong.features = right.features;
    refuses(f, wrong, GERNE_EUSAGE, "more than one of them is given");
    const char *const texts[2] = {"one", NULL};
    wrong = (gerne_arrays){.size = sizeof wrong, .n = 2, .texts = texts};
    refuses(f, wrong, GERNE_EDATA, "sample 1 has no text");
}

static void labels_out_of_range(void **state)
{
    fixture *f = *state;
    const char *const names[2] = {"bird", "\xff"};
    gerne_arrays wrong = features_of(f);
    f->y[5] = -1;
    refuses(f, wrong, GERNE_EUSAGE, "sample 5 has class -1, outside 0..99999");
    wrong.classes = 2;
    f->y[5] = 2;
    refuses(f, wrong, GERNE_EUSAGE, "sample 5 has class 2, outside 0..1");
    f->y[5] = 1;
    f->a[6] = -7;
    refuses(f, wrong, GERNE_EUSAGE, "sample 6 has attribute -7");
    f->a[6] = 0;
    wrong.class_names = names;
    refuses(f, wrong, GERNE_EUSAGE, "class 1 has no name in UTF-8");
    wrong.classes = 0;
    refuses(f, wrong, GERNE_EUSAGE, "0 classes");
    wrong = features_of(f);
    wrong.a = NULL;
    wrong.attributes = 2;
    refuses(f, wrong, GERNE_EUSAGE, "attributes are named or counted");
    wrong.attributes = 0;
    f->split[3] = 3;
    refuses(f, wrong, GERNE_EDATA, "sample 3: '3' is not a split");
}

/* ---- training ---- */

static void refuses_to_train(fixture *f, const gerne_arrays *arrays, const char *key,
                             const char *value, gerne_status status, const char *words)
{
    gerne_config *config = configure(f, "refused");
    gerne_dataset *dataset = dataset_of(f, arrays);
    if (key)
        assert_ok(f->ctx, gerne_config_set(f->ctx, config, key, value));
    assert_fails(f->ctx, status, words, gerne_train(f->ctx, config, dataset, GERNE_JSON, &no_text));
    assert_null(no_text);
    gerne_dataset_close(dataset);
    gerne_config_close(config);
}

static void data_that_cannot_be_trained_on(void **state)
{
    fixture *f = *state;
    gerne_arrays arrays = features_of(f);
    refuses_to_train(f, &arrays, "data.file", "x.npz", GERNE_EUSAGE,
                     "data.file does not apply to samples in memory");
    refuses_to_train(f, &arrays, "data.format", "images", GERNE_EUSAGE,
                     "data.format is images, but the arrays hold features");
    refuses_to_train(f, &arrays, "data.ratio", "0.1", GERNE_EUSAGE, "data.ratio");
    refuses_to_train(f, &arrays, "train.lr", "fast", GERNE_EUSAGE, "train.lr");
    refuses_to_train(f, &arrays, "method.beta", "50", GERNE_EUSAGE, "beta 50 is outside");
    f->x[8][2] = NAN;
    refuses_to_train(f, &arrays, NULL, NULL, GERNE_EDATA,
                     "'features', row 8: feature 2 is not a finite float");
    f->x[8][2] = 0;
    arrays.a = NULL;
    refuses_to_train(f, &arrays, NULL, NULL, GERNE_EUSAGE, "the data has no attributes");
    arrays.a = f->a;
    arrays.split = NULL;
    refuses_to_train(f, &arrays, NULL, NULL, GERNE_EUSAGE, "no validation split to select on");
    arrays.split = f->split;
    for (int i = 0; i < N; i++)
        f->y[i] *= 2;
    refuses_to_train(f, &arrays, NULL, NULL, GERNE_EUSAGE, "class y=1 has no samples");
    arrays.y = NULL;
    refuses_to_train(f, &arrays, NULL, NULL, GERNE_EUSAGE, "no labels to train on");
    assert_fails(f->ctx, GERNE_EUSAGE, "is not a run directory",
                 gerne_resume(f->ctx, f->folder, NULL, GERNE_JSON, &no_text));
}

static int stop_in_training(void *user, const gerne_progress *progress)
{
    (void)user;
    return strcmp(progress->what, "train") == 0 && progress->done == 25;
}

static void directories_in_the_way(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_config *config = configure(f, "run");
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_set_progress(f->ctx, stop_in_training, NULL);
    assert_fails(f->ctx, GERNE_EINTERRUPTED, "the run is saved",
                 gerne_train(f->ctx, config, dataset, GERNE_JSON, NULL));
    gerne_set_progress(f->ctx, NULL, NULL);
    assert_fails(f->ctx, GERNE_EUSAGE, "not empty",
                 gerne_train(f->ctx, config, dataset, GERNE_JSON, NULL));
    f->x[0][0] += 1;
    assert_fails(f->ctx, GERNE_EUSAGE, "cannot be resumed: the data",
                 gerne_resume(f->ctx, path_in(f, "run"), dataset, GERNE_JSON, NULL));
    f->x[0][0] -= 1;
    assert_fails(f->ctx, GERNE_EUSAGE, "form 7",
                 gerne_resume(f->ctx, path_in(f, "run"), dataset, (gerne_form)7, NULL));
    gerne_dataset_close(dataset);
    gerne_config_close(config);
}

/* ---- models ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void files_that_are_no_models(void **state)
{
    fixture *f = *state;
    gerne_model *model;
    gerne_config *config;
    write_file(path_in(f, "text"), "this is not a model at all");
    assert_fails(f->ctx, GERNE_EDATA, "text",
                 gerne_model_open(f->ctx, path_in(f, "text"), NULL, &model));
    assert_null(model);
    write_file(path_in(f, "empty"), "");
    assert_fails(f->ctx, GERNE_EDATA, "empty",
                 gerne_model_open(f->ctx, path_in(f, "empty"), NULL, &model));
    assert_fails(f->ctx, GERNE_EUSAGE, "no run directory or file",
                 gerne_model_open(f->ctx, path_in(f, "absent"), NULL, &model));
    assert_fails(f->ctx, GERNE_EUSAGE, "is not a run directory",
                 gerne_model_open(f->ctx, f->folder, NULL, &model));
    assert_ok(f->ctx, gerne_config_new(f->ctx, &config));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "train.lr", "1"));
    assert_fails(f->ctx, GERNE_EUSAGE, "unknown key 'train.lr'",
                 gerne_model_open(f->ctx, path_in(f, "text"), config, &model));
    gerne_config_close(config);
}

static void samples_that_do_not_fit_the_model(void **state)
{
    fixture *f = *state;
    gerne_arrays arrays = features_of(f);
    gerne_config *config = configure(f, "model");
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_model *model;
    gerne_predictions *p;
    gerne_tensor tensor = {.size = 3};
    float values[2];
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, NULL));
    assert_ok(f->ctx, gerne_model_open(f->ctx, path_in(f, "model"), NULL, &model));
    gerne_dataset_close(dataset);
    arrays.dimension = D - 1;
    dataset = dataset_of(f, &arrays);
    assert_fails(f->ctx, GERNE_EUSAGE, "the network expects",
                 gerne_model_predict(f->ctx, model, dataset, GERNE_ALL, 0, &p));
    assert_null(p);
    assert_fails(f->ctx, GERNE_EUSAGE, "split 9",
                 gerne_model_predict(f->ctx, model, dataset, (gerne_split)9, 0, &p));
    assert_fails(f->ctx, GERNE_EUSAGE, "unknown flags",
                 gerne_model_predict(f->ctx, model, dataset, GERNE_ALL, 64, &p));
    assert_fails(f->ctx, GERNE_EUSAGE, "data.file is not given",
                 gerne_model_predict(f->ctx, model, NULL, GERNE_ALL, 0, &p));
    gerne_dataset_close(dataset);
    arrays = features_of(f);
    f->y[0] = 5;
    dataset = dataset_of(f, &arrays);
    assert_fails(f->ctx, GERNE_EUSAGE, "the model has no class '2'",
                 gerne_model_evaluate(f->ctx, model, dataset, GERNE_ALL, NULL, GERNE_JSON, NULL));
    gerne_dataset_close(dataset);
    const gerne_export_options nothing = {.size = sizeof nothing};
    assert_fails(f->ctx, GERNE_EUSAGE, "", gerne_model_export(f->ctx, model, &nothing));
    const gerne_export_options odd = {
        .size = sizeof odd, .onnx = path_in(f, "odd.onnx"), .normalize = "mnist"};
    assert_fails(f->ctx, GERNE_EUSAGE, "normalize 'mnist' is not one of auto|none|imagenet|cifar",
                 gerne_model_export(f->ctx, model, &odd));
    const gerne_export_options there = {.size = sizeof there,
                                        .safetensors = path_in(f, "model/best.safetensors")};
    assert_fails(f->ctx, GERNE_EUSAGE, "exists", gerne_model_export(f->ctx, model, &there));
    assert_fails(f->ctx, GERNE_EUSAGE, "there is no tensor 9",
                 gerne_model_tensor(f->ctx, model, 9, &tensor));
    assert_fails(f->ctx, GERNE_EUSAGE, "gerne_tensor.size is 3",
                 gerne_model_tensor(f->ctx, model, 0, &tensor));
    assert_fails(f->ctx, GERNE_EUSAGE, "has no tensor 'fc9.bias'",
                 gerne_model_read(f->ctx, model, "fc9.bias", values, 2));
    assert_fails(f->ctx, GERNE_EUSAGE, "has 12 values, but there is room for 2",
                 gerne_model_read(f->ctx, model, "fc1.weight", values, 2));
    gerne_model_close(model);
    gerne_config_close(config);
}

/* ---- predictions ---- */

static void predictions_that_make_no_sense(void **state)
{
    fixture *f = *state;
    static const int32_t pred[N] = {0}, outside[N] = {[9] = 2};
    double probabilities[2 * N];
    for (int i = 0; i < 2 * N; i++)
        probabilities[i] = 0.5;
    const gerne_predicted right = {.size = sizeof right,
                                   .n = N,
                                   .classes = 2,
                                   .attributes = 2,
                                   .y = f->y,
                                   .a = f->a,
                                   .pred = pred};
    gerne_predicted wrong = right;
#define REFUSED(status, words)                                                                     \
    assert_fails(f->ctx, status, words, gerne_evaluate(f->ctx, &wrong, NULL, GERNE_JSON, &no_text))
    wrong.y = NULL;
    REFUSED(GERNE_EUSAGE, "'y' is NULL");
    wrong = right;
    wrong.n = 0;
    REFUSED(GERNE_EDATA, "there are no samples");
    wrong = right;
    wrong.pred = NULL;
    REFUSED(GERNE_EUSAGE, "neither predictions nor probabilities");
    wrong = right;
    wrong.a = NULL;
    REFUSED(GERNE_EUSAGE, "no sample has one");
    wrong = right;
    wrong.classes = 1;
    REFUSED(GERNE_EUSAGE, "has class 1, outside 0..0");
    wrong = right;
    wrong.pred = outside;
    REFUSED(GERNE_EUSAGE, "sample 9 has prediction 2, outside 0..1");
    wrong = right;
    wrong.probabilities = probabilities;
    probabilities[7] = NAN;
    REFUSED(GERNE_EDATA, "sample 3: probability");
    gerne_metrics metrics = {.size = 1000};
    gerne_differences differences = {.size = sizeof differences};
    assert_fails(f->ctx, GERNE_EUSAGE, "gerne_metrics.size is 1000",
                 gerne_evaluate(f->ctx, &right, &metrics, GERNE_JSON, NULL));
    wrong = right;
    wrong.n = N - 1;
    assert_fails(f->ctx, GERNE_EDATA, "have 400 samples, the second 399",
                 gerne_compare(f->ctx, &right, &wrong, 0, GERNE_JSON, &no_text));
    assert_fails(f->ctx, GERNE_EDATA, "have 400 samples, the second 399",
                 gerne_differences_of(f->ctx, &right, &wrong, 0, &differences));
    differences.size = 4;
    assert_fails(f->ctx, GERNE_EUSAGE, "gerne_differences.size is 4",
                 gerne_differences_of(f->ctx, &right, &right, 0, &differences));
    assert_fails(f->ctx, GERNE_EUSAGE, "resamples 3 is outside",
                 gerne_compare(f->ctx, &right, &wrong, 3, GERNE_JSON, &no_text));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(null_in_the_core),
        TEST(null_in_training),
        TEST(arrays_of_wrong_sizes),
        TEST(labels_out_of_range),
        TEST(data_that_cannot_be_trained_on),
        TEST(directories_in_the_way),
        TEST(files_that_are_no_models),
        TEST(samples_that_do_not_fit_the_model),
        TEST(predictions_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
