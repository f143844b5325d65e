#include "nn/network.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "nn/initial_weights.h"
#include "nn/packed_body.h"
#include "nn/split_pass.h"

enum { MODES = 3 };

/* Texts run at once: enough rows for the products to be fast, few enough for their activations to
 * take less memory than the weights. */
enum { TOKENS_OF_A_PASS = 1024 };

struct gn_network {
    gn_device *device;
    gn_model_options options;
    const gn_architecture *architecture;
    gn_sample_shape shape;
    int64_t classes, batch, features;
    gn_graph *graphs[2];
    gn_store *store;
    gn_memory *memory; /* of the bodies in all modes, which take turns */
    gn_program *bodies[MODES], *heads[MODES];
    gn_packed_body *packed;  /* of texts, in place of bodies */
    gn_program *body, *head; /* of the present mode; body is NULL before the first texts */
    float *gathered;         /* [batch][features] of texts */
    int64_t token_limit;
    gn_mode body_mode;
    float *masks; /* [batch][features] of model.dropout: 0 or 1 / (1 - rate); NULL without it */
    bool drops;   /* in the present mode */
    bool feature_gradient; /* is wanted also where the body does not train */
    uint64_t seed, step, place;
    float *spare_input;  /* of mixed inputs; NULL before the first */
    float *own_gradient; /* [batch][features] of losses that look at features; likewise */
    bool own_counts;     /* the next backward pass of the body adds it */
    gn_split_room *split_room;
};

/* ---- building ---- */

static const char *kind_of(const gn_sample_shape *shape)
{
    if (gn_shape_field(shape, GN_FIELD_TOKENS))
        return "texts";
    return gn_shape_field(shape, GN_FIELD_PIXELS) ? "images" : "features";
}

/* The samples that the whole network takes. */
static const gn_sample_shape *outer_shape(const gn_network *n)
{
    return n->options.part == GN_REST ? n->options.origin : &n->shape;
}

static gerne_status check_kind(gerne_ctx *ctx, const gn_network *n)
{
    const gn_architecture *a = n->architecture;
    const gn_sample_shape *shape = outer_shape(n);
    bool texts = gn_shape_field(shape, GN_FIELD_TOKENS) != NULL;
    bool images = gn_shape_field(shape, GN_FIELD_PIXELS) != NULL;
    if (texts == a->wants_tokens && (images || !a->wants_images))
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "model.arch: '%s' needs %s, but the data are %s", a->name,
            a->wants_tokens   ? "texts"
            : a->wants_images ? "images"
                              : "images or features",
            kind_of(shape));
    if (texts)
        gn_hint(ctx, "use --model.arch bert");
    else
        gn_hint(ctx, images ? "use --model.arch resnet18" : "use --model.arch linear or mlp");
    return GERNE_EUSAGE;
}

static gerne_status check_shape(gerne_ctx *ctx, const gn_network *n)
{
    GN_TRY(check_kind(ctx, n));
    const gn_field *tokens = gn_shape_field(&n->shape, GN_FIELD_TOKENS);
    bool whole = n->shape.count == (tokens ? 2 : 1) && n->classes > 0 && n->batch > 0;
    for (int i = 0; whole && i < n->shape.fields[0].ndims; i++)
        whole = n->shape.fields[0].dims[i] > 0;
    if (tokens && tokens->below < 1) /* an id without a row would be read from anywhere */
        return gn_fail(ctx, GERNE_EINTERNAL, "texts without the size of their vocabulary");
    if (!whole)
        return gn_fail(ctx, GERNE_EUSAGE, "a network needs samples, classes and a batch size");
    return GERNE_OK;
}

/* model.freeze names a layer as files do; the prefix of all of them may be missing. */
static gerne_status freeze_layers(gerne_ctx *ctx, gn_network *n, const char *layer)
{
    const char *prefix = n->architecture->prefix;
    char full[GN_NAME_MAX];
    snprintf(full, sizeof full, "%s%s", prefix ? prefix : "", layer);
    if (n->options.copies > 1)
        return gn_fail(ctx, GERNE_EUSAGE, "model.freeze: layers of model.copies cannot be frozen");
    if (gn_graph_freeze(n->graphs[GN_BODY], layer) || gn_graph_freeze(n->graphs[GN_BODY], full))
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "model.freeze: '%s' has no layer '%s'", n->architecture->name,
            layer);
    gn_hint(ctx, "use none, body, head, or a layer of 'gerne models %s --json'",
            n->architecture->name);
    return GERNE_EUSAGE;
}

static gerne_status cut(gerne_ctx *ctx, gn_network *n)
{
    gn_graph *graph = n->graphs[GN_BODY];
    GN_TRY(freeze_layers(ctx, n, n->options.cut));
    if (!gn_graph_can_cut(graph))
        return gn_fail(ctx, GERNE_EINTERNAL, "'%s' cannot be cut behind '%s'",
                       n->architecture->name, n->options.cut);
    if (n->options.part == GN_FRONT) {
        gn_graph_keep_front(graph);
        return GERNE_OK;
    }
    GN_TRY(gn_graph_keep_rest(ctx, graph, GN_FIELD_FEATURES));
    if (gn_graph_input_size(graph, GN_FIELD_FEATURES) != gn_field_size(&n->shape.fields[0]))
        return gn_fail(ctx, GERNE_EINTERNAL, "samples of another size than '%s' gives",
                       n->options.cut);
    return GERNE_OK;
}

static gerne_status build_body(gerne_ctx *ctx, gn_network *n)
{
    gn_graph *graph = n->graphs[GN_BODY];
    const gn_field *field = &outer_shape(n)->fields[0];
    /* Layers on flat vectors take an image as its numbers in channel, row, column order. */
    int64_t numbers = gn_field_size(field);
    gn_value input;
    if (n->architecture->wants_tokens)
        input = gn_token_input(graph, field->name, field->dims[0]);
    else if (n->architecture->wants_images)
        input = gn_input(graph, field->name, GN_FLOAT32, field->ndims, field->dims);
    else
        input = gn_input(graph, field->name, GN_FLOAT32, 1, &numbers);
    gn_value features = -1;
    for (int64_t i = 0; i < (n->options.copies > 1 ? n->options.copies : 1); i++) {
        char prefix[GN_NAME_MAX] = "";
        if (n->options.copies > 1)
            snprintf(prefix, sizeof prefix, GN_COPY_PREFIX "%d.", (int)i);
        gn_graph_set_prefix(graph, prefix);
        gn_value copy = n->architecture->body(graph, &n->options, input);
        features = i ? gn_concatenate(graph, features, copy) : copy;
    }
    GN_TRY(gn_graph_finish(ctx, graph, features));
    if (n->options.part != GN_WHOLE)
        GN_TRY(cut(ctx, n));
    else if (gn_model_freeze(&n->options) == GN_FREEZE_LAYERS)
        GN_TRY(freeze_layers(ctx, n, n->options.freeze));
    n->features = gn_graph_output_size(graph);
    return GERNE_OK;
}

static gerne_status build_head(gerne_ctx *ctx, gn_network *n)
{
    gn_graph *graph = n->graphs[GN_HEAD];
    char name[GN_NAME_MAX];
    gn_head_name(n->architecture, &n->options, name);
    gn_value features = gn_input(graph, GN_FIELD_FEATURES, GN_FLOAT32, 1, &n->features);
    return gn_graph_finish(ctx, graph, gn_linear(graph, features, name, n->classes, false));
}

/* Rows of the embedding are what tokens of other data have to be below. */
static gerne_status settle(gerne_ctx *ctx, gn_network *n)
{
    if (!n->architecture->settle)
        return GERNE_OK;
    GN_TRY(n->architecture->settle(ctx, &n->options, outer_shape(n)));
    if (n->architecture->wants_tokens)
        n->shape.fields[gn_shape_find(&n->shape, GN_FIELD_TOKENS)].below =
            n->options.transformer.vocabulary;
    return GERNE_OK;
}

static gerne_status build_packed(gerne_ctx *ctx, gn_network *n)
{
    n->token_limit = TOKENS_OF_A_PASS;
    GN_TRY(gn_packed_body_new(ctx, n->graphs[GN_BODY], n->store, n->batch, n->memory, &n->packed));
    return gn_alloc(ctx, (size_t)(n->batch * n->features), sizeof *n->gathered, "features",
                    &n->gathered);
}

static gerne_status check_size(gerne_ctx *ctx, const gn_network *n)
{
    int64_t numbers = gn_graph_numbers(n->graphs[GN_BODY]) + gn_graph_numbers(n->graphs[GN_HEAD]);
    if (!n->options.numbers_max || numbers <= n->options.numbers_max)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA,
                   "the network would have %lld weights, more than its file holds",
                   (long long)numbers);
}

static gerne_status build_graphs(gerne_ctx *ctx, gn_network *n)
{
    GN_TRY(gn_architecture_find(ctx, n->options.arch, &n->architecture));
    GN_TRY(check_shape(ctx, n));
    GN_TRY(settle(ctx, n));
    GN_TRY(gn_graph_new(ctx, n->device, &n->graphs[GN_BODY]));
    GN_TRY(gn_graph_new(ctx, n->device, &n->graphs[GN_HEAD]));
    GN_TRY(build_body(ctx, n));
    GN_TRY(build_head(ctx, n));
    return check_size(ctx, n);
}

static gerne_status make_room(gerne_ctx *ctx, gn_network *n)
{
    GN_TRY(gn_store_new(ctx, n->device, n->graphs, 2, n->batch, &n->store));
    GN_TRY(gn_memory_new(ctx, &n->memory));
    return n->architecture->wants_tokens ? build_packed(ctx, n) : GERNE_OK;
}

static gerne_status make(gerne_ctx *ctx, gn_device *device, const gn_model_options *options,
                         gn_sample_shape shape, int64_t classes, int64_t batch, bool outline,
                         gn_network **out)
{
    GN_LOCAL(gn_network) *n = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *n, "a network", &n));
    n->device = device;
    n->options = *options;
    n->shape = shape;
    n->classes = classes;
    n->batch = batch;
    GN_TRY(build_graphs(ctx, n));
    if (!outline)
        GN_TRY(make_room(ctx, n));
    return gn_give(&n, out);
}

gerne_status gn_network_new(gerne_ctx *ctx, gn_device *device, const gn_model_options *options,
                            gn_sample_shape shape, int64_t classes, int64_t batch, gn_network **out)
{
    return make(ctx, device, options, shape, classes, batch, false, out);
}

gerne_status gn_network_outline(gerne_ctx *ctx, gn_device *device, const gn_model_options *options,
                                gn_sample_shape shape, int64_t classes, gn_network **out)
{
    return make(ctx, device, options, shape, classes, 1, true, out);
}

void gn_network_close(gn_network *n)
{
    if (!n)
        return;
    for (int i = 0; i < MODES; i++) {
        gn_program_close(n->bodies[i]);
        gn_program_close(n->heads[i]);
    }
    gn_packed_body_close(n->packed);
    gn_memory_close(n->memory);
    gn_free(n->gathered);
    gn_free(n->masks);
    gn_free(n->spare_input);
    gn_free(n->own_gradient);
    gn_split_room_close(n->split_room);
    gn_store_close(n->store);
    gn_graph_close(n->graphs[GN_BODY]);
    gn_graph_close(n->graphs[GN_HEAD]);
    gn_free(n);
}

/* ---- initial weights ---- */

static gerne_status initialize(gerne_ctx *ctx, gn_network *n, int from, uint64_t seed)
{
    n->seed = seed;
    return gn_draw_weights(ctx, n->store, n->architecture->initialization, from, seed);
}

gerne_status gn_network_initialize(gerne_ctx *ctx, gn_network *n, uint64_t seed)
{
    return initialize(ctx, n, GN_BODY, seed);
}

gerne_status gn_network_initialize_head(gerne_ctx *ctx, gn_network *n, uint64_t seed)
{
    return initialize(ctx, n, GN_HEAD, seed);
}

/* ---- what it is ---- */

const gn_graph *gn_network_graph(const gn_network *n, int which)
{
    return n->graphs[which];
}

gn_store *gn_network_store(const gn_network *n)
{
    return n->store;
}

gn_device *gn_network_device(const gn_network *n)
{
    return n->device;
}

const gn_architecture *gn_network_architecture(const gn_network *n)
{
    return n->architecture;
}

const gn_model_options *gn_network_options(const gn_network *n)
{
    return &n->options;
}

const gn_sample_shape *gn_network_shape(const gn_network *n)
{
    return &n->shape;
}

int64_t gn_network_batch(const gn_network *n)
{
    return n->batch;
}

int64_t gn_network_classes(const gn_network *n)
{
    return n->classes;
}

int64_t gn_network_input_size(const gn_network *n)
{
    return gn_field_size(&n->shape.fields[0]);
}

int64_t gn_network_feature_count(const gn_network *n)
{
    return n->features;
}

gn_split_room **gn_network_split_room(gn_network *n)
{
    return &n->split_room;
}

double gn_network_flops(const gn_network *n)
{
    return gn_graph_flops(n->graphs[GN_BODY]) + gn_graph_flops(n->graphs[GN_HEAD]);
}

bool gn_network_can_cut(const gn_network *n)
{
    return gn_model_freeze(&n->options) == GN_FREEZE_LAYERS && gn_graph_can_cut(n->graphs[GN_BODY]);
}

bool gn_network_couples_samples(const gn_network *n)
{
    return gn_graph_couples_samples(n->graphs[GN_BODY]) && n->options.bn != GN_BN_FROZEN &&
           gn_model_freeze(&n->options) != GN_FREEZE_BODY;
}

gn_block gn_network_trained(const gn_network *n)
{
    if (gn_model_freeze(&n->options) == GN_FREEZE_BODY)
        return gn_store_part(n->store, GN_HEAD);
    if (gn_model_freeze(&n->options) == GN_FREEZE_HEAD)
        return gn_store_part(n->store, GN_BODY);
    return gn_store_unfrozen(n->store);
}

/* ---- dropout ---- */

void gn_network_set_masks(gn_network *n, uint64_t step, uint64_t place)
{
    n->step = step;
    n->place = place;
}

static void draw_masks(gn_network *n)
{
    double rate = n->options.dropout;
    float kept = (float)(1 / (1 - rate));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n->batch; i++) {
        gn_stream stream = gn_stream_at(n->seed, GN_RNG_DROPOUT, n->step, n->place + (uint64_t)i);
        for (int64_t j = 0; j < n->features; j++)
            n->masks[i * n->features + j] = gn_random_uniform(&stream) < rate ? 0 : kept;
    }
}

static void apply_masks(const gn_network *n, float *values)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n->batch * n->features; i++)
        values[i] *= n->masks[i];
}

/* The key of a sample inside of the network: what its masks in all layers are drawn from. */
static void draw_keys(const gn_network *n)
{
    uint64_t *keys = gn_program_input(n->body, GN_KEYS);
    for (int64_t i = 0; i < n->batch; i++) {
        gn_stream stream = gn_stream_at(n->seed, GN_RNG_INSIDE, n->step, n->place + (uint64_t)i);
        keys[2 * i] = gn_random_u64(&stream);
        keys[2 * i + 1] = gn_random_u64(&stream);
    }
}

/* ---- texts ---- */

bool gn_network_trains_body(const gn_network *n)
{
    return n->body_mode != GN_MODE_INFER;
}

bool gn_network_takes_tokens(const gn_network *n)
{
    return n->packed != NULL;
}

int64_t gn_network_token_limit(const gn_network *n)
{
    return n->token_limit;
}

void gn_network_keep_whole(gn_network *n)
{
    n->token_limit = INT64_MAX;
}

gerne_status gn_network_expect_tokens(gerne_ctx *ctx, gn_network *n, int64_t tokens,
                                      gn_text_input *out)
{
    GN_TRY(gn_packed_body_program(ctx, n->packed, n->body_mode, tokens, &n->body));
    draw_keys(n);
    *out = (gn_text_input){gn_program_input(n->body, GN_FIELD_TOKENS),
                           gn_program_input(n->body, GN_SPANS)};
    return GERNE_OK;
}

/* ---- passes ---- */

static gn_mode mode_of_body(const gn_network *n, gn_mode mode)
{
    bool nothing_to_train = gn_store_part(n->store, GN_BODY).size == 0;
    if (gn_model_freeze(&n->options) == GN_FREEZE_BODY || nothing_to_train)
        return GN_MODE_INFER;
    return mode == GN_MODE_TRAIN && n->options.bn == GN_BN_FROZEN ? GN_MODE_FROZEN : mode;
}

gerne_status gn_network_set_mode(gerne_ctx *ctx, gn_network *n, gn_mode mode)
{
    gn_mode body_mode = mode_of_body(n, mode);
    if (!n->packed && !n->bodies[body_mode])
        GN_TRY(gn_program_new(ctx, n->graphs[GN_BODY], n->store, n->batch, body_mode, false,
                              n->memory, &n->bodies[body_mode]));
    if (!n->heads[mode])
        GN_TRY(gn_program_new(ctx, n->graphs[GN_HEAD], n->store, n->batch, mode,
                              mode != GN_MODE_INFER &&
                                  (body_mode != GN_MODE_INFER || n->feature_gradient),
                              NULL, &n->heads[mode]));
    n->drops = mode != GN_MODE_INFER && n->options.dropout > 0;
    if (n->drops && !n->masks)
        GN_TRY(gn_alloc(ctx, (size_t)(n->batch * n->features), sizeof *n->masks,
                        "masks of model.dropout", &n->masks));
    if (!n->packed)
        n->body = n->bodies[body_mode];
    n->head = n->heads[mode];
    n->body_mode = body_mode;
    return GERNE_OK;
}

float *gn_network_input(gn_network *n, int field)
{
    return gn_program_input(n->body, n->shape.fields[field].name);
}

gerne_status gn_network_make_spare_input(gerne_ctx *ctx, gn_network *n)
{
    if (n->spare_input)
        return GERNE_OK;
    return gn_alloc(ctx, (size_t)(n->batch * gn_network_input_size(n)), sizeof *n->spare_input,
                    "mixed inputs", &n->spare_input);
}

float *gn_network_spare_input(gn_network *n)
{
    return n->spare_input;
}

gerne_status gn_body_forward(gerne_ctx *ctx, gn_network *n)
{
    return gn_program_forward(ctx, n->body);
}

gerne_status gn_body_forward_rows(gerne_ctx *ctx, gn_network *n, size_t first, size_t count)
{
    GN_TRY(gn_program_forward(ctx, n->body));
    memcpy(n->gathered + first * (size_t)n->features, gn_program_output(n->body),
           count * (size_t)n->features * sizeof *n->gathered);
    return GERNE_OK;
}

const float *gn_features(const gn_network *n)
{
    return n->packed ? n->gathered : gn_program_output(n->body);
}

gerne_status gn_head_forward(gerne_ctx *ctx, gn_network *n, const float *features)
{
    return gn_head_forward_rows(ctx, n, features, (size_t)n->batch);
}

gerne_status gn_head_forward_rows(gerne_ctx *ctx, gn_network *n, const float *features,
                                  size_t count)
{
    float *input = gn_program_input(n->head, GN_FIELD_FEATURES);
    size_t used = count * (size_t)n->features, all = (size_t)(n->batch * n->features);
    memcpy(input, features ? features : gn_features(n), used * sizeof *input);
    memset(input + used, 0, (all - used) * sizeof *input);
    if (n->drops) {
        draw_masks(n);
        apply_masks(n, input);
    }
    return gn_program_forward(ctx, n->head);
}

const float *gn_logits(const gn_network *n)
{
    return gn_program_output(n->head);
}

float *gn_logit_gradient(gn_network *n)
{
    return gn_program_output_gradient(n->head);
}

gerne_status gn_head_backward(gerne_ctx *ctx, gn_network *n, bool accumulate)
{
    GN_TRY(gn_program_backward(ctx, n->head, accumulate));
    float *gradient = gn_program_input_gradient(
        n->head, GN_FIELD_FEATURES); /* NULL where the body does not train */
    if (n->drops && gradient)
        apply_masks(n, gradient);
    return GERNE_OK;
}

const float *gn_feature_gradient(const gn_network *n)
{
    return gn_program_input_gradient(n->head, GN_FIELD_FEATURES);
}

void gn_network_want_feature_gradient(gn_network *n)
{
    n->feature_gradient = true;
}

gerne_status gn_network_expect_feature_loss(gerne_ctx *ctx, gn_network *n)
{
    size_t size = (size_t)(n->batch * n->features);
    n->own_counts = n->body_mode != GN_MODE_INFER;
    if (!n->own_counts)
        return GERNE_OK;
    if (!n->own_gradient)
        GN_TRY(gn_alloc(ctx, size, sizeof *n->own_gradient, "gradients of features",
                        &n->own_gradient));
    memset(n->own_gradient, 0, size * sizeof *n->own_gradient);
    return GERNE_OK;
}

float *gn_own_feature_gradient(gn_network *n)
{
    return n->own_counts ? n->own_gradient : NULL;
}

gerne_status gn_body_backward(gerne_ctx *ctx, gn_network *n, const float *gradient, bool accumulate)
{
    return gn_body_backward_rows(ctx, n, gradient, (size_t)n->batch, accumulate);
}

gerne_status gn_body_backward_rows(gerne_ctx *ctx, gn_network *n, const float *gradient,
                                   size_t count, bool accumulate)
{
    size_t used = count * (size_t)n->features, all = (size_t)(n->batch * n->features);
    bool own = n->own_counts;
    n->own_counts = false;
    if (n->body_mode == GN_MODE_INFER)
        return GERNE_OK;
    float *output = gn_program_output_gradient(n->body);
    memcpy(output, gradient ? gradient : gn_feature_gradient(n), used * sizeof *output);
    memset(output + used, 0, (all - used) * sizeof *output);
    if (own)
        for (size_t i = 0; i < used; i++)
            output[i] += n->own_gradient[i];
    return gn_program_backward(ctx, n->body, accumulate);
}

gerne_status gn_network_run_products(gerne_ctx *ctx, gn_network *n)
{
    GN_TRY(gn_program_run_products(ctx, n->body));
    return gn_program_run_products(ctx, n->head);
}
