#include "nn/model.h"

#include <stdio.h>
#include <string.h>

#define OPTION(key) offsetof(gn_model_options, key)

/* auto stands for any of them until the data is known. */
#define MLP        "arch auto|mlp"
#define NORMALIZED "arch auto|resnet18|resnet34|resnet50|resnet20|convnet|convnet3|convnet4"
#define PICTURES   NORMALIZED "|vit"
#define BOTTLENECK "arch resnet50"
#define STEMMED    "arch auto|resnet18|resnet34|resnet50"
#define ENCODER    "arch auto|bert|vit"
#define BERT       "arch auto|bert"
#define VIT        "arch vit"

const gn_option gn_model_option_table[] = {
    {"arch", GN_TEXT, OPTION(arch), .fallback = "auto",
     .help = "network; 'gerne models' lists them; auto: mlp for features, synthetic "
             "and c-mnist, resnet20 for images below 64 pixels, bert for texts, else resnet18"},
    {"hidden", GN_INTS, OPTION(hidden), .fallback = "100,100,100", .min = 1, .max = 1e6,
     .when = MLP, .flags = GN_LENIENT, .help = "widths of the hidden layers (mlp)"},
    {"weights", GN_TEXT, OPTION(weights), .flags = GN_NO_HASH,
     .help = "initial weights, a safetensors or PyTorch file; a head of another size is replaced"},
    {"vocab", GN_TEXT, OPTION(vocab), .flags = GN_NO_HASH,
     .help = "vocabulary of texts, BERT's vocab.txt or tokenizer.json (default: the one beside "
             "model.weights)"},
    {"variant", GN_CHOICE, OPTION(variant), .fallback = "v1.5", .choices = "v1.5|v1",
     .when = BOTTLENECK, .flags = GN_LENIENT,
     .help = "convolution of a bottleneck block that has the stride: the 3x3 (v1.5) "
             "or the first 1x1 (v1)"},
    {"stem", GN_CHOICE, OPTION(stem), .fallback = "imagenet", .choices = "imagenet|cifar",
     .when = STEMMED, .flags = GN_LENIENT,
     .help = "first layers of a ResNet: 7x7 with stride 2 and pooling (imagenet), or "
             "3x3 for small images (cifar)"},
    {"freeze", GN_TEXT, OPTION(freeze), .fallback = "none",
     .help = "part of the network that is not trained: none, body, head, or the body up to a "
             "layer such as layer3 or encoder.layer.7"},
    /* No fallback, as for dropout below. */
    {"activations", GN_CHOICE, OPTION(activations), .choices = "fp16|fp32|recompute",
     .when = PICTURES, .flags = GN_LENIENT,
     .help = "with model.freeze LAYER: what it computes from a sample is kept in the cache, in 16 "
             "or 32 bits, or computed in every step (default: fp16; recompute with data.augment)"},
    {"views", GN_INT, OPTION(views), .min = 1, .max = 64,
     .help = "with model.freeze: views of a training sample that are kept in the cache, itself and "
             "copies changed by data.augment, of which every step draws one (default: 1)"},
    {"bn", GN_CHOICE, OPTION(bn), .fallback = "auto", .choices = "auto|separate|concat|frozen",
     .when = NORMALIZED, .flags = GN_LENIENT,
     .help = "BatchNorm statistics in training: of each of two batches (separate), of "
             "both together (concat), or the running ones, fixed (frozen); auto: "
             "concat from scratch, frozen with model.weights"},
    /* No fallback: a run that does not ask for it keeps the identity it had before. */
    {"dropout", GN_REAL, OPTION(dropout), .min = 0, .max = 1, .flags = GN_TUNABLE | GN_OPEN_MAX,
     .help = "dropout probability before the last layer, in training only (default: 0)"},
    {"copies", GN_INT, OPTION(copies), .min = 1, .max = 8,
     .help = "bodies of this network side by side, their features concatenated (default: 1)"},
    {"depth", GN_INT, OPTION(depth), .min = 1, .max = 999, .when = ENCODER, .flags = GN_LENIENT,
     .help = "layers of a transformer (default: those of model.weights, else 2 for bert, 12 for "
             "vit)"},
    {"width", GN_INT, OPTION(width), .min = 1, .max = 1 << 16, .when = ENCODER, .flags = GN_LENIENT,
     .help = "width of a transformer (default: that of model.weights, else 128 for bert, 192 for "
             "vit)"},
    {"heads", GN_INT, OPTION(heads), .min = 1, .max = 1 << 12, .when = ENCODER, .flags = GN_LENIENT,
     .help = "attention heads of a transformer (default: from config.json beside model.weights, "
             "else width / 64)"},
    {"intermediate", GN_INT, OPTION(intermediate), .min = 1, .max = 1 << 18, .when = ENCODER,
     .flags = GN_LENIENT,
     .help = "width of a transformer's feed-forward layers (default: that of model.weights, else "
             "4 * width)"},
    {"patch", GN_INT, OPTION(patch), .min = 1, .max = 1024, .when = VIT, .flags = GN_LENIENT,
     .help = "side of a patch in pixels (default: that of model.weights, else 16)"},
    {"pool", GN_CHOICE, OPTION(pool), .fallback = "first", .choices = "first|mean", .when = BERT,
     .flags = GN_LENIENT,
     .help =
         "features of a text: its first token through the pooler, if there is one (first, as in "
         "BERT), or the mean of its tokens (mean, as in sentence encoders)"},
    {"inner_dropout", GN_REAL, OPTION(inner_dropout), .fallback = "0.1", .min = 0, .max = 1,
     .when = BERT, .flags = GN_LENIENT | GN_TUNABLE | GN_OPEN_MAX,
     .help = "dropout probability inside of bert: embeddings, attention and residual branches, "
             "and before the last layer unless model.dropout is set"},
};
const size_t gn_model_option_count = sizeof gn_model_option_table / sizeof gn_model_option_table[0];

gn_freeze gn_model_freeze(const gn_model_options *o)
{
    static const char *const words[] = {"none", "body", "head"};
    for (int i = 0; o->freeze && i < 3; i++)
        if (strcmp(o->freeze, words[i]) == 0)
            return (gn_freeze)i;
    return o->freeze ? GN_FREEZE_LAYERS : GN_FREEZE_NONE;
}

int64_t gn_model_views(const gn_model_options *o)
{
    return o->views > 1 ? o->views : 1;
}

const gn_architecture *const gn_architectures[] = {
    &gn_linear_architecture,   &gn_mlp_architecture,      &gn_resnet18_architecture,
    &gn_resnet34_architecture, &gn_resnet50_architecture, &gn_resnet20_architecture,
    &gn_convnet_architecture,  &gn_convnet3_architecture, &gn_convnet4_architecture,
    &gn_bert_architecture,     &gn_vit_architecture,      NULL,
};

gerne_status gn_architecture_find(gerne_ctx *ctx, const char *name, const gn_architecture **out)
{
    enum { MAX = 32 };
    const char *names[MAX];
    size_t count = 0;
    *out = NULL;
    /* cppcheck-suppress arrayIndexOutOfBoundsCond ; the list ends with a NULL */
    for (; count < MAX && gn_architectures[count]; count++) {
        names[count] = gn_architectures[count]->name;
        if (strcmp(names[count], name) == 0) {
            *out = gn_architectures[count];
            return GERNE_OK;
        }
    }
    const char *nearest = gn_nearest(name, names, count);
    gn_fail(ctx, GERNE_EUSAGE, "model.arch: there is no network '%s'", name);
    if (nearest)
        gn_hint(ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(ctx, "'gerne models' lists the networks");
    return GERNE_EUSAGE;
}

void gn_head_name(const gn_architecture *architecture, const gn_model_options *options, char *name)
{
    if (architecture->layers_before_head)
        snprintf(name, GN_NAME_MAX, "fc%d", architecture->layers_before_head(options) + 1);
    else
        snprintf(name, GN_NAME_MAX, "%s", architecture->head ? architecture->head : "fc");
}

/* Texts are cut by their tokens, too: see gn_network_token_limit. */
enum {
    SMALL_SAMPLES = 256,
    LARGE_SAMPLES = 32,
    TRAINED_SAMPLES = 8, /* large pictures whose activations are kept: more are no faster */
    TEXT_SAMPLES = 64,
    LARGE_SIDE = 64
};

static bool has_large_pictures(const gn_sample_shape *shape)
{
    const gn_field *pixels = gn_shape_field(shape, GN_FIELD_PIXELS);
    return pixels && (pixels->dims[1] >= LARGE_SIDE || pixels->dims[2] >= LARGE_SIDE);
}

bool gn_architecture_is_small(const gn_architecture *architecture)
{
    return !architecture->wants_images && !architecture->wants_tokens;
}

int64_t gn_training_batch(const gn_architecture *architecture, const gn_sample_shape *shape)
{
    if (architecture->wants_tokens)
        return TEXT_SAMPLES;
    if (!architecture->wants_images)
        return SMALL_SAMPLES;
    return has_large_pictures(shape) ? TRAINED_SAMPLES : LARGE_SAMPLES;
}

int64_t gn_inference_batch(const gn_sample_shape *shape)
{
    if (gn_shape_field(shape, GN_FIELD_TOKENS))
        return TEXT_SAMPLES;
    return has_large_pictures(shape) ? LARGE_SAMPLES : SMALL_SAMPLES;
}
