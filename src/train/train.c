/* train.c - a run from beginning to end: directory, data, stages, results; and going on with one.
 */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "debias/describe.h"
#include "train/default_network.h"
#include "train/rundir.h"
#include "train/trainer.h"

/* ---- data ---- */

static gerne_status open_data(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    GN_TRY(gn_dataset_open(ctx, &t->config->data, &t->data));
    if (t->data->classes == 0) {
        gn_fail(ctx, GERNE_EUSAGE, "the data has no labels to train on");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_dataset_prepare(ctx, t->data, gn_device_threads(t->device)));
    GN_TRY(gn_dataset_fingerprint(ctx, t->data, t->fingerprint));
    for (int s = 0; s < GN_SPLITS; s++)
        GN_TRY(gn_samples_of_split(ctx, t->data, (gn_split)s, &t->samples[s]));
    if (t->samples[GN_TRAIN].count == 0)
        return gn_fail(ctx, GERNE_EDATA, "the training split is empty");
    return GERNE_OK;
}

/* Labels of the training split; attributes that may not be seen are 0. */
static gerne_status take_labels(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_dataset *data = t->data;
    const gn_sample_list *train = &t->samples[GN_TRAIN];
    run->n = train->count;
    run->classes = data->classes;
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, run->n, sizeof *t->y, &t->y));
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, run->n, sizeof *t->a, &t->a));
    if (data->attributes)
        GN_TRY(gn_arena_alloc(run->ctx, t->arena, run->n, sizeof *t->true_a, &t->true_a));
    for (size_t i = 0; i < run->n; i++) {
        t->y[i] = data->y[train->items[i]];
        if (data->attributes)
            t->true_a[i] = data->a[train->items[i]];
        t->a[i] = run->known && data->attributes ? t->true_a[i] : 0;
    }
    run->y = t->y;
    run->a = t->a;
    run->true_a = t->true_a;
    run->true_attributes = data->attributes;
    run->attributes = run->known && data->attributes ? data->attributes : 1;
    size_t groups = (size_t)data->classes * (data->attributes ? data->attributes : 1);
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, groups, sizeof *t->train_counts, &t->train_counts));
    gn_dataset_count(data, GN_TRAIN, t->train_counts);
    GN_TRY(gerne_groups_from_labels(run->ctx, run->y, run->a, run->n, run->classes, run->attributes,
                                    &t->groups));
    run->groups = t->groups;
    return gerne_groups_set_names(run->ctx, t->groups, data->class_names,
                                  run->attributes > 1 ? data->attribute_names : NULL);
}

/* ---- what can be refused before anything is written ---- */

static gerne_status settle_attributes(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_run_config *c = t->config;
    run->known = c->method_choice.attributes == GN_KNOWN;
    if (!run->known || t->data->attributes > 0)
        return GERNE_OK;
    bool asked = gn_config_origin(c->config, "method.attributes") != GN_DEFAULT;
    if (!asked && run->method->attributes == GN_ATTRIBUTES_UNUSED) {
        run->known = false;
        return GERNE_OK;
    }
    gn_fail(run->ctx, GERNE_EUSAGE, "method.attributes is known, but the data has no attributes");
    gn_hint(run->ctx, "use --method.attributes unknown, or name the column with --data.a");
    return GERNE_EUSAGE;
}

static bool needs_validation(const gn_trainer *t)
{
    bool needed = t->config->select.split == GN_SELECT_VAL;
    for (int i = 0; i < t->stage_count; i++)
        needed = needed || t->stages[i].keep == GN_KEEP_BALANCED_ACC;
    return needed;
}

static gerne_status check_split(gn_trainer *t, gn_split split)
{
    const gn_sample_list *list = &t->samples[split];
    const char *words = split == GN_VAL ? "validation" : "test";
    if (list->count == 0) {
        gn_fail(t->run.ctx, GERNE_EUSAGE, "the data has no %s split to select on", words);
        gn_hint(t->run.ctx, split == GN_VAL ? "hold samples out with --data.val N, or use "
                                              "--select.split test (an oracle)"
                                            : "use --select.split val");
        return GERNE_EUSAGE;
    }
    bool *seen;
    GN_TRY(gn_arena_alloc(t->run.ctx, t->arena, t->run.classes, sizeof *seen, &seen));
    for (size_t i = 0; i < list->count; i++)
        seen[t->data->y[list->items[i]]] = true;
    for (uint32_t y = 0; y < t->run.classes; y++)
        if (!seen[y]) {
            gn_fail(t->run.ctx, GERNE_EUSAGE,
                    "class '%s' has no sample in the %s split: what is selected there would not "
                    "be judged on it",
                    t->data->class_names[y], words);
            gn_hint(t->run.ctx, "put samples of every class into the %s split", words);
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

enum { USUAL_BATCH = 128 };

static gerne_status settle_sizes(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_train_options *train = &t->config->train;
    bool guessed = !run->known && run->method->attributes == GN_ATTRIBUTES_GUESSED;
    int64_t attributes = guessed ? run->method->guessed_attributes : run->attributes,
            k = (int64_t)run->classes;
    int64_t per_class = train->per_class;
    if (train->per_group)
        per_class = attributes * train->per_group;
    int64_t usual = run->n < USUAL_BATCH ? (int64_t)run->n : USUAL_BATCH;
    int64_t batch = per_class ? k * per_class : train->batch ? train->batch : usual;
    if (!per_class)
        per_class = (batch + k - 1) / k;
    if (batch > UINT32_MAX / 4 || per_class * k > UINT32_MAX / 4)
        return gn_fail(run->ctx, GERNE_EUSAGE, "a batch of %lld samples is too large",
                       (long long)batch);
    if (run->method->plain_batches && (uint64_t)batch > run->n)
        return gn_fail(run->ctx, GERNE_EUSAGE,
                       "a batch of %lld samples, but the training split has %zu", (long long)batch,
                       run->n);
    run->batch = (uint32_t)batch;
    run->per_class = (uint32_t)per_class;
    return GERNE_OK;
}

/* Whether batches have to be run whole is a matter of the network; a small one tells. */
static gerne_status settle_network(gn_trainer *t)
{
    gn_run *run = &t->run;
    gn_network *probe;
    t->model = t->config->model;
    if (t->model.bn == GN_BN_AUTO)
        t->model.bn = t->model.weights ? GN_BN_FROZEN : GN_BN_CONCAT;
    GN_TRY(gn_network_new(run->ctx, t->device, &t->model, gn_dataset_shape(t->data),
                          (int64_t)run->classes, 1, &probe));
    run->coupled = gn_network_couples_samples(probe);
    gn_network_close(probe);
    run->concatenate = run->coupled && t->model.bn == GN_BN_CONCAT;
    run->fixed = (t->data->augment == GN_AUGMENT_NONE || t->model.freeze == GN_FREEZE_BODY) &&
                 t->model.dropout == 0;
    return GERNE_OK;
}

static gerne_status check_average(gn_trainer *t)
{
    if (t->config->train.average == GN_AVERAGE_NONE || !t->run.coupled)
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "train.average does not go with batch normalisation that trains: the mean weights have "
            "no statistics");
    gn_hint(t->run.ctx, "use --train.average none or --model.bn frozen");
    return GERNE_EUSAGE;
}

static gerne_status check_gradients(gn_trainer *t)
{
    if (!t->config->train.log_gradients || !t->run.concatenate)
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "train.log_gradients does not go with model.bn concat: the two batches share one pass");
    gn_hint(t->run.ctx, "use --model.bn separate, or leave train.log_gradients out");
    return GERNE_EUSAGE;
}

static gerne_status hash_run(gn_trainer *t)
{
    gn_text text = {0};
    unsigned char digest[GN_SHA256_SIZE];
    gn_sha256 hash;
    gerne_status status = gn_text_add(
        t->run.ctx, &text, "gerne %s\nthreads %d\ndata %s\nweights %s\n", gerne_version(),
        gn_device_threads(t->device), t->fingerprint, t->weights_digest);
    if (status == GERNE_OK)
        status = gn_config_print(t->run.ctx, t->config->config, GN_NO_HASH, &text);
    if (status == GERNE_OK) {
        gn_sha256_start(&hash);
        gn_sha256_add(&hash, text.bytes, text.size);
        gn_sha256_end(&hash, digest);
        gn_sha256_hex(digest, t->run_hash);
    }
    gn_text_free(&text);
    return status;
}

gerne_status gn_trainer_settle(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_run_config *c = t->config;
    run->method = c->method;
    run->options = c->method_options;
    GN_TRY(gn_arena_new(run->ctx, &t->arena));
    GN_TRY(gn_arena_new(run->ctx, &t->stage_arena));
    GN_TRY(
        gn_device_new(run->ctx, (int)c->top.threads, (gn_precision)c->train.precision, &t->device));
    if (c->model.weights) {
        unsigned char digest[GN_SHA256_SIZE];
        GN_TRY(gn_sha256_file(run->ctx, c->model.weights, digest));
        gn_sha256_hex(digest, t->weights_digest);
    }
    GN_TRY(open_data(t));
    GN_TRY(gn_settle_architecture(run->ctx, c, t->data));
    GN_TRY(settle_attributes(t));
    GN_TRY(take_labels(t));
    GN_TRY(settle_sizes(t));
    GN_TRY(settle_network(t));
    GN_TRY(check_average(t));
    GN_TRY(check_gradients(t));
    t->stages[0] = (gn_stage){.name = "main", .lr_factor = 1, .decay_factor = 1, .networks = 1};
    t->stage_count = run->method->stages ? run->method->stages(run, t->stages) : 1;
    if (run->method->check)
        GN_TRY(run->method->check(run));
    if (needs_validation(t))
        GN_TRY(check_split(t, GN_VAL));
    if (c->select.split == GN_SELECT_TEST)
        GN_TRY(check_split(t, GN_TEST));
    return hash_run(t);
}

/* ---- the run ---- */

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
    GN_TRY(gn_load_kept(t));
    GN_TRY(save_stage_model(t));
    return t->run.method->finish ? t->run.method->finish(&t->run) : GERNE_OK;
}

static gerne_status log_stage(gn_trainer *t, bool reused)
{
    json_t *event = json_pack("{s:s,s:b,s:I}", "stage", t->run.stage->name, "reused", reused,
                              "step", (json_int_t)t->at.best.step);
    return gn_runlog_event(t->log, "stage_end", event);
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
        t->best_changed = false;
    }
}

static gerne_status log_start(gn_trainer *t)
{
    gn_text config = {0};
    GN_TRY(gn_config_print(t->run.ctx, t->config->config, GN_NO_HASH, &config));
    json_t *event = json_pack(
        "{s:s,s:s,s:s,s:s,s:i,s:o,s:o,s:o}", "gerne", gerne_version(), "run_hash", t->run_hash,
        "data_fingerprint", t->fingerprint, "config", config.bytes ? config.bytes : "", "threads",
        gn_device_threads(t->device), "class_names",
        gn_json_names(t->data->class_names, t->data->classes), "attribute_names",
        gn_attribute_names_json(t->data->attribute_names, t->data->attributes), "train_counts",
        gn_json_counts(t->train_counts, t->data->classes,
                       t->data->attributes ? t->data->attributes : 1));
    gn_text_free(&config);
    return gn_runlog_event(t->log, "start", event);
}

static gerne_status open_logs(gn_trainer *t, uint64_t log, uint64_t events)
{
    const char *path;
    GN_TRY(gn_path_of(t, "log.jsonl", &path));
    GN_TRY(gn_runlog_open(t->run.ctx, path, log, &t->log));
    GN_TRY(gn_path_of(t, GN_EVENTS_FILE, &path));
    GN_TRY(gn_events_open(t->run.ctx, path, events, &t->events));
    return log == 0 ? log_start(t) : GERNE_OK;
}

/* Goes on from last.ckpt when there is one. */
static gerne_status open_checkpoint(gn_trainer *t)
{
    const char *path;
    GN_TRY(gn_path_of(t, "last.ckpt", &path));
    if (!gn_path_exists(path))
        return open_logs(t, 0, 0);
    GN_TRY(gn_checkpoint_open(t->run.ctx, path, &t->resume));
    const json_t *head = gn_checkpoint_head(t->resume);
    GN_TRY(gn_rundir_compare(t, head));
    GN_TRY(gn_checkpoint_take(t->resume, "position", &t->at, sizeof t->at, NULL));
    if (t->at.stage < 0 || t->at.stage >= t->stage_count || t->at.step < 0)
        return gn_fail(t->run.ctx, GERNE_EDATA, "%s: the checkpoint is damaged", path);
    gn_log(t->run.ctx, GERNE_LOG_INFO, "going on after step %lld", (long long)t->at.step);
    return open_logs(t, (uint64_t)json_integer_value(json_object_get(head, "log")),
                     (uint64_t)json_integer_value(json_object_get(head, "events")));
}

void gn_trainer_close(gn_trainer *t)
{
    if (!t)
        return;
    gn_stage_leave(t);
    gn_end_reuse(t);
    gn_checkpoint_close(t->resume);
    gn_runlog_close(t->log);
    gn_events_close(t->events);
    for (size_t i = 0; i < t->table_count; i++)
        gn_free(t->tables[i].values);
    for (int s = 0; s < GN_SPLITS; s++)
        gn_sample_list_free(&t->samples[s]);
    gerne_groups_close(t->groups);
    if (t->frozen)
        gn_frozen_close(t->frozen); /* data is its own */
    else
        gn_dataset_close(t->data);
    gn_device_close(t->device);
    gn_arena_close(t->stage_arena);
    gn_arena_close(t->arena);
    gn_rundir_unlock(t->lock);
    gn_free(t);
}

static gerne_status run_all(gn_trainer *t, bool fresh, gn_text *report, json_t **results)
{
    GN_TRY(gn_trainer_settle(t));
    if (fresh)
        GN_TRY(gn_rundir_start(t));
    GN_TRY(gn_freeze_body(t));
    GN_TRY(open_checkpoint(t));
    t->saved_at = t->started = gn_seconds();
    GN_TRY(run_stages(t));
    return gn_finish_run(t, report, results);
}

gerne_status gn_trainer_new(gerne_ctx *ctx, const gn_run_config *config, gn_trainer **out)
{
    GN_TRY(gn_alloc(ctx, 1, sizeof **out, "a run", out));
    (*out)->run.ctx = ctx;
    (*out)->config = config;
    (*out)->dir = config->top.out;
    (*out)->lock = (*out)->stage_lock = -1;
    return GERNE_OK;
}

gerne_status gn_train(gerne_ctx *ctx, const gn_run_config *config, gn_text *report,
                      json_t **results)
{
    gn_trainer *t;
    GN_TRY(gn_rundir_check_empty(ctx, config->top.out));
    GN_TRY(gn_trainer_new(ctx, config, &t));
    gerne_status status = run_all(t, true, report, results);
    if (status != GERNE_OK)
        gn_rundir_undo(t, status);
    gn_trainer_close(t);
    return status;
}

/* A finished run: its results as they are. */
static gerne_status show_finished(gn_trainer *t, gn_text *report, json_t **results)
{
    const char *path;
    gn_text text = {0};
    GN_TRY(gn_path_of(t, "results.json", &path));
    gn_log(t->run.ctx, GERNE_LOG_INFO, "'%s' is finished: nothing to do", t->dir);
    gerne_status status = GERNE_OK;
    if (results) {
        status = gn_file_read(t->run.ctx, path, (size_t)1 << 28, &text);
        if (status == GERNE_OK)
            status = gn_json_parse(t->run.ctx, text.bytes, text.size, path, results);
    }
    if (status == GERNE_OK && report)
        status = gn_text_add(t->run.ctx, report, "'%s' is finished; its results are in %s\n",
                             t->dir, path);
    gn_text_free(&text);
    return status;
}

static gerne_status resume(gn_trainer *t, gn_text *report, json_t **results)
{
    const char *path;
    gn_arena *arena;
    GN_TRY(gn_rundir_lock(t->run.ctx, t->dir, &t->lock));
    gn_rundir_sweep(t->dir);
    GN_TRY(gn_arena_new(t->run.ctx, &arena));
    t->arena = arena;
    GN_TRY(gn_path_of(t, "results.json", &path));
    if (gn_path_exists(path))
        return show_finished(t, report, results);
    gn_arena_close(arena);
    t->arena = NULL;
    return run_all(t, false, report, results);
}

gerne_status gn_train_resume(gerne_ctx *ctx, const char *directory, gn_text *report,
                             json_t **results)
{
    gn_run_config *config;
    gn_trainer *t;
    GN_TRY(gn_run_config_of(ctx, directory, &config));
    gerne_status status = gn_trainer_new(ctx, config, &t);
    if (status == GERNE_OK) {
        status = resume(t, report, results);
        gn_trainer_close(t);
    }
    gn_run_config_close(config);
    return status;
}
