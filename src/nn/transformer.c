#include "nn/transformer.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

/* ---- files ---- */

static int activation_of(const char *word)
{
    static const struct {
        const char *word;
        gn_activation activation;
    } known[] = {{"gelu", GN_GELU},
                 {"gelu_new", GN_GELU_TANH},
                 {"gelu_pytorch_tanh", GN_GELU_TANH},
                 {"gelu_tanh", GN_GELU_TANH},
                 {"relu", GN_RELU}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].word, word) == 0)
            return (int)known[i].activation;
    return -1;
}

/* Under any of the names, the second being DistilBERT's. */
static const json_t *find(const json_t *json, const char *name, const char *other)
{
    const json_t *found = json_object_get(json, name);
    return found ? found : json_object_get(json, other);
}

/* Hugging Face's config.json; our metadata uses its words. */
static gerne_status read_json(gerne_ctx *ctx, const json_t *json, const char *where,
                              gn_transformer *out)
{
    enum { HEADS_MAX = 1 << 16 };
    const json_t *heads = find(json, "num_attention_heads", "n_heads");
    const json_t *activation = find(json, "hidden_act", "activation");
    const json_t *epsilon = json_object_get(json, "layer_norm_eps");
    out->heads = json_integer_value(heads);
    out->epsilon = json_number_value(epsilon);
    bool fine = !heads || (out->heads > 0 && out->heads <= HEADS_MAX);
    if (activation) {
        const char *word = json_string_value(activation);
        out->activation = word ? activation_of(word) : -1;
        if (out->activation < 0)
            return gn_fail(ctx, GERNE_EDATA, "%s: the activation '%s' is not supported", where,
                           word ? word : "?");
    }
    if (!fine || (epsilon && !(out->epsilon > 0 && out->epsilon < 1)))
        return gn_fail(ctx, GERNE_EDATA, "%s: %s is invalid", where,
                       fine ? "layer_norm_eps" : "num_attention_heads");
    return GERNE_OK;
}

static gerne_status read_text(gerne_ctx *ctx, const char *bytes, size_t size, const char *where,
                              gn_transformer *out)
{
    GN_LOCAL(json_t) *json = NULL;
    GN_TRY(gn_json_parse(ctx, bytes, size, where, &json));
    return read_json(ctx, json, where, out);
}

static gerne_status read_config(gerne_ctx *ctx, const char *weights, gn_transformer *out)
{
    static const char name[] = "config.json";
    enum { PATH_MAX_HERE = 4096 };
    char path[PATH_MAX_HERE];
    const char *slash = strrchr(weights, '/');
    int length = slash ? (int)(slash - weights + 1) : 0;
    int size = snprintf(path, sizeof path, "%.*s%s", length, weights, name);
    GN_LOCAL(gn_map) map = {0};
    if (size < 0 || (size_t)size >= sizeof path || !gn_path_exists(path))
        return GERNE_OK;
    GN_TRY(gn_map_open(ctx, path, &map));
    return read_text(ctx, (const char *)map.bytes, map.size, path, out);
}

gerne_status gn_transformer_open(gerne_ctx *ctx, const gn_model_options *options,
                                 gn_transformer_file *out)
{
    *out = (gn_transformer_file){.path = options->weights, .sizes = {.activation = -1}};
    if (!options->weights)
        return GERNE_OK;
    GN_TRY(gn_weights_open(ctx, options->weights, &out->weights));
    const char *own = gn_weights_metadata(out->weights, "model");
    gerne_status status = own ? read_text(ctx, own, strlen(own), options->weights, &out->sizes)
                              : read_config(ctx, options->weights, &out->sizes);
    if (status != GERNE_OK) {
        gn_weights_close(out->weights);
        out->weights = NULL;
    }
    return status;
}

const gn_weight *gn_transformer_tensor(const gn_transformer_file *file, const char *name)
{
    return file->weights ? gn_weights_find_end(file->weights, name) : NULL;
}

int64_t gn_transformer_count(const gn_transformer_file *file, const char *pattern)
{
    enum { MOST = 1000 };
    for (int i = 0; i < MOST; i++) {
        char name[GN_NAME_MAX];
        const char *number = strstr(pattern, "%d");
        snprintf(name, sizeof name, "%.*s%d%s", (int)(number - pattern), pattern, i, number + 2);
        if (!gn_transformer_tensor(file, name))
            return i;
    }
    return MOST;
}

/* ---- options, file, defaults ---- */

static gerne_status choose(gerne_ctx *ctx, const char *key, int64_t given, int64_t in_file,
                           int64_t usual, const char *path, int64_t *out)
{
    if (given && in_file && given != in_file) {
        gn_fail(ctx, GERNE_EUSAGE, "model.%s is %lld, but '%s' has %lld", key, (long long)given,
                path, (long long)in_file);
        gn_hint(ctx, "leave out --model.%s: the weights decide it", key);
        return GERNE_EUSAGE;
    }
    *out = given ? given : in_file ? in_file : usual;
    return GERNE_OK;
}

gerne_status gn_transformer_combine(gerne_ctx *ctx, const gn_transformer_file *file,
                                    const gn_transformer *usual, gn_model_options *o)
{
    const gn_transformer *theirs = &file->sizes;
    gn_transformer *t = &o->transformer;
    enum { HEAD_WIDTH = 64 };
    *t = *usual;
    GN_TRY(choose(ctx, "depth", o->depth, theirs->depth, usual->depth, file->path, &t->depth));
    GN_TRY(choose(ctx, "width", o->width, theirs->width, usual->width, file->path, &t->width));
    GN_TRY(choose(ctx, "intermediate", o->intermediate, theirs->intermediate, 4 * t->width,
                  file->path, &t->intermediate));
    GN_TRY(choose(ctx, "patch", o->patch, theirs->patch, usual->patch, file->path, &t->patch));
    int64_t heads = t->width > HEAD_WIDTH ? t->width / HEAD_WIDTH : 1;
    GN_TRY(choose(ctx, "heads", o->heads, theirs->heads, heads, file->path, &t->heads));
    if (t->width % t->heads) {
        gn_fail(ctx, GERNE_EUSAGE, "a width of %lld cannot be divided into %lld heads",
                (long long)t->width, (long long)t->heads);
        gn_hint(ctx, "use --model.heads with a divisor of the width");
        return GERNE_EUSAGE;
    }
    if (theirs->activation >= 0)
        t->activation = theirs->activation;
    if (theirs->epsilon > 0)
        t->epsilon = theirs->epsilon;
    if (file->weights) {
        t->vocabulary = theirs->vocabulary;
        t->positions = theirs->positions;
        t->segments = theirs->segments;
        t->pooler = theirs->pooler;
    }
    t->settled = true;
    return GERNE_OK;
}

/* ---- layers ---- */

gn_value gn_block_linear(const gn_block_layer *l, gn_value x, const char *name, int64_t outputs)
{
    char full[GN_NAME_MAX];
    snprintf(full, sizeof full, "%s.%d.%s", l->prefix, l->index, name);
    return gn_linear(l->graph, x, full, outputs, false);
}

gn_value gn_block_norm(const gn_block_layer *l, gn_value x, const char *name)
{
    char full[GN_NAME_MAX];
    snprintf(full, sizeof full, "%s.%d.%s", l->prefix, l->index, name);
    return gn_layer_norm(l->graph, x, full, l->sizes->epsilon);
}
