#include "train/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "methods/list.h"
#include "metrics/metrics.h"
#include "train/plugin.h"

#define METHOD(key) offsetof(gn_method_options, key)
#define TRAIN(key)  offsetof(gn_train_options, key)
#define SELECT(key) offsetof(gn_select_options, key)
#define TOP(key)    offsetof(gn_top_options, key)
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const gn_option method_table[] = {
    {"name", GN_TEXT, METHOD(name), .fallback = "gerne",
     .help = "training method; 'gerne methods' lists them"},
    {"estimator", GN_TEXT, METHOD(estimator), .fallback = "auto",
     .help =
         "attributes unknown: what finds the groups ('gerne methods' lists estimators), or none "
         "for classes; auto is the method's default"},
    {"attributes", GN_CHOICE, METHOD(attributes), .fallback = "known", .choices = "known|unknown",
     .help = "whether training uses the attribute labels"},
    {"no_shortcut", GN_CHOICE, METHOD(no_shortcut), .fallback = "error", .choices = "error|keep",
     .when = "attributes unknown",
     .help = "what a class does in which an estimator finds no minority: end the run, or stay one "
             "group, which is neither balanced nor extrapolated"},
};

/* Part of a configuration whose method or estimator comes from a plug-in. Where its file lies is
 * said by the command line alone: a configuration may come from someone else. */
#define PLUGIN_KEY "method.plugin_sha256"
static const gn_option plugin_table[] = {
    {"plugin_sha256", GN_TEXT, METHOD(plugin_sha256),
     .help = "SHA-256 of the plug-in that has the method, recorded by every run; if set, another "
             "--plugin is refused"},
};

static const gn_option train_table[] = {
    {"batch", GN_INT, TRAIN(batch), .min = 1, .max = 1e8, .exclusive = "size", .flags = GN_TUNABLE,
     .help = "samples per batch (default: 128, if no size is set)"},
    {"per_group", GN_INT, TRAIN(per_group), .min = 1, .max = 1e8, .exclusive = "size",
     .flags = GN_TUNABLE, .help = "samples per group in a group-balanced batch"},
    {"per_class", GN_INT, TRAIN(per_class), .min = 1, .max = 1e8, .exclusive = "size",
     .flags = GN_TUNABLE, .help = "samples per class in a batch"},
    {"epochs", GN_REAL, TRAIN(epochs), .fallback = "20", .min = 0, .max = 1e9,
     .exclusive = "budget", .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "training length in epochs: as many samples as the training split has"},
    {"steps", GN_INT, TRAIN(steps), .min = 1, .max = 1e12, .exclusive = "budget",
     .flags = GN_TUNABLE, .help = "training length in optimiser steps"},
    {"eval_every", GN_INT, TRAIN(eval_every), .min = 1, .max = 1e12,
     .help = "steps between evaluations (default: one epoch)"},
    {"patience", GN_INT, TRAIN(patience), .min = 1, .max = 1e9,
     .help = "early stopping: evaluations in a row without a better select.metric after which "
             "training ends (default: never)"},
    {"checkpoint_every", GN_INT, TRAIN(checkpoint_every), .min = 1, .max = 1e12,
     .flags = GN_NO_HASH,
     .help = "steps between additional checkpoints; one also follows each evaluation, at "
             "most every ten seconds"},
    {"micro_batch", GN_INT, TRAIN(micro_batch), .min = 1, .max = 1e6,
     .help = "samples per forward and backward pass (default: set by the network)"},
    {"precision", GN_CHOICE, TRAIN(precision), .fallback = "fp32", .choices = "fp32|bf16",
     .help = "precision of convolutions and matrix products"},
    {"average", GN_CHOICE, TRAIN(average), .fallback = "none", .choices = "none|ema|tail",
     .help = "weights to evaluate and save: the current ones, their exponential "
             "moving average (ema), or their mean since average_from (tail)"},
    {"average_decay", GN_REAL, TRAIN(average_decay), .fallback = "0.99", .min = 0, .max = 1,
     .when = "average ema", .flags = GN_LENIENT | GN_TUNABLE | GN_OPEN_MAX,
     .help = "decay of average ema, per step"},
    {"average_from", GN_REAL, TRAIN(average_from), .fallback = "0.5", .min = 0, .max = 1,
     .when = "average tail", .flags = GN_LENIENT | GN_TUNABLE | GN_OPEN_MAX,
     .help = "where average tail starts, as a fraction of all steps"},
    {"log_test", GN_BOOL, TRAIN(log_test), .fallback = "false",
     .help = "also evaluate the test split during training, without selecting on it"},
    {"log_gradients", GN_BOOL, TRAIN(log_gradients), .fallback = "false", .flags = GN_NO_HASH,
     .help = "before each evaluation log norms and cosine similarity of the two "
             "batches' gradients (methods that draw two batches; may cost two more "
             "passes)"},
};

static const gn_option select_table[] = {
    {"metric", GN_CHOICE, SELECT(metric), .fallback = "gba", .choices = GN_METRIC_CHOICES,
     .help = "metric that selects the checkpoint; the earliest wins ties"},
    {"split", GN_CHOICE, SELECT(split), .fallback = "val", .choices = "val|test",
     .help = "split that the metric is computed on; test marks the result as oracle"},
};

static const gn_option top_table[] = {
    {"seed", GN_INT, TOP(seed), .fallback = "0", .min = 0, .max = 9e15,
     .help = "seed of the run: initial weights and batches (data.seed is that of the data)"},
    {"repair", GN_CHOICE, TOP(repair), .fallback = "none", .choices = "none|val|train",
     .help = "fit the head anew before every evaluation, by group-balanced logistic regression on "
             "half of the validation split, or on a fifth of the training split that is held out"},
    {"out", GN_TEXT, TOP(out), .fallback = "runs/run", .flags = GN_NO_HASH,
     .help = "run directory; must not exist, or be empty"},
    {"threads", GN_INT, TOP(threads), .fallback = "0", .min = 0, .max = 1024, .flags = GN_NO_HASH,
     .help = "number of threads; 0 uses all cores"},
    {"cache", GN_TEXT, TOP(cache), .flags = GN_NO_HASH,
     .help = "cache directory (default: ~/.cache/gerne)"},
};

static const char method_words[] = "Method (section method)";
static const char train_words[] = "Training (section train)";

static gerne_status add_before_method(gerne_ctx *ctx, gn_config *config, gn_run_config *target)
{
    GN_TRY(gn_config_add(ctx, config, "", "Run", top_table, COUNT(top_table), &target->top));
    GN_TRY(gn_data_options_add(ctx, config, &target->data));
    GN_TRY(gn_config_add(ctx, config, "model", "Network (section model)", gn_model_option_table,
                         gn_model_option_count, &target->model));
    return gn_config_add(ctx, config, "method", method_words, method_table, COUNT(method_table),
                         &target->method_choice);
}

static gerne_status add_plugin(gerne_ctx *ctx, gn_config *config, gn_run_config *target)
{
    return gn_config_add(ctx, config, "method", method_words, plugin_table, COUNT(plugin_table),
                         &target->method_choice);
}

static gerne_status add_after_method(gerne_ctx *ctx, gn_config *config, gn_run_config *target)
{
    GN_TRY(gn_config_add(ctx, config, "train", train_words, gn_optimizer_option_table,
                         gn_optimizer_option_count, &target->train.optimizer));
    GN_TRY(gn_config_add(ctx, config, "train", train_words, train_table, COUNT(train_table),
                         &target->train));
    return gn_config_add(ctx, config, "select", "Selection (section select)", select_table,
                         COUNT(select_table), &target->select);
}

static gerne_status describe_list(gerne_ctx *ctx, gn_config *config, gn_arena *arena,
                                  const char *kind, const gn_method *const *list)
{
    for (size_t i = 0; list[i]; i++) {
        const gn_method *m = list[i];
        if (!m->option_count)
            continue;
        GN_LOCAL(gn_text) words = {0};
        void *values;
        const char *summary;
        GN_TRY(gn_text_add(ctx, &words, "%s %s", kind, m->name));
        GN_TRY(gn_arena_copy_text(ctx, arena, words.bytes, &summary));
        GN_TRY(gn_arena_alloc(ctx, arena, 1, m->options_size, &values));
        GN_TRY(gn_config_add(ctx, config, "method", summary, m->options, m->option_count, values));
    }
    return GERNE_OK;
}

gerne_status gn_run_config_describe(gerne_ctx *ctx, gn_config *config, gn_arena *arena,
                                    gn_run_config *target)
{
    GN_TRY(add_before_method(ctx, config, target));
    GN_TRY(add_plugin(ctx, config, target));
    GN_TRY(describe_list(ctx, config, arena, "Method", gn_methods));
    GN_TRY(describe_list(ctx, config, arena, "Estimator", gn_estimators));
    return add_after_method(ctx, config, target);
}

static const char *value_of(const gn_settings *settings, const char *key)
{
    const gn_setting *found = settings ? gn_settings_find(settings, key) : NULL;
    return found && found->count ? found->items[0] : NULL;
}

/* The file without the keys of its own method or estimator that those of the flags lack; replaced
 * is the key by which. */
static gerne_status drop_other_method(gerne_ctx *ctx, const gn_config *config, const char *replaced,
                                      const gn_settings *file, gn_settings *out)
{
    GN_LOCAL(gn_text) dropped = {0};
    int count = 0;
    for (size_t i = 0; i < file->count; i++) {
        const gn_setting *s = &file->list[i];
        if (strncmp(s->key, "method.", 7) == 0 && !gn_config_knows(config, s->key))
            GN_TRY(gn_text_add(ctx, &dropped, "%s%s", count++ ? ", " : "", s->key));
        else
            GN_TRY(gn_settings_add(ctx, out, s->key, s->items, s->count, s->is_list, s->line));
    }
    if (count)
        gn_log(ctx, GERNE_LOG_INFO,
               "the command line sets another %s: the file's %s %s not apply and %s ignored",
               replaced, dropped.bytes, count == 1 ? "does" : "do", count == 1 ? "is" : "are");
    return GERNE_OK;
}

/* An unknown key that other methods have: says whose it is instead of the nearest name. */
static void hint_owner(gerne_ctx *ctx, const gn_run_config *c, const gn_settings *settings)
{
    const char *key = NULL;
    for (size_t i = 0; i < settings->count && !key; i++)
        if (!gn_config_knows(c->config, settings->list[i].key))
            key = settings->list[i].key;
    if (!key || strncmp(key, "method.", 7) != 0 || !strstr(gerne_message(ctx), "unknown key"))
        return;
    gn_text owners = {0};
    gerne_status status = GERNE_OK;
    for (size_t i = 0; gn_methods[i] && status == GERNE_OK; i++)
        if (gn_method_has_option(gn_methods[i], key + 7))
            status =
                gn_text_add(ctx, &owners, "%s%s", owners.size ? ", " : "", gn_methods[i]->name);
    for (size_t i = 0; gn_estimators[i] && status == GERNE_OK; i++)
        if (gn_method_has_option(gn_estimators[i], key + 7))
            status = gn_text_add(ctx, &owners, "%sestimator %s", owners.size ? ", " : "",
                                 gn_estimators[i]->name);
    if (status == GERNE_OK && owners.size)
        gn_hint(ctx, "the method is %s, '%s' belongs to: %s", c->method->name, key, owners.bytes);
    gn_text_free(&owners);
}

static gerne_status apply_settings(gerne_ctx *ctx, const gn_run_config *c,
                                   const gn_settings *settings)
{
    gerne_status status = gn_config_apply(ctx, c->config, settings);
    if (status == GERNE_EUSAGE)
        hint_owner(ctx, c, settings);
    return status;
}

/* Whether the flags say otherwise than the file, or than what the key is without it. */
static bool is_replaced(const gn_settings *file, const gn_settings *flags, const char *key,
                        const char *usual)
{
    const char *in_file = value_of(file, key), *in_flags = value_of(flags, key);
    return in_flags && strcmp(in_flags, in_file ? in_file : usual) != 0;
}

static gerne_status apply(gerne_ctx *ctx, gn_run_config *c, const gn_settings *file,
                          const gn_settings *flags)
{
    const char *replaced =
        is_replaced(file, flags, "method.name", method_table[0].fallback) ? "method.name"
        : is_replaced(file, flags, "method.estimator", "auto")            ? "method.estimator"
                                                                          : NULL;
    if (file && replaced) {
        GN_LOCAL(gn_settings) kept = {.source = file->source, .arena = gn_config_arena(c->config)};
        GN_TRY(drop_other_method(ctx, c->config, replaced, file, &kept));
        GN_TRY(apply_settings(ctx, c, &kept));
    } else if (file) {
        GN_TRY(apply_settings(ctx, c, file));
    }
    GN_TRY(apply_settings(ctx, c, flags));
    return gn_config_complete(ctx, c->config);
}

/* Options that were yielded to an exclusive one keep their old value: forget it. */
static void forget_yielded(gn_run_config *c)
{
    gn_train_options *t = &c->train;
    if (gn_config_origin(c->config, "train.steps") != GN_UNSET)
        t->epochs = 0;
    else
        t->steps = 0;
    if (gn_config_origin(c->config, "train.batch") == GN_UNSET)
        t->batch = 0;
    if (gn_config_origin(c->config, "train.per_group") == GN_UNSET)
        t->per_group = 0;
    if (gn_config_origin(c->config, "train.per_class") == GN_UNSET)
        t->per_class = 0;
}

/* config.yaml has keys that apply: none of an estimator where no groups are estimated. */
static void drop_estimator(gn_run_config *c)
{
    bool known =
        c->method_choice.attributes == GN_KNOWN && c->method->attributes != GN_ATTRIBUTES_ESTIMATED;
    if (!known && c->method->attributes != GN_ATTRIBUTES_UNUSED)
        return;
    gn_config_drop_default(c->config, "method.estimator");
    for (size_t i = 0; c->estimator && i < c->estimator->option_count; i++) {
        char key[64];
        snprintf(key, sizeof key, "method.%s", c->estimator->options[i].name);
        gn_config_drop_default(c->config, key);
    }
}

/* A configuration that was made with a plug-in, of which nothing is loaded. */
static gerne_status hint_plugin(gerne_ctx *ctx, gerne_status status, const gn_settings *file,
                                const gn_settings *flags)
{
    if (status == GERNE_EUSAGE && (value_of(file, PLUGIN_KEY) || value_of(flags, PLUGIN_KEY)))
        gn_hint(ctx, "it comes from a plug-in: say where that is with --plugin FILE.so");
    return status;
}

/* The configuration says which plug-in it needs, and from here on carries that. */
static gerne_status settle_plugin(gerne_ctx *ctx, gn_run_config *c, const char *sha256)
{
    const char *asked = c->method_choice.plugin_sha256;
    if (asked && strcmp(asked, sha256) != 0) {
        gn_fail(ctx, GERNE_EUSAGE,
                "the configuration was made with another plug-in: " PLUGIN_KEY
                " is %.12s..., --plugin has %.12s...",
                asked, sha256);
        gn_hint(ctx, "give the plug-in that it was made with, or start a new run without the key");
        return GERNE_EUSAGE;
    }
    GN_LOCAL(gn_settings) own = {.arena = gn_config_arena(c->config)};
    GN_TRY(gn_settings_add(ctx, &own, PLUGIN_KEY, &sha256, 1, false, 0));
    return gn_config_apply(ctx, c->config, &own);
}

/* Its options join the section of the method. */
static gerne_status add_estimator(gerne_ctx *ctx, gn_run_config *c, const gn_settings *file,
                                  const gn_settings *flags)
{
    const char *name = value_of(flags, "method.estimator");
    name = name ? name : value_of(file, "method.estimator");
    if (!name || strcmp(name, "auto") == 0)
        name = c->method->default_estimator;
    if (!name || strcmp(name, "none") == 0)
        return GERNE_OK;
    GN_TRY(hint_plugin(ctx, gn_estimator_find(ctx, name, &c->estimator), file, flags));
    const gn_method *e = c->estimator;
    GN_TRY(gn_arena_alloc(ctx, gn_config_arena(c->config), 1, e->options_size ? e->options_size : 1,
                          &c->estimator_options));
    return gn_config_add(ctx, c->config, "method", method_words, e->options, e->option_count,
                         c->estimator_options);
}

static gerne_status fill(gerne_ctx *ctx, gn_run_config *c, const gn_settings *file,
                         const gn_settings *flags)
{
    const char *name = value_of(flags, "method.name");
    name = name ? name : value_of(file, "method.name");
    GN_TRY(gn_config_new(ctx, &c->config));
    GN_TRY(add_before_method(ctx, c->config, c));
    name = name ? name : method_table[0].fallback;
    GN_TRY(hint_plugin(ctx, gn_method_find(ctx, name, &c->method), file, flags));
    GN_TRY(gn_arena_alloc(ctx, gn_config_arena(c->config), 1,
                          c->method->options_size ? c->method->options_size : 1,
                          &c->method_options));
    GN_TRY(gn_config_add(ctx, c->config, "method", method_words, c->method->options,
                         c->method->option_count, c->method_options));
    GN_TRY(add_estimator(ctx, c, file, flags));
    const char *plugin = gn_plugin_sha256(c->method);
    plugin = plugin ? plugin : gn_plugin_sha256(c->estimator);
    if (plugin)
        GN_TRY(add_plugin(ctx, c->config, c));
    GN_TRY(add_after_method(ctx, c->config, c));
    GN_TRY(apply(ctx, c, file, flags));
    forget_yielded(c);
    drop_estimator(c);
    return plugin ? settle_plugin(ctx, c, plugin) : GERNE_OK;
}

gerne_status gn_run_config_new(gerne_ctx *ctx, const gn_settings *file, const gn_settings *flags,
                               gn_run_config **out)
{
    *out = NULL;
    GN_LOCAL(gn_run_config) *c = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *c, "a configuration", &c));
    GN_TRY(fill(ctx, c, file, flags));
    return gn_give(&c, out);
}

void gn_run_config_close(gn_run_config *config)
{
    if (!config)
        return;
    gn_config_close(config->config);
    gn_free(config);
}

bool gn_is_common_method_option(const char *name)
{
    for (size_t i = 0; i < COUNT(method_table); i++)
        if (strcmp(name, method_table[i].name) == 0)
            return true;
    return strcmp(name, plugin_table[0].name) == 0;
}

gerne_status gn_cache_folder(gerne_ctx *ctx, gn_arena *arena, const char *option, const char **out)
{
    if (option)
        return gn_arena_copy_text(ctx, arena, option, out);
    const char *base = getenv("XDG_CACHE_HOME");
    if (base && base[0] == '/')
        return gn_path_join(ctx, arena, base, "gerne", out);
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return gn_path_join(ctx, arena, home, ".cache/gerne", out);
    return gn_path_join(ctx, arena, ".", ".gerne-cache", out);
}

gerne_status gn_settle_vocabulary(gerne_ctx *ctx, const gn_run_config *config)
{
    static const char *const names[] = {"tokenizer.json", "vocab.txt"};
    gn_arena *arena = gn_config_arena(config->config);
    const char *weights = config->model.weights, *found = NULL;
    if (config->data.format != GN_DATA_TEXT || config->model.vocab || !weights)
        return GERNE_OK;
    const char *slash = strrchr(weights, '/');
    size_t size = slash ? (size_t)(slash - weights) : 1;
    char *folder;
    GN_TRY(gn_arena_alloc(ctx, arena, size + 1, 1, &folder));
    memcpy(folder, slash ? weights : ".", size);
    for (size_t i = 0; i < COUNT(names) && !found; i++) {
        const char *path;
        GN_TRY(gn_path_join(ctx, arena, size ? folder : "/", names[i], &path));
        if (gn_path_exists(path))
            found = path;
    }
    if (!found)
        return GERNE_OK;
    GN_LOCAL(gn_settings) chosen = {.arena = arena};
    gn_log(ctx, GERNE_LOG_INFO, "vocabulary: '%s', beside the weights", found);
    GN_TRY(gn_settings_add(ctx, &chosen, "model.vocab", &found, 1, false, 0));
    return gn_config_apply(ctx, config->config, &chosen);
}
