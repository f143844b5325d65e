/* reuse.c - what a stage was for (such as the scores of a biased model) is kept under a name made
 * of everything that determines it, and taken from there by later runs. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/lock.h"
#include "ranks/ranks.h"
#include "train/plugin.h"
#include "train/trainer.h"

/* The options that do not change the first stage: those of the method and how runs are chosen. */
static bool matters(const char *line)
{
    static const char *const sections[] = {"method:", "select:", NULL};
    for (int i = 0; sections[i]; i++)
        if (strncmp(line, sections[i], strlen(sections[i])) == 0)
            return false;
    return true;
}

/* The configuration's text without the sections that do not matter. */
static void add_config(gn_sha256 *hash, const gn_text *config)
{
    bool counts = true;
    for (const char *line = config->bytes; line && *line;) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) + 1 : strlen(line);
        if (line[0] != ' ')
            counts = matters(line);
        if (counts)
            gn_sha256_add(hash, line, size);
        line += size;
    }
}

static gerne_status key_of(gn_trainer *t, char hex[GN_SHA256_HEX])
{
    GN_LOCAL(gn_text) text = {0};
    gn_sha256 hash;
    unsigned char digest[GN_SHA256_SIZE];
    const gn_stage *stage = t->run.stage;
    const char *plugin = gn_plugin_sha256(stage->owner);
    GN_TRY(gn_text_add(t->run.ctx, &text, "%s|%s|%s|%.17g|%.17g|%lld|%u|%u|%d|%d|%s\n",
                       gerne_version(), t->input.fingerprint, t->input.weights_digest,
                       stage->lr_factor, stage->decay_factor, (long long)t->run.steps,
                       t->run.per_class, t->run.batch, gn_device_threads(t->device),
                       (int)stage->augment, stage->table));
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, text.bytes, text.size);
    if (plugin) /* its code decides what the stage leaves, as our version does of ours */
        gn_sha256_add(&hash, plugin, strlen(plugin));
    gn_text_clear(&text);
    int ranks = gn_ranks_size(gn_ranks_of(t->run.ctx));
    if (ranks > 1)
        gn_sha256_add(&hash, &ranks, sizeof ranks);
    GN_TRY(gn_config_print(t->run.ctx, t->config->config, GN_NO_HASH, &text));
    add_config(&hash, &text);
    gn_sha256_end(&hash, digest);
    gn_sha256_hex(digest, hex);
    return GERNE_OK;
}

static gn_table *table_of(gn_trainer *t)
{
    for (size_t i = 0; i < t->table_count; i++)
        if (t->run.stage->table && strcmp(t->tables[i].name, t->run.stage->table) == 0)
            return &t->tables[i];
    return NULL;
}

static gerne_status cache_path(gn_trainer *t, const char **folder, const char **path)
{
    char key[GN_SHA256_HEX], name[GN_SHA256_HEX + 32];
    GN_TRY(key_of(t, key));
    GN_TRY(gn_cache_folder(t->run.ctx, t->arena, t->config->top.cache, folder));
    snprintf(name, sizeof name, "%s-%.40s.ckpt", t->run.stage->table, key);
    return gn_path_join(t->run.ctx, t->arena, *folder, name, path);
}

static gerne_status take_from(gn_trainer *t, const char *path, gn_table *table)
{
    GN_LOCAL(gn_checkpoint) *kept = NULL;
    bool found = false;
    GN_TRY(gn_checkpoint_open(t->run.ctx, path, &kept));
    const json_t *head = gn_checkpoint_head(kept);
    const char *data = json_string_value(json_object_get(head, "data_fingerprint"));
    const char *samples = json_string_value(json_object_get(head, "samples"));
    if (!data || strcmp(data, t->input.fingerprint) != 0)
        return gn_fail(t->run.ctx, GERNE_EUSAGE, "'%s' was trained on other data", path);
    if (!samples || strcmp(samples, t->input.samples_digest) != 0)
        return gn_fail(t->run.ctx, GERNE_EUSAGE, "'%s' was trained on other samples of the data",
                       path);
    GN_TRY(
        gn_checkpoint_take(kept, table->name, table->values, table->count * sizeof(float), &found));
    if (!found)
        return gn_fail(t->run.ctx, GERNE_EDATA, "%s has no %s", path, table->name);
    return GERNE_OK;
}

/* A run directory holds the same file under the table's name. */
static gerne_status other_run(gn_trainer *t, const char **path)
{
    const gn_stage *stage = t->run.stage;
    char name[64];
    *path = NULL;
    snprintf(name, sizeof name, "%s.ckpt", stage->table);
    return stage->from ? gn_path_join(t->run.ctx, t->arena, stage->from, name, path) : GERNE_OK;
}

static gerne_status check_other_run(gn_trainer *t, const char *path)
{
    const gn_stage *stage = t->run.stage;
    if (gn_path_exists(path))
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "%s: stage '%s' cannot be reused from '%s', which has no %s.ckpt", stage->from_key,
            stage->name, stage->from, stage->table);
    gn_hint(t->run.ctx,
            "set --%s to a run that has trained this stage on the same data, or omit it",
            stage->from_key);
    return GERNE_EUSAGE;
}

static bool take_from_cache(gn_trainer *t, const char *path, gn_table *table)
{
    return gn_path_exists(path) && take_from(t, path, table) == GERNE_OK;
}

/* One process makes it, the others wait: its bits are the same whoever does. A cache that cannot
 * be written is said later, by who would keep something there. */
static gerne_status wait_for_others(gn_trainer *t, const char *folder, const char *path)
{
    GN_LOCAL(gn_text) text = {0};
    if (gn_make_directory(t->run.ctx, folder) != GERNE_OK)
        return GERNE_OK;
    GN_TRY(gn_text_add(t->run.ctx, &text, "%s.lock", path));
    GN_TRY(gn_arena_copy_text(t->run.ctx, t->arena, text.bytes, &t->reuse.path));
    char words[96];
    snprintf(words, sizeof words, "waiting for another process to train stage '%s'",
             t->run.stage->name);
    gerne_status status = gn_lock_wait(t->run.ctx, t->reuse.path, "train", words, &t->reuse.lock);
    return status == GERNE_EIO ? GERNE_OK : status;
}

void gn_end_reuse(gn_trainer *t)
{
    gn_lock_release(t->reuse.path, t->reuse.lock, true);
    t->reuse.lock = -1;
}

static gerne_status find_table(gn_trainer *t, gn_table *table, bool *found)
{
    const char *folder, *path;
    GN_TRY(other_run(t, &path));
    if (path) {
        GN_TRY(check_other_run(t, path));
        GN_TRY(take_from(t, path, table));
        *found = true;
    } else {
        GN_TRY(cache_path(t, &folder, &path));
        *found = take_from_cache(t, path, table);
        if (!*found) {
            GN_TRY(wait_for_others(t, folder, path));
            *found = take_from_cache(t, path, table);
        }
        if (*found)
            gn_end_reuse(t);
    }
    if (*found)
        gn_log(t->run.ctx, GERNE_LOG_INFO, "stage %s: %s reused from '%s'", t->run.stage->name,
               table->name, path);
    return GERNE_OK;
}

/* Rank 0 looks, and tells the others. */
gerne_status gn_reuse_stage(gn_trainer *t, bool *found)
{
    gerne_ctx *ctx = t->run.ctx;
    gn_table *table = table_of(t);
    *found = false;
    if (!table || t->at.step > 0)
        return GERNE_OK;
    GN_TRY(gn_ranks_agree(ctx, gn_ranks_first(ctx) ? find_table(t, table, found) : GERNE_OK));
    GN_TRY(gn_ranks_broadcast(ctx, found, sizeof *found));
    return *found ? gn_ranks_broadcast(ctx, table->values, table->count * sizeof(float)) : GERNE_OK;
}

static gerne_status write_table(gn_trainer *t, const gn_table *table, const char *path)
{
    gn_checkpoint_blocks blocks = {0};
    GN_TRY(gn_checkpoint_add(t->run.ctx, &blocks, table->name, table->values,
                             table->count * sizeof(float)));
    return gn_checkpoint_write(t->run.ctx, path, &blocks,
                               json_pack("{s:s,s:s,s:s}", "gerne", gerne_version(),
                                         "data_fingerprint", t->input.fingerprint, "samples",
                                         t->input.samples_digest));
}

/* Into the run's folder, and into the cache; a cache that cannot be written is only a warning. */
gerne_status gn_keep_stage(gn_trainer *t)
{
    const gn_table *table = table_of(t);
    const char *folder, *path;
    char name[64];
    if (!table || !gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    snprintf(name, sizeof name, "%s.ckpt", table->name);
    GN_TRY(gn_path_of(t, name, &path));
    GN_TRY(write_table(t, table, path));
    GN_TRY(cache_path(t, &folder, &path));
    if (gn_make_directory(t->run.ctx, folder) != GERNE_OK ||
        write_table(t, table, path) != GERNE_OK)
        gn_log(t->run.ctx, GERNE_LOG_WARNING, "cannot write to the cache: %s",
               gerne_message(t->run.ctx));
    gn_end_reuse(t);
    return GERNE_OK;
}
