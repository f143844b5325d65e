/* vit.c - vision transformers (ViT, DeiT) under timm's names: pre-norm, a class token, patches by a
 * convolution. */
#include <math.h>
#include <stdio.h>

#include "nn/transformer.h"

enum { PATCH_MAX = 1024, SIDE_MAX = 1024 }; /* of positions that may be believed */

/* ViT-Ti/16; the widths of S and B are 384 and 768. */
static const gn_transformer usual = {
    .depth = 12, .width = 192, .patch = 16, .activation = GN_GELU, .epsilon = 1e-6};

static gerne_status missing(gerne_ctx *ctx, const gn_transformer_file *file, const char *name)
{
    gn_fail(ctx, GERNE_EDATA, "'%s' has no tensor '%s', so it is not a ViT with timm's names",
            file->path, name);
    gn_hint(ctx, "--model.arch names the network of --model.weights");
    return GERNE_EDATA;
}

static gerne_status read_tensors(gerne_ctx *ctx, gn_transformer_file *file)
{
    static const char patches_name[] = "patch_embed.proj.weight",
                      inner_name[] = "blocks.0.mlp.fc1.weight";
    const gn_weight *patches = gn_transformer_tensor(file, patches_name);
    const gn_weight *inner = gn_transformer_tensor(file, inner_name);
    if (!patches || patches->ndims != 4)
        return missing(ctx, file, patches_name);
    if (!inner || inner->ndims != 2)
        return missing(ctx, file, inner_name);
    file->sizes.width = patches->dims[0];
    file->sizes.patch = patches->dims[2];
    file->sizes.intermediate = inner->dims[0];
    file->sizes.depth = gn_transformer_count(file, "blocks.%d.attn.qkv.weight");
    return GERNE_OK;
}

/* Square images, of as many patches as there are positions behind that of the class token. */
static gn_sample_shape sample(const gn_weights *weights)
{
    const gn_weight *patches = gn_weights_find_end(weights, "patch_embed.proj.weight");
    const gn_weight *positions = gn_weights_find_end(weights, "pos_embed");
    if (!patches || patches->ndims != 4 || !positions || positions->ndims != 3)
        return (gn_sample_shape){0};
    int64_t count = positions->dims[1] - 1, side = count > 0 ? (int64_t)sqrt((double)count) : 0;
    int64_t patch = patches->dims[2];
    if (side < 1 || side * side != count || patch < 1 || patch > PATCH_MAX || side > SIDE_MAX)
        return (gn_sample_shape){0};
    return gn_pixels_shape(patches->dims[1], side * patch, side * patch);
}

static gerne_status check(gerne_ctx *ctx, const gn_transformer *t, const gn_field *pixels)
{
    if (t->patch < 1)
        return gn_fail(ctx, GERNE_EDATA, "patches of %lld pixels", (long long)t->patch);
    if (pixels->dims[1] % t->patch == 0 && pixels->dims[2] % t->patch == 0)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "images of %lld x %lld pixels cannot be cut into patches of %lld",
            (long long)pixels->dims[1], (long long)pixels->dims[2], (long long)t->patch);
    gn_hint(ctx, "use --data.resize with multiples of %lld, or another --model.patch",
            (long long)t->patch);
    return GERNE_EUSAGE;
}

static gerne_status settle(gerne_ctx *ctx, gn_model_options *options, const gn_sample_shape *shape)
{
    const gn_field *pixels = gn_shape_field(shape, GN_FIELD_PIXELS);
    gn_transformer_file file;
    if (!options->transformer.settled) {
        GN_TRY(gn_transformer_open(ctx, options, &file));
        gerne_status status = file.weights ? read_tensors(ctx, &file) : GERNE_OK;
        if (status == GERNE_OK)
            status = gn_transformer_combine(ctx, &file, &usual, options);
        gn_weights_close(file.weights);
        GN_TRY(status);
    }
    return check(ctx, &options->transformer, pixels);
}

/* Behind the attention of the last block only the class token is needed. */
static gn_value add_block(const gn_block_layer *b, gn_value x, bool last)
{
    const gn_transformer *t = b->sizes;
    const gn_sequence even = {.spans = -1, .keys = -1};
    gn_value h = gn_block_linear(b, gn_block_norm(b, x, "norm1"), "attn.qkv", 3 * t->width);
    h = gn_attention(b->graph, h, t->heads, &even);
    if (last) {
        h = gn_first_place(b->graph, h, -1);
        x = gn_first_place(b->graph, x, -1);
    }
    x = gn_add(b->graph, x, gn_block_linear(b, h, "attn.proj", t->width));
    h = gn_block_linear(b, gn_block_norm(b, x, "norm2"), "mlp.fc1", t->intermediate);
    h = gn_activate(b->graph, h, (gn_activation)t->activation);
    return gn_add(b->graph, x, gn_block_linear(b, h, "mlp.fc2", t->width));
}

static gn_value body(gn_graph *graph, const gn_model_options *options, gn_value pixels)
{
    const gn_transformer *t = &options->transformer;
    const gn_convolution patches = {.outputs = t->width, .kernel = t->patch, .stride = t->patch};
    gn_value x = gn_convolve(graph, pixels, "patch_embed.proj", &patches);
    x = gn_patch_sequence(graph, x,
                          &(gn_patches){.bias = "patch_embed.proj.bias",
                                        .token = "cls_token",
                                        .position = "pos_embed"});
    gn_block_layer b = {.graph = graph, .sizes = t, .prefix = "blocks"};
    for (; b.index < t->depth; b.index++)
        x = add_block(&b, x, b.index == t->depth - 1);
    return gn_layer_norm(graph, x, "norm", t->epsilon);
}

const gn_architecture gn_vit_architecture = {
    .name = "vit",
    .summary = "ViT or DeiT as in timm; model.width 192 (Ti), 384 (S) or 768 (B), model.patch "
               "16 or 32",
    .wants_images = true,
    .initialization = GN_INIT_TRUNCATED,
    .body = body,
    .head = "head",
    .settle = settle,
    .sample = sample,
    .decays_matrices = true,
};
