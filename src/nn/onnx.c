#include "nn/onnx.h"

#include <stdio.h>
#include <string.h>

#include "nn/onnx_layers.h"

#define PROBABILITIES "probabilities"
#define LOGITS        "logits"
#define FEATURES_OUT  "body_features"
#define IDS           "input_ids"
#define MASK          "attention_mask"
#define HALF_SUFFIX   ".fp16"

typedef struct exporter {
    gn_onnx onnx;
    const gn_network *network;
    const gn_onnx_options *options;
    gn_arena *arena;
    gn_onnx_name input; /* of the body, normalised */
    gn_onnx_weight *weights;
} exporter;

/* ---- input ---- */

/* x first value, then second value, each broadcast over the batch */
static void change(gn_onnx *o, const char *x, const char *first, const float *first_values,
                   const char *second, const float *second_values, size_t ndims,
                   const int64_t *dims, const char *out)
{
    gn_onnx_name a = gn_onnx_part(out, first), b = gn_onnx_part(out, second),
                 between = gn_onnx_part(out, "between");
    gn_onnx_floats(o, a.text, ndims, dims, first_values);
    gn_onnx_floats(o, b.text, ndims, dims, second_values);
    GN_ONNX_NODE(o, first, between.text, x, a.text);
    GN_ONNX_NODE(o, second, out, between.text, b.text);
}

static void add_pixels(exporter *e, const gn_field *field)
{
    const gn_onnx_options *options = e->options;
    const int64_t dims[] = {GN_ONNX_BATCH, field->dims[0], field->dims[1], field->dims[2]};
    const int64_t channels[] = {1, field->dims[0], 1, 1};
    gn_onnx_name changed = gn_onnx_part("input", "normalized"),
                 flat = gn_onnx_part("input", "flat");
    snprintf(e->input.text, sizeof e->input.text, "%s", field->name);
    gn_onnx_input(&e->onnx, field->name, GN_ONNX_FLOAT, 4, dims,
                  "RGB values from 0 to 255; normalisation is part of the model");
    if (options->scale) {
        change(&e->onnx, e->input.text, "Mul", options->scale, "Add", options->shift, 4, channels,
               changed.text);
        e->input = changed;
    }
    if (gn_network_architecture(e->network)->wants_images)
        return;
    GN_ONNX_NODE(&e->onnx, "Flatten", flat.text, e->input.text);
    e->input = flat;
}

static void add_features(exporter *e, const gn_field *field)
{
    const gn_onnx_options *options = e->options;
    const int64_t dims[] = {GN_ONNX_BATCH, field->dims[0]};
    gn_onnx_name changed = gn_onnx_part("input", "standardized");
    snprintf(e->input.text, sizeof e->input.text, "%s", field->name);
    gn_onnx_input(&e->onnx, field->name, GN_ONNX_FLOAT, 2, dims,
                  "features as in the data; standardisation is part of the model");
    if (!options->mean)
        return;
    change(&e->onnx, e->input.text, "Sub", options->mean, "Div", options->deviation, 1,
           &field->dims[0], changed.text);
    e->input = changed;
}

/* What is added to the scores of places behind the end: enough for a weight of exactly 0. */
static void add_tokens(exporter *e)
{
    gn_onnx *o = &e->onnx;
    const int64_t dims[] = {GN_ONNX_BATCH, GN_ONNX_LENGTH};
    snprintf(e->input.text, sizeof e->input.text, IDS);
    gn_onnx_input(o, IDS, GN_ONNX_INT64, 2, dims, "token ids, each text from the left");
    gn_onnx_input(o, MASK, GN_ONNX_INT64, 2, dims, "1 for tokens, 0 for padding behind them");
    gn_onnx_number(o, "mask.one", 1);
    gn_onnx_number(o, "mask.low", -1e9);
    gn_onnx_integers(o, "mask.axes", 1, 2, (int64_t[]){1, 2});
    gn_onnx_int(o, "to", GN_ONNX_FLOAT);
    GN_ONNX_NODE(o, "Cast", "mask.float", MASK);
    GN_ONNX_NODE(o, "Sub", "mask.padding", "mask.one", "mask.float");
    GN_ONNX_NODE(o, "Mul", "mask.flat", "mask.padding", "mask.low");
    GN_ONNX_NODE(o, "Unsqueeze", "mask.scores", "mask.flat", "mask.axes");
}

static void add_input(exporter *e)
{
    const gn_field *field = &gn_network_shape(e->network)->fields[0];
    if (gn_network_takes_tokens(e->network))
        add_tokens(e);
    else if (strcmp(field->name, GN_FIELD_PIXELS) == 0)
        add_pixels(e, field);
    else
        add_features(e, field);
}

/* ---- body and head ---- */

static int first_parameter(const gn_store *store, int graph)
{
    int first = 0;
    while (first < gn_store_count(store) && gn_store_parameter(store, first)->graph < graph)
        first++;
    return first;
}

/* Adds a graph after input and says what its output is called. */
static gerne_status add_graph(exporter *e, int which, const char *input, gn_onnx_name *output)
{
    const gn_graph *graph = gn_network_graph(e->network, which);
    gn_onnx_graph g = {.onnx = &e->onnx,
                       .graph = graph,
                       .prefix = which == GN_BODY ? "body" : "head",
                       .store = gn_network_store(e->network),
                       .input = input,
                       .tokens = IDS,
                       .present = "mask.float",
                       .mask = "mask.scores"};
    g.first = first_parameter(g.store, which);
    gn_value count = gn_graph_value_count(graph);
    GN_TRY(gn_arena_alloc(e->onnx.ctx, e->arena, (size_t)count, sizeof *g.values, &g.values));
    for (gn_value v = 0; v < count; v++)
        GN_TRY(gn_onnx_add(&g, v));
    *output = g.values[gn_graph_output(graph)];
    return GERNE_OK;
}

static gerne_status add_network(exporter *e)
{
    gn_onnx *o = &e->onnx;
    gn_onnx_name features, logits;
    const int64_t classes[] = {GN_ONNX_BATCH, gn_network_classes(e->network)};
    const int64_t width[] = {GN_ONNX_BATCH, gn_network_feature_count(e->network)};
    add_input(e);
    GN_TRY(add_graph(e, GN_BODY, e->input.text, &features));
    GN_TRY(add_graph(e, GN_HEAD, features.text, &logits));
    GN_ONNX_NODE(o, "Identity", LOGITS, logits.text);
    gn_onnx_int(o, "axis", -1);
    GN_ONNX_NODE(o, "Softmax", PROBABILITIES, logits.text);
    gn_onnx_output(o, PROBABILITIES, 2, classes, "of the classes, in the order of class_names");
    gn_onnx_output(o, LOGITS, 2, classes, "before the softmax");
    if (e->options->features) {
        GN_ONNX_NODE(o, "Identity", FEATURES_OUT, features.text);
        gn_onnx_output(o, FEATURES_OUT, 2, width, "what the last linear layer is given");
    }
    return GERNE_OK;
}

/* ---- weights ---- */

/* Vectors stay as they are: they take no room, and variances may be beyond fp16. */
static bool is_half(const exporter *e, const gn_parameter *p)
{
    return e->options->half && p->ndims >= 2;
}

static gerne_status name_weights(exporter *e)
{
    const gn_store *store = gn_network_store(e->network);
    int count = gn_store_count(store);
    gerne_ctx *ctx = e->onnx.ctx;
    GN_TRY(gn_arena_alloc(ctx, e->arena, (size_t)count, sizeof *e->weights, &e->weights));
    for (int i = 0; i < count; i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        gn_onnx_weight *w = &e->weights[i];
        *w = (gn_onnx_weight){.name = p->name, .type = GN_WEIGHT_F32, .ndims = (size_t)p->ndims};
        memcpy(w->dims, p->dims, sizeof p->dims);
        if (!is_half(e, p))
            continue;
        char name[GN_NAME_MAX + sizeof HALF_SUFFIX];
        snprintf(name, sizeof name, "%s" HALF_SUFFIX, p->name);
        GN_TRY(gn_arena_copy_text(ctx, e->arena, name, &w->name));
        w->type = GN_WEIGHT_F16;
        gn_onnx_int(&e->onnx, "to", GN_ONNX_FLOAT);
        GN_ONNX_NODE(&e->onnx, "Cast", p->name, w->name);
    }
    return GERNE_OK;
}

static gerne_status read_weight(gerne_ctx *ctx, void *user, size_t index, float *out)
{
    return gn_store_get(ctx, user, (int)index, out);
}

static gerne_status export(exporter *e, const char *path, int64_t *size)
{
    gn_store *store = gn_network_store(e->network);
    const gn_onnx_options *options = e->options;
    GN_TRY(name_weights(e));
    GN_TRY(add_network(e));
    for (size_t i = 0; i < options->metadata_count; i++)
        gn_onnx_property(&e->onnx, options->metadata[i].key, options->metadata[i].value);
    const gn_onnx_weights weights = {.list = e->weights,
                                     .count = (size_t)gn_store_count(store),
                                     .read = read_weight,
                                     .user = store};
    return gn_onnx_write(&e->onnx, path, gn_network_architecture(e->network)->name, &weights,
                         options->limit ? options->limit : GN_ONNX_LIMIT, size);
}

gerne_status gn_network_write_onnx(gerne_ctx *ctx, const gn_network *network, const char *path,
                                   const gn_onnx_options *options, int64_t *size)
{
    exporter e = {.onnx = {.ctx = ctx}, .network = network, .options = options};
    GN_TRY(gn_arena_new(ctx, &e.arena));
    gerne_status status = export(&e, path, size);
    gn_onnx_free(&e.onnx);
    gn_arena_close(e.arena);
    return status;
}
