#include "study/trial.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "study/result.h"
#include "train/train.h"

/* ---- configurations ---- */

static bool is_any(const char *key, const char *const *keys)
{
    for (size_t i = 0; keys[i]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Adds settings to others; a key of skip, or one that is in others already, is skipped. */
static gerne_status add_settings(gerne_ctx *ctx, gn_settings *to, const gn_settings *from,
                                 const char *const *skip)
{
    for (size_t i = 0; from && i < from->count; i++) {
        const gn_setting *s = &from->list[i];
        if (!is_any(s->key, skip) && !gn_settings_find(to, s->key))
            GN_TRY(gn_settings_add(ctx, to, s->key, s->items, s->count, s->is_list, s->line));
    }
    return GERNE_OK;
}

/* What was asked for, as YAML. */
static gerne_status asked_yaml(gerne_ctx *ctx, const gn_run_config *config, gn_text *out)
{
    GN_TRY(gn_config_print(ctx, config->config, GN_NOT_ASKED, out));
    return out->size ? GERNE_OK : gn_text_add(ctx, out, "{}\n");
}

gerne_status gn_base_settings(gerne_ctx *ctx, const gn_settings *file, const gn_settings *flags,
                              gn_settings *base)
{
    static const char *const own[] = {"out", "cache", "seed", NULL};
    GN_LOCAL(gn_settings) all = {.arena = base->arena};
    GN_LOCAL(gn_run_config) *config = NULL;
    GN_LOCAL(gn_text) yaml = {0};
    GN_TRY(gn_run_config_new(ctx, file, flags, &config));
    GN_TRY(asked_yaml(ctx, config, &yaml));
    GN_TRY(gn_settings_parse(ctx, yaml.bytes, yaml.size, "the study", &all));
    base->source = "the study";
    return add_settings(ctx, base, &all, own);
}

typedef struct describer {
    gerne_ctx *ctx;
    const gn_config *config;
    gn_text *out;
} describer;

static gerne_status describe_option(void *user, const char *section, const char *summary,
                                    const gn_option *option)
{
    static const char *const left_out[] = {"out", "cache", NULL};
    describer *d = user;
    char key[128];
    void *target;
    (void)summary;
    snprintf(key, sizeof key, "%s%s%s", section, section[0] ? "." : "", option->name);
    if (is_any(key, left_out) || gn_config_origin(d->config, key) == GN_UNSET)
        return GERNE_OK;
    GN_TRY(gn_text_add(d->ctx, d->out, "%s: ", key));
    GN_TRY(gn_config_find(d->config, key, &target) ? gn_option_print(d->ctx, option, target, d->out)
                                                   : GERNE_OK);
    return gn_text_add(d->ctx, d->out, "\n");
}

static gerne_status describe(gerne_ctx *ctx, const gn_run_config *config, gn_text *out)
{
    describer d = {.ctx = ctx, .config = config->config, .out = out};
    return gn_config_visit(config->config, describe_option, &d);
}

gerne_status gn_base_describe(gerne_ctx *ctx, const gn_settings *base, gn_text *out)
{
    gn_settings none = {.arena = base->arena};
    GN_LOCAL(gn_run_config) *config = NULL;
    GN_TRY(gn_run_config_new(ctx, base, &none, &config));
    return describe(ctx, config, out);
}

/* ---- planning ---- */

static void digest(const gn_text *text, char id[GN_TRIAL_ID])
{
    unsigned char bytes[GN_SHA256_SIZE];
    char hex[GN_SHA256_HEX];
    gn_sha256_of(text->bytes, text->size, bytes);
    gn_sha256_hex(bytes, hex);
    snprintf(id, GN_TRIAL_ID, "%.*s", GN_TRIAL_ID - 1, hex);
}

/* {"method.beta":"1"}: values as they would be typed. */
static gerne_status settings_json(gerne_ctx *ctx, const gn_settings *changes, gn_text *out)
{
    GN_LOCAL(json_t) *object = json_object();
    GN_LOCAL(gn_text) value = {0};
    if (!object)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for JSON");
    for (size_t i = 0; changes && i < changes->count; i++) {
        const gn_setting *s = &changes->list[i];
        gn_text_clear(&value);
        for (size_t j = 0; j < s->count; j++)
            GN_TRY(gn_text_add(ctx, &value, "%s%s", j ? "," : "", s->items[j]));
        if (!gn_json_put(object, s->key, json_string(value.bytes ? value.bytes : "")))
            return gn_fail(ctx, GERNE_EUSAGE, "%s: the value is not UTF-8", s->key);
    }
    GN_TRY(gn_json_print_line(ctx, object, out));
    while (out->size && out->bytes[out->size - 1] == '\n')
        out->bytes[--out->size] = '\0';
    return GERNE_OK;
}

static gerne_status fill(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *config,
                         const gn_settings *changes, gn_trial *trial)
{
    GN_LOCAL(gn_text) described = {0}, yaml = {0}, settings = {0};
    GN_TRY(describe(ctx, config, &described));
    digest(&described, trial->id);
    GN_TRY(asked_yaml(ctx, config, &yaml));
    GN_TRY(gn_arena_copy_text(ctx, arena, yaml.bytes, &trial->config));
    GN_TRY(settings_json(ctx, changes, &settings));
    return gn_arena_copy_text(ctx, arena, settings.bytes, &trial->settings);
}

gerne_status gn_trial_make(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                           const gn_settings *changes, gn_trial *trial)
{
    static const char *const nothing[] = {NULL};
    char number[32];
    const char *seed = number;
    GN_LOCAL(gn_settings) flags = {.arena = arena};
    GN_LOCAL(gn_run_config) *config = NULL;
    snprintf(number, sizeof number, "%lld", (long long)trial->seed);
    GN_TRY(gn_settings_add(ctx, &flags, "seed", &seed, 1, false, 0));
    GN_TRY(add_settings(ctx, &flags, changes, nothing));
    GN_TRY(gn_run_config_new(ctx, base, &flags, &config));
    return fill(ctx, arena, config, changes, trial);
}

/* ---- running ---- */

enum { RUN_LEVELS = 2 }; /* of directories: the run, and its errors */

gerne_status gn_trial_config(gerne_ctx *ctx, const char *yaml, const char *out, const char *cache,
                             gn_run_config **config)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    *config = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_LOCAL(gn_settings) file = {.arena = arena}, flags = {.arena = arena};
    GN_TRY(gn_settings_parse(ctx, yaml, strlen(yaml), "a trial", &file));
    if (out)
        GN_TRY(gn_settings_add(ctx, &flags, "out", &out, 1, false, 0));
    if (cache)
        GN_TRY(gn_settings_add(ctx, &flags, "cache", &cache, 1, false, 0));
    return gn_run_config_new(ctx, &file, &flags, config);
}

static gerne_status start(gerne_ctx *ctx, const char *yaml, const char *path,
                          const gn_trial_means *means, json_t **results)
{
    GN_LOCAL(gn_run_config) *config = NULL;
    gn_folder_remove(path, RUN_LEVELS); /* of a process that was killed before it had config.yaml */
    GN_TRY(gn_trial_config(ctx, yaml, path, means->cache, &config));
    config->shared = means->data;
    return gn_train(ctx, config, NULL, results);
}

static gerne_status start_or_resume(gerne_ctx *ctx, const gn_claim *claim, const char *path,
                                    const char *config_path, const gn_trial_means *means,
                                    json_t **results)
{
    /* A link in its place would have us write and remove elsewhere. */
    GN_TRY(gn_folder_make_own(ctx, path));
    if (!gn_path_exists(config_path))
        return start(ctx, claim->config, path, means, results);
    gerne_status status = gn_train_resume(ctx, path, NULL, results);
    if (status != GERNE_EDATA && status != GERNE_EUSAGE)
        return status;
    gn_log(ctx, GERNE_LOG_WARNING, "restarting trial %s from scratch: %s", claim->id,
           gerne_message(ctx));
    return start(ctx, claim->config, path, means, results);
}

gerne_status gn_trial_path(gerne_ctx *ctx, gn_arena *arena, const char *dir, const char *id,
                           const char *name, const char **out)
{
    const char *trials, *path;
    GN_TRY(gn_path_join(ctx, arena, dir, "trials", &trials));
    GN_TRY(gn_path_join(ctx, arena, trials, id, &path));
    *out = path;
    return name[0] ? gn_path_join(ctx, arena, path, name, out) : GERNE_OK;
}

gerne_status gn_trial_run(gerne_ctx *ctx, const char *dir, const gn_claim *claim,
                          const gn_trial_means *means, json_t **results)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    const char *path = NULL, *config_path = NULL;
    *results = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_trial_path(ctx, arena, dir, claim->id, "", &path));
    GN_TRY(gn_trial_path(ctx, arena, dir, claim->id, "config.yaml", &config_path));
    return start_or_resume(ctx, claim, path, config_path, means, results);
}

/* ---- the end of a trial ---- */

static gerne_status end_well(gerne_ctx *ctx, gn_ledger *ledger, gn_claim *claim, json_t *results)
{
    gn_result_selection by;
    if (!gn_result_selection_of(results, &by)) {
        gerne_status status =
            gn_fail(ctx, GERNE_EDATA, "trial %s: results.json names no selection", claim->id);
        gerne_status released = gn_ledger_release(ledger, claim);
        return released == GERNE_OK ? status : released;
    }
    if (isnan(gn_result_figure(gn_result_splits(results, false), by.split, by.metric))) {
        char reason[128];
        snprintf(reason, sizeof reason, "%s on the %s split is not a number", by.metric, by.split);
        return gn_ledger_failed(ledger, claim, reason);
    }
    gn_result_slim(results);
    return gn_ledger_done(ledger, claim, results);
}

static const char diverged[] = "diverged";

bool gn_trial_diverged(const gn_trial *trial)
{
    return trial->state == GN_TRIAL_FAILED && trial->reason &&
           strncmp(trial->reason, diverged, strlen(diverged)) == 0;
}

static gerne_status end_badly(gerne_ctx *ctx, gn_ledger *ledger, gn_claim *claim,
                              gerne_status status)
{
    char reason[512];
    const char *message = gerne_message(ctx);
    bool says_so = strncmp(message, diverged, strlen(diverged)) == 0;
    snprintf(reason, sizeof reason, "%s%s%s", status == GERNE_EDIVERGED && !says_so ? diverged : "",
             status == GERNE_EDIVERGED && !says_so ? ": " : "", message);
    gn_mend_end(reason);
    return gn_ledger_failed(ledger, claim, reason);
}

gerne_status gn_trial_end(gerne_ctx *ctx, gn_ledger *ledger, gn_claim *claim, gerne_status status,
                          json_t *results)
{
    if (status == GERNE_OK)
        return end_well(ctx, ledger, claim, results);
    if (status == GERNE_EDIVERGED || status == GERNE_ENOTHING || status == GERNE_EUSAGE ||
        status == GERNE_EUNSUPPORTED)
        return end_badly(ctx, ledger, claim, status);
    gerne_status released = gn_ledger_release(ledger, claim);
    return released == GERNE_OK ? status : released;
}

gerne_status gn_trial_execute(gerne_ctx *ctx, gn_ledger *ledger, gn_claim *claim,
                              const gn_trial_means *means)
{
    GN_LOCAL(json_t) *results = NULL;
    gerne_status status = gn_trial_run(ctx, gn_ledger_dir(ledger), claim, means, &results);
    return gn_trial_end(ctx, ledger, claim, status, results);
}

void gn_trial_words(const gn_trial *trial, char *buffer, size_t size)
{
    json_t *settings = NULL, *value;
    const char *key;
    if (gn_json_parse(NULL, trial->settings, strlen(trial->settings), trial->id, &settings) !=
        GERNE_OK)
        settings = NULL; /* words for the log: without them */
    size_t used = (size_t)snprintf(buffer, size, "%s%s", trial->tag, trial->tag[0] ? " " : "");
    json_object_foreach(settings, key, value)
    {
        if (used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s=%s ", key,
                                     json_string_value(value) ? json_string_value(value) : "");
    }
    if (used < size)
        snprintf(buffer + used, size - used, "seed=%lld", (long long)trial->seed);
    json_decref(settings);
}

void gn_trial_prune(gerne_ctx *ctx, const char *dir, const char *id)
{
    static const char *const large[] = {".safetensors", ".ckpt", NULL};
    gn_text path = {0};
    int folder = -1;
    gerne_status status = gn_text_add(ctx, &path, "%s/trials/%s", dir, id);
    if (status == GERNE_OK && gn_path_exists(path.bytes))
        status = gn_folder_own(ctx, path.bytes, &folder);
    gn_text_free(&path);
    DIR *list = status == GERNE_OK && folder >= 0 ? fdopendir(folder) : NULL;
    if (!list) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (suffix && is_any(suffix, large))
            gn_folder_remove_file(folder, entry->d_name);
    }
    closedir(list);
}
