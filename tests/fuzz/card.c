/* What weights say of themselves. The first byte says what the rest is: [o]ur own metadata, texts
 * of JSON with a NUL between them; or the [c]onfig.json that lies beside somebody's BERT. */
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "nn/transformer.h"
#include "train/model_file.h"

static const char *const keys[] = {"model",           "sample_shape",  "class_names",
                                   "attribute_names", "normalization", "standardization"};
enum { KEYS = sizeof keys / sizeof keys[0], TEXT = 4096 };

static const char *put_weights(gerne_ctx *ctx, const gn_metadata *metadata, size_t count)
{
    static const float values[4];
    static const gn_weight_out tensor = {.name = "w", .ndims = 2, .dims = {2, 2}, .data = values};
    static char path[128];
    snprintf(path, sizeof path, "%s/best.safetensors", fuzz_directory());
    fuzz_check(gn_safetensors_write(ctx, path, GN_WEIGHT_F32, &tensor, 1, metadata, count) ==
               GERNE_OK);
    return path;
}

static void look_at(const gn_model_card *card)
{
    fuzz_check(card->classes > 0 && card->model.arch);
    for (uint32_t k = 0; k < card->classes; k++)
        fuzz_check(card->class_names[k] != NULL);
    for (uint32_t a = 0; a < card->attributes; a++)
        fuzz_check(card->attribute_names[a] != NULL);
    for (int i = 0; i < card->shape.fields[0].ndims; i++)
        fuzz_check(card->shape.fields[0].dims[i] > 0);
}

static void fuzz_own(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    static char texts[KEYS][TEXT];
    gn_metadata metadata[KEYS + 1] = {{"gerne", "0"}};
    gn_model_file *file;
    size_t count = 1;
    for (size_t i = 0; i < KEYS && size; i++) {
        const uint8_t *nul = memchr(data, 0, size);
        size_t part = nul ? (size_t)(nul - data) : size;
        snprintf(texts[i], TEXT, "%.*s", (int)part, (const char *)data);
        if (!gn_is_utf8(texts[i])) /* as no metadata is */
            return;
        if (part)
            metadata[count++] = (gn_metadata){keys[i], texts[i]};
        data += part + !!nul;
        size -= part + !!nul;
    }
    const char *path = put_weights(ctx, metadata, count);
    if (fuzz_accepted(ctx, gn_model_file_open(ctx, path, &file), GERNE_EDATA))
        look_at(gn_model_file_card(file));
    gn_model_file_close(file);
}

static void fuzz_config(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    const gn_model_options options = {.weights = put_weights(ctx, NULL, 0)};
    gn_transformer_file file;
    (void)fuzz_put("config.json", data, size);
    if (fuzz_accepted(ctx, gn_transformer_open(ctx, &options, &file), GERNE_EDATA))
        fuzz_check(file.sizes.heads >= 0 && file.sizes.epsilon >= 0 && file.sizes.epsilon < 1);
    gn_weights_close(file.weights);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    if (size)
        (data[0] == 'c' ? fuzz_config : fuzz_own)(ctx, data + 1, size - 1);
}
