/* bert.c - BERT's encoder under the names of Hugging Face's BertForSequenceClassification. Files of
 * BERT, MiniLM and DistilBERT are variants of it: any size, with or without segments and pooler. */
#include <stdio.h>
#include <string.h>

#include "nn/transformer.h"

/* Without a file: small enough to train from scratch. */
static const gn_transformer usual = {.depth = 2,
                                     .width = 128,
                                     .positions = 512,
                                     .segments = 2,
                                     .activation = GN_GELU,
                                     .epsilon = 1e-12,
                                     .pooler = true};

#define WORDS     "embeddings.word_embeddings.weight"
#define POSITIONS "embeddings.position_embeddings.weight"
#define SEGMENTS  "embeddings.token_type_embeddings.weight"

/* ---- sizes ---- */

static gerne_status missing(gerne_ctx *ctx, const gn_transformer_file *file, const char *name)
{
    gn_fail(ctx, GERNE_EDATA, "'%s' has no tensor '%s', so it is not a BERT", file->path, name);
    gn_hint(ctx, "--model.arch names the network of --model.weights");
    return GERNE_EDATA;
}

static gerne_status read_tensors(gerne_ctx *ctx, gn_transformer_file *file)
{
    gn_transformer *t = &file->sizes;
    const gn_weight *words = gn_transformer_tensor(file, WORDS);
    const gn_weight *positions = gn_transformer_tensor(file, POSITIONS);
    const gn_weight *segments = gn_transformer_tensor(file, SEGMENTS);
    const gn_weight *inner = gn_transformer_tensor(file, "layer.0.intermediate.dense.weight");
    if (!inner)
        inner = gn_transformer_tensor(file, "layer.0.ffn.lin1.weight"); /* DistilBERT */
    if (!words || words->ndims != 2)
        return missing(ctx, file, WORDS);
    if (!positions || positions->ndims != 2)
        return missing(ctx, file, POSITIONS);
    if (!inner || inner->ndims != 2)
        return missing(ctx, file, "encoder.layer.0.intermediate.dense.weight");
    int64_t depth = gn_transformer_count(file, "layer.%d.attention.self.query.weight");
    t->depth = depth ? depth : gn_transformer_count(file, "layer.%d.attention.q_lin.weight");
    t->vocabulary = words->dims[0];
    t->width = words->dims[1];
    t->positions = positions->dims[0];
    t->segments = segments && segments->ndims == 2 ? segments->dims[0] : 0;
    t->intermediate = inner->dims[0];
    t->pooler = gn_transformer_tensor(file, "pooler.dense.weight") != NULL;
    return GERNE_OK;
}

/* Texts as long as the positions reach. */
static gn_sample_shape sample(const gn_weights *weights)
{
    const gn_weight *positions = gn_weights_find_end(weights, POSITIONS);
    bool matrix = positions && positions->ndims == 2 && positions->dims[0] > 0;
    return matrix ? gn_tokens_shape(positions->dims[0]) : (gn_sample_shape){0};
}

/* The data meets the network here: every token has a row, every place a position. */
static gerne_status check(gerne_ctx *ctx, const gn_transformer_file *file, const gn_transformer *t,
                          const gn_field *tokens)
{
    const char *what = file->path ? file->path : "the network";
    if (tokens->dims[0] > t->positions) {
        gn_fail(ctx, GERNE_EUSAGE, "texts of up to %lld tokens, but '%s' has %lld positions",
                (long long)tokens->dims[0], what, (long long)t->positions);
        gn_hint(ctx, "use --data.max_tokens %lld", (long long)t->positions);
        return GERNE_EUSAGE;
    }
    if (tokens->below > t->vocabulary) {
        gn_fail(ctx, GERNE_EUSAGE, "the vocabulary has %lld words, but '%s' embeds %lld",
                (long long)tokens->below, what, (long long)t->vocabulary);
        gn_hint(ctx, "use --model.vocab with the vocabulary of these weights");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

static gerne_status settle_sizes(gerne_ctx *ctx, gn_transformer_file *file, const gn_field *tokens,
                                 gn_model_options *options)
{
    gn_transformer defaults = usual;
    defaults.vocabulary = tokens->below;
    if (tokens->dims[0] > defaults.positions)
        defaults.positions = tokens->dims[0];
    if (file->weights)
        GN_TRY(read_tensors(ctx, file));
    return gn_transformer_combine(ctx, file, &defaults, options);
}

static gerne_status settle(gerne_ctx *ctx, gn_model_options *options, const gn_sample_shape *shape)
{
    const gn_field *tokens = gn_shape_field(shape, GN_FIELD_TOKENS);
    gn_transformer_file file = {.path = options->weights};
    gerne_status status = GERNE_OK;
    if (!options->transformer.settled) {
        GN_TRY(gn_transformer_open(ctx, options, &file));
        status = settle_sizes(ctx, &file, tokens, options);
        gn_weights_close(file.weights);
    }
    if (status == GERNE_OK)
        status = check(ctx, &file, &options->transformer, tokens);
    if (options->dropout == 0) /* in front of the head: that of the encoder unless set */
        options->dropout = options->inner_dropout;
    return status;
}

/* ---- layers ---- */

typedef struct encoder {
    gn_block_layer layer; /* the present one */
    gn_sequence sequence;
} encoder;

static gn_value attend(const encoder *e, gn_value x)
{
    static const char *const parts[] = {"query", "key", "value"};
    const gn_block_layer *l = &e->layer;
    char names[3][GN_NAME_MAX];
    for (int i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], "%s.%d.attention.self.%s", l->prefix, l->index,
                 parts[i]);
    gn_value joined = gn_linear_joined(
        l->graph, x, (const char *const[]){names[0], names[1], names[2]}, 3, l->sizes->width);
    return gn_attention(l->graph, joined, l->sizes->heads, &e->sequence);
}

/* first_only: behind the attention of the last layer only the first place is needed. */
static gn_value add_layer(const encoder *e, gn_value x, bool first_only)
{
    const gn_block_layer *l = &e->layer;
    const gn_transformer *t = l->sizes;
    gn_value a = attend(e, x);
    if (first_only) {
        a = gn_first_place(l->graph, a, e->sequence.spans);
        x = gn_first_place(l->graph, x, e->sequence.spans);
    }
    a = gn_block_linear(l, a, "attention.output.dense", t->width);
    x = gn_add_dropped(l->graph, x, a, &e->sequence);
    x = gn_block_norm(l, x, "attention.output.LayerNorm");
    gn_value h = gn_block_linear(l, x, "intermediate.dense", t->intermediate);
    h = gn_activate(l->graph, h, (gn_activation)t->activation);
    h = gn_block_linear(l, h, "output.dense", t->width);
    x = gn_add_dropped(l->graph, x, h, &e->sequence);
    return gn_block_norm(l, x, "output.LayerNorm");
}

static gn_value encode(gn_graph *graph, const gn_model_options *options, gn_value tokens,
                       bool first_only)
{
    const gn_transformer *t = &options->transformer;
    encoder e = {.layer = {.graph = graph, .sizes = t, .prefix = "bert.encoder.layer"},
                 .sequence = {.spans = gn_span_input(graph, GN_SPANS),
                              .keys = gn_key_input(graph, GN_KEYS),
                              .dropout = options->inner_dropout}};
    const gn_embedding embedding = {.word = "bert.embeddings.word_embeddings",
                                    .position = "bert.embeddings.position_embeddings",
                                    .segment = t->segments ? "bert.embeddings.token_type_embeddings"
                                                           : NULL,
                                    .words = t->vocabulary,
                                    .positions = t->positions,
                                    .segments = t->segments,
                                    .width = t->width};
    gn_value x = gn_embed(graph, tokens, e.sequence.spans, &embedding);
    x = gn_layer_norm(graph, x, "bert.embeddings.LayerNorm", t->epsilon);
    x = gn_dropout(graph, x, &e.sequence);
    for (; e.layer.index < t->depth; e.layer.index++)
        x = add_layer(&e, x, first_only && e.layer.index == t->depth - 1);
    return x;
}

gn_value gn_bert_all_places(gn_graph *graph, const gn_model_options *options, gn_value tokens)
{
    return encode(graph, options, tokens, false);
}

static gn_value body(gn_graph *graph, const gn_model_options *options, gn_value tokens)
{
    bool mean = options->pool == GN_POOL_MEAN;
    gn_value x = encode(graph, options, tokens, !mean);
    if (mean)
        return gn_mean_place(graph, x, gn_span_input(graph, GN_SPANS));
    if (!options->transformer.pooler)
        return x;
    x = gn_linear(graph, x, "bert.pooler.dense", options->transformer.width, false);
    return gn_activate(graph, x, GN_TANH);
}

/* ---- names in files ---- */

/* Of the parts of a layer in DistilBERT's files. */
static const char *const distil[][2] = {
    {"attention.self.query", "attention.q_lin"},
    {"attention.self.key", "attention.k_lin"},
    {"attention.self.value", "attention.v_lin"},
    {"attention.output.dense", "attention.out_lin"},
    {"attention.output.LayerNorm", "sa_layer_norm"},
    {"intermediate.dense", "ffn.lin1"},
    {"output.dense", "ffn.lin2"},
    {"output.LayerNorm", "output_layer_norm"},
};

static bool write_distil(const char *name, char *out, size_t size)
{
    static const char prefix[] = "encoder.layer.";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *layer = name + sizeof prefix - 1;
    int digits = (int)strspn(layer, "0123456789");
    if (!digits || layer[digits] != '.')
        return false;
    const char *part = layer + digits + 1;
    for (size_t i = 0; i < sizeof distil / sizeof distil[0]; i++) {
        size_t length = strlen(distil[i][0]);
        if (strncmp(part, distil[i][0], length) == 0 && part[length] == '.') {
            snprintf(out, size, "transformer.layer.%.*s.%s%s", digits, layer, distil[i][1],
                     part + length);
            return true;
        }
    }
    return false;
}

/* Without "bert.", and then as DistilBERT has it, without and with its own prefix. */
static bool alias(const char *name, int which, char *out, size_t size)
{
    static const char prefix[] = "bert.";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *inner = name + sizeof prefix - 1;
    char translated[GN_NAME_MAX];
    bool layer = write_distil(inner, translated, sizeof translated);
    switch (which) {
    case 0:
        snprintf(out, size, "%s", inner);
        return true;
    case 1:
        snprintf(out, size, "%s", layer ? translated : inner);
        return true;
    case 2:
        snprintf(out, size, "distilbert.%s", layer ? translated : inner);
        return true;
    default:
        return false;
    }
}

static bool is_position_ids(const char *name)
{
    static const char tail[] = "embeddings.position_ids";
    size_t size = strlen(name), length = sizeof tail - 1;
    return size >= length && strcmp(name + size - length, tail) == 0;
}

/* Heads of the pretraining, the pooler of a network without one, and of DistilBERT what stands
 * between its encoder and its head. */
static bool unused(const char *name)
{
    static const char *const starts[] = {
        "cls.predictions.", "cls.seq_relationship.", "vocab_transform.", "vocab_layer_norm.",
        "vocab_projector.", "pre_classifier.",       "pooler.dense.",    "bert.pooler.dense."};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return is_position_ids(name);
}

const gn_architecture gn_bert_architecture = {
    .name = "bert",
    .summary = "BERT, MiniLM or DistilBERT as in Hugging Face; the sizes are those of "
               "model.weights",
    .wants_tokens = true,
    .initialization = GN_INIT_TRUNCATED,
    .body = body,
    .head = "classifier",
    .prefix = "bert.",
    .settle = settle,
    .sample = sample,
    .alias = alias,
    .unused = unused,
    .decays_matrices = true,
};
