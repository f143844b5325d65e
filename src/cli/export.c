/* export.c - gerne export: a trained network as a file for other programs. */
#include "cli/command.h"
#include "train/export.h"

typedef struct export_options {
    gn_export_options files;
    gn_trained_options use;
} export_options;

static const char help[] =
    "Writes the predicting network of a run or weights file: input normalisation, body, head and\n"
    "softmax.\n"
    "\n"
    "  gerne export runs/birds --onnx birds.onnx\n"
    "  gerne export runs/birds --safetensors birds.safetensors\n"
    "  gerne export resnet50.pth --model.arch resnet50 --shape 3,224,224 --onnx resnet50.onnx\n"
    "\n"
    "The ONNX file takes batches of any size. Its input is pixels (RGB, 0 to 255), features (as "
    "in\n"
    "the data), or input_ids and attention_mask; its outputs are probabilities and logits. Names "
    "of\n"
    "classes are in its metadata.\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(export_options), &cli->options));
    export_options *given = cli->options;
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Files", gn_export_option_table,
                         gn_export_option_count, &given->files));
    return gn_trained_options_add_model(cli->ctx, cli->config, &given->use);
}

static json_t *file_json(const char *path, int64_t bytes)
{
    return path ? json_pack("{s:s, s:I}", "file", path, "bytes", (json_int_t)bytes) : json_null();
}

static gerne_status print_file(gn_cli *cli, const char *path, int64_t bytes)
{
    if (!path)
        return GERNE_OK;
    return gn_text_add(cli->ctx, &cli->output, "%s: %.1f MB\n", path, (double)bytes / 1e6);
}

static gerne_status print(gn_cli *cli, const gn_exported *exported)
{
    const export_options *given = cli->options;
    if (cli->json) {
        json_t *json = json_object();
        json_object_set_new(json, "onnx", file_json(given->files.onnx, exported->onnx_bytes));
        json_object_set_new(json, "safetensors",
                            file_json(given->files.safetensors, exported->safetensors_bytes));
        return gn_output_json(cli, json);
    }
    GN_TRY(print_file(cli, given->files.onnx, exported->onnx_bytes));
    return print_file(cli, given->files.safetensors, exported->safetensors_bytes);
}

static gerne_status run(gn_cli *cli)
{
    export_options *given = cli->options;
    gn_trained_model *model;
    gn_exported exported;
    if (cli->argument_count == 0) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "no run or weights file given");
        gn_hint(cli->ctx, "gerne export RUN --onnx FILE");
        return GERNE_EUSAGE;
    }
    const char *path = cli->arguments[0];
    GN_TRY(gn_trained_options_resolve(cli->ctx, cli->config, path, &cli->flags, &given->use));
    GN_TRY(gn_trained_model_open(cli->ctx, path, &given->use, &model));
    gerne_status status = gn_export(cli->ctx, model, &given->files, &exported);
    gn_trained_model_close(model);
    GN_TRY(status);
    return print(cli, &exported);
}

const gn_command gn_command_export = {
    .name = "export",
    .arguments = "RUN|WEIGHTS",
    .summary = "Write a trained network as ONNX or safetensors",
    .help = help,
    .max_arguments = 1,
    .applies_flags_itself = true,
    .setup = setup,
    .run = run,
};
