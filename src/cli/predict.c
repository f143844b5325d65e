/* predict.c - gerne predict: the predictions of a network as CSV, JSON or text. */
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "data/dataset.h"
#include "metrics/predictions_csv.h"
#include "train/trained_options.h"

enum { CHUNK = 1 << 16, TOP_MAX = 1000 }; /* bytes that are written at once; classes of --top */

typedef struct predict_options {
    int split;
    int64_t top;
    gn_trained_options use; /* for help */
} predict_options;

static const gn_option options[] = {
    {"split", GN_CHOICE, offsetof(predict_options, split), .fallback = "test",
     .choices = GN_SPLIT_CHOICES, .help = "split to predict"},
    {"top", GN_INT, offsetof(predict_options, top), .min = 1, .max = TOP_MAX,
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
    const gerne_model *model;
    bool begun;
    size_t top;
    gerne_status (*print)(printer *p, const gerne_prediction *sample);
};

static const char *predicted_class(const printer *p, const gerne_prediction *sample)
{
    return gerne_model_class_name(p->model, (uint32_t)sample->pred);
}

static gerne_status print_csv(printer *p, const gerne_prediction *sample)
{
    const gn_prediction_line line = {
        .index = sample->row,
        .y = sample->y ? sample->y : "",
        .a = sample->a ? sample->a : "",
        .split = gn_split_name((gn_split)sample->split),
        .pred = predicted_class(p, sample),
        .probabilities = sample->probabilities,
        .file = sample->file,
    };
    return gn_predictions_add_line(p->cli->ctx, &line, (int32_t)sample->classes, &p->cli->output);
}

static json_t *label_json(const char *label)
{
    return label && label[0] ? json_string(label) : json_null();
}

static gerne_status print_json(printer *p, const gerne_prediction *sample)
{
    json_t *json = json_object(), *probabilities = json_array();
    for (uint32_t k = 0; k < sample->classes; k++)
        json_array_append_new(probabilities, gn_json_number(sample->probabilities[k]));
    json_object_set_new(json, "index", json_integer((json_int_t)sample->row));
    if (sample->file && sample->file[0])
        json_object_set_new(json, "file", json_string(sample->file));
    json_object_set_new(json, "y", label_json(sample->y));
    json_object_set_new(json, "a", label_json(sample->a));
    json_object_set_new(json, "split", json_string(gn_split_name((gn_split)sample->split)));
    json_object_set_new(json, "pred", json_string(predicted_class(p, sample)));
    json_object_set_new(json, "prob", probabilities);
    gerne_status status = p->begun ? gn_text_add(p->cli->ctx, &p->cli->output, ",") : GERNE_OK;
    if (status == GERNE_OK)
        status = gn_json_print_line(p->cli->ctx, json, &p->cli->output);
    json_decref(json);
    return status;
}

/* The most probable classes first, ties by index. */
static void find_top(const gerne_prediction *sample, size_t top, uint32_t order[])
{
    const double *prob = sample->probabilities;
    size_t found = 0;
    for (uint32_t k = 0; k < sample->classes; k++) {
        size_t at = found;
        while (at > 0 && prob[k] > prob[order[at - 1]])
            at--;
        if (at >= top)
            continue;
        if (found < top)
            found++;
        memmove(order + at + 1, order + at, (found - 1 - at) * sizeof *order);
        order[at] = k;
    }
}

static gerne_status print_top(printer *p, const gerne_prediction *sample)
{
    gerne_ctx *ctx = p->cli->ctx;
    gn_text *out = &p->cli->output;
    uint32_t order[TOP_MAX] = {0};
    size_t top = p->top < sample->classes ? p->top : sample->classes;
    if (sample->file && sample->file[0])
        GN_TRY(gn_text_add(ctx, out, "%s:", sample->file));
    else
        GN_TRY(gn_text_add(ctx, out, "%zu:", sample->row));
    find_top(sample, top, order);
    for (size_t i = 0; i < top; i++)
        GN_TRY(gn_text_add(ctx, out, "%s %s %.1f%%", i ? "," : "",
                           gerne_model_class_name(p->model, order[i]),
                           100 * sample->probabilities[order[i]]));
    if (sample->y)
        GN_TRY(gn_text_add(ctx, out, " (is %s)", sample->y));
    return gn_text_add(ctx, out, "\n");
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

/* In front of the first sample, which tells what the data is like. */
static gerne_status begin(printer *p, const gerne_prediction *sample)
{
    gn_cli *cli = p->cli;
    const char **classes;
    if (p->print == print_top)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, sample->classes, sizeof *classes, &classes));
    for (uint32_t k = 0; k < sample->classes; k++)
        classes[k] = gerne_model_class_name(p->model, k);
    if (p->print == print_csv)
        return gn_predictions_add_header(cli->ctx, classes, (int32_t)sample->classes,
                                         sample->file != NULL, &cli->output);
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "{"));
    GN_TRY(names_line(cli, "class_names", classes, sample->classes));
    GN_TRY(gn_text_add(cli->ctx, &cli->output, ","));
    GN_TRY(names_line(cli, "attribute_names", sample->attribute_names, sample->attributes));
    return gn_text_add(cli->ctx, &cli->output, ",\"predictions\":[\n");
}

static gerne_status take(void *user, const gerne_prediction *sample)
{
    printer *p = user;
    if (!p->begun)
        GN_TRY(begin(p, sample));
    GN_TRY(p->print(p, sample));
    p->begun = true;
    return p->cli->output.size >= CHUNK ? gn_output_flush(p->cli) : GERNE_OK;
}

static gerne_status run(gn_cli *cli)
{
    const predict_options *given = cli->options;
    gerne_model *model;
    if (cli->argument_count == 0) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "no run or weights file given");
        gn_hint(cli->ctx, "gerne predict RUN, or gerne predict FILE.safetensors --model.arch NAME "
                          "--data.dir FOLDER");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(gn_open_model(cli, &model));
    printer p = {.cli = cli,
                 .model = model,
                 .top = (size_t)given->top,
                 .print = cli->json    ? print_json
                          : given->top ? print_top
                                       : print_csv};
    gerne_status status =
        gerne_model_predict_each(cli->ctx, model, NULL, (gerne_split)given->split, take, &p);
    gerne_model_close(model);
    GN_TRY(status);
    return cli->json ? gn_text_add(cli->ctx, &cli->output, "]}\n") : GERNE_OK;
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
