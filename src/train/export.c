#include "train/export.h"

#include <string.h>

#include "base/file.h"
#include "data/source.h"
#include "nn/network_weights.h"
#include "nn/onnx.h"

/* ---- checks ---- */

static gerne_status check_target(gerne_ctx *ctx, const char *path, bool overwrite)
{
    if (!path)
        return GERNE_OK;
    if (!*path)
        return gn_fail(ctx, GERNE_EUSAGE, "the name of the file to write is empty");
    if (gn_is_directory(path))
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' is a directory, not a file to write", path);
    if (overwrite || !gn_path_exists(path))
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the file '%s' exists", path);
    gn_hint(ctx, "--overwrite replaces it");
    return GERNE_EUSAGE;
}

static gerne_status check(gerne_ctx *ctx, const gn_export_options *options)
{
    if (!options->onnx && !options->safetensors) {
        gn_fail(ctx, GERNE_EUSAGE, "no file to write");
        gn_hint(ctx, "--onnx FILE or --safetensors FILE");
        return GERNE_EUSAGE;
    }
    if (options->onnx && options->safetensors && strcmp(options->onnx, options->safetensors) == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "--onnx and --safetensors name the same file '%s'",
                       options->onnx);
    GN_TRY(check_target(ctx, options->onnx, options->overwrite));
    return check_target(ctx, options->safetensors, options->overwrite);
}

/* ---- weights without metadata ---- */

static gerne_status shape_of(gerne_ctx *ctx, const gn_trained_model *model, gn_ints given,
                             gn_sample_shape *out)
{
    const gn_architecture *a;
    GN_TRY(gn_architecture_find(ctx, gn_trained_model_arch(model), &a));
    *out = (gn_sample_shape){0};
    if (given.count == 0 && a->sample)
        *out = a->sample(gn_trained_model_weights(model));
    if (given.count == 0 && !out->count) {
        gn_fail(ctx, GERNE_EUSAGE, "weights without metadata do not say what a sample looks like");
        gn_hint(ctx, a->wants_tokens   ? "--shape 512, the most tokens of a text"
                     : a->wants_images ? "--shape 3,224,224"
                                       : "--shape N, the number of features, or 3,HEIGHT,WIDTH");
        return GERNE_EUSAGE;
    }
    if (given.count == 3 && given.items[0] == GN_CHANNELS && !a->wants_tokens)
        *out = gn_pixels_shape(given.items[0], given.items[1], given.items[2]);
    else if (given.count == 1 && a->wants_tokens)
        *out = gn_tokens_shape(given.items[0]);
    else if (given.count == 1 && !a->wants_images)
        *out = gn_features_shape(given.items[0]);
    else if (given.count)
        return gn_fail(ctx, GERNE_EUSAGE, "--shape does not fit '%s'", a->name);
    if (a->wants_tokens)
        out->fields[0].below = 1; /* at least; the weights bring the vocabulary */
    return GERNE_OK;
}

/* A model that has met samples keeps their shape. */
static gerne_status settle_shape(gerne_ctx *ctx, gn_trained_model *model, gn_ints given,
                                 gn_sample_shape *out)
{
    const gn_model_card *card = gn_trained_model_card(model);
    char words[2][96];
    if (card && !given.count) {
        *out = card->shape;
        return GERNE_OK;
    }
    GN_TRY(shape_of(ctx, model, given, out));
    if (!card || gn_shape_fits(&card->shape, out))
        return GERNE_OK;
    gn_shape_words(&card->shape, words[0], sizeof words[0]);
    gn_shape_words(out, words[1], sizeof words[1]);
    gn_fail(ctx, GERNE_EUSAGE, "the shape is %s, but this model has predicted for %s", words[1],
            words[0]);
    gn_hint(ctx, "open the weights again for samples of another shape");
    return GERNE_EUSAGE;
}

/* The card as it is, or made from the options. */
static gerne_status complete_card(gerne_ctx *ctx, gn_trained_model *model,
                                  const gn_export_options *options, gn_model_card *out)
{
    gn_sample_shape shape = {0};
    if (!gn_trained_model_has_metadata(model)) {
        GN_TRY(settle_shape(ctx, model, options->shape, &shape));
    } else if (options->shape.count || options->normalize != GN_NORMALIZE_AUTO) {
        gn_fail(ctx, GERNE_EUSAGE, "'--%s' conflicts with the metadata of the weights",
                options->shape.count ? "shape" : "normalize");
        gn_hint(ctx, "remove the flag: the file describes its own network");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_trained_model_describe(ctx, model, shape));
    *out = *gn_trained_model_card(model);
    if (gn_trained_model_has_metadata(model))
        return GERNE_OK;
    gn_dataset pixels = {0};
    gn_dataset_normalize(&pixels, options->normalize, GN_NORMALIZE_IMAGENET);
    memcpy(out->scale, pixels.scale, sizeof out->scale);
    memcpy(out->shift, pixels.shift, sizeof out->shift);
    out->version = gerne_version();
    return GERNE_OK;
}

/* ---- files ---- */

static gerne_status write_onnx(gerne_ctx *ctx, const gn_network *network, const gn_model_card *card,
                               const gn_card_text *text, const gn_export_options *options)
{
    bool pixels = gn_shape_field(&card->shape, GN_FIELD_PIXELS) != NULL;
    const gn_onnx_options onnx = {.scale = pixels ? card->scale : NULL,
                                  .shift = pixels ? card->shift : NULL,
                                  .mean = card->mean,
                                  .deviation = card->deviation,
                                  .features = options->features,
                                  .half = options->half,
                                  .metadata = text->items,
                                  .metadata_count = text->count};
    return gn_network_write_onnx(ctx, network, options->onnx, &onnx, NULL);
}

static gerne_status write_safetensors(gerne_ctx *ctx, gn_network *network, const gn_card_text *text,
                                      const gn_export_options *options)
{
    gn_weight_type type = options->half ? GN_WEIGHT_F16 : GN_WEIGHT_F32;
    return gn_network_save(ctx, network, options->safetensors, type, text->items, text->count);
}

static gerne_status write_files(gerne_ctx *ctx, gn_network *network, const gn_model_card *given,
                                const gn_export_options *options)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    gn_card_text text;
    gn_model_card card = *given;
    card.model = *gn_network_options(network); /* with the sizes that the weights have settled */
    card.shape = *gn_network_shape(network);
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_model_card_text(ctx, arena, &card, &text));
    if (options->onnx)
        GN_TRY(write_onnx(ctx, network, &card, &text, options));
    if (options->safetensors)
        GN_TRY(write_safetensors(ctx, network, &text, options));
    return GERNE_OK;
}

gerne_status gn_export(gerne_ctx *ctx, gn_trained_model *model, const gn_export_options *options)
{
    gn_model_card card;
    gn_device *device;
    gn_network *network = NULL;
    GN_TRY(check(ctx, options));
    GN_TRY(complete_card(ctx, model, options, &card));
    GN_TRY(gn_trained_model_device(ctx, model, &device));
    gerne_status status = gn_trained_model_network(ctx, model, device, &network);
    if (status == GERNE_OK)
        status = write_files(ctx, network, &card, options);
    gn_network_close(network);
    gn_device_close(device);
    return status;
}
