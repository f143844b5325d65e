#include "cli/use_model.h"

#include <string.h>

#include "base/file.h"
#include "data/source.h"
#include "train/options.h"

enum { DECODERS = 2 };
enum { BEST, LAST };

#define FIELD(name) offsetof(gn_use_options, name)

static const gn_option use_table[] = {
    {"checkpoint", GN_CHOICE, FIELD(checkpoint), .fallback = "best", .choices = "best|last",
     .help = "of a run: the selected weights, or those it stopped with"},
    {"class-names", GN_TEXT, FIELD(class_names),
     .help = "file with a name a line for the classes of weights that do not tell them",
     .flags = GN_NO_HASH},
    {"threads", GN_INT, FIELD(threads), .fallback = "0", .min = 0, .max = 1024,
     .help = "threads to compute with; 0 takes all cores"},
    {"cache", GN_TEXT, FIELD(cache),
     .help = "folder of what can be made again; ~/.cache/gerne when not given",
     .flags = GN_NO_HASH},
};

enum { MODEL_KEYS = 4 };
static const char *const model_keys[MODEL_KEYS] = {"model.arch", "model.hidden", "model.variant",
                                                   "model.stem"};

static const gn_option precision_table[] = {
    {"precision", GN_CHOICE, FIELD(precision), .fallback = "fp32", .choices = "fp32|bf16",
     .help = "arithmetic of convolutions and matrix products"},
};

/* The rows of the model's table that say which network it is. */
static gerne_status add_model(gn_cli *cli, gn_use_options *options)
{
    gn_option *rows;
    size_t count = 0;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, MODEL_KEYS, sizeof *rows, &rows));
    for (size_t i = 0; i < gn_model_option_count; i++)
        for (size_t k = 0; k < MODEL_KEYS; k++)
            if (strcmp(gn_model_option_table[i].name, model_keys[k] + strlen("model.")) == 0)
                rows[count++] = gn_model_option_table[i];
    return gn_config_add(cli->ctx, cli->config, "model", "Network, for weights that do not tell",
                         rows, count, &options->model);
}

gerne_status gn_use_options_add(gn_cli *cli, gn_use_options *options)
{
    gerne_ctx *ctx = cli->ctx;
    GN_TRY(gn_config_add(ctx, cli->config, "", "Model", use_table,
                         sizeof use_table / sizeof use_table[0], options));
    GN_TRY(add_model(cli, options));
    GN_TRY(gn_config_add(ctx, cli->config, "train", "Arithmetic", precision_table, 1, options));
    return gn_data_options_add(ctx, cli->config, &options->data);
}

/* ---- configuration ---- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_any(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static bool flags_have(const gn_cli *cli, const char *start)
{
    for (size_t i = 0; i < cli->flags.count; i++)
        if (starts_with(cli->flags.list[i].key, start))
            return true;
    return false;
}

/* Which of a run's keys hold here. Where the data lies and how it is laid out belongs together: a
 * flag that names other data drops all of it, and only what is done to samples stays. */
static bool key_holds(const gn_cli *cli, const char *key)
{
    static const char *const places[] = {"data.dir",    "data.file", "data.labels",
                                         "data.layout", "data.fold", "data.train_on"};
    static const char *const transforms[] = {"data.resize",     "data.crop",
                                             "data.crop_first", "data.normalize",
                                             "data.skip_bad",   "data.memory_limit"};
    static const char *const others[] = {"threads", "cache", "train.precision"};
    if (starts_with(key, "model."))
        return true;
    if (!starts_with(key, "data."))
        return is_any(key, others, sizeof others / sizeof others[0]);
    if (flags_have(cli, "data.format"))
        return is_any(key, transforms, sizeof transforms / sizeof transforms[0]);
    bool moved = flags_have(cli, "data.dir") || flags_have(cli, "data.file");
    return !moved || !is_any(key, places, sizeof places / sizeof places[0]);
}

static gerne_status apply_run(gn_cli *cli, gn_use_options *options, const char *run)
{
    const char *path;
    gn_settings all = {.arena = cli->arena}, kept = {.arena = cli->arena};
    GN_TRY(gn_path_join(cli->ctx, cli->arena, run, "config.yaml", &path));
    if (!gn_path_exists(path)) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'%s' is not a run: it has no config.yaml", run);
        gn_hint(cli->ctx, "name the folder that 'gerne train' wrote to, or a file of weights");
        return GERNE_EUSAGE;
    }
    gerne_status status = gn_settings_read(cli->ctx, path, &all);
    kept.source = all.source;
    const gn_setting *freeze = gn_settings_find(&all, "model.freeze");
    options->frozen = freeze && freeze->count == 1 && strcmp(freeze->items[0], "body") == 0;
    for (size_t i = 0; status == GERNE_OK && i < all.count; i++) {
        const gn_setting *s = &all.list[i];
        if (key_holds(cli, s->key) && gn_config_knows(cli->config, s->key))
            status =
                gn_settings_add(cli->ctx, &kept, s->key, s->items, s->count, s->is_list, s->line);
    }
    if (status == GERNE_OK)
        status = gn_config_apply(cli->ctx, cli->config, &kept);
    gn_settings_free(&all);
    gn_settings_free(&kept);
    return status;
}

static gerne_status find_weights(gn_cli *cli, const gn_use_options *options, const char *argument,
                                 gn_use *use)
{
    use->from_run = gn_is_directory(argument);
    use->weights = argument;
    if (!use->from_run && !gn_path_exists(argument))
        return gn_fail(cli->ctx, GERNE_EUSAGE, "there is no run and no file '%s'", argument);
    if (!use->from_run && options->checkpoint == LAST)
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "'--checkpoint last' needs a run, and '%s' is a file of weights", argument);
    if (!use->from_run)
        return GERNE_OK;
    GN_TRY(gn_path_join(cli->ctx, cli->arena, argument, "best.safetensors", &use->weights));
    GN_TRY(gn_path_join(cli->ctx, cli->arena, argument, "last.ckpt", &use->checkpoint));
    if (gn_path_exists(use->weights))
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EUSAGE, "the run '%s' has no best.safetensors yet", argument);
    gn_hint(cli->ctx, "gerne train --resume %s", argument);
    return GERNE_EUSAGE;
}

static gerne_status configure(gn_cli *cli, gn_use_options *options, const char *argument,
                              gn_use *use)
{
    if (gn_is_directory(argument))
        GN_TRY(apply_run(cli, options, argument));
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(gn_config_complete(cli->ctx, cli->config));
    GN_TRY(find_weights(cli, options, argument, use));
    if (use->from_run || flags_have(cli, "data."))
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EUSAGE, "no data to use '%s' on", argument);
    gn_hint(cli->ctx, "--data.format images --data.dir FOLDER, or other data.* keys");
    return GERNE_EUSAGE;
}

/* ---- data ---- */

static gerne_status parse_split(gerne_ctx *ctx, const char *word, gn_split *out)
{
    for (int s = 0; s < GN_SPLITS; s++)
        if (strcmp(word, gn_split_name((gn_split)s)) == 0) {
            *out = (gn_split)s;
            return GERNE_OK;
        }
    *out = GN_SPLITS;
    if (strcmp(word, "all") == 0)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EUSAGE, "'--split %s' is none of train, val, test, all", word);
}

static gerne_status count_training(gn_cli *cli, gn_use *use)
{
    const gn_dataset *data = use->source;
    if (!data->y || !data->a)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, (size_t)data->classes * data->attributes,
                          sizeof *use->train_counts, &use->train_counts));
    gn_dataset_count(data, GN_TRAIN, use->train_counts);
    return GERNE_OK;
}

/* Samples of other splits are not even read. */
static gerne_status keep_split(gerne_ctx *ctx, gn_dataset *data, gn_split split)
{
    uint8_t *keep;
    size_t kept = 0;
    GN_TRY(gn_alloc(ctx, data->n, 1, "samples", &keep));
    for (size_t i = 0; i < data->n; i++)
        kept += keep[i] = split == GN_SPLITS || data->split[i] == split;
    gerne_status status = GERNE_OK;
    if (kept == 0) {
        status = gn_fail(ctx, GERNE_EUSAGE, "the data has no samples in split '%s'",
                         gn_split_name(split));
        gn_hint(ctx, "--split all takes every sample");
    } else if (kept < data->n) {
        status = gn_dataset_keep(ctx, data, keep);
    }
    gn_free(keep);
    return status;
}

/* A model says how large its images are, where nothing else was said. */
static gerne_status fit_images(gn_cli *cli, gn_use_options *options, const gn_model_card *card)
{
    gn_data_options *data = &options->data;
    const gn_field *pixels = card ? gn_shape_field(&card->shape, GN_FIELD_PIXELS) : NULL;
    if (!pixels || data->format != GN_DATA_IMAGES || data->resize.count || data->crop.count ||
        data->preset != GN_PRESET_NONE)
        return GERNE_OK;
    int64_t *size;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 2, sizeof *size, &size));
    size[0] = pixels->dims[1];
    size[1] = pixels->dims[2];
    data->resize = (gn_ints){size, 2};
    return GERNE_OK;
}

/* The features that training computed serve here too, unless flags name other data. */
static bool uses_frozen(const gn_cli *cli, const gn_use_options *options)
{
    return options->frozen && !flags_have(cli, "data.");
}

static gerne_status open_data(gn_cli *cli, gn_use_options *options, gn_split split, gn_use *use)
{
    const gn_model_card *card = gn_model_file_card(use->file);
    GN_TRY(fit_images(cli, options, card));
    if (card)
        options->data.standardize = false; /* the model brings the mean it was trained with */
    GN_TRY(gn_dataset_open(cli->ctx, &options->data, &use->source));
    GN_TRY(count_training(cli, use));
    bool whole = uses_frozen(cli, options) || (options->data.standardize && !card);
    if (!whole)
        GN_TRY(keep_split(cli->ctx, use->source, split));
    GN_TRY(gn_dataset_prepare(cli->ctx, use->source, DECODERS));
    if (card && card->mean && use->source->field == GN_FEATURES &&
        (size_t)gn_field_size(&card->shape.fields[0]) == use->source->dimension)
        GN_TRY(gn_dataset_standardize(cli->ctx, use->source, card->mean, card->deviation));
    return GERNE_OK;
}

/* ---- model ---- */

static gerne_status check_model_flags(gn_cli *cli, const gn_use *use)
{
    bool told = gn_model_file_card(use->file) != NULL;
    for (size_t i = 0; told && i < MODEL_KEYS; i++)
        if (gn_settings_find(&cli->flags, model_keys[i]))
            return gn_fail(cli->ctx, GERNE_EUSAGE,
                           "'--%s' cannot be chosen: '%s' tells its network", model_keys[i],
                           use->weights);
    if (told || gn_config_origin(cli->config, "model.arch") >= GN_FILE)
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EUSAGE, "'%s' does not tell which network it belongs to", use->weights);
    gn_hint(cli->ctx, "--model.arch NAME; 'gerne models' lists them");
    return GERNE_EUSAGE;
}

static gerne_status open_frozen(gn_cli *cli, gn_use_options *options, gn_use *use)
{
    gn_model_options *model = &options->model;
    const char *cache;
    *model = use->card->model;
    model->freeze = GN_FREEZE_BODY;
    model->weights = use->weights;
    GN_TRY(gn_cache_folder(cli->ctx, cli->arena, options->cache, &cache));
    const gn_frozen_options frozen = {
        .model = model, .cache = cache, .classes = use->card->classes, .threads = DECODERS};
    GN_TRY(gn_frozen_features(cli->ctx, use->device, &frozen, use->source, &use->frozen));
    use->data = gn_frozen_dataset(use->frozen);
    gn_sample_shape shape = gn_dataset_shape(use->data);
    int64_t batch = use->last ? gn_last_batch(use->last) : gn_inference_batch(&shape);
    return gn_frozen_new_head(cli->ctx, use->frozen, 0, batch, &use->network);
}

/* A name a line, as many as the head has rows. */
static gerne_status read_names(gn_cli *cli, const char *path, gn_use *use)
{
    enum { LIMIT = 1 << 24 };
    gn_text text = {0};
    const char *copy, **names;
    size_t count = 0, classes = gn_model_file_card(use->file)->classes;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, classes, sizeof *names, &names));
    gerne_status status = gn_file_read(cli->ctx, path, LIMIT, &text);
    if (status == GERNE_OK)
        status = gn_arena_copy_text(cli->ctx, cli->arena, text.size ? text.bytes : "", &copy);
    gn_text_free(&text);
    GN_TRY(status);
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
        return gn_fail(cli->ctx, GERNE_EDATA, "'%s' has %zu names, '%s' has %zu classes", path,
                       count, use->weights, classes);
    gn_model_file_name_classes(use->file, names);
    return GERNE_OK;
}

static gerne_status open_network(gn_cli *cli, gn_use_options *options, gn_use *use)
{
    gerne_ctx *ctx = cli->ctx;
    if (!gn_model_file_card(use->file))
        GN_TRY(
            gn_model_file_describe(ctx, use->file, &options->model, gn_dataset_shape(use->source)));
    if (options->class_names)
        GN_TRY(read_names(cli, options->class_names, use));
    use->card = gn_model_file_card(use->file);
    use->data = use->source;
    GN_TRY(
        gn_device_new(ctx, (int)options->threads, (gn_precision)options->precision, &use->device));
    if (options->checkpoint == LAST)
        GN_TRY(gn_last_open(ctx, use->checkpoint, use->device, &use->last));
    int64_t batch = use->last ? gn_last_batch(use->last) : gn_inference_batch(&use->card->shape);
    if (uses_frozen(cli, options))
        GN_TRY(open_frozen(cli, options, use));
    else
        GN_TRY(gn_model_file_network(ctx, use->file, use->device, batch, &use->network));
    return use->last ? gn_last_load(ctx, use->last, use->network) : GERNE_OK;
}

/* The data's classes by the model's numbers. Weights that do not name their classes take those of
 * data with as many. */
static gerne_status match_classes(gn_cli *cli, gn_use *use)
{
    const gn_dataset *data = use->source;
    const gn_model_card *card = use->card;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, data->classes ? data->classes : 1,
                          sizeof *use->class_of, &use->class_of));
    for (uint32_t y = 0; y < data->classes; y++) {
        use->class_of[y] = -1;
        for (uint32_t k = 0; k < card->classes; k++)
            if (strcmp(data->class_names[y], card->class_names[k]) == 0)
                use->class_of[y] = (int32_t)k;
    }
    return GERNE_OK;
}

gerne_status gn_use_open(gn_cli *cli, gn_use_options *options, const char *argument,
                         const char *split_word, gn_use *use)
{
    gerne_ctx *ctx = cli->ctx;
    gn_split split;
    GN_TRY(configure(cli, options, argument, use));
    GN_TRY(parse_split(ctx, split_word, &split));
    GN_TRY(gn_model_file_open(ctx, use->weights, &use->file));
    GN_TRY(check_model_flags(cli, use));
    const gn_model_card *told = gn_model_file_card(use->file);
    GN_TRY(open_data(cli, options, split, use));
    GN_TRY(open_network(cli, options, use));
    GN_TRY(match_classes(cli, use));
    const gn_inference_options inference = {
        .threads = DECODERS,
        .scale = told ? use->card->scale : NULL,
        .shift = told ? use->card->shift : NULL,
    };
    GN_TRY(gn_inference_new(ctx, use->network, use->data, &inference, &use->inference));
    return gn_samples_of_split(ctx, use->data, split, &use->samples);
}

void gn_use_close(gn_use *use)
{
    gn_sample_list_free(&use->samples);
    gn_inference_close(use->inference);
    gn_last_close(use->last);
    gn_network_close(use->network);
    gn_frozen_close(use->frozen);
    gn_model_file_close(use->file);
    gn_dataset_close(use->source);
    gn_device_close(use->device);
    *use = (gn_use){0};
}
