/* models.c - `gerne models`: the list of networks, or one of them as configured by model.* keys. */
#include <stdio.h>

#include "cli/command.h"
#include "nn/network_weights.h"

typedef struct models_state {
    gn_model_options model;
    gn_ints input;
    int64_t classes;
} models_state;

static models_state state;

static const gn_option options[] = {
    {"input", GN_INTS, offsetof(models_state, input), .min = 1, .max = 1e6,
     .help = "one sample: channels,height,width or a number of features"},
    {"classes", GN_INT, offsetof(models_state, classes), .fallback = "10", .min = 1, .max = 1e6,
     .help = "outputs of the head"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "The network to describe", options,
                         sizeof options / sizeof options[0], &state));
    return gn_config_add(cli->ctx, cli->config, "model", "Network (section model)",
                         gn_model_option_table, gn_model_option_count, &state.model);
}

typedef struct facts {
    const gn_architecture *architecture;
    gn_sample_shape shape;
    double parameters, flops;
    int64_t features;
    bool loaded, head_replaced;
} facts;

static gn_sample_shape usual_shape(const gn_architecture *a)
{
    if (a == &gn_resnet20_architecture)
        return gn_pixels_shape(3, 32, 32);
    return a->wants_images ? gn_pixels_shape(3, 224, 224) : gn_pixels_shape(3, 28, 28);
}

static gerne_status choose_shape(gerne_ctx *ctx, facts *f)
{
    const gn_ints *input = &state.input;
    f->shape = usual_shape(f->architecture);
    if (input->count == 1)
        f->shape = gn_features_shape(input->items[0]);
    else if (input->count == 3)
        f->shape = gn_pixels_shape(input->items[0], input->items[1], input->items[2]);
    else if (input->count != 0)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "--input has %zu numbers; it takes one (features) or three (an image)",
                       input->count);
    return GERNE_OK;
}

static gerne_status load_weights(gerne_ctx *ctx, gn_network *network, facts *f)
{
    if (!state.model.weights)
        return GERNE_OK;
    gn_match match;
    GN_TRY(gn_network_initialize(ctx, network, 0));
    GN_TRY(gn_network_load(ctx, network, state.model.weights, &match));
    f->loaded = true;
    f->head_replaced = match.head_replaced;
    return GERNE_OK;
}

static gerne_status measure(gerne_ctx *ctx, gn_device *device, const gn_architecture *a, facts *f)
{
    *f = (facts){.architecture = a};
    GN_TRY(choose_shape(ctx, f));
    gn_model_options model = state.model;
    model.arch = a->name;
    gn_network *network;
    GN_TRY(gn_network_new(ctx, device, &model, f->shape, state.classes, 1, &network));
    const gn_store *store = gn_network_store(network);
    for (int i = 0; i < gn_store_count(store); i++)
        if (gn_store_parameter(store, i)->role <= GN_SHIFT)
            f->parameters += (double)gn_store_parameter(store, i)->size;
    f->flops = gn_network_flops(network);
    f->features = gn_network_feature_count(network);
    gerne_status status = load_weights(ctx, network, f);
    gn_network_close(network);
    return status;
}

static json_t *as_json(const facts *f)
{
    const int64_t *dims = f->shape.fields[0].dims;
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:[I,I,I]}", "name", f->architecture->name,
                     "summary", f->architecture->summary, "parameters",
                     gn_json_number(f->parameters), "forward_flops", gn_json_number(f->flops),
                     "features", (json_int_t)f->features, "input", (json_int_t)dims[0],
                     (json_int_t)dims[1], (json_int_t)dims[2]);
}

static gerne_status print(gn_cli *cli, const facts *f)
{
    char input[80];
    const int64_t *dims = f->shape.fields[0].dims;
    if (f->shape.fields[0].ndims == 3)
        snprintf(input, sizeof input, "%lldx%lldx%lld", (long long)dims[0], (long long)dims[1],
                 (long long)dims[2]);
    else
        snprintf(input, sizeof input, "%lld", (long long)dims[0]);
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "%-10s %11s %12.0f %9lld %14.1f  %s\n",
                       f->architecture->name, input, f->parameters, (long long)f->features,
                       f->flops * 1e-6, f->architecture->summary));
    if (!f->loaded)
        return GERNE_OK;
    return gn_text_add(cli->ctx, &cli->output, "\n'%s' fits%s\n", state.model.weights,
                       f->head_replaced ? "; its head has another size and would be replaced"
                                        : ", head included");
}

static gerne_status report(gn_cli *cli, gn_device *device, const gn_architecture *only)
{
    json_t *all = json_array();
    gerne_status status = GERNE_OK;
    if (!cli->json)
        status = gn_text_add(cli->ctx, &cli->output, "%-10s %11s %12s %9s %14s\n", "network",
                             "input", "parameters", "features", "forward MFLOP");
    for (size_t i = 0; gn_architectures[i] && status == GERNE_OK; i++) {
        facts f;
        if (only && only != gn_architectures[i])
            continue;
        status = measure(cli->ctx, device, gn_architectures[i], &f);
        if (status == GERNE_OK && cli->json)
            json_array_append_new(all, as_json(&f));
        else if (status == GERNE_OK)
            status = print(cli, &f);
    }
    if (status == GERNE_OK && cli->json)
        return gn_output_json(cli, all);
    json_decref(all);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    const gn_architecture *only = NULL;
    bool chosen = gn_config_origin(cli->config, "model.arch") == GN_FLAG;
    if (chosen)
        GN_TRY(gn_architecture_find(cli->ctx, state.model.arch, &only));
    else if (cli->flags.count > (size_t)cli->json + (size_t)cli->quiet) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "which network? --model.arch is missing");
        gn_hint(cli->ctx, "'gerne models' without keys lists the networks");
        return GERNE_EUSAGE;
    }
    gn_device *device;
    GN_TRY(gn_device_new(cli->ctx, 1, GN_FP32, &device));
    gerne_status status = report(cli, device, only);
    gn_device_close(device);
    return status;
}

const gn_command gn_command_models = {
    .name = "models",
    .arguments = "",
    .summary = "List the networks, or describe one as configured",
    .help = "Without keys: every network with its usual input and ten classes. With --model.arch\n"
            "and other keys: that network alone; --model.weights checks that a file fits it.\n"
            "One multiply-add counts as two FLOP.\n",
    .setup = setup,
    .run = run,
};
