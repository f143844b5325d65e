#include "train/trained_model.h"

#include <string.h>

#include "base/file.h"
#include "data/source.h"
#include "train/divergence.h"
#include "train/frozen.h"
#include "train/last.h"
#include "train/options.h"

enum { DECODERS = 2 };

struct gn_trained_model {
    gn_arena *arena;
    const gn_trained_options *options;
    const char *path;       /* as given */
    const char *weights;    /* the file */
    const char *checkpoint; /* last.ckpt of a run; NULL for a file */
    const char *cache;
    gn_model_file *file;
    bool has_metadata; /* the file's own, not what was taken from options and data */
    bool described;    /* the card is complete */
};

struct gn_predictor {
    const gn_trained_model *model;
    gn_device *device;
    gn_last *last;     /* with GN_CHECKPOINT_LAST */
    gn_frozen *frozen; /* when cached features stand in for the samples */
    gn_model_options frozen_model;
    gn_network *network;
    gn_inference *inference;
    gn_sample_list samples;
};

/* ---- opening ---- */

static gerne_status find_weights(gerne_ctx *ctx, gn_trained_model *model)
{
    const char *path = model->path;
    bool is_run = gn_is_directory(path);
    model->weights = path;
    if (!is_run && !gn_path_exists(path))
        return gn_fail(ctx, GERNE_EUSAGE, "no run directory or file '%s'", path);
    if (!is_run && model->options->checkpoint == GN_CHECKPOINT_LAST)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "'--checkpoint last' needs a run directory, and '%s' is a weights file",
                       path);
    if (!is_run)
        return GERNE_OK;
    GN_TRY(gn_path_join(ctx, model->arena, path, "best.safetensors", &model->weights));
    GN_TRY(gn_path_join(ctx, model->arena, path, "last.ckpt", &model->checkpoint));
    GN_LOCAL(json_t) *divergence = NULL;
    GN_TRY(gn_divergence_read(ctx, path, &divergence));
    bool there = gn_path_exists(model->weights);
    if (there && divergence)
        gn_warn(ctx, "the run '%s' %s; this is its best checkpoint before that", path,
                gn_divergence_words(divergence));
    if (there)
        return GERNE_OK;
    if (divergence)
        return gn_divergence_fail(ctx, path, divergence);
    gn_fail(ctx, GERNE_EUSAGE, "the run '%s' has no best.safetensors yet", path);
    gn_hint(ctx, "gerne train --resume %s", path);
    return GERNE_EUSAGE;
}

static gerne_status check_options(gerne_ctx *ctx, const gn_trained_model *model)
{
    const gn_trained_options *options = model->options;
    if (model->has_metadata && options->model_flag) {
        gn_fail(ctx, GERNE_EUSAGE, "'--%s' conflicts with the metadata of '%s'",
                options->model_flag, model->weights);
        gn_hint(ctx, "remove the flag: the file describes its own network");
        return GERNE_EUSAGE;
    }
    if (model->has_metadata || options->model.arch)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "'%s' has no metadata that names its network", model->weights);
    gn_hint(ctx, "--model.arch NAME; 'gerne models' lists them");
    return GERNE_EUSAGE;
}

static gerne_status open_model(gerne_ctx *ctx, const char *path, gn_trained_model *model)
{
    GN_TRY(gn_arena_new(ctx, &model->arena));
    GN_TRY(gn_arena_copy_text(ctx, model->arena, path, &model->path));
    GN_TRY(find_weights(ctx, model));
    GN_TRY(gn_cache_folder(ctx, model->arena, model->options->cache, &model->cache));
    GN_TRY(gn_model_file_open(ctx, model->weights, &model->file));
    model->has_metadata = gn_model_file_card(model->file) != NULL;
    return check_options(ctx, model);
}

gerne_status gn_trained_model_open(gerne_ctx *ctx, const char *path,
                                   const gn_trained_options *options, gn_trained_model **out)
{
    *out = NULL;
    GN_LOCAL(gn_trained_model) *model = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *model, "a model", &model));
    model->options = options;
    GN_TRY(open_model(ctx, path, model));
    return gn_give(&model, out);
}

void gn_trained_model_close(gn_trained_model *model)
{
    if (!model)
        return;
    gn_model_file_close(model->file);
    gn_arena_close(model->arena);
    gn_free(model);
}

const gn_model_card *gn_trained_model_card(const gn_trained_model *model)
{
    return gn_model_file_card(model->file);
}

const gn_weights *gn_trained_model_weights(const gn_trained_model *model)
{
    return gn_model_file_weights(model->file);
}

bool gn_trained_model_has_metadata(const gn_trained_model *model)
{
    return model->has_metadata;
}

const char *gn_trained_model_arch(const gn_trained_model *model)
{
    return model->has_metadata ? gn_trained_model_card(model)->model.arch
                               : model->options->model.arch;
}

/* ---- data ---- */

/* Samples of other splits are not even read. */
static gerne_status keep_split(gerne_ctx *ctx, gn_dataset *dataset, gn_split split)
{
    GN_FREED uint8_t *keep = NULL;
    size_t kept = 0;
    GN_TRY(gn_alloc(ctx, dataset->n, 1, "samples", &keep));
    for (size_t i = 0; i < dataset->n; i++)
        kept += keep[i] = split == GN_SPLITS || dataset->split[i] == split;
    if (kept == dataset->n && kept)
        return GERNE_OK;
    if (kept)
        return gn_dataset_keep(ctx, dataset, keep);
    gn_fail(ctx, GERNE_EUSAGE, "the data has no samples in split '%s'", gn_split_name(split));
    gn_hint(ctx, "--split all takes every sample");
    return GERNE_EUSAGE;
}

static gerne_status count_training(gerne_ctx *ctx, gn_model_data *data)
{
    const gn_dataset *dataset = data->dataset;
    if (!dataset->y || !dataset->a)
        return GERNE_OK;
    GN_TRY(gn_alloc(ctx, (size_t)dataset->classes * dataset->attributes, sizeof *data->train_counts,
                    "group counts", &data->train_counts));
    gn_dataset_count(dataset, GN_TRAIN, data->train_counts);
    return GERNE_OK;
}

/* A model says how large its images are, where no key does; size is lent to the options. */
static void fit_images(const gn_model_card *card, gn_data_options *data, int64_t size[2])
{
    const gn_field *pixels = card ? gn_shape_field(&card->shape, GN_FIELD_PIXELS) : NULL;
    if (!pixels || data->format != GN_DATA_IMAGES || data->arrays || data->resize.count ||
        data->crop.count || data->preset != GN_PRESET_NONE)
        return;
    size[0] = pixels->dims[1];
    size[1] = pixels->dims[2];
    data->resize = (gn_ints){size, 2};
}

/* A network takes no longer texts than those it was trained on. */
static void fit_texts(const gn_model_card *card, gn_data_options *data)
{
    const gn_field *tokens = card ? gn_shape_field(&card->shape, GN_FIELD_TOKENS) : NULL;
    if (tokens && data->format == GN_DATA_TEXT && data->max_tokens > tokens->dims[0])
        data->max_tokens = tokens->dims[0];
}

static gerne_status open_data(gerne_ctx *ctx, const gn_trained_model *model,
                              gn_data_options options, gn_model_data *data)
{
    const gn_model_card *card = gn_trained_model_card(model);
    int64_t size[2];
    fit_images(card, &options, size);
    fit_texts(card, &options);
    if (card)
        options.standardize = false; /* the model brings the mean it was trained with */
    options.vocab = model->options->model.vocab;
    options.cache = model->cache;
    GN_TRY(gn_dataset_open(ctx, &options, &data->dataset));
    GN_TRY(count_training(ctx, data));
    if (!data->cached && !options.standardize)
        GN_TRY(keep_split(ctx, data->dataset, data->split));
    data->dataset->no_fingerprint = !data->cached;
    GN_TRY(gn_dataset_prepare(ctx, data->dataset, DECODERS));
    if (card && card->mean && data->dataset->field == GN_FEATURES &&
        (size_t)gn_field_size(&card->shape.fields[0]) == data->dataset->dimension)
        GN_TRY(gn_dataset_standardize(ctx, data->dataset, card->mean, card->deviation, DECODERS));
    return GERNE_OK;
}

gerne_status gn_trained_model_data(gerne_ctx *ctx, const gn_trained_model *model, gn_split split,
                                   gn_model_data *out)
{
    *out = (gn_model_data){.split = split};
    if (!model->options->has_data) {
        gn_fail(ctx, GERNE_EUSAGE, "no data given for '%s'", model->path);
        gn_hint(ctx, "--data.format images --data.dir FOLDER, or other data.* keys");
        return GERNE_EUSAGE;
    }
    out->cached = model->options->frozen;
    gerne_status status = open_data(ctx, model, model->options->data, out);
    if (status != GERNE_OK)
        gn_model_data_close(out);
    return status;
}

gerne_status gn_trained_model_other_data(gerne_ctx *ctx, const gn_trained_model *model,
                                         const gn_data_options *options, gn_split split,
                                         gn_model_data *out)
{
    *out = (gn_model_data){.split = split};
    gerne_status status = open_data(ctx, model, *options, out);
    if (status != GERNE_OK)
        gn_model_data_close(out);
    return status;
}

void gn_model_data_close(gn_model_data *data)
{
    gn_dataset_close(data->dataset);
    gn_free(data->train_counts);
    *data = (gn_model_data){0};
}

/* ---- predicting ---- */

/* One name per line, as many as the head has rows. */
static gerne_status name_classes(gerne_ctx *ctx, gn_trained_model *model, const char *path)
{
    enum { LIMIT = 1 << 24 };
    GN_LOCAL(gn_text) text = {0};
    const char *copy, **names;
    size_t count = 0, classes = gn_trained_model_card(model)->classes;
    GN_TRY(gn_arena_alloc(ctx, model->arena, classes, sizeof *names, &names));
    GN_TRY(gn_file_read(ctx, path, LIMIT, &text));
    GN_TRY(gn_arena_copy_text(ctx, model->arena, text.bytes, &copy));
    char *rest = (char *)(uintptr_t)copy; /* our own copy: it may be cut into lines */
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!rest && !*line)
            break; /* after the last line's end */
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (count < classes)
            names[count] = line;
        count++;
    }
    if (count != classes)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %zu names, '%s' has %zu classes", path, count,
                       model->weights, classes);
    gn_model_file_name_classes(model->file, names);
    return GERNE_OK;
}

/* For weights without metadata, and with names that were given. */
gerne_status gn_trained_model_describe(gerne_ctx *ctx, gn_trained_model *model,
                                       gn_sample_shape shape)
{
    const gn_trained_options *options = model->options;
    if (model->described)
        return GERNE_OK;
    if (!model->has_metadata)
        GN_TRY(gn_model_file_describe(ctx, model->file, &options->model, shape));
    if (options->class_names)
        GN_TRY(name_classes(ctx, model, options->class_names));
    model->described = true;
    return GERNE_OK;
}

gerne_status gn_trained_model_device(gerne_ctx *ctx, const gn_trained_model *model, gn_device **out)
{
    const gn_trained_options *options = model->options;
    return gn_device_new(ctx, (int)options->threads, (gn_precision)options->precision, out);
}

/* The last.ckpt of a run on kept features holds what trains alone. */
static gerne_status check_whole(gerne_ctx *ctx, const gn_trained_model *model)
{
    const gn_trained_options *o = model->options;
    const gn_sample_shape *shape = &gn_trained_model_card(model)->shape;
    bool cut = o->cut && gn_shape_field(shape, GN_FIELD_PIXELS);
    if (!o->frozen && !cut)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "'--checkpoint last' of '%s', whose %s frozen, has no whole network",
            model->path, cut ? "first layers are" : "body is");
    gn_hint(ctx, "use --checkpoint best");
    return GERNE_EUSAGE;
}

static gerne_status last_network(gerne_ctx *ctx, const gn_trained_model *model, gn_device *device,
                                 gn_last *last, gn_network **out)
{
    GN_TRY(gn_model_file_network(ctx, model->file, device, gn_last_batch(last), out));
    gerne_status status = gn_last_load(ctx, last, *out);
    if (status != GERNE_OK) {
        gn_network_close(*out);
        *out = NULL;
    }
    return status;
}

gerne_status gn_trained_model_network(gerne_ctx *ctx, const gn_trained_model *model,
                                      gn_device *device, gn_network **out)
{
    GN_LOCAL(gn_last) *last = NULL;
    *out = NULL;
    if (model->options->checkpoint != GN_CHECKPOINT_LAST)
        return gn_model_file_network(ctx, model->file, device,
                                     gn_inference_batch(&gn_trained_model_card(model)->shape), out);
    GN_TRY(check_whole(ctx, model));
    GN_TRY(gn_last_open(ctx, model->checkpoint, device, &last));
    return last_network(ctx, model, device, last, out);
}

/* Samples that run at once: few samples do not pay for a whole batch. */
static int64_t pass_for(size_t count, int64_t most)
{
    int64_t pass = 1;
    while (pass < most && (size_t)pass < count)
        pass *= 4;
    return pass < most ? pass : most;
}

static int64_t batch_size(const gn_predictor *p, const gn_model_data *data)
{
    gn_sample_shape shape = gn_trained_model_card(p->model)->shape;
    if (p->last)
        return gn_last_batch(p->last);
    if (p->frozen)
        shape = gn_dataset_shape(gn_frozen_dataset(p->frozen));
    int64_t most = gn_inference_batch(&shape);
    return p->frozen ? most : pass_for(gn_count_split(data->dataset, data->split), most);
}

/* A head over the features that training has cached. */
static gerne_status make_head(gerne_ctx *ctx, gn_predictor *p, const gn_model_data *data)
{
    const gn_trained_model *model = p->model;
    const gn_model_card *card = gn_trained_model_card(model);
    p->frozen_model = card->model;
    p->frozen_model.freeze = "body";
    p->frozen_model.weights = model->weights;
    p->frozen_model.views = model->options->model.views;
    const gn_frozen_options frozen = {.model = &p->frozen_model,
                                      .cache = model->cache,
                                      .classes = card->classes,
                                      .threads = DECODERS,
                                      .evaluates = true};
    GN_TRY(gn_frozen_features(ctx, p->device, &frozen, data->dataset, &p->frozen));
    return gn_frozen_new_network(ctx, p->frozen, true, 0, batch_size(p, data), &p->network);
}

static gerne_status make_network(gerne_ctx *ctx, gn_predictor *p, const gn_model_data *data)
{
    const gn_trained_model *model = p->model;
    const gn_trained_options *options = model->options;
    GN_TRY(gn_trained_model_device(ctx, model, &p->device));
    if (options->checkpoint == GN_CHECKPOINT_LAST && !data->cached)
        GN_TRY(check_whole(ctx, model));
    if (options->checkpoint == GN_CHECKPOINT_LAST)
        GN_TRY(gn_last_open(ctx, model->checkpoint, p->device, &p->last));
    if (data->cached)
        GN_TRY(make_head(ctx, p, data));
    else
        GN_TRY(
            gn_model_file_network(ctx, model->file, p->device, batch_size(p, data), &p->network));
    return p->last ? gn_last_load(ctx, p->last, p->network) : GERNE_OK;
}

/* What depends on the data. */
static gerne_status bind_data(gerne_ctx *ctx, gn_predictor *p, const gn_model_data *data)
{
    const gn_model_card *card = gn_trained_model_card(p->model);
    const gn_dataset *seen = p->frozen ? gn_frozen_dataset(p->frozen) : data->dataset;
    const gn_inference_options inference = {
        .threads = DECODERS,
        .scale = p->model->has_metadata ? card->scale : NULL,
        .shift = p->model->has_metadata ? card->shift : NULL,
    };
    GN_TRY(gn_inference_new(ctx, p->network, seen, &inference, &p->inference));
    return gn_samples_of_split(ctx, seen, data->split, &p->samples);
}

static gerne_status open_predictor(gerne_ctx *ctx, gn_predictor *p, const gn_model_data *data)
{
    GN_TRY(make_network(ctx, p, data));
    return bind_data(ctx, p, data);
}

bool gn_predictor_suits(const gn_predictor *predictor, const gn_model_data *data)
{
    return !predictor->frozen && !data->cached &&
           batch_size(predictor, data) == gn_network_batch(predictor->network);
}

gerne_status gn_predictor_wake(gerne_ctx *ctx, gn_predictor *predictor, const gn_model_data *data)
{
    gn_device_enter(predictor->device);
    gerne_status status = bind_data(ctx, predictor, data);
    if (status != GERNE_OK)
        gn_predictor_rest(predictor);
    return status;
}

void gn_predictor_rest(gn_predictor *predictor)
{
    gn_sample_list_free(&predictor->samples);
    gn_inference_close(predictor->inference);
    predictor->inference = NULL;
}

gerne_status gn_predictor_new(gerne_ctx *ctx, gn_trained_model *model, const gn_model_data *data,
                              gn_predictor **out)
{
    *out = NULL;
    GN_LOCAL(gn_predictor) *p = NULL;
    GN_TRY(gn_trained_model_describe(ctx, model, gn_dataset_shape(data->dataset)));
    GN_TRY(gn_alloc(ctx, 1, sizeof *p, "a predictor", &p));
    p->model = model;
    GN_TRY(open_predictor(ctx, p, data));
    return gn_give(&p, out);
}

void gn_predictor_close(gn_predictor *predictor)
{
    if (!predictor)
        return;
    gn_predictor_rest(predictor);
    gn_network_close(predictor->network);
    gn_frozen_close(predictor->frozen);
    gn_last_close(predictor->last);
    gn_device_close(predictor->device);
    gn_free(predictor);
}

gerne_status gn_predictor_run(gn_predictor *predictor, const char *what, gn_inferred_fn *take,
                              void *user)
{
    return gn_inference_run(predictor->inference, what, predictor->samples.items,
                            predictor->samples.count, take, user);
}
