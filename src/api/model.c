/* model.c - gerne_model: opening, what it says of itself, its tensors. */
#include "api/model.h"

#include <string.h>

#include "api/api.h"
#include "api/handles.h"
#include "nn/weights.h"
#include "train/export.h"

static gerne_status open_model(gerne_ctx *ctx, const char *path, const gerne_config *config,
                               gerne_model *model)
{
    GN_TRY(gn_config_new(ctx, &model->config));
    gn_arena *arena = gn_config_arena(model->config);
    gn_settings keys = {.arena = arena};
    GN_TRY(gn_arena_copy_text(ctx, arena, path, &model->path));
    GN_TRY(gn_trained_options_add_all(ctx, model->config, &model->options));
    gerne_status status = gn_config_pick(ctx, config, "", &keys);
    if (status == GERNE_OK)
        status = gn_trained_options_resolve(ctx, model->config, path, &keys, &model->options);
    gn_settings_free(&keys);
    GN_TRY(status);
    return gn_trained_model_open(ctx, path, &model->options, &model->model);
}

gerne_status gerne_model_open(gerne_ctx *ctx, const char *path, const gerne_config *config,
                              gerne_model **out)
{
    gerne_model *model;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, path);
    GN_TRY(gn_alloc(ctx, 1, sizeof *model, "a model", &model));
    pthread_mutex_init(&model->lock, NULL); /* cannot fail with default attributes */
    pthread_mutex_init(&model->idle_lock, NULL);
    gerne_status status = open_model(ctx, path, config, model);
    if (status != GERNE_OK)
        gerne_model_close(model);
    else
        *out = model;
    return status;
}

void gerne_model_close(gerne_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->idle_count; i++)
        gn_predictor_close(model->idle[i]);
    gn_trained_model_close(model->model);
    gn_config_close(model->config);
    pthread_mutex_destroy(&model->lock);
    pthread_mutex_destroy(&model->idle_lock);
    gn_free(model);
}

/* ---- what it says of itself ---- */

static const gn_model_card *card_of(const gerne_model *model)
{
    return model ? gn_trained_model_card(model->model) : NULL;
}

uint32_t gerne_model_classes(const gerne_model *model)
{
    const gn_model_card *card = card_of(model);
    return card ? card->classes : 0;
}

uint32_t gerne_model_attributes(const gerne_model *model)
{
    const gn_model_card *card = card_of(model);
    return card ? card->attributes : 0;
}

const char *gerne_model_class_name(const gerne_model *model, uint32_t y)
{
    return y < gerne_model_classes(model) ? card_of(model)->class_names[y] : NULL;
}

const char *gerne_model_attribute_name(const gerne_model *model, uint32_t a)
{
    return a < gerne_model_attributes(model) ? card_of(model)->attribute_names[a] : NULL;
}

gerne_status gerne_model_metadata(gerne_ctx *ctx, const gerne_model *model, char **json)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, json);
    *json = NULL;
    GN_NEEDS(ctx, model);
    const gn_weights *weights = gn_trained_model_weights(model->model);
    json_t *object = json_object();
    for (size_t i = 0; i < gn_weights_metadata_count(weights); i++) {
        const char *key = gn_weights_metadata_key(weights, i);
        json_object_set_new(object, key, json_string(gn_weights_metadata(weights, key)));
    }
    return gn_give_json(ctx, object, json);
}

/* ---- files for others ---- */

static gerne_status take_normalize(gerne_ctx *ctx, const char *word, int *out)
{
    *out = word ? gn_choice_index(GN_NORMALIZE_CHOICES, word) : GN_NORMALIZE_AUTO;
    return *out >= 0 ? GERNE_OK
                     : gn_fail(ctx, GERNE_EUSAGE, "normalize '%s' is not one of %s", word,
                               GN_NORMALIZE_CHOICES);
}

static gerne_status check_shape(gerne_ctx *ctx, const gerne_export_options *given)
{
    enum { SIDE_MAX = 1 << 24 };
    if (!given->shape != !given->shape_count)
        return gn_fail(ctx, GERNE_EUSAGE, "shape and shape_count go together");
    for (size_t i = 0; i < given->shape_count; i++)
        if (given->shape[i] < 1 || given->shape[i] > SIDE_MAX)
            return gn_fail(ctx, GERNE_EUSAGE, "shape[%zu] is %lld, outside 1..%d", i,
                           (long long)given->shape[i], SIDE_MAX);
    return GERNE_OK;
}

gerne_status gerne_model_export(gerne_ctx *ctx, gerne_model *model,
                                const gerne_export_options *options)
{
    gerne_export_options given;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, model);
    GN_NEEDS(ctx, options);
    GN_TRY(gn_take_struct(ctx, "gerne_export_options", options, &given, sizeof given));
    gn_export_options files = {
        .onnx = given.onnx,
        .safetensors = given.safetensors,
        .half = given.fp16,
        .features = given.features,
        .overwrite = given.overwrite,
        .shape = {given.shape, given.shape_count},
    };
    GN_TRY(take_normalize(ctx, given.normalize, &files.normalize));
    GN_TRY(check_shape(ctx, &given));
    int threads = gn_threads_of_caller();
    pthread_mutex_lock(&model->lock);
    gerne_status status = gn_export(ctx, model->model, &files);
    pthread_mutex_unlock(&model->lock);
    gn_restore_threads(threads);
    return status;
}

/* ---- tensors ---- */

size_t gerne_model_tensor_count(const gerne_model *model)
{
    return model ? gn_weights_count(gn_trained_model_weights(model->model)) : 0;
}

gerne_status gerne_model_tensor(gerne_ctx *ctx, const gerne_model *model, size_t index,
                                gerne_tensor *out)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, model);
    GN_NEEDS(ctx, out);
    size_t count = gerne_model_tensor_count(model);
    if (index >= count)
        return gn_fail(ctx, GERNE_EUSAGE, "there is no tensor %zu: '%s' has %zu", index,
                       model->path, count);
    const gn_weight *weight = gn_weights_at(gn_trained_model_weights(model->model), index);
    gerne_tensor own = {.name = weight->name,
                        .type = gn_weight_type_name(weight->type),
                        .count = weight->count,
                        .ndims = weight->ndims};
    _Static_assert((int)GERNE_TENSOR_DIMS == (int)GN_WEIGHT_DIMS, "the header says how many");
    memcpy(own.dims, weight->dims, sizeof own.dims);
    return gn_give_struct(ctx, "gerne_tensor", &own, sizeof own, out);
}

gerne_status gerne_model_read(gerne_ctx *ctx, const gerne_model *model, const char *name,
                              float *values, size_t count)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, model);
    GN_NEEDS(ctx, name);
    GN_NEEDS(ctx, values);
    const gn_weight *weight = gn_weights_find(gn_trained_model_weights(model->model), name);
    if (!weight)
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' has no tensor '%s'", model->path, name);
    if (weight->count != count)
        return gn_fail(ctx, GERNE_EUSAGE, "tensor '%s' has %zu values, but there is room for %zu",
                       name, weight->count, count);
    return gn_weight_to_f32(ctx, weight, 0, values);
}
