/* config.c - gerne_config: keys by name, from YAML files and texts. */
#include <string.h>

#include "api/api.h"
#include "api/handles.h"
#include "train/trained_options.h"

gerne_status gerne_config_new(gerne_ctx *ctx, gerne_config **out)
{
    gerne_config *config;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *config, "a configuration", &config));
    gerne_status status = gn_arena_new(ctx, &config->arena);
    if (status != GERNE_OK) {
        gn_free(config);
        return status;
    }
    config->file.arena = config->flags.arena = config->arena;
    *out = config;
    return GERNE_OK;
}

void gerne_config_close(gerne_config *config)
{
    if (!config)
        return;
    gn_settings_free(&config->file);
    gn_settings_free(&config->flags);
    gn_arena_close(config->arena);
    gn_free(config);
}

/* ---- setting ---- */

static void withdraw(gn_settings *settings, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].key, key) != 0)
            settings->list[kept++] = settings->list[i];
    settings->count = kept;
}

gerne_status gn_settings_put(gerne_ctx *ctx, gn_settings *settings, const gn_setting *setting)
{
    withdraw(settings, setting->key);
    return gn_settings_add(ctx, settings, setting->key, setting->items, setting->count,
                           setting->is_list, setting->line);
}

/* What training and models know; values go nowhere. */
typedef struct known_keys {
    gn_arena *arena;
    gn_config *train, *model;
    gn_run_config run;
    gn_trained_options trained;
} known_keys;

static void forget_keys(known_keys *known)
{
    gn_config_close(known->train);
    gn_config_close(known->model);
    gn_arena_close(known->arena);
}

static gerne_status learn_keys(gerne_ctx *ctx, known_keys *known)
{
    GN_TRY(gn_arena_new(ctx, &known->arena));
    GN_TRY(gn_config_new(ctx, &known->train));
    GN_TRY(gn_config_new(ctx, &known->model));
    GN_TRY(gn_run_config_describe(ctx, known->train, known->arena, &known->run));
    return gn_trained_options_add_all(ctx, known->model, &known->trained);
}

static gerne_status check_key(gerne_ctx *ctx, const char *key)
{
    known_keys *known;
    GN_TRY(gn_alloc(ctx, 1, sizeof *known, "keys", &known));
    gerne_status status = learn_keys(ctx, known);
    if (status == GERNE_OK && !gn_config_knows(known->train, key) &&
        !gn_config_knows(known->model, key))
        status = gn_config_unknown_key(ctx, known->train, key);
    forget_keys(known);
    gn_free(known);
    return status;
}

gerne_status gerne_config_set(gerne_ctx *ctx, gerne_config *config, const char *key,
                              const char *value)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, config);
    GN_NEEDS(ctx, key);
    GN_TRY(check_key(ctx, key));
    if (!value) {
        withdraw(&config->flags, key);
        return GERNE_OK;
    }
    const gn_setting setting = {.key = key, .items = &value, .count = 1};
    return gn_settings_put(ctx, &config->flags, &setting);
}

/* ---- YAML ---- */

/* A single run ignores what a file says about searching. */
static gerne_status merge(gerne_ctx *ctx, gerne_config *config, const gn_settings *read)
{
    gn_settings some = {.arena = config->arena}, rest = {.arena = config->arena};
    gerne_status status = gn_settings_pick(ctx, read, "tune.", false, &some);
    if (status == GERNE_OK)
        status = gn_settings_pick(ctx, &some, "search.", false, &rest);
    if (status == GERNE_OK && rest.count < read->count)
        gn_log(ctx, GERNE_LOG_INFO, "ignored: the sections tune and search are for 'gerne tune'");
    for (size_t i = 0; status == GERNE_OK && i < rest.count; i++)
        status = gn_settings_put(ctx, &config->file, &rest.list[i]);
    gn_settings_free(&some);
    gn_settings_free(&rest);
    return status;
}

static gerne_status finish_reading(gerne_ctx *ctx, gerne_config *config, gn_settings *read,
                                   gerne_status status)
{
    if (status == GERNE_OK)
        status = gn_arena_copy_text(ctx, config->arena, read->source, &config->file.source);
    if (status == GERNE_OK)
        status = merge(ctx, config, read);
    gn_settings_free(read);
    return status;
}

gerne_status gerne_config_read(gerne_ctx *ctx, gerne_config *config, const char *path)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, config);
    GN_NEEDS(ctx, path);
    gn_settings read = {.arena = config->arena};
    gerne_status status = gn_settings_read(ctx, path, &read);
    return finish_reading(ctx, config, &read, status);
}

gerne_status gerne_config_parse(gerne_ctx *ctx, gerne_config *config, const char *yaml)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, config);
    GN_NEEDS(ctx, yaml);
    gn_settings read = {.arena = config->arena};
    gerne_status status = gn_settings_parse(ctx, yaml, strlen(yaml), "YAML text", &read);
    return finish_reading(ctx, config, &read, status);
}

/* ---- using ---- */

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static gerne_status pick(gerne_ctx *ctx, const gn_settings *from, const char *prefix,
                         gn_settings *out)
{
    for (size_t i = 0; i < from->count; i++)
        if (starts_with(from->list[i].key, prefix))
            GN_TRY(gn_settings_put(ctx, out, &from->list[i]));
    return GERNE_OK;
}

gerne_status gn_config_pick(gerne_ctx *ctx, const gerne_config *config, const char *prefix,
                            gn_settings *out)
{
    if (!config)
        return GERNE_OK;
    GN_TRY(pick(ctx, &config->file, prefix, out));
    return pick(ctx, &config->flags, prefix, out);
}

/* The settings without those that the dataset replaces. */
static gerne_status keep(gerne_ctx *ctx, const gn_settings *from, const gerne_dataset *dataset,
                         gn_settings *out)
{
    bool replaced = dataset && !dataset->options.arrays;
    out->source = from->source;
    for (size_t i = 0; i < from->count; i++)
        if (!replaced || !starts_with(from->list[i].key, "data."))
            GN_TRY(gn_settings_put(ctx, out, &from->list[i]));
    return GERNE_OK;
}

/* Arrays leave the section data as it is, except that they are of one format. */
static gerne_status add_dataset(gerne_ctx *ctx, const gerne_dataset *dataset,
                                const gn_settings *file, gn_settings *flags)
{
    bool arrays = dataset->options.arrays != NULL;
    for (size_t i = 0; i < dataset->keys.count; i++) {
        const gn_setting *s = &dataset->keys.list[i];
        bool said = gn_settings_find(file, s->key) || gn_settings_find(flags, s->key);
        if (!arrays || !said)
            GN_TRY(gn_settings_put(ctx, flags, s));
    }
    return GERNE_OK;
}

gerne_status gn_config_resolve(gerne_ctx *ctx, const gerne_config *config,
                               const gerne_dataset *dataset, gn_run_config **out)
{
    gn_arena *arena;
    *out = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    gn_settings file = {.arena = arena}, flags = {.arena = arena};
    gerne_status status = keep(ctx, &config->file, dataset, &file);
    if (status == GERNE_OK)
        status = keep(ctx, &config->flags, dataset, &flags);
    if (status == GERNE_OK && dataset)
        status = add_dataset(ctx, dataset, &file, &flags);
    if (status == GERNE_OK)
        status = gn_run_config_new(ctx, file.source ? &file : NULL, &flags, out);
    if (status == GERNE_OK && dataset)
        (*out)->data.arrays = dataset->options.arrays;
    gn_settings_free(&file);
    gn_settings_free(&flags);
    gn_arena_close(arena);
    return status;
}

/* As a flag has it: without the marks of YAML. */
static gerne_status print_plain(gerne_ctx *ctx, const gn_option *option, const void *target,
                                gn_text *out)
{
    const void *field = (const char *)target + option->offset;
    if (option->type == GN_TEXT)
        return gn_text_add(ctx, out, "%s", *(const char *const *)field);
    if (option->type == GN_TEXTS) {
        const gn_texts *list = field;
        for (size_t i = 0; i < list->count; i++)
            GN_TRY(gn_text_add(ctx, out, "%s%s", i ? "," : "", list->items[i]));
        return GERNE_OK;
    }
    gn_text yaml = {0};
    gerne_status status = gn_option_print(ctx, option, target, &yaml);
    for (size_t i = 0; status == GERNE_OK && i < yaml.size; i++)
        if (!strchr("[] ", yaml.bytes[i])) /* numbers and words alone have none */
            status = gn_text_add_bytes(ctx, out, yaml.bytes + i, 1);
    gn_text_free(&yaml);
    return status;
}

static gerne_status print_value(gerne_ctx *ctx, const gn_run_config *run, const char *key,
                                gn_text *out)
{
    void *target;
    const gn_option *option = gn_config_find(run->config, key, &target);
    if (!option)
        return gn_config_unknown_key(ctx, run->config, key);
    if (gn_config_origin(run->config, key) == GN_UNSET)
        return GERNE_OK;
    return print_plain(ctx, option, target, out);
}

gerne_status gerne_config_get(gerne_ctx *ctx, const gerne_config *config, const char *key,
                              char **value)
{
    gn_run_config *run;
    gn_text text = {0};
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, value);
    *value = NULL;
    GN_NEEDS(ctx, config);
    GN_NEEDS(ctx, key);
    GN_TRY(gn_config_resolve(ctx, config, NULL, &run));
    gerne_status status = print_value(ctx, run, key, &text);
    if (status == GERNE_OK && text.bytes)
        status = gn_give_text(ctx, &text, value);
    gn_text_free(&text);
    gn_run_config_close(run);
    return status;
}

gerne_status gerne_config_yaml(gerne_ctx *ctx, const gerne_config *config, char **yaml)
{
    gn_run_config *run;
    gn_text text = {0};
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, yaml);
    *yaml = NULL;
    GN_NEEDS(ctx, config);
    GN_TRY(gn_config_resolve(ctx, config, NULL, &run));
    gerne_status status = gn_config_print(ctx, run->config, 0, &text);
    if (status == GERNE_OK)
        status = gn_give_text(ctx, &text, yaml);
    gn_text_free(&text);
    gn_run_config_close(run);
    return status;
}

/* ---- keys ---- */

static json_t *choices_json(const char *choices)
{
    char word[64];
    json_t *list = json_array();
    for (int i = 0; gn_choice_word(choices, i, word, sizeof word)[0]; i++)
        json_array_append_new(list, json_string(word));
    return list;
}

static gerne_status add_key(void *user, const char *section, const char *summary,
                            const gn_option *option)
{
    static const char *const types[] = {
        [GN_BOOL] = "bool",     [GN_INT] = "int",   [GN_REAL] = "real",   [GN_TEXT] = "text",
        [GN_CHOICE] = "choice", [GN_INTS] = "ints", [GN_REALS] = "reals", [GN_TEXTS] = "texts"};
    bool limits = option->min != 0 || option->max != 0;
    json_t *key = json_pack("{s:o, s:s, s:s, s:s?, s:s}", "key",
                            section[0] ? json_sprintf("%s.%s", section, option->name)
                                       : json_string(option->name),
                            "section", summary, "type", types[option->type], "default",
                            option->fallback, "help", option->help);
    if (limits) {
        json_object_set_new(key, "min", gn_json_number(option->min));
        json_object_set_new(key, "max", gn_json_number(option->max));
    }
    if (option->choices)
        json_object_set_new(key, "choices", choices_json(option->choices));
    json_array_append_new(user, key);
    return GERNE_OK;
}

gerne_status gerne_config_keys(gerne_ctx *ctx, char **json)
{
    known_keys *known;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, json);
    *json = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *known, "keys", &known));
    json_t *list = json_array();
    gerne_status status = learn_keys(ctx, known);
    if (status == GERNE_OK)
        status = gn_config_visit(known->train, add_key, list);
    forget_keys(known);
    gn_free(known);
    if (status == GERNE_OK)
        return gn_give_json(ctx, list, json);
    json_decref(list);
    return status;
}
