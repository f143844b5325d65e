/* models.c - gerne models: the list of networks, or all about one of them as configured. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "nn/network_weights.h"

typedef struct models_options {
    gn_model_options model;
    gn_ints input;
    int64_t classes;
} models_options;

static const gn_option options[] = {
    {"input", GN_INTS, offsetof(models_options, input), .min = 1, .max = 1e6,
     .help = "shape of a sample: channels,height,width, or a number of features or tokens "
             "(default: the usual one of the network)"},
    {"classes", GN_INT, offsetof(models_options, classes), .fallback = "10", .min = 1, .max = 1e6,
     .help = "number of classes"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(models_options), &cli->options));
    models_options *given = cli->options;
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "The network to describe", options,
                         sizeof options / sizeof options[0], given));
    return gn_config_add(cli->ctx, cli->config, "model", "Network (section model)",
                         gn_model_option_table, gn_model_option_count, &given->model);
}

static const char *network_name(size_t i)
{
    return gn_architectures[i] ? gn_architectures[i]->name : NULL;
}

/* ---- a network, measured ---- */

typedef struct facts {
    const gn_architecture *architecture;
    gn_network *network;
    gn_sample_shape shape;
    double parameters;
    bool loaded, head_replaced;
} facts;

/* In the vocabulary of bert-base-uncased. */
static gn_sample_shape texts_of(int64_t tokens)
{
    gn_sample_shape shape = gn_tokens_shape(tokens);
    shape.fields[0].below = 30522;
    return shape;
}

static gn_sample_shape usual_shape(const gn_architecture *a)
{
    if (a == &gn_resnet20_architecture || a == &gn_convnet3_architecture)
        return gn_pixels_shape(3, 32, 32);
    if (a->wants_tokens)
        return texts_of(128);
    return a->wants_images && a != &gn_convnet_architecture ? gn_pixels_shape(3, 224, 224)
                                                            : gn_pixels_shape(3, 28, 28);
}

static gerne_status choose_shape(const gn_cli *cli, facts *f)
{
    const gn_ints *input = &((const models_options *)cli->options)->input;
    f->shape = usual_shape(f->architecture);
    if (input->count == 1)
        f->shape = f->architecture->wants_tokens ? texts_of(input->items[0])
                                                 : gn_features_shape(input->items[0]);
    else if (input->count == 3)
        f->shape = gn_pixels_shape(input->items[0], input->items[1], input->items[2]);
    else if (input->count != 0)
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "--input has %zu numbers; it takes one (features) or three (an image)",
                       input->count);
    return GERNE_OK;
}

static gerne_status load_weights(gerne_ctx *ctx, const char *path, facts *f)
{
    gn_match match;
    if (!path)
        return GERNE_OK;
    GN_TRY(gn_network_start(ctx, f->network, path, 0, &match));
    f->loaded = true;
    f->head_replaced = match.head_replaced;
    return GERNE_OK;
}

/* The network is open afterwards: the caller closes it, also after a failure. */
static gerne_status measure(const gn_cli *cli, gn_device *device, const gn_architecture *a,
                            facts *f)
{
    const models_options *given = cli->options;
    gn_model_options model = given->model;
    *f = (facts){.architecture = a};
    model.arch = a->name;
    GN_TRY(choose_shape(cli, f));
    GN_TRY(gn_network_new(cli->ctx, device, &model, f->shape, given->classes, 1, &f->network));
    const gn_store *store = gn_network_store(f->network);
    for (int i = 0; i < gn_store_count(store); i++)
        if (gn_store_parameter(store, i)->role <= GN_SHIFT)
            f->parameters += (double)gn_store_parameter(store, i)->size;
    return load_weights(cli->ctx, given->model.weights, f);
}

/* ---- layers ---- */

/* The tensors of a module at the top of the network: conv1, layer3, fc. */
typedef struct layer {
    int first, end; /* in the store */
    int length;     /* of the name */
    int tensors;    /* that a file of weights has */
    double parameters;
} layer;

/* The layer that starts at tensor first; false at the end. */
static bool next_layer(const gn_store *store, int first, layer *out)
{
    if (first >= gn_store_count(store))
        return false;
    const char *name = gn_store_parameter(store, first)->name;
    *out = (layer){.first = first, .end = first, .length = (int)strcspn(name, ".") + 1};
    for (; out->end < gn_store_count(store); out->end++) {
        const gn_parameter *p = gn_store_parameter(store, out->end);
        if (strncmp(p->name, name, (size_t)out->length) != 0)
            break;
        out->tensors += p->role != GN_FIXED;
        out->parameters += p->role <= GN_SHIFT ? (double)p->size : 0;
    }
    out->length--;
    return true;
}

static json_t *tensors_json(const gn_store *store, const layer *l)
{
    json_t *list = json_array();
    for (int i = l->first; i < l->end; i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        json_t *shape = json_array();
        for (int d = 0; d < p->ndims; d++)
            json_array_append_new(shape, json_integer(p->dims[d]));
        json_t *tensor = json_pack("{s:s,s:o}", "name", p->name, "shape", shape);
        if (p->role == GN_FIXED)
            json_decref(tensor);
        else
            json_array_append_new(list, tensor);
    }
    return list;
}

static json_t *layers_json(const gn_network *network)
{
    json_t *list = json_array();
    const gn_store *store = gn_network_store(network);
    layer l;
    for (int at = 0; next_layer(store, at, &l); at = l.end)
        json_array_append_new(list, json_pack("{s:s%,s:o,s:o}", "name",
                                              gn_store_parameter(store, at)->name, (size_t)l.length,
                                              "parameters", gn_json_number(l.parameters), "tensors",
                                              tensors_json(store, &l)));
    return list;
}

static gerne_status print_layers(gn_cli *cli, const gn_network *network)
{
    const gn_store *store = gn_network_store(network);
    layer l;
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "\n%-10s %9s %12s  %s\n", "layer", "tensors",
                       "parameters", "first tensor"));
    for (int at = 0; next_layer(store, at, &l); at = l.end) {
        const gn_parameter *p = gn_store_parameter(store, at);
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "%-10.*s %9d %12.0f  %s [", l.length, p->name,
                           l.tensors, l.parameters, p->name));
        for (int d = 0; d < p->ndims; d++)
            GN_TRY(gn_text_add(cli->ctx, &cli->output, "%s%lld", d ? ", " : "",
                               (long long)p->dims[d]));
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "]\n"));
    }
    return GERNE_OK;
}

/* ---- printing ---- */

static const char weights_words[] =
    "safetensors or PyTorch file with the tensors of these layers; a head of another size is "
    "replaced";

static json_t *as_json(const facts *f, bool alone)
{
    const int64_t *dims = f->shape.fields[0].dims;
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:o, s:I, s:[I,I,I]}", "name", f->architecture->name, "summary",
                  f->architecture->summary, "parameters", gn_json_number(f->parameters),
                  "forward_flops", gn_json_number(gn_network_flops(f->network)), "features",
                  (json_int_t)gn_network_feature_count(f->network), "input", (json_int_t)dims[0],
                  (json_int_t)dims[1], (json_int_t)dims[2]);
    if (!alone)
        return json;
    json_object_set_new(json, "classes", json_integer(gn_network_classes(f->network)));
    json_object_set_new(json, "weights", json_string(weights_words));
    json_object_set_new(json, "layers", layers_json(f->network));
    return json;
}

static void input_words(const gn_sample_shape *shape, char *words, size_t size)
{
    const int64_t *dims = shape->fields[0].dims;
    if (shape->fields[0].ndims == 3)
        snprintf(words, size, "%lldx%lldx%lld", (long long)dims[0], (long long)dims[1],
                 (long long)dims[2]);
    else
        snprintf(words, size, "%lld", (long long)dims[0]);
}

static gerne_status print_row(gn_cli *cli, const facts *f)
{
    char input[80];
    input_words(&f->shape, input, sizeof input);
    return gn_text_add(cli->ctx, &cli->output, "%-10s %11s %12.0f %9lld %14.1f  %s\n",
                       f->architecture->name, input, f->parameters,
                       (long long)gn_network_feature_count(f->network),
                       gn_network_flops(f->network) * 1e-6, f->architecture->summary);
}

static gerne_status print_one(gn_cli *cli, const facts *f)
{
    const models_options *given = cli->options;
    char input[80];
    input_words(&f->shape, input, sizeof input);
    GN_TRY(gn_text_add(cli->ctx, &cli->output,
                       "%s: %s\n\n"
                       "input       %s (%s; --input changes it)\n"
                       "classes     %lld (--classes changes it)\n"
                       "parameters  %.0f\n"
                       "features    %lld, the input of the head\n"
                       "forward     %.1f MFLOP per sample\n"
                       "weights     %s\n",
                       f->architecture->name, f->architecture->summary, input,
                       f->architecture->wants_tokens   ? "tokens"
                       : f->architecture->wants_images ? "images"
                                                       : "images or features",
                       (long long)given->classes, f->parameters,
                       (long long)gn_network_feature_count(f->network),
                       gn_network_flops(f->network) * 1e-6, weights_words));
    GN_TRY(print_layers(cli, f->network));
    if (!f->loaded)
        return GERNE_OK;
    return gn_text_add(cli->ctx, &cli->output, "\n'%s' fits%s\n", given->model.weights,
                       f->head_replaced
                           ? "; its head is missing or of another size, and is replaced"
                           : ", head included");
}

static gerne_status report(gn_cli *cli, gn_device *device, const gn_architecture *only)
{
    json_t *all = json_array();
    gerne_status status = GERNE_OK;
    if (!cli->json && !only)
        status = gn_text_add(cli->ctx, &cli->output, "%-10s %11s %12s %9s %14s\n", "network",
                             "input", "parameters", "features", "forward MFLOP");
    for (size_t i = 0; gn_architectures[i] && status == GERNE_OK; i++) {
        facts f;
        if (only && only != gn_architectures[i])
            continue;
        status = measure(cli, device, gn_architectures[i], &f);
        if (status == GERNE_OK && cli->json)
            json_array_append_new(all, as_json(&f, only));
        else if (status == GERNE_OK)
            status = only ? print_one(cli, &f) : print_row(cli, &f);
        gn_network_close(f.network);
    }
    if (status == GERNE_OK && cli->json)
        return gn_output_json(cli, all);
    json_decref(all);
    return status == GERNE_OK && !only
               ? gn_text_add(cli->ctx, &cli->output,
                             "\n'gerne models NAME' describes one of them.\n")
               : status;
}

/* NULL when all are asked for. */
static gerne_status find_network(gn_cli *cli, const gn_architecture **out)
{
    const models_options *given = cli->options;
    bool flagged = gn_config_origin(cli->config, "model.arch") == GN_FLAG;
    *out = NULL;
    if (cli->argument_count && flagged)
        return gn_fail(cli->ctx, GERNE_EUSAGE, "the network is given twice: '%s' and --model.arch",
                       cli->arguments[0]);
    if (cli->argument_count || flagged)
        return gn_architecture_find(
            cli->ctx, cli->argument_count ? cli->arguments[0] : given->model.arch, out);
    if (cli->flags.count <= (size_t)cli->json + (size_t)cli->quiet)
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EUSAGE, "the name of the network is missing");
    gn_hint(cli->ctx, "gerne models NAME ...; 'gerne models' lists the names");
    return GERNE_EUSAGE;
}

static gerne_status run(gn_cli *cli)
{
    const gn_architecture *only;
    gn_device *device;
    GN_TRY(find_network(cli, &only));
    GN_TRY(gn_device_new(cli->ctx, 1, GN_FP32, &device));
    gerne_status status = report(cli, device, only);
    gn_device_close(device);
    return status;
}

const gn_command gn_command_models = {
    .name = "models",
    .arguments = "[NAME]",
    .summary = "List the networks, or describe one: input, layers, cost, weights",
    .help = "Without NAME: every network with its usual input and ten classes. With NAME: its\n"
            "layers, and what the keys below make of it; --model.weights checks that a file fits.\n"
            "One multiply-add counts as two FLOP. --json lists every tensor with its shape.\n"
            "\n"
            "  gerne models resnet50 --classes 2 --model.weights resnet50.pth\n"
            "  gerne models mlp --model.hidden 100,100 --input 512\n",
    .max_arguments = 1,
    .word = network_name,
    .setup = setup,
    .run = run,
};
