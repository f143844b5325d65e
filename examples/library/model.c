/* model.c - configurations, data by configuration, and what a trained model offers: predictions
 * from several threads, features, tensors.
 *
 *     cc model.c $(pkg-config --cflags --libs gerne) -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <gerne.h>

static void check(gerne_ctx *ctx, gerne_status status)
{
    if (status == GERNE_OK)
        return;
    fprintf(stderr, "%s: %s\n%s\n", gerne_status_name(status), gerne_message(ctx), gerne_hint(ctx));
    exit(EXIT_FAILURE);
}

static gerne_config *configure(gerne_ctx *ctx)
{
    gerne_config *config;
    char *text;
    check(ctx, gerne_config_new(ctx, &config));
    check(ctx, gerne_config_read(ctx, config, "config.yaml"));
    check(ctx, gerne_config_set(ctx, config, "train.steps", "200"));
    check(ctx, gerne_config_set(ctx, config, "out", "runs/model"));
    check(ctx, gerne_config_get(ctx, config, "train.lr", &text)); /* also a default */
    printf("train.lr is %s\n", text);
    gerne_free(text);
    check(ctx, gerne_config_yaml(ctx, config, &text)); /* all of it, as a run keeps it */
    puts(text);
    gerne_free(text);
    check(ctx, gerne_config_keys(ctx, &text)); /* JSON: type, default, limits, help of every key */
    gerne_free(text);
    return config;
}

static void describe(gerne_ctx *ctx, const gerne_dataset *data)
{
    gerne_groups *groups;
    const int32_t *y = gerne_dataset_y(data), *a = gerne_dataset_a(data);
    const uint8_t *split = gerne_dataset_split(data);
    printf("%zu samples, %u classes, %u attributes; the first is a %s %s in split %u\n",
           gerne_dataset_count(data, GERNE_ALL), gerne_dataset_classes(data),
           gerne_dataset_attributes(data), gerne_dataset_attribute_name(data, (uint32_t)a[0]),
           gerne_dataset_class_name(data, (uint32_t)y[0]), split[0]);
    check(ctx, gerne_dataset_groups(ctx, data, GERNE_TRAIN, &groups));
    printf("%llu to train on\n", (unsigned long long)gerne_groups_total(groups));
    gerne_groups_close(groups);
}

/* ---- predicting ---- */

typedef struct job {
    gerne_model *model;
    const gerne_dataset *data;
    double confidence;
} job;

static void *predict(void *argument)
{
    job *j = argument;
    gerne_ctx *ctx = NULL; /* every thread has its own */
    gerne_predictions *p;
    check(ctx, gerne_ctx_new(&ctx));
    check(ctx, gerne_model_predict(ctx, j->model, j->data, GERNE_TEST, GERNE_WITH_FEATURES, &p));
    size_t count = gerne_predictions_count(p), classes = gerne_predictions_classes(p);
    for (size_t i = 0; i < count; i++) {
        const double *row = gerne_predictions_probabilities(p) + i * classes;
        j->confidence += row[gerne_predictions_pred(p)[i]] / (double)count;
    }
    printf("row %u is a %s; %zu features per sample, the first %g\n", gerne_predictions_rows(p)[0],
           gerne_model_class_name(j->model, (uint32_t)gerne_predictions_pred(p)[0]),
           gerne_predictions_feature_count(p), (double)gerne_predictions_features(p)[0]);
    gerne_predictions_close(p);
    gerne_ctx_close(ctx);
    return NULL;
}

static bool predict_twice(gerne_model *model, const gerne_dataset *data)
{
    pthread_t threads[2];
    job jobs[2] = {{model, data, 0}, {model, data, 0}};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, predict, &jobs[i]) != 0)
            return false;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("mean confidence %g\n", jobs[0].confidence);
    return jobs[0].confidence == jobs[1].confidence;
}

/* Predictions as they come, for data of any size; a table with the columns that labels have. */
static gerne_status write_line(void *file, const gerne_prediction *sample)
{
    bool written = fprintf(file, "%zu,%s,%s,%.3f\n", sample->row, sample->y, sample->a,
                           sample->probabilities[sample->pred]) > 0;
    return written ? GERNE_OK : GERNE_EIO;
}

static void write_table(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *data)
{
    FILE *file = fopen("predictions.csv", "w");
    if (!file)
        exit(EXIT_FAILURE);
    fprintf(file, "row,y,a,confidence\n");
    check(ctx, gerne_model_predict_each(ctx, model, data, GERNE_TEST, write_line, file));
    if (fclose(file) != 0)
        exit(EXIT_FAILURE);
}

/* ---- labels of a file ---- */

static void audit_table(gerne_ctx *ctx)
{
    const gerne_label_columns columns = {.size = sizeof columns, .y = "y", .a = "a"};
    gerne_labels *labels;
    char *text;
    check(ctx, gerne_labels_open(ctx, "predictions.csv", &columns, &labels));
    check(ctx, gerne_labels_audit(ctx, labels, GERNE_TEXT, &text));
    printf("%s%llu rows\n", text,
           (unsigned long long)gerne_groups_total(gerne_labels_groups(labels)));
    gerne_free(text);
    gerne_labels_close(labels);
}

/* ---- weights ---- */

static void list_tensors(gerne_ctx *ctx, const gerne_model *model)
{
    char *metadata;
    check(ctx, gerne_model_metadata(ctx, model, &metadata));
    puts(metadata);
    gerne_free(metadata);
    for (size_t i = 0; i < gerne_model_tensor_count(model); i++) {
        gerne_tensor tensor = {.size = sizeof tensor};
        check(ctx, gerne_model_tensor(ctx, model, i, &tensor));
        float *values = malloc(tensor.count * sizeof *values);
        if (!values)
            exit(EXIT_FAILURE);
        check(ctx, gerne_model_read(ctx, model, tensor.name, values, tensor.count));
        printf("%s: %s, %zu values, the first %g\n", tensor.name, tensor.type, tensor.count,
               (double)values[0]);
        free(values);
    }
}

int main(void)
{
    gerne_ctx *ctx = NULL;
    gerne_dataset *data;
    gerne_model *model;
    check(ctx, gerne_ctx_new(&ctx));
    gerne_config *config = configure(ctx);
    check(ctx, gerne_dataset_open(ctx, config, &data));
    describe(ctx, data);
    check(ctx, gerne_train(ctx, config, data, GERNE_JSON, NULL));
    check(ctx, gerne_model_open(ctx, "runs/model/best.safetensors", NULL, &model));
    printf("%u classes from %s to %s, %u attributes from %s\n", gerne_model_classes(model),
           gerne_model_class_name(model, 0),
           gerne_model_class_name(model, gerne_model_classes(model) - 1),
           gerne_model_attributes(model), gerne_model_attribute_name(model, 0));
    bool equal = predict_twice(model, data);
    write_table(ctx, model, data);
    audit_table(ctx);
    list_tensors(ctx, model);
    gerne_model_close(model);
    gerne_dataset_close(data);
    gerne_config_close(config);
    gerne_ctx_close(ctx);
    return equal ? EXIT_SUCCESS : EXIT_FAILURE;
}
