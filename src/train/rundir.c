#include "train/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "ranks/ranks.h"
#include "train/divergence.h"
#include "train/found.h"
#include "train/train.h"

/* What a killed process left half written is nothing. Closes the folder. */
static bool is_empty(DIR *folder)
{
    bool empty = true;
    for (struct dirent *entry; (entry = readdir(folder));)
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                          gn_is_temporary(entry->d_name));
    closedir(folder);
    return empty;
}

gerne_status gn_rundir_check_empty(gerne_ctx *ctx, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder && errno == ENOENT && path[0])
        return GERNE_OK;
    if (!folder)
        return gn_fail_errno(ctx, GERNE_EUSAGE, "out: cannot use '%s'", path);
    if (is_empty(folder))
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "out: '%s' exists and is not empty", path);
    gn_hint(ctx, "choose another --out, or resume it with 'gerne train --resume %s'", path);
    return GERNE_EUSAGE;
}

gerne_status gn_rundir_lock(gerne_ctx *ctx, const char *path, int *lock)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return gn_fail_errno(ctx, errno == ENOENT ? GERNE_EUSAGE : GERNE_EIO,
                             "cannot open the run '%s'", path);
    if (flock(folder, LOCK_EX | LOCK_NB) != 0) {
        close(folder);
        gn_fail(ctx, GERNE_EIO, "'%s' is in use by another process", path);
        gn_hint(ctx, "wait until it ends, or choose another directory");
        return GERNE_EIO;
    }
    *lock = folder;
    return GERNE_OK;
}

void gn_rundir_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

gerne_status gn_rundir_start(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    GN_LOCAL(gn_text) text = {0};
    const char *path;
    t->directory.made = !gn_path_exists(t->directory.path);
    GN_TRY(gn_make_directory(ctx, t->directory.path));
    GN_TRY(gn_rundir_lock(ctx, t->directory.path, &t->directory.lock));
    GN_TRY(
        gn_rundir_check_empty(ctx, t->directory.path)); /* another process may have been faster */
    t->directory.fresh = true;
    gn_path_sweep(t->directory.path);
    GN_TRY(gn_path_of(t, "config.yaml", &path));
    GN_TRY(gn_config_print(ctx, t->config->config, 0, &text));
    return gn_file_write(ctx, path, text.bytes, text.size);
}

/* A file system of the network may be some moments late. */
gerne_status gn_rundir_is_seen(gn_trainer *t)
{
    static const double patience = 3;
    const struct timespec pause = {.tv_nsec = 50000000};
    const char *path;
    double since = gn_seconds();
    if (gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    GN_TRY(gn_path_of(t, "config.yaml", &path));
    while (!gn_path_exists(path) && gn_seconds() - since < patience)
        nanosleep(&pause, NULL);
    if (gn_path_exists(path))
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EIO, "the run directory '%s' of rank 0 is not visible here",
            t->directory.path);
    gn_hint(t->run.ctx, "choose an --out that all hosts share");
    return GERNE_EIO;
}

static void remove_file(const gn_trainer *t, const char *stem, const char *ending)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s", stem, ending);
    gn_folder_remove_file(t->directory.lock, name); /* most are not there */
}

void gn_rundir_undo(gn_trainer *t, gerne_status why)
{
    if (!t->directory.fresh || (t->stepped && why != GERNE_EUSAGE))
        return;
    static const char *const files[] = {"config.yaml", "log.jsonl",        GN_EVENTS_FILE,
                                        "last.ckpt",   "best.safetensors", GN_DIVERGED_FILE,
                                        GN_FOUND_FILE};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        remove_file(t, files[i], "");
    for (int s = 0; s < t->stage_count; s++)
        if (t->stages[s].table) {
            remove_file(t, t->stages[s].name, ".safetensors");
            remove_file(t, t->stages[s].table, ".ckpt");
        }
    if (t->directory.made)
        gn_folder_remove_empty(t->directory.path);
    gn_log(t->run.ctx, GERNE_LOG_INFO, "the run cannot be resumed: removed its files from '%s'",
           t->directory.path);
}

/* ---- resuming ---- */

static gerne_status differs(gn_trainer *t, const char *what, const char *before, const char *now)
{
    gn_fail(t->run.ctx, GERNE_EUSAGE, "'%s' cannot be resumed: %s differs: %s now, %s then",
            t->directory.path, what, now, before);
    gn_hint(t->run.ctx, "restore what was changed, or start a new run with another --out");
    return GERNE_EUSAGE;
}

static const char *text_at(const json_t *head, const char *key)
{
    const char *text = json_string_value(json_object_get(head, key));
    return text ? text : "";
}

gerne_status gn_rundir_compare(gn_trainer *t, const json_t *head)
{
    gerne_ctx *ctx = t->run.ctx;
    /* Weights are kept as the engine lays them out for this kind of CPU. */
    if (strcmp(text_at(head, "cpu"), gn_device_cpu()) != 0)
        return differs(t, "the CPU's instruction set", text_at(head, "cpu"), gn_device_cpu());
    if (strcmp(text_at(head, "run_hash"), t->run_hash) == 0)
        return GERNE_OK;
    if (strcmp(text_at(head, "gerne"), gerne_version()) != 0)
        return differs(t, "the version of gerne", text_at(head, "gerne"), gerne_version());
    GN_LOCAL(gn_text) config = {0};
    const char *before = text_at(head, "config"), *now = NULL, *then = NULL;
    GN_TRY(gn_config_print(ctx, t->config->config, GN_NO_HASH, &config));
    GN_TRY(gn_first_difference(ctx, t->arena, before, config.bytes, &now));
    GN_TRY(gn_first_difference(ctx, t->arena, config.bytes, before, &then));
    if (now || then)
        return differs(t, "the configuration", then ? then : "nothing", now ? now : "nothing");
    if (strcmp(text_at(head, "data_fingerprint"), t->input.fingerprint) != 0)
        return differs(t, "the data (its fingerprint)", text_at(head, "data_fingerprint"),
                       t->input.fingerprint);
    char threads[2][16];
    snprintf(threads[0], sizeof threads[0], "%d",
             (int)json_integer_value(json_object_get(head, "threads")));
    snprintf(threads[1], sizeof threads[1], "%d", gn_device_threads(t->device));
    if (strcmp(threads[0], threads[1]) != 0)
        return differs(t, "the number of threads", threads[0], threads[1]);
    const json_t *ranks = json_object_get(head, "ranks"); /* older checkpoints have none */
    snprintf(threads[0], sizeof threads[0], "%d", ranks ? (int)json_integer_value(ranks) : 1);
    snprintf(threads[1], sizeof threads[1], "%d", gn_ranks_size(gn_ranks_of(ctx)));
    if (strcmp(threads[0], threads[1]) != 0)
        return differs(t, "the number of ranks", threads[0], threads[1]);
    if (strcmp(text_at(head, "groups"), t->input.elsewhere_digest) != 0)
        return differs(t, "the groups of the other run (the digest of their file)",
                       text_at(head, "groups"), t->input.elsewhere_digest);
    return gn_fail(ctx, GERNE_EUSAGE, "'%s' cannot be resumed: the file model.weights has changed",
                   t->directory.path);
}

gerne_status gn_rundir_settings(gerne_ctx *ctx, const char *directory, gn_settings *out)
{
    const char *path;
    GN_TRY(gn_path_join(ctx, out->arena, directory, "config.yaml", &path));
    if (gn_path_exists(path))
        return gn_settings_read(ctx, path, out);
    gn_fail(ctx, GERNE_EUSAGE, "'%s' is not a run directory: it has no config.yaml", directory);
    DIR *folder = opendir(directory);
    if (folder && is_empty(folder))
        gn_hint(ctx,
                "it is empty, or was left by a run that was killed before it began: start the "
                "run again with 'gerne train --out %s'",
                directory);
    else
        gn_hint(ctx, "give the directory that 'gerne train --out' wrote");
    return GERNE_EUSAGE;
}

static gerne_status read_config(gerne_ctx *ctx, gn_arena *arena, const char *directory,
                                gn_run_config **out)
{
    GN_LOCAL(gn_settings) file = {.arena = arena}, flags = {.arena = arena};
    GN_TRY(gn_rundir_settings(ctx, directory, &file));
    GN_TRY(gn_settings_add(ctx, &flags, "out", &directory, 1, false, 0));
    return gn_run_config_new(ctx, &file, &flags, out);
}

gerne_status gn_run_config_of(gerne_ctx *ctx, const char *directory, gn_run_config **out)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    *out = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    return read_config(ctx, arena, directory, out);
}
