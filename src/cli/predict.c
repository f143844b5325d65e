/* predict.c - gerne predict: the predictions of a network as CSV, JSON or text. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "metrics/predictions_csv.h"
#include "train/trained_model.h"

enum { CHUNK = 1 << 16 }; /* bytes that are written at once */

typedef struct predict_options {
    int split;
    int64_t top;
    gn_trained_options use;
} predict_options;

static const gn_option options[] = {
    {"split", GN_CHOICE, offsetof(predict_options, split), .fallback = "test",
     .choices = GN_SPLIT_CHOICES, .help = "split to predict"},
    {"top", GN_INT, offsetof(predict_options, top), .min = 1, .max = 1000,
     .help = "print the N most probable classes of each sample as text instead of CSV"},
};

static const char help[] =
    "Runs a network over data and prints a CSV: index,y,a,split,pred,prob_<class>... with the\n"
    "original labels; index is the sample's row in its file or folder listing, y and a are empty\n"
    "for unlabelled data, and images add their path as the last column, file. 'gerne eval\n"
    "--predictions' reads it.\n"
    "\n"
    "  gerne predict runs/birds > test.csv\n"
    "  gerne predict runs/birds --data.dir photos --top 3\n"
    "  gerne predict resnet50.safetensors --model.arch resnet50 --data.format images \\\n"
    "      --data.dir photos --data.resize 224 --top 5\n"
    "\n"
    "A run predicts on its own data unless data.* keys name other data, such as a folder of\n"
    "unlabelled images. A weights file needs data.* keys, and --model.arch unless its metadata\n"
    "names the network (best.safetensors of a run does).\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(predict_options), &cli->options));
    predict_options *given = cli->options;
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Predictions", options,
                         sizeof options / sizeof options[0], given));
    return gn_trained_options_add(cli->ctx, cli->config, &given->use);
}

/* ---- samples ---- */

typedef struct printer printer;
struct printer {
    gn_cli *cli;
    const gn_model_card *card;
    const gn_dataset *data;
    gn_predictions one; /* the sample at hand */
    size_t printed, top;
    int32_t *order; /* [classes], for the top ones */
    gerne_status (*print)(printer *p, uint32_t sample);
};

static const char *class_label(const printer *p, uint32_t sample)
{
    const gn_dataset *data = p->data;
    return data->y ? data->class_names[data->y[sample]] : "";
}

static const char *attribute_label(const printer *p, uint32_t sample)
{
    const gn_dataset *data = p->data;
    return data->a ? data->attribute_names[data->a[sample]] : "";
}

static gerne_status print_csv(printer *p, uint32_t sample)
{
    char file[4096];
    const gn_dataset *data = p->data;
    bool files = gn_dataset_has_files(data);
    const gn_prediction_line line = {
        .index = gn_dataset_row(data, sample),
        .y = class_label(p, sample),
        .a = attribute_label(p, sample),
        .split = gn_split_name((gn_split)data->split[sample]),
        .pred = p->card->class_names[p->one.pred[0]],
        .probabilities = p->one.probabilities,
        .file = files ? gn_dataset_file(data, sample, file, sizeof file) : NULL,
    };
    return gn_predictions_add_line(p->cli->ctx, &line, p->one.classes, &p->cli->output);
}

static json_t *label_json(const char *label)
{
    return label[0] ? json_string(label) : json_null();
}

static gerne_status print_json(printer *p, uint32_t sample)
{
    const gn_dataset *data = p->data;
    gn_text *out = &p->cli->output;
    json_t *json = json_object(), *probabilities = json_array();
    char file[4096];
    for (int32_t k = 0; k < p->one.classes; k++)
        json_array_append_new(probabilities, gn_json_number(p->one.probabilities[k]));
    json_object_set_new(json, "index", json_integer((json_int_t)gn_dataset_row(data, sample)));
    if (gn_dataset_file(data, sample, file, sizeof file)[0])
        json_object_set_new(json, "file", json_string(file));
    json_object_set_new(json, "y", label_json(class_label(p, sample)));
    json_object_set_new(json, "a", label_json(attribute_label(p, sample)));
    json_object_set_new(json, "split", json_string(gn_split_name((gn_split)data->split[sample])));
    json_object_set_new(json, "pred", json_string(p->card->class_names[p->one.pred[0]]));
    json_object_set_new(json, "prob", probabilities);
    gerne_status status = p->printed ? gn_text_add(p->cli->ctx, out, ",") : GERNE_OK;
    if (status == GERNE_OK)
        status = gn_json_print_line(p->cli->ctx, json, out);
    json_decref(json);
    return status;
}

/* The most probable classes first, ties by index. */
static void find_top(printer *p)
{
    const double *prob = p->one.probabilities;
    size_t found = 0;
    for (int32_t k = 0; k < p->one.classes; k++) {
        size_t at = found;
        while (at > 0 && prob[k] > prob[p->order[at - 1]])
            at--;
        if (at >= p->top)
            continue;
        if (found < p->top)
            found++;
        memmove(p->order + at + 1, p->order + at, (found - 1 - at) * sizeof *p->order);
        p->order[at] = k;
    }
}

static gerne_status print_top(printer *p, uint32_t sample)
{
    gerne_ctx *ctx = p->cli->ctx;
    gn_text *out = &p->cli->output;
    char file[4096];
    const gn_dataset *data = p->data;
    if (gn_dataset_file(data, sample, file, sizeof file)[0])
        GN_TRY(gn_text_add(ctx, out, "%s:", file));
    else
        GN_TRY(gn_text_add(ctx, out, "%zu:", gn_dataset_row(data, sample)));
    find_top(p);
    for (size_t i = 0; i < p->top; i++)
        GN_TRY(gn_text_add(ctx, out, "%s %s %.1f%%", i ? "," : "",
                           p->card->class_names[p->order[i]],
                           100 * p->one.probabilities[p->order[i]]));
    if (data->y)
        GN_TRY(gn_text_add(ctx, out, " (is %s)", class_label(p, sample)));
    return gn_text_add(ctx, out, "\n");
}

static gerne_status take_batch(void *user, const gn_inferred *inferred)
{
    printer *p = user;
    static const int32_t unused[1] = {0}; /* labels are printed from the data */
    size_t classes = (size_t)p->one.classes;
    for (size_t i = 0; i < inferred->count; i++) {
        gn_predictions_clear(&p->one);
        GN_TRY(gn_predictions_add_logits(p->cli->ctx, &p->one, inferred->logits + i * classes,
                                         unused, unused, 1));
        GN_TRY(p->print(p, inferred->samples[i]));
        p->printed++;
    }
    return p->cli->output.size >= CHUNK ? gn_output_flush(p->cli) : GERNE_OK;
}

/* ---- the document ---- */

static gerne_status names_line(gn_cli *cli, const char *key, const char *const *names,
                               uint32_t count)
{
    json_t *list = gn_json_names(names, count);
    gerne_status status = gn_text_add(cli->ctx, &cli->output, "\"%s\":", key);
    if (status == GERNE_OK)
        status = gn_json_print_line(cli->ctx, list, &cli->output);
    json_decref(list);
    return status;
}

static gerne_status begin(printer *p)
{
    gn_cli *cli = p->cli;
    const gn_model_card *card = p->card;
    if (p->print == print_top)
        return GERNE_OK;
    if (p->print == print_csv)
        return gn_predictions_add_header(cli->ctx, card->class_names, (int32_t)card->classes,
                                         gn_dataset_has_files(p->data), &cli->output);
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "{"));
    GN_TRY(names_line(cli, "class_names", card->class_names, card->classes));
    GN_TRY(gn_text_add(cli->ctx, &cli->output, ","));
    GN_TRY(names_line(cli, "attribute_names", p->data->attribute_names, p->data->attributes));
    return gn_text_add(cli->ctx, &cli->output, ",\"predictions\":[\n");
}

static gerne_status print_all(printer *p, gn_predictor *predictor)
{
    const predict_options *given = p->cli->options;
    size_t classes = p->card->classes;
    p->top = (size_t)given->top < classes ? (size_t)given->top : classes;
    p->print = p->cli->json ? print_json : given->top ? print_top : print_csv;
    GN_TRY(gn_arena_alloc(p->cli->ctx, p->cli->arena, classes, sizeof *p->order, &p->order));
    gn_predictions_init(&p->one, (int32_t)classes, 1, true);
    gerne_status status = begin(p);
    if (status == GERNE_OK)
        status = gn_predictor_run(predictor, "predict", take_batch, p);
    gn_predictions_free(&p->one);
    GN_TRY(status);
    return p->cli->json ? gn_text_add(p->cli->ctx, &p->cli->output, "]}\n") : GERNE_OK;
}

static gerne_status predict(gn_cli *cli, gn_trained_model *model)
{
    const predict_options *given = cli->options;
    gn_model_data data;
    gn_predictor *predictor;
    GN_TRY(gn_trained_model_data(cli->ctx, model, (gn_split)given->split, &data));
    gerne_status status = gn_predictor_new(cli->ctx, model, &data, &predictor);
    if (status == GERNE_OK) {
        printer p = {.cli = cli, .card = gn_trained_model_card(model), .data = data.dataset};
        status = print_all(&p, predictor);
    }
    gn_predictor_close(predictor);
    gn_model_data_close(&data);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    predict_options *given = cli->options;
    gn_trained_model *model;
    if (cli->argument_count == 0) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "no run or weights file given");
        gn_hint(cli->ctx, "gerne predict RUN, or gerne predict FILE.safetensors --model.arch NAME "
                          "--data.dir FOLDER");
        return GERNE_EUSAGE;
    }
    const char *path = cli->arguments[0];
    GN_TRY(gn_trained_options_resolve(cli->ctx, cli->config, path, &cli->flags, &given->use));
    GN_TRY(gn_trained_model_open(cli->ctx, path, &given->use, &model));
    gerne_status status = predict(cli, model);
    gn_trained_model_close(model);
    return status;
}

const gn_command gn_command_predict = {
    .name = "predict",
    .arguments = "RUN|WEIGHTS",
    .summary = "Predict the classes of labelled or unlabelled samples",
    .help = help,
    .max_arguments = 1,
    .applies_flags_itself = true,
    .setup = setup,
    .run = run,
};
