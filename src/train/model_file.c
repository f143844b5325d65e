#include "train/model_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "nn/network_weights.h"

/* Keys of the metadata. */
static const char version_key[] = "gerne", method_key[] = "method", model_key[] = "model",
                  shape_key[] = "sample_shape", classes_key[] = "class_names",
                  attributes_key[] = "attribute_names", pixels_key[] = "normalization",
                  rows_key[] = "standardization";

enum {
    SIDE_MAX = 1 << 16,
    WIDTH_MAX = 1 << 24,
    COPIES_MAX = 8,
    DEPTH_MAX = 1000,
    CLASSES_MAX = 1 << 20,
    SPARE = 1 << 27,
};

struct gn_model_file {
    gn_arena *arena;
    gn_weights *weights;
    const char *path;
    bool has_card;
    gn_model_card card;
};

gn_model_card gn_model_card_of(const gn_network *network, const gn_dataset *dataset,
                               const char *method)
{
    gn_model_card card = {
        .model = *gn_network_options(network),
        .shape = *gn_network_shape(network),
        .classes = dataset->classes,
        .attributes = dataset->attributes,
        .class_names = dataset->class_names,
        .attribute_names = dataset->attribute_names,
        .mean = dataset->mean,
        .deviation = dataset->deviation,
        .method = method,
        .version = gerne_version(),
    };
    memcpy(card.scale, dataset->scale, sizeof card.scale);
    memcpy(card.shift, dataset->shift, sizeof card.shift);
    return card;
}

/* ---- writing ---- */

typedef struct card_writer {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_card_text *out;
} card_writer;

static gerne_status put_text(card_writer *w, const char *key, const char *text)
{
    gn_metadata *item = &w->out->items[w->out->count++];
    item->key = key;
    return gn_arena_copy_text(w->ctx, w->arena, text, &item->value);
}

/* Takes the reference. */
static gerne_status put_json(card_writer *w, const char *key, json_t *given)
{
    GN_LOCAL(json_t) *json = given;
    GN_LOCAL(gn_text) text = {0};
    GN_TRY(gn_json_print_line(w->ctx, json, &text));
    text.bytes[text.size - 1] = '\0'; /* the line's end */
    return put_text(w, key, text.bytes);
}

static json_t *floats_json(const float *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, gn_json_number((double)values[i]));
    return list;
}

static json_t *pair_json(const char *first_key, const float *first, const char *second_key,
                         const float *second, size_t count)
{
    json_t *json = json_object();
    json_object_set_new(json, first_key, floats_json(first, count));
    json_object_set_new(json, second_key, floats_json(second, count));
    return json;
}

static const gn_option *model_option(const char *name)
{
    for (size_t i = 0; i < gn_model_option_count; i++)
        if (strcmp(gn_model_option_table[i].name, name) == 0)
            return &gn_model_option_table[i];
    return NULL;
}

static void set_choice(json_t *json, const char *name, int value)
{
    char word[32];
    const gn_option *option = model_option(name);
    json_object_set_new(json, name,
                        json_string(gn_choice_word(option->choices, value, word, sizeof word)));
}

static const char *const activations[] = {
    [GN_GELU] = "gelu", [GN_GELU_TANH] = "gelu_tanh", [GN_RELU] = "relu", [GN_TANH] = "tanh"};

/* In the words of Hugging Face's config.json where it has one. */
static const struct size_key {
    const char *key;
    size_t offset; /* of an int64_t in gn_transformer */
} size_keys[] = {
    {"depth", offsetof(gn_transformer, depth)},
    {"width", offsetof(gn_transformer, width)},
    {"num_attention_heads", offsetof(gn_transformer, heads)},
    {"intermediate", offsetof(gn_transformer, intermediate)},
    {"vocabulary", offsetof(gn_transformer, vocabulary)},
    {"positions", offsetof(gn_transformer, positions)},
    {"segments", offsetof(gn_transformer, segments)},
    {"patch", offsetof(gn_transformer, patch)},
};
enum { SIZE_KEYS = sizeof size_keys / sizeof size_keys[0] };

static void set_transformer(json_t *json, const gn_transformer *t)
{
    for (size_t i = 0; i < SIZE_KEYS; i++) {
        int64_t value;
        memcpy(&value, (const char *)t + size_keys[i].offset, sizeof value);
        json_object_set_new(json, size_keys[i].key, json_integer(value));
    }
    json_object_set_new(json, "hidden_act", json_string(activations[t->activation]));
    json_object_set_new(json, "layer_norm_eps", gn_json_number(t->epsilon));
    json_object_set_new(json, "pooler", json_boolean(t->pooler));
}

static json_t *model_json(const gn_model_options *model)
{
    json_t *json = json_object(), *hidden = json_array();
    json_object_set_new(json, "arch", json_string(model->arch));
    for (size_t i = 0; i < model->hidden.count; i++)
        json_array_append_new(hidden, json_integer(model->hidden.items[i]));
    json_object_set_new(json, "hidden", hidden);
    set_choice(json, "variant", model->variant);
    set_choice(json, "stem", model->stem);
    if (model->pool != GN_POOL_FIRST)
        set_choice(json, "pool", model->pool);
    if (model->copies > 1)
        json_object_set_new(json, "copies", json_integer(model->copies));
    if (model->transformer.settled)
        set_transformer(json, &model->transformer);
    return json;
}

/* [channels, height, width] or [features]. */
static json_t *shape_json(const gn_sample_shape *shape)
{
    json_t *json = json_array();
    for (int i = 0; i < shape->fields[0].ndims; i++)
        json_array_append_new(json, json_integer(shape->fields[0].dims[i]));
    return json;
}

static gerne_status describe(card_writer *w, const gn_model_card *card)
{
    GN_TRY(put_text(w, version_key, card->version));
    GN_TRY(put_json(w, model_key, model_json(&card->model)));
    GN_TRY(put_json(w, shape_key, shape_json(&card->shape)));
    GN_TRY(put_json(w, classes_key, gn_json_names(card->class_names, card->classes)));
    if (card->method)
        GN_TRY(put_text(w, method_key, card->method));
    if (card->attributes)
        GN_TRY(put_json(w, attributes_key, gn_json_names(card->attribute_names, card->attributes)));
    if (gn_shape_field(&card->shape, GN_FIELD_PIXELS))
        GN_TRY(put_json(w, pixels_key,
                        pair_json("scale", card->scale, "shift", card->shift, GN_CHANNELS)));
    if (card->mean)
        GN_TRY(put_json(w, rows_key,
                        pair_json("mean", card->mean, "deviation", card->deviation,
                                  (size_t)gn_field_size(&card->shape.fields[0]))));
    return GERNE_OK;
}

gerne_status gn_model_card_text(gerne_ctx *ctx, gn_arena *arena, const gn_model_card *card,
                                gn_card_text *out)
{
    card_writer w = {.ctx = ctx, .arena = arena, .out = out};
    out->count = 0;
    return describe(&w, card);
}

gerne_status gn_model_file_save(gerne_ctx *ctx, const char *path, gn_network *network,
                                const gn_model_card *card)
{
    if ((int64_t)card->classes != gn_network_classes(network))
        return gn_fail(ctx, GERNE_EINTERNAL, "the network has %lld classes, its description %u",
                       (long long)gn_network_classes(network), card->classes);
    GN_LOCAL(gn_arena) *arena = NULL;
    gn_card_text text;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_model_card_text(ctx, arena, card, &text));
    return gn_network_save(ctx, network, path, GN_WEIGHT_F32, text.items, text.count);
}

/* ---- reading ---- */

static gerne_status bad(gerne_ctx *ctx, const gn_model_file *file, const char *key)
{
    return gn_fail(ctx, GERNE_EDATA, "'%s': the metadata '%s' is invalid", file->path, key);
}

/* *out is NULL when the key is not there. */
static gerne_status get_json(gerne_ctx *ctx, const gn_model_file *file, const char *key,
                             json_t **out)
{
    const char *text = gn_weights_metadata(file->weights, key);
    *out = NULL;
    if (!text)
        return GERNE_OK;
    char where[64];
    snprintf(where, sizeof where, "the metadata '%s'", key);
    gerne_status status = gn_json_parse(ctx, text, strlen(text), where, out);
    return status == GERNE_OK ? status : gn_fail_in(ctx, status, "'%s'", file->path);
}

static gerne_status take_names(gerne_ctx *ctx, gn_model_file *file, const char *key,
                               const json_t *json, uint32_t *count, const char *const **out)
{
    const char **names;
    size_t n = json_array_size(json);
    if (n == 0 || n > CLASSES_MAX)
        return bad(ctx, file, key);
    GN_TRY(gn_arena_alloc(ctx, file->arena, n, sizeof *names, &names));
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(json, i));
        if (!name)
            return bad(ctx, file, key);
        GN_TRY(gn_arena_copy_text(ctx, file->arena, name, &names[i]));
    }
    *count = (uint32_t)n;
    *out = names;
    return GERNE_OK;
}

static bool take_floats(const json_t *list, size_t count, float *out)
{
    if (json_array_size(list) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        out[i] = (float)json_number_value(item);
        if (!json_is_number(item) || !isfinite(out[i]))
            return false;
    }
    return true;
}

static bool take_choice(const json_t *model, const char *name, int *out)
{
    const char *word = json_string_value(json_object_get(model, name));
    *out = word ? gn_choice_index(model_option(name)->choices, word) : -1;
    return *out >= 0;
}

/* Sizes as set_transformer writes them; their own limits keep every product of two in range. */
static bool take_transformer(const json_t *json, gn_transformer *t)
{
    const char *word = json_string_value(json_object_get(json, "hidden_act"));
    for (size_t i = 0; i < SIZE_KEYS; i++) {
        int64_t value = json_integer_value(json_object_get(json, size_keys[i].key));
        if (value < 0 || value > WIDTH_MAX)
            return false;
        memcpy((char *)t + size_keys[i].offset, &value, sizeof value);
    }
    t->activation = -1;
    for (int i = 0; word && i < (int)(sizeof activations / sizeof activations[0]); i++)
        if (strcmp(activations[i], word) == 0)
            t->activation = i;
    t->epsilon = json_number_value(json_object_get(json, "layer_norm_eps"));
    t->pooler = json_is_true(json_object_get(json, "pooler"));
    t->settled = t->depth > 0 && t->depth <= DEPTH_MAX && t->width > 0 && t->heads > 0 &&
                 t->intermediate > 0 && t->activation >= 0 && t->epsilon > 0;
    return t->settled;
}

static gerne_status take_model(gerne_ctx *ctx, gn_model_file *file, const json_t *json)
{
    gn_model_options *model = &file->card.model;
    const json_t *hidden = json_object_get(json, "hidden");
    const char *arch = json_string_value(json_object_get(json, "arch"));
    int64_t *widths;
    size_t n = json_array_size(hidden);
    if (!arch || n > DEPTH_MAX || !take_choice(json, "variant", &model->variant) ||
        !take_choice(json, "stem", &model->stem) ||
        (json_object_get(json, "pool") && !take_choice(json, "pool", &model->pool)))
        return bad(ctx, file, model_key);
    GN_TRY(gn_arena_copy_text(ctx, file->arena, arch, &model->arch));
    if (json_object_get(json, "hidden_act") && !take_transformer(json, &model->transformer))
        return bad(ctx, file, model_key);
    GN_TRY(gn_arena_alloc(ctx, file->arena, n ? n : 1, sizeof *widths, &widths));
    for (size_t i = 0; i < n; i++) {
        widths[i] = json_integer_value(json_array_get(hidden, i));
        if (widths[i] < 1 || widths[i] > WIDTH_MAX)
            return bad(ctx, file, model_key);
    }
    model->hidden = (gn_ints){widths, n};
    model->copies = json_integer_value(json_object_get(json, "copies")); /* absent: 0 */
    if (model->copies < 0 || model->copies > COPIES_MAX)
        return bad(ctx, file, model_key);
    return GERNE_OK;
}

static gerne_status take_shape(gerne_ctx *ctx, gn_model_file *file, const json_t *json)
{
    int64_t dims[GN_FIELD_DIMS_MAX];
    size_t n = json_array_size(json);
    for (size_t i = 0; i < GN_FIELD_DIMS_MAX; i++)
        dims[i] = json_integer_value(json_array_get(json, i));
    bool image = n == 3 && dims[0] == GN_CHANNELS && dims[1] > 0 && dims[1] <= SIDE_MAX &&
                 dims[2] > 0 && dims[2] <= SIDE_MAX;
    bool row = n == 1 && dims[0] > 0 && dims[0] <= WIDTH_MAX;
    file->card.shape =
        image ? gn_pixels_shape(dims[0], dims[1], dims[2]) : gn_features_shape(dims[0]);
    const gn_transformer *t = &file->card.model.transformer;
    if (row && t->settled && t->vocabulary > 0) {
        file->card.shape = gn_tokens_shape(dims[0]);
        file->card.shape.fields[0].below = t->vocabulary;
    }
    return image || row ? GERNE_OK : bad(ctx, file, shape_key);
}

static gerne_status take_pixels(gerne_ctx *ctx, gn_model_file *file, const json_t *json)
{
    gn_model_card *card = &file->card;
    bool fine = take_floats(json_object_get(json, "scale"), GN_CHANNELS, card->scale) &&
                take_floats(json_object_get(json, "shift"), GN_CHANNELS, card->shift);
    return fine ? GERNE_OK : bad(ctx, file, pixels_key);
}

static gerne_status take_rows(gerne_ctx *ctx, gn_model_file *file, const json_t *json)
{
    size_t count = (size_t)gn_field_size(&file->card.shape.fields[0]);
    float *mean;
    GN_TRY(gn_arena_alloc(ctx, file->arena, count, 2 * sizeof *mean, &mean));
    bool fine = gn_shape_field(&file->card.shape, GN_FIELD_FEATURES) &&
                take_floats(json_object_get(json, "mean"), count, mean) &&
                take_floats(json_object_get(json, "deviation"), count, mean + count);
    for (size_t i = 0; fine && i < count; i++)
        fine = mean[count + i] > 0;
    if (!fine)
        return bad(ctx, file, rows_key);
    file->card.mean = mean;
    file->card.deviation = mean + count;
    return GERNE_OK;
}

static gerne_status take_classes(gerne_ctx *ctx, gn_model_file *file, const json_t *json)
{
    return take_names(ctx, file, classes_key, json, &file->card.classes, &file->card.class_names);
}

static gerne_status take_attributes(gerne_ctx *ctx, gn_model_file *file, const json_t *json)
{
    return take_names(ctx, file, attributes_key, json, &file->card.attributes,
                      &file->card.attribute_names);
}

/* One row a key that holds JSON; the shape needs the model before it, standardization the shape. */
typedef struct card_key {
    const char *key;
    gerne_status (*take)(gerne_ctx *ctx, gn_model_file *file, const json_t *json);
    bool required;
} card_key;

static const card_key card_keys[] = {
    {model_key, take_model, true},     {shape_key, take_shape, true},
    {classes_key, take_classes, true}, {attributes_key, take_attributes, false},
    {pixels_key, take_pixels, false},  {rows_key, take_rows, false},
};

static gerne_status read_card(gerne_ctx *ctx, gn_model_file *file)
{
    file->card.version = gn_weights_metadata(file->weights, version_key);
    file->card.method = gn_weights_metadata(file->weights, method_key);
    if (!file->card.version)
        return GERNE_OK; /* somebody else's weights */
    for (size_t i = 0; i < sizeof card_keys / sizeof card_keys[0]; i++) {
        GN_LOCAL(json_t) *json = NULL;
        GN_TRY(get_json(ctx, file, card_keys[i].key, &json));
        if (json)
            GN_TRY(card_keys[i].take(ctx, file, json));
        else if (card_keys[i].required)
            return gn_fail(ctx, GERNE_EDATA, "'%s' has no metadata '%s'", file->path,
                           card_keys[i].key);
    }
    file->has_card = true;
    return GERNE_OK;
}

gerne_status gn_model_file_open(gerne_ctx *ctx, const char *path, gn_model_file **out)
{
    *out = NULL;
    GN_LOCAL(gn_model_file) *file = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *file, "a model file", &file));
    GN_TRY(gn_arena_new(ctx, &file->arena));
    GN_TRY(gn_arena_copy_text(ctx, file->arena, path, &file->path));
    GN_TRY(gn_weights_open(ctx, path, &file->weights));
    GN_TRY(read_card(ctx, file));
    return gn_give(&file, out);
}

void gn_model_file_close(gn_model_file *file)
{
    if (!file)
        return;
    gn_weights_close(file->weights);
    gn_arena_close(file->arena);
    gn_free(file);
}

const gn_model_card *gn_model_file_card(const gn_model_file *file)
{
    return file->has_card ? &file->card : NULL;
}

/* ---- weights without a card ---- */

/* The rows of the head's matrix, whatever stands before its name; 0 when there is none. */
static int64_t count_classes(const gn_weights *weights, const char *head)
{
    size_t length = strlen(head);
    for (size_t i = 0; i < gn_weights_count(weights); i++) {
        const gn_weight *weight = gn_weights_at(weights, i);
        size_t size = strlen(weight->name);
        bool named = size >= length && strcmp(weight->name + size - length, head) == 0 &&
                     (size == length || weight->name[size - length - 1] == '.');
        if (named && weight->ndims == 2)
            return weight->dims[0];
    }
    return 0;
}

gerne_status gn_model_file_describe(gerne_ctx *ctx, gn_model_file *file,
                                    const gn_model_options *options, gn_sample_shape shape)
{
    const gn_architecture *architecture;
    char name[GN_NAME_MAX], head[GN_NAME_MAX + 8];
    GN_TRY(gn_architecture_find(ctx, options->arch, &architecture));
    gn_head_name(architecture, options, name);
    snprintf(head, sizeof head, "%s.weight", name);
    int64_t classes = count_classes(file->weights, head);
    if (classes < 1)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has no tensor '%s', the head of %s", file->path,
                       head, options->arch);
    if (classes > CLASSES_MAX)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %lld classes, more than %d", file->path,
                       (long long)classes, CLASSES_MAX);
    const char **names;
    GN_TRY(gn_arena_alloc(ctx, file->arena, (size_t)classes, sizeof *names, &names));
    for (int64_t k = 0; k < classes; k++) {
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)k);
        GN_TRY(gn_arena_copy_text(ctx, file->arena, number, &names[k]));
    }
    file->card = (gn_model_card){
        .model = *options, .shape = shape, .classes = (uint32_t)classes, .class_names = names};
    file->card.model.weights = file->path; /* which decides the sizes of a transformer */
    file->has_card = true;
    return GERNE_OK;
}

void gn_model_file_name_classes(gn_model_file *file, const char *const *names)
{
    file->card.class_names = names;
}

static gerne_status load(gerne_ctx *ctx, const gn_model_file *file, gn_network *network)
{
    gn_match match = {0};
    GN_TRY(gn_network_load(ctx, network, file->path, &match));
    if (match.head_replaced)
        return gn_fail(ctx, GERNE_EDATA,
                       "'%s': the number of outputs of the head is not that of the class names "
                       "(%u)",
                       file->path, file->card.classes);
    return GERNE_OK;
}

const gn_weights *gn_model_file_weights(const gn_model_file *file)
{
    return file->weights;
}

/* What a network of the file can have: one body may stand for several copies. Weights of another
 * common architecture fit as well: to say what differs is left to whoever loads them. */
static int64_t most_numbers(const gn_model_file *file)
{
    int64_t sum = 0, copies = file->card.model.copies > 1 ? file->card.model.copies : 1;
    for (size_t i = 0; i < gn_weights_count(file->weights); i++)
        sum += (int64_t)gn_weights_at(file->weights, i)->count;
    return sum * copies + SPARE;
}

gerne_status gn_model_file_network(gerne_ctx *ctx, const gn_model_file *file, gn_device *device,
                                   int64_t batch, gn_network **out)
{
    *out = NULL;
    if (!file->has_card)
        return gn_fail(ctx, GERNE_EINTERNAL, "a network from weights without a description");
    GN_LOCAL(gn_network) *network = NULL;
    gn_model_options model = file->card.model;
    model.numbers_max = most_numbers(file);
    gerne_status status =
        gn_network_new(ctx, device, &model, file->card.shape, file->card.classes, batch, &network);
    GN_TRY(status == GERNE_EDATA ? gn_fail_in(ctx, status, "'%s'", file->path) : status);
    GN_TRY(load(ctx, file, network));
    return gn_give(&network, out);
}
