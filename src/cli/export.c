/* export.c - gerne export: a trained network as a file for other programs. */
#include <sys/stat.h>

#include "cli/client.h"
#include "train/trained_options.h"

typedef struct export_options {
    const char *onnx, *safetensors;
    int half, normalize;
    bool features, overwrite;
    gn_ints shape;
    gn_trained_options use; /* for help */
} export_options;

#define FIELD(name) offsetof(export_options, name)

static const gn_option options[] = {
    {"onnx", GN_TEXT, FIELD(onnx), .help = "ONNX file to write (opset 17)"},
    {"safetensors", GN_TEXT, FIELD(safetensors),
     .help = "safetensors file to write, with the tensor names of torchvision (ResNets), Hugging "
             "Face (bert) or timm (vit)"},
    {"precision", GN_CHOICE, FIELD(half), .fallback = "fp32", .choices = "fp32|fp16",
     .help = "precision of the stored weights; fp16 halves the file"},
    {"features", GN_BOOL, FIELD(features), .fallback = "false",
     .help = "add the features in front of the last layer to the outputs of the ONNX file"},
    {"overwrite", GN_BOOL, FIELD(overwrite), .fallback = "false", .help = "replace existing files"},
    {"shape", GN_INTS, FIELD(shape), .min = 1, .max = 1 << 24,
     .help = "shape of a sample, for weights without metadata: 3,HEIGHT,WIDTH of images, the "
             "number of features, or the most tokens of a text (default: derived from the "
             "weights; required for ResNets)"},
    {"normalize", GN_CHOICE, FIELD(normalize), .fallback = "auto", .choices = GN_NORMALIZE_CHOICES,
     .help = "normalisation of images, for weights without metadata; auto is imagenet"},
};

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
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Files", options,
                         sizeof options / sizeof options[0], given));
    return gn_trained_options_add_model(cli->ctx, cli->config, &given->use);
}

/* ---- what was written ---- */

static gerne_status print_file(gn_cli *cli, const char *key, const char *path, json_t *json)
{
    struct stat info;
    if (!path) {
        json_object_set_new(json, key, json_null());
        return GERNE_OK;
    }
    if (stat(path, &info) != 0)
        return gn_fail_errno(cli->ctx, GERNE_EIO, "cannot read '%s'", path);
    json_object_set_new(json, key,
                        json_pack("{s:s, s:I}", "file", path, "bytes", (json_int_t)info.st_size));
    if (cli->json)
        return GERNE_OK;
    return gn_text_add(cli->ctx, &cli->output, "%s: %.1f MB\n", path, (double)info.st_size / 1e6);
}

static gerne_status print(gn_cli *cli)
{
    const export_options *given = cli->options;
    json_t *json = json_object();
    gerne_status status = print_file(cli, "onnx", given->onnx, json);
    if (status == GERNE_OK)
        status = print_file(cli, "safetensors", given->safetensors, json);
    if (status == GERNE_OK && cli->json)
        return gn_output_json(cli, json);
    json_decref(json);
    return status;
}

static gerne_status write_files(gn_cli *cli)
{
    const export_options *given = cli->options;
    char normalize[16];
    const gerne_export_options files = {
        .size = sizeof files,
        .onnx = given->onnx,
        .safetensors = given->safetensors,
        .fp16 = given->half,
        .features = given->features,
        .overwrite = given->overwrite,
        .shape = given->shape.items,
        .shape_count = given->shape.count,
        .normalize =
            gn_choice_word(GN_NORMALIZE_CHOICES, given->normalize, normalize, sizeof normalize),
    };
    gerne_model *model;
    GN_TRY(gn_open_model(cli, &model));
    gerne_status status = gerne_model_export(cli->ctx, model, &files);
    gerne_model_close(model);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    if (cli->argument_count == 0) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "no run or weights file given");
        gn_hint(cli->ctx, "gerne export RUN --onnx FILE");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(write_files(cli));
    return print(cli);
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
