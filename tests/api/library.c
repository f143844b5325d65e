/* The calls of gerne.h from end to end: arrays in, training, predictions, figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

#include "base/json.h"

static json_t *parse(fixture *f, char *text)
{
    json_t *json;
    assert_non_null(text);
    assert_ok(f->ctx, gn_json_parse(f->ctx, text, strlen(text), "result", &json));
    gerne_free(text);
    return json;
}

static double number(const json_t *json, const char *key)
{
    assert_true(json_is_number(json_object_get(json, key)));
    return json_number_value(json_object_get(json, key));
}

/* ---- configuration ---- */

static void configuration_by_key_and_yaml(void **state)
{
    fixture *f = *state;
    gerne_config *config;
    char *value;
    assert_ok(f->ctx, gerne_config_new(f->ctx, &config));
    assert_ok(f->ctx, gerne_config_parse(f->ctx, config,
                                         "train: {lr: 0.25, batch: 64}\nmodel: {arch: mlp, hidden: "
                                         "[10, 20]}\nsearch: {method.c: [0.5]}\n"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "train.batch", "16"));
    assert_ok(f->ctx, gerne_config_get(f->ctx, config, "train.lr", &value));
    assert_string_equal(value, "0.25");
    gerne_free(value);
    assert_ok(f->ctx, gerne_config_get(f->ctx, config, "train.batch", &value));
    assert_string_equal(value, "16");
    gerne_free(value);
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "train.batch", NULL));
    assert_ok(f->ctx, gerne_config_get(f->ctx, config, "train.batch", &value));
    assert_string_equal(value, "64");
    gerne_free(value);
    assert_ok(f->ctx, gerne_config_get(f->ctx, config, "model.weights", &value));
    assert_null(value);
    assert_ok(f->ctx, gerne_config_get(f->ctx, config, "model.hidden", &value));
    assert_string_equal(value, "10,20");
    gerne_free(value);
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "out", "my runs/[1]"));
    assert_ok(f->ctx, gerne_config_get(f->ctx, config, "out", &value));
    assert_string_equal(value, "my runs/[1]");
    gerne_free(value);
    assert_ok(f->ctx, gerne_config_yaml(f->ctx, config, &value));
    assert_non_null(strstr(value, "hidden: [10, 20]"));
    gerne_free(value);
    assert_fails(f->ctx, GERNE_EUSAGE, "unknown key 'train.l'",
                 gerne_config_set(f->ctx, config, "train.l", "1"));
    assert_fails(f->ctx, GERNE_EUSAGE, "YAML text, line 2",
                 gerne_config_parse(f->ctx, config, "train: [\n"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "train.lr", "-1"));
    assert_fails(f->ctx, GERNE_EUSAGE, "train.lr",
                 gerne_config_get(f->ctx, config, "train.lr", &value));
    gerne_config_close(config);
}

static void keys_are_listed(void **state)
{
    fixture *f = *state;
    char *text;
    bool found = false;
    assert_ok(f->ctx, gerne_config_keys(f->ctx, &text));
    json_t *list = parse(f, text), *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        const char *key = json_string_value(json_object_get(item, "key"));
        assert_non_null(key);
        if (strcmp(key, "select.metric") != 0)
            continue;
        found = true;
        assert_string_equal(json_string_value(json_object_get(item, "default")), "gba");
        assert_string_equal(json_string_value(json_array_get(json_object_get(item, "choices"), 1)),
                            "wga");
    }
    assert_true(found);
    json_decref(list);
}

/* ---- training on arrays ---- */

static void write_table(const fixture *f, const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int c = 0; c < D; c++)
        fprintf(file, "x%d,", c);
    fprintf(file, "y,a,split\n");
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < D; c++)
            fprintf(file, "%.9g,", (double)f->x[i][c]);
        fprintf(file, "%d,%d,%d\n", f->y[i], f->a[i], f->split[i]);
    }
    assert_int_equal(fclose(file), 0);
}

/* The same samples from a file and from memory give the same document, byte by byte. */
static void arrays_equal_a_file(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_config *config = configure(f, "arrays");
    char *from_arrays, *from_file;
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.standardize", "true"));
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, &from_arrays));
    gerne_config_close(config);
    gerne_dataset_close(dataset);

    config = configure(f, "file");
    write_table(f, path_in(f, "table.csv"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.format", "features"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.standardize", "true"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.file", path_in(f, "table.csv")));
    assert_ok(f->ctx, gerne_dataset_open(f->ctx, config, &dataset));
    assert_int_equal(gerne_dataset_count(dataset, GERNE_VAL), N / 4);
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, &from_file));
    assert_string_equal(from_arrays, from_file);
    gerne_free(from_arrays);
    gerne_free(from_file);
    gerne_config_close(config);
    gerne_dataset_close(dataset);
}

static int stop_at_30(void *user, const gerne_progress *progress)
{
    if (strcmp(progress->what, "train") == 0 && progress->done == 30)
        gerne_stop(user);
    return 0;
}

static void interrupted_and_resumed(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_config *config = configure(f, "whole");
    char *whole, *resumed;
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, &whole));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "out", path_in(f, "stopped")));
    gerne_set_progress(f->ctx, stop_at_30, f->ctx);
    assert_fails(f->ctx, GERNE_EINTERRUPTED, "after step 30 of 60; the run is saved",
                 gerne_train(f->ctx, config, dataset, GERNE_JSON, &resumed));
    assert_null(resumed);
    gerne_set_progress(f->ctx, NULL, NULL);
    assert_fails(f->ctx, GERNE_EUSAGE, "data.file is not given",
                 gerne_resume(f->ctx, path_in(f, "stopped"), NULL, GERNE_JSON, &resumed));
    assert_non_null(strstr(gerne_hint(f->ctx), "the same dataset"));
    assert_ok(f->ctx, gerne_resume(f->ctx, path_in(f, "stopped"), dataset, GERNE_JSON, &resumed));
    assert_string_equal(whole, resumed);
    gerne_free(whole);
    gerne_free(resumed);
    /* a request that comes before the work stops it, once */
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "out", path_in(f, "early")));
    gerne_stop(f->ctx);
    assert_fails(f->ctx, GERNE_EINTERRUPTED, "interrupted",
                 gerne_train(f->ctx, config, dataset, GERNE_JSON, NULL));
    gerne_stop(f->ctx);
    gerne_unstop(f->ctx);
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "out", path_in(f, "early2")));
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_TEXT, &whole));
    assert_non_null(strstr(whole, "open "));
    gerne_free(whole);
    gerne_config_close(config);
    gerne_dataset_close(dataset);
}

/* ---- models ---- */

static void predictions_are_those_of_the_weights(void **state)
{
    fixture *f = *state;
    gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_model *model = train_model(f, dataset);
    gerne_predictions *p;
    float weight[2][D], bias[2];
    gerne_tensor tensor = {.size = sizeof tensor};
    assert_int_equal(gerne_model_tensor_count(model), 2);
    assert_ok(f->ctx, gerne_model_tensor(f->ctx, model, 0, &tensor));
    assert_int_equal(tensor.ndims, tensor.count == 2 ? 1 : 2);
    assert_string_equal(tensor.type, "F32");
    assert_ok(f->ctx, gerne_model_read(f->ctx, model, "fc1.weight", weight[0], 2 * D));
    assert_ok(f->ctx, gerne_model_read(f->ctx, model, "fc1.bias", bias, 2));
    arrays.y = arrays.a = NULL;
    arrays.split = NULL;
    gerne_dataset *unlabelled = dataset_of(f, &arrays);
    assert_ok(f->ctx,
              gerne_model_predict(f->ctx, model, unlabelled, GERNE_ALL, GERNE_WITH_FEATURES, &p));
    assert_int_equal(gerne_predictions_count(p), N);
    assert_int_equal(gerne_predictions_feature_count(p), D);
    assert_memory_equal(gerne_predictions_features(p), f->x, sizeof f->x);
    for (int i = 0; i < N; i++) {
        double z[2];
        for (int k = 0; k < 2; k++) {
            z[k] = (double)bias[k];
            for (int c = 0; c < D; c++)
                z[k] += (double)weight[k][c] * (double)f->x[i][c];
        }
        double one = 1 / (1 + exp(z[0] - z[1]));
        assert_near(gerne_predictions_probabilities(p)[2 * i + 1], one, 1e-5);
        assert_int_equal(gerne_predictions_pred(p)[i], one > 0.5);
        assert_int_equal(gerne_predictions_rows(p)[i], i);
    }
    gerne_predictions_close(p);
    gerne_dataset_close(unlabelled);
    gerne_model_close(model);
    gerne_dataset_close(dataset);
}

typedef struct expected {
    const fixture *f;
    const gerne_predictions *p;
    size_t seen, stop_at;
} expected;

static gerne_status compare_sample(void *user, const gerne_prediction *sample)
{
    static const char *const names[] = {"0", "1"};
    expected *e = user;
    size_t i = e->seen++;
    if (e->seen == e->stop_at)
        return GERNE_ENOTHING;
    assert_int_equal(sample->size, sizeof *sample);
    assert_int_equal(sample->row, gerne_predictions_rows(e->p)[i]);
    assert_string_equal(sample->y, names[e->f->y[sample->row]]);
    assert_string_equal(sample->a, names[e->f->a[sample->row]]);
    assert_int_equal(sample->split, GERNE_TEST);
    assert_null(sample->file);
    assert_int_equal(sample->attributes, 2);
    assert_string_equal(sample->attribute_names[1], "1");
    assert_int_equal(sample->pred, gerne_predictions_pred(e->p)[i]);
    assert_memory_equal(sample->probabilities, gerne_predictions_probabilities(e->p) + 2 * i,
                        2 * sizeof(double));
    return GERNE_OK;
}

/* Predictions sample by sample are those that are kept; the function may end the call. */
static void samples_come_one_by_one(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_model *model = train_model(f, dataset);
    gerne_predictions *p;
    assert_ok(f->ctx, gerne_model_predict(f->ctx, model, dataset, GERNE_TEST, 0, &p));
    expected e = {.f = f, .p = p};
    assert_ok(f->ctx,
              gerne_model_predict_each(f->ctx, model, dataset, GERNE_TEST, compare_sample, &e));
    assert_int_equal(e.seen, gerne_predictions_count(p));
    e = (expected){.f = f, .p = p, .stop_at = 3};
    assert_int_equal(
        gerne_model_predict_each(f->ctx, model, dataset, GERNE_TEST, compare_sample, &e),
        GERNE_ENOTHING);
    assert_int_equal(e.seen, 3);
    gerne_predictions_close(p);
    gerne_model_close(model);
    gerne_dataset_close(dataset);
}

/* The document of gerne_evaluate is that of the model's own evaluation. */
static void evaluations_agree(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_model *model = train_model(f, dataset);
    gerne_predictions *p;
    gerne_metrics metrics = {.size = sizeof metrics};
    int32_t y[N], a[N];
    int64_t counts[4] = {0};
    char *by_model, *by_arrays;
    assert_ok(f->ctx, gerne_model_evaluate(f->ctx, model, dataset, GERNE_TEST, &metrics, GERNE_JSON,
                                           &by_model));
    assert_ok(f->ctx, gerne_model_predict(f->ctx, model, dataset, GERNE_TEST, 0, &p));
    for (int i = 0; i < N; i++)
        counts[2 * f->y[i] + f->a[i]] += f->split[i] == GERNE_TRAIN;
    for (size_t i = 0; i < gerne_predictions_count(p); i++) {
        y[i] = f->y[gerne_predictions_rows(p)[i]];
        a[i] = f->a[gerne_predictions_rows(p)[i]];
    }
    const gerne_predicted predicted = {.size = sizeof predicted,
                                       .n = gerne_predictions_count(p),
                                       .classes = 2,
                                       .attributes = 2,
                                       .y = y,
                                       .a = a,
                                       .probabilities = gerne_predictions_probabilities(p),
                                       .train_counts = counts};
    assert_ok(f->ctx, gerne_evaluate(f->ctx, &predicted, NULL, GERNE_JSON, &by_arrays));
    assert_string_equal(by_model, by_arrays);
    gerne_free(by_arrays);
    json_t *json = parse(f, by_model);
    assert_near(number(json, "wga"), metrics.wga, 1e-12);
    assert_int_equal(metrics.n, N / 4);
    json_decref(json);
    assert_ok(f->ctx, gerne_compare(f->ctx, &predicted, &predicted, 200, GERNE_JSON, &by_arrays));
    json = parse(f, by_arrays);
    assert_near(number(json_object_get(json, "comparison"), "wga_difference"), 0, 0);
    json_decref(json);
    gerne_predicted constant = predicted; /* class 0 for every sample: right for half of them */
    int32_t zeros[N] = {0};
    constant.probabilities = NULL;
    constant.pred = zeros;
    constant.name = "always zero";
    gerne_differences d = {.size = sizeof d};
    assert_ok(f->ctx, gerne_differences_of(f->ctx, &predicted, &constant, 200, &d));
    assert_near(d.wga, metrics.wga, 0);
    assert_near(d.gba, metrics.gba - 0.5, 1e-12);
    assert_true(d.wga_ci95[0] <= d.wga && d.wga <= d.wga_ci95[1]);
    assert_ok(f->ctx, gerne_compare(f->ctx, &predicted, &constant, 200, GERNE_TEXT, &by_arrays));
    assert_non_null(strstr(by_arrays, "first: 100 samples"));
    assert_non_null(strstr(by_arrays, "always zero:"));
    gerne_free(by_arrays);
    gerne_predictions_close(p);
    gerne_model_close(model);
    gerne_dataset_close(dataset);
}

/* ---- other samples ---- */

static int fetch_features(void *user, size_t index, void *sample)
{
    const fixture *f = user;
    memcpy(sample, f->x[index], sizeof f->x[index]);
    return 0;
}

static int fetch_pixels(void *user, size_t index, void *sample)
{
    const fixture *f = user;
    memcpy(sample, f->pixels[index], PIXELS);
    return 0;
}

static int fetch_nothing(void *user, size_t index, void *sample)
{
    (void)user;
    (void)sample;
    return index == 7 ? 5 : 0;
}

static char *train_arrays(fixture *f, const gerne_arrays *arrays, const char *out,
                          const char *limit)
{
    char *results;
    gerne_dataset *dataset = dataset_of(f, arrays);
    gerne_config *config = configure(f, out);
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.memory_limit", limit));
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, &results));
    gerne_config_close(config);
    gerne_dataset_close(dataset);
    return results;
}

static void fetched_samples_equal_arrays(void **state)
{
    fixture *f = *state;
    gerne_arrays arrays = features_of(f), fetched = arrays;
    fetched.features = NULL;
    fetched.fetch = fetch_features;
    fetched.user = f;
    char *first = train_arrays(f, &arrays, "1", "2G"),
         *second = train_arrays(f, &fetched, "2", "2G");
    assert_string_equal(first, second);
    gerne_free(first);
    gerne_free(second);

    arrays.features = fetched.features = NULL;
    arrays.dimension = fetched.dimension = 0;
    arrays.pixels = f->pixels[0];
    arrays.height = arrays.width = fetched.height = fetched.width = SIDE;
    fetched.fetch = fetch_pixels;
    first = train_arrays(f, &arrays, "3", "2G");
    second = train_arrays(f, &fetched, "4", "2G");
    assert_string_equal(first, second);
    gerne_free(second);
    second = train_arrays(f, &fetched, "5", "20K"); /* streamed */
    assert_string_equal(first, second);
    gerne_free(first);
    gerne_free(second);

    fetched.fetch = fetch_nothing;
    gerne_dataset *dataset = dataset_of(f, &fetched);
    gerne_config *config = configure(f, "6");
    assert_fails(f->ctx, GERNE_EDATA, "sample 7 cannot be fetched (code 5)",
                 gerne_train(f->ctx, config, dataset, GERNE_JSON, NULL));
    gerne_config_close(config);
    gerne_dataset_close(dataset);
}

/* The class is a word of the text. Pairs have the same words apart. */
static void texts_train_and_predict(void **state)
{
    static const char *const texts[] = {"a good cat", "the bad dog", "good dog .", "a bad cat ."};
    static const char *const seconds[] = {"cat", "dog", "dog", "cat"};
    static const char *const keys[] = {"model.width",
                                       "32",
                                       "model.heads",
                                       "2",
                                       "model.depth",
                                       "1",
                                       "data.max_tokens",
                                       "10",
                                       "train.steps",
                                       "20",
                                       "train.lr",
                                       "0.003",
                                       "model.arch",
                                       "bert",
                                       "model.inner_dropout",
                                       "0",
                                       "train.optimizer",
                                       "adam",
                                       NULL};
    fixture *f = *state;
    const char *x[N], *pairs[N];
    FILE *vocabulary = fopen(path_in(f, "vocab.txt"), "w");
    assert_non_null(vocabulary);
    fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\ngood\nbad\ncat\ndog\na\nthe\n.\n", vocabulary);
    assert_int_equal(fclose(vocabulary), 0);
    for (int i = 0; i < N; i++) {
        x[i] = texts[2 * f->a[i] + f->y[i]]; /* cats and dogs go with the attribute mostly */
        pairs[i] = seconds[i % 4];
    }
    gerne_arrays arrays = features_of(f);
    arrays.features = NULL;
    arrays.texts = x;
    for (int round = 0; round < 2; round++) {
        gerne_config *config = configure(f, round ? "pairs" : "texts");
        gerne_dataset *dataset = dataset_of(f, &arrays);
        gerne_model *model;
        gerne_predictions *p;
        set_keys(f, config, keys);
        assert_ok(f->ctx, gerne_config_set(f->ctx, config, "model.vocab", path_in(f, "vocab.txt")));
        assert_ok(f->ctx, gerne_config_set(f->ctx, config, "cache", path_in(f, "cache")));
        assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, NULL));
        assert_ok(f->ctx,
                  gerne_model_open(f->ctx, path_in(f, round ? "pairs" : "texts"), NULL, &model));
        assert_ok(f->ctx, gerne_model_predict(f->ctx, model, dataset, GERNE_ALL, 0, &p));
        assert_int_equal(gerne_predictions_count(p), N);
        for (int i = 0; i < N; i++) /* equal texts, equal answers */
            for (int j = 0; j < i && !round; j += 7)
                if (x[i] == x[j])
                    assert_near(gerne_predictions_probabilities(p)[2 * i],
                                gerne_predictions_probabilities(p)[2 * j], 1e-5);
        gerne_predictions_close(p);
        gerne_model_close(model);
        gerne_dataset_close(dataset);
        gerne_config_close(config);
        arrays.pairs = pairs;
    }
}

static void groups_and_audit_of_a_dataset(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_groups *groups;
    char *text;
    assert_ok(f->ctx, gerne_dataset_groups(f->ctx, dataset, GERNE_TRAIN, &groups));
    assert_int_equal(gerne_groups_total(groups), gerne_dataset_count(dataset, GERNE_TRAIN));
    assert_ok(f->ctx, gerne_audit(f->ctx, groups, GERNE_JSON, &text));
    json_t *alone = parse(f, text);
    assert_ok(f->ctx, gerne_dataset_audit(f->ctx, dataset, GERNE_TRAIN, GERNE_JSON, &text));
    json_t *json = parse(f, text);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "strongly biased");
    assert_near(number(alone, "cramers_v"), number(json, "cramers_v"), 0);
    assert_int_equal((int)number(json_object_get(json, "all_splits"), "n"), N);
    json_decref(json);
    json_decref(alone);
    assert_ok(f->ctx, gerne_dataset_audit(f->ctx, dataset, GERNE_ALL, GERNE_TEXT, &text));
    assert_non_null(strstr(text, "400 samples"));
    gerne_free(text);
    gerne_groups_close(groups);
    gerne_dataset_close(dataset);
}

/* A column of a file is what the array is. */
static void labels_of_a_file(void **state)
{
    fixture *f = *state;
    const gerne_arrays arrays = features_of(f);
    gerne_dataset *dataset = dataset_of(f, &arrays);
    gerne_labels *labels;
    gerne_bias bias = {.size = sizeof bias};
    char *text;
    write_table(f, path_in(f, "table.csv"));
    assert_ok(f->ctx, gerne_labels_open(f->ctx, path_in(f, "table.csv"), NULL, &labels));
    const gerne_groups *groups = gerne_labels_groups(labels);
    assert_int_equal(gerne_groups_total(groups), gerne_dataset_count(dataset, GERNE_TRAIN));
    assert_ok(f->ctx, gerne_bias_of(f->ctx, groups, &bias));
    assert_int_equal(bias.verdict, GERNE_STRONGLY_BIASED);
    assert_ok(f->ctx, gerne_dataset_audit(f->ctx, dataset, GERNE_TRAIN, GERNE_JSON, &text));
    json_t *json = parse(f, text);
    assert_near(bias.cramers_v, number(json, "cramers_v"), 1e-12);
    json_decref(json);
    assert_ok(f->ctx, gerne_labels_audit(f->ctx, labels, GERNE_TEXT, &text));
    assert_non_null(strstr(text, path_in(f, "table.csv")));
    gerne_free(text);
    gerne_labels_close(labels);

    const gerne_label_columns swapped = {
        .size = sizeof swapped, .y = "a", .a = "y", .split = "all"};
    assert_ok(f->ctx, gerne_labels_open(f->ctx, path_in(f, "table.csv"), &swapped, &labels));
    assert_int_equal(gerne_groups_total(gerne_labels_groups(labels)), N);
    gerne_labels_close(labels);
    assert_ok(f->ctx, gerne_dataset_set_name(f->ctx, dataset, "my birds"));
    assert_ok(f->ctx, gerne_dataset_audit(f->ctx, dataset, GERNE_ALL, GERNE_TEXT, &text));
    assert_non_null(strstr(text, "my birds"));
    gerne_free(text);
    gerne_dataset_close(dataset);
}

/* A run is judged on the data that it was trained on, or on other data by intention. */
static void changed_data_is_refused(void **state)
{
    fixture *f = *state;
    gerne_config *config = configure(f, "run");
    gerne_model *model;
    write_table(f, path_in(f, "table.csv"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.format", "features"));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "data.file", path_in(f, "table.csv")));
    assert_ok(f->ctx, gerne_train(f->ctx, config, NULL, GERNE_JSON, NULL));
    gerne_config_close(config);
    assert_ok(f->ctx, gerne_model_open(f->ctx, path_in(f, "run"), NULL, &model));
    assert_ok(f->ctx,
              gerne_model_evaluate(f->ctx, model, NULL, GERNE_TEST, NULL, GERNE_JSON, NULL));
    gerne_model_close(model);
    f->x[0][0] += 1;
    write_table(f, path_in(f, "table.csv"));
    assert_ok(f->ctx, gerne_model_open(f->ctx, path_in(f, "run"), NULL, &model));
    assert_fails(f->ctx, GERNE_EUSAGE, "has changed",
                 gerne_model_evaluate(f->ctx, model, NULL, GERNE_TEST, NULL, GERNE_JSON, NULL));
    gerne_model_close(model);
    assert_ok(f->ctx, gerne_config_new(f->ctx, &config));
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "other-data", "true"));
    assert_ok(f->ctx, gerne_model_open(f->ctx, path_in(f, "run"), config, &model));
    assert_ok(f->ctx,
              gerne_model_evaluate(f->ctx, model, NULL, GERNE_TEST, NULL, GERNE_JSON, NULL));
    gerne_model_close(model);
    gerne_config_close(config);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(configuration_by_key_and_yaml),
        TEST(keys_are_listed),
        TEST(arrays_equal_a_file),
        TEST(interrupted_and_resumed),
        TEST(predictions_are_those_of_the_weights),
        TEST(samples_come_one_by_one),
        TEST(evaluations_agree),
        TEST(fetched_samples_equal_arrays),
        TEST(texts_train_and_predict),
        TEST(groups_and_audit_of_a_dataset),
        TEST(labels_of_a_file),
        TEST(changed_data_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
