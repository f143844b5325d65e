#include "train/trained_options.h"

#include <string.h>

#include "base/file.h"
#include "train/rundir.h"

#define FIELD(name) offsetof(gn_trained_options, name)
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const gn_option use_table[] = {
    {"checkpoint", GN_CHOICE, FIELD(checkpoint), .fallback = "best", .choices = "best|last",
     .help = "checkpoint of a run: the selected or the last one"},
    {"class-names", GN_TEXT, FIELD(class_names), .flags = GN_NO_HASH,
     .help = "file with one class name per line, for weights without metadata"},
    {"threads", GN_INT, FIELD(threads), .fallback = "0", .min = 0, .max = 1024,
     .help = "number of threads; 0 uses all cores"},
    {"cache", GN_TEXT, FIELD(cache), .flags = GN_NO_HASH,
     .help = "cache directory (default: ~/.cache/gerne)"},
};

static const gn_option precision_table[] = {
    {"precision", GN_CHOICE, FIELD(precision), .fallback = "fp32", .choices = "fp32|bf16",
     .help = "precision of convolutions and matrix products"},
};

static const gn_option vocab_table[] = {
    {"vocab", GN_TEXT, FIELD(model.vocab), .flags = GN_NO_HASH,
     .help = "vocabulary of texts (default: the run's)"},
};

static const gn_option evaluation_table[] = {
    {"other-data", GN_BOOL, FIELD(other_data), .fallback = "false", .help = GN_OTHER_DATA_HELP},
};

/* The keys that say which network it is. */
static const char *const model_keys[] = {"model.arch", "model.hidden", "model.variant",
                                         "model.stem", "model.copies"};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_any(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static bool any_in(const gn_settings *flags, const char *prefix)
{
    for (size_t i = 0; i < flags->count; i++)
        if (starts_with(flags->list[i].key, prefix))
            return true;
    return false;
}

static gerne_status add_model(gerne_ctx *ctx, gn_config *config, gn_trained_options *options)
{
    gn_option *rows;
    size_t count = 0;
    GN_TRY(gn_arena_alloc(ctx, gn_config_arena(config), COUNT(model_keys), sizeof *rows, &rows));
    for (size_t i = 0; i < gn_model_option_count; i++)
        for (size_t k = 0; k < COUNT(model_keys); k++)
            if (strcmp(gn_model_option_table[i].name, model_keys[k] + strlen("model.")) == 0)
                rows[count++] = gn_model_option_table[i];
    return gn_config_add(ctx, config, "model", "Network, for weights without metadata", rows, count,
                         &options->model);
}

gerne_status gn_trained_options_add_model(gerne_ctx *ctx, gn_config *config,
                                          gn_trained_options *options)
{
    GN_TRY(gn_config_add(ctx, config, "", "Model", use_table, COUNT(use_table), options));
    return add_model(ctx, config, options);
}

gerne_status gn_trained_options_add(gerne_ctx *ctx, gn_config *config, gn_trained_options *options)
{
    GN_TRY(gn_trained_options_add_model(ctx, config, options));
    GN_TRY(gn_config_add(ctx, config, "model", "Texts", vocab_table, COUNT(vocab_table), options));
    GN_TRY(gn_config_add(ctx, config, "train", "Arithmetic", precision_table,
                         COUNT(precision_table), options));
    return gn_data_options_add(ctx, config, &options->data);
}

gerne_status gn_trained_options_add_all(gerne_ctx *ctx, gn_config *config,
                                        gn_trained_options *options)
{
    GN_TRY(gn_trained_options_add(ctx, config, options));
    return gn_config_add(ctx, config, "", "Evaluation", evaluation_table, COUNT(evaluation_table),
                         options);
}

/* Which of a run's keys apply. Where the data lies and how it is laid out belongs together: a flag
 * that names other data drops all of it, and only what is done to samples stays. */
static bool applies(const gn_settings *flags, const char *key)
{
    static const char *const places[] = {"data.dir",    "data.file", "data.labels",
                                         "data.layout", "data.fold", "data.train_on"};
    static const char *const transforms[] = {"data.resize",    "data.crop",     "data.crop_first",
                                             "data.normalize", "data.skip_bad", "data.memory_limit",
                                             "data.max_tokens"};
    static const char *const others[] = {"threads", "cache", "train.precision"};
    if (starts_with(key, "model."))
        return true;
    if (!starts_with(key, "data."))
        return is_any(key, others, COUNT(others));
    if (gn_settings_find(flags, "data.format"))
        return is_any(key, transforms, COUNT(transforms));
    bool moved = gn_settings_find(flags, "data.dir") || gn_settings_find(flags, "data.file");
    return !moved || !is_any(key, places, COUNT(places));
}

static bool says(const gn_settings *settings, const char *key, const char *value)
{
    const gn_setting *s = gn_settings_find(settings, key);
    return s && s->count == 1 && strcmp(s->items[0], value) == 0;
}

/* Not one of our keys: it says where the run's features are. */
static gerne_status take_views(gerne_ctx *ctx, const gn_settings *run, gn_trained_options *options)
{
    const gn_setting *s = gn_settings_find(run, "model.views");
    for (size_t i = 0; s && i < gn_model_option_count; i++)
        if (strcmp(gn_model_option_table[i].name, "views") == 0)
            return gn_option_parse(ctx, run->arena, &gn_model_option_table[i], s, &options->model);
    return GERNE_OK;
}

/* Whether it trained on what frozen layers compute: see train/frozen.h. */
static gerne_status find_frozen(gerne_ctx *ctx, const gn_settings *run, const gn_settings *flags,
                                gn_trained_options *options)
{
    bool layer = gn_settings_find(run, "model.freeze") && !says(run, "model.freeze", "none") &&
                 !says(run, "model.freeze", "body") && !says(run, "model.freeze", "head");
    options->frozen = says(run, "model.freeze", "body") && !any_in(flags, "data.");
    GN_TRY(take_views(ctx, run, options));
    options->cut = layer && !says(run, "model.activations", "recompute") &&
                   (says(run, "data.augment", "none") || gn_model_views(&options->model) > 1);
    return GERNE_OK;
}

static gerne_status apply_run(gerne_ctx *ctx, gn_config *config, const char *run,
                              const gn_settings *flags, gn_trained_options *options)
{
    gn_arena *arena = gn_config_arena(config);
    GN_LOCAL(gn_settings) all = {.arena = arena}, kept = {.arena = arena};
    GN_TRY(gn_rundir_settings(ctx, run, &all));
    kept.source = all.source;
    GN_TRY(find_frozen(ctx, &all, flags, options));
    for (size_t i = 0; i < all.count; i++) {
        const gn_setting *s = &all.list[i];
        if (applies(flags, s->key) && gn_config_knows(config, s->key))
            GN_TRY(gn_settings_add(ctx, &kept, s->key, s->items, s->count, s->is_list, s->line));
    }
    return gn_config_apply(ctx, config, &kept);
}

static bool any_column_in(const gn_settings *flags)
{
    static const char *const columns[] = {"data.y", "data.a", "data.split", "data.filename_column"};
    for (size_t i = 0; i < COUNT(columns); i++)
        if (gn_settings_find(flags, columns[i]) && !says(flags, columns[i], "none"))
            return true;
    return false;
}

gerne_status gn_trained_options_resolve(gerne_ctx *ctx, gn_config *config, const char *path,
                                        const gn_settings *flags, gn_trained_options *options)
{
    bool is_run = gn_is_directory(path);
    if (is_run)
        GN_TRY(apply_run(ctx, config, path, flags, options));
    GN_TRY(gn_config_apply(ctx, config, flags));
    GN_TRY(gn_config_complete(ctx, config));
    options->data.columns_of_run = is_run && !any_column_in(flags);
    options->own_data = is_run && !any_in(flags, "data.");
    options->has_data = is_run || any_in(flags, "data.");
    for (size_t k = 0; k < COUNT(model_keys) && !options->model_flag; k++)
        if (gn_settings_find(flags, model_keys[k]))
            options->model_flag = model_keys[k];
    if (gn_config_origin(config, "model.arch") < GN_FILE)
        options->model.arch = NULL;
    return GERNE_OK;
}
