/* train.c - a run from beginning to end: directory, stages, results; and resuming one. */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "ranks/ranks.h"
#include "train/divergence.h"
#include "train/found.h"
#include "train/rundir.h"
#include "train/trainer.h"

/* The model whose table other runs may reuse is kept too: biased.safetensors. */
static gerne_status save_stage_model(gn_trainer *t)
{
    char name[64];
    const char *path;
    if (!t->run.stage->table)
        return GERNE_OK;
    snprintf(name, sizeof name, "%s.safetensors", t->run.stage->name);
    GN_TRY(gn_path_of(t, name, &path));
    return gn_save_model(t, path);
}

static gerne_status pass_stage(gn_trainer *t, bool *reused)
{
    GN_TRY(gn_stage_enter(t));
    if (t->run.estimator && t->run.stage->owner == t->run.method)
        GN_TRY(gn_found_write(t));
    *reused = false;
    bool last = t->at.stage == t->stage_count - 1;
    if (!last)
        GN_TRY(gn_reuse_stage(t, reused));
    if (*reused)
        return GERNE_OK;
    gn_log(t->run.ctx, GERNE_LOG_INFO, "%s%s%s: %lld steps, %zu training samples",
           t->run.method->name, t->stage_count > 1 ? ", stage " : "",
           t->stage_count > 1 ? t->run.stage->name : "", (long long)t->run.steps, t->run.n);
    GN_TRY(gn_stage_run(t));
    if (last)
        return GERNE_OK;
    gn_load_kept(t);
    GN_TRY(save_stage_model(t));
    GN_TRY(gn_stage_bequeath(t));
    const gn_method *owner = t->run.stage->owner;
    return owner->finish ? owner->finish(&t->run) : GERNE_OK;
}

static gerne_status log_stage(gn_trainer *t, bool reused)
{
    json_t *event = json_pack("{s:s,s:b,s:I}", "stage", t->run.stage->name, "reused", reused,
                              "step", (json_int_t)t->at.best.step);
    return gn_runlog_event(t->record.log, "stage_end", event);
}

static gerne_status run_stages(gn_trainer *t)
{
    for (;;) {
        bool reused;
        GN_TRY(pass_stage(t, &reused));
        if (t->at.stage == t->stage_count - 1)
            return GERNE_OK;
        GN_TRY(log_stage(t, reused));
        GN_TRY(gn_keep_stage(t));
        gn_stage_leave(t);
        t->at = (gn_position){.stage = t->at.stage + 1};
        t->record.best_changed = false;
    }
}

/* Resumes from last.ckpt when there is one. */
static gerne_status open_checkpoint(gn_trainer *t)
{
    const char *path;
    GN_TRY(gn_path_of(t, "last.ckpt", &path));
    if (!gn_path_exists(path))
        return gn_record_open(t, NULL);
    GN_TRY(gn_checkpoint_open(t->run.ctx, path, &t->resume));
    const json_t *head = gn_checkpoint_head(t->resume);
    GN_TRY(gn_rundir_compare(t, head));
    GN_TRY(gn_checkpoint_take(t->resume, "position", &t->at, sizeof t->at, NULL));
    if (t->at.stage < 0 || t->at.stage >= t->stage_count || t->at.step < 0)
        return gn_fail(t->run.ctx, GERNE_EDATA, "%s: the checkpoint is damaged", path);
    gn_log(t->run.ctx, GERNE_LOG_INFO, "resuming after step %lld", (long long)t->at.step);
    return gn_record_open(t, head);
}

void gn_trainer_close(gn_trainer *t)
{
    if (!t)
        return;
    gn_stage_leave(t);
    gn_end_reuse(t);
    gn_checkpoint_close(t->resume);
    gn_record_close(t);
    for (size_t i = 0; i < t->table_count; i++)
        gn_free(t->tables[i].values);
    for (int s = 0; s < GN_SPLITS; s++)
        gn_sample_list_free(&t->input.samples[s]);
    gn_sample_list_free(&t->input.repair);
    gerne_groups_close(t->input.groups);
    gerne_groups_close(t->input.val_groups);
    for (int i = 0; i < GN_NETWORKS_MAX; i++)
        gn_plain_weights_free(&t->inherited[i]);
    if (t->input.frozen)
        gn_frozen_close(t->input.frozen); /* data is its own */
    else
        gn_dataset_close(t->input.data);
    gn_device_close(t->device);
    gn_arena_close(t->stage_arena);
    gn_arena_close(t->arena);
    gn_rundir_unlock(t->directory.lock);
    gn_free(t);
}

static gerne_status run_all(gn_trainer *t, bool fresh, gn_text *report, json_t **results)
{
    gerne_ctx *ctx = t->run.ctx;
    GN_TRY(gn_ranks_agree(ctx, gn_trainer_settle(t)));
    GN_TRY(gn_compare_ranks(t));
    GN_TRY(gn_ranks_agree(ctx, fresh && gn_ranks_first(ctx) ? gn_rundir_start(t) : GERNE_OK));
    GN_TRY(gn_ranks_agree(ctx, gn_rundir_is_seen(t)));
    GN_TRY(gn_settle_frozen(t));
    GN_TRY(open_checkpoint(t));
    t->record.saved_at = t->record.started = gn_seconds();
    GN_TRY(run_stages(t));
    return gn_finish_run(t, report, results);
}

gerne_status gn_trainer_new(gerne_ctx *ctx, const gn_run_config *config, gn_trainer **out)
{
    GN_TRY(gn_alloc(ctx, 1, sizeof **out, "a run", out));
    gn_trainer *t = *out;
    t->run.ctx = ctx;
    t->config = config;
    t->directory = (gn_run_directory){.path = config->top.out, .lock = -1};
    t->reuse.lock = -1;
    gerne_status status = gn_record_start(t);
    if (status != GERNE_OK) {
        gn_trainer_close(t);
        *out = NULL;
    }
    return status;
}

gerne_status gn_train(gerne_ctx *ctx, const gn_run_config *config, gn_text *report,
                      json_t **results)
{
    gn_trainer *t;
    GN_TRY(gn_ranks_agree(ctx, gn_ranks_first(ctx) ? gn_rundir_check_empty(ctx, config->top.out)
                                                   : GERNE_OK));
    GN_TRY(gn_trainer_new(ctx, config, &t));
    gerne_status status = run_all(t, true, report, results);
    if (status != GERNE_OK)
        gn_rundir_undo(t, status);
    gn_trainer_close(t);
    return status;
}

static bool has(gn_trainer *t, const char *name)
{
    const char *path;
    return gn_path_of(t, name, &path) == GERNE_OK && gn_path_exists(path);
}

/* results.json where the run has finished; *json stays NULL where it has not: the file is missing
 * or damaged, or the weights are missing and the checkpoint they can be made from is there. */
static gerne_status read_finished(gn_trainer *t, json_t **json)
{
    const char *path;
    *json = NULL;
    if (!has(t, "results.json"))
        return GERNE_OK;
    if (!has(t, "best.safetensors") && has(t, "last.ckpt")) {
        gn_log(t->run.ctx, GERNE_LOG_WARNING, "best.safetensors is missing: making it again");
        return GERNE_OK;
    }
    GN_TRY(gn_path_of(t, "results.json", &path));
    gerne_status status = gn_json_read(t->run.ctx, path, (size_t)1 << 28, json);
    bool whole = status == GERNE_OK && json_is_object(json_object_get(*json, "splits"));
    if (status != GERNE_OK && status != GERNE_EDATA)
        return status;
    if (!whole) {
        gn_log(t->run.ctx, GERNE_LOG_WARNING, "'%s' is damaged: making it again", path);
        json_decref(*json);
        *json = NULL;
    }
    return GERNE_OK;
}

/* A finished run: its results as they are. The trials of a study lose their weights when they do
 * not rank first. */
static gerne_status show_finished(gn_trainer *t, json_t *json, gn_text *report, json_t **results)
{
    bool weights = has(t, "best.safetensors");
    const char *state = weights ? "is finished" : "has its results, but not its weights";
    gn_log(t->run.ctx, GERNE_LOG_INFO, "'%s' %s: nothing to do", t->directory.path, state);
    gerne_status status = GERNE_OK;
    if (report)
        status = gn_text_add(t->run.ctx, report, "'%s' %s; the results are in %s/results.json\n",
                             t->directory.path, state, t->directory.path);
    if (results && status == GERNE_OK)
        *results = json;
    else
        json_decref(json);
    return status;
}

static gerne_status lock_directory(gn_trainer *t)
{
    if (!gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    GN_TRY(gn_rundir_lock(t->run.ctx, t->directory.path, &t->directory.lock));
    gn_path_sweep(t->directory.path);
    return GERNE_OK;
}

/* Rank 0 looks, and tells the others. */
static gerne_status resume(gn_trainer *t, gn_text *report, json_t **results)
{
    gn_arena *arena;
    bool ended, first = gn_ranks_first(t->run.ctx);
    json_t *json = NULL;
    GN_TRY(gn_ranks_agree(t->run.ctx, lock_directory(t)));
    GN_TRY(gn_arena_new(t->run.ctx, &arena));
    t->arena = arena;
    GN_TRY(gn_ranks_agree(t->run.ctx, first ? read_finished(t, &json) : GERNE_OK));
    ended = json != NULL;
    GN_TRY(gn_ranks_broadcast(t->run.ctx, &ended, sizeof ended));
    if (ended)
        return first ? show_finished(t, json, report, results) : GERNE_OK;
    GN_LOCAL(json_t) *divergence = NULL;
    GN_TRY(
        gn_ranks_agree(t->run.ctx, gn_divergence_read(t->run.ctx, t->directory.path, &divergence)));
    ended = divergence != NULL;
    GN_TRY(gn_ranks_broadcast(t->run.ctx, &ended, sizeof ended));
    if (ended)
        return gn_divergence_fail(t->run.ctx, t->directory.path, divergence);
    gn_arena_close(arena);
    t->arena = NULL;
    return run_all(t, false, report, results);
}

gerne_status gn_train_resume_as(gerne_ctx *ctx, const gn_run_config *config, gn_text *report,
                                json_t **results)
{
    GN_LOCAL(gn_trainer) *t = NULL;
    GN_TRY(gn_trainer_new(ctx, config, &t));
    return resume(t, report, results);
}

gerne_status gn_train_resume(gerne_ctx *ctx, const char *directory, gn_text *report,
                             json_t **results)
{
    GN_LOCAL(gn_run_config) *config = NULL;
    GN_TRY(gn_run_config_of(ctx, directory, &config));
    return gn_train_resume_as(ctx, config, report, results);
}
