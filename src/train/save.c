/* save.c - what a run keeps to resume exactly: last.ckpt, and best.safetensors before it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "ranks/ranks.h"
#include "train/model_file.h"
#include "train/trainer.h"

gerne_status gn_path_of(gn_trainer *t, const char *name, const char **out)
{
    return gn_path_join(t->run.ctx, t->arena, t->directory.path, name, out);
}

/* Blocks in, or out: the one list of what a stage consists of. */
typedef gerne_status block_fn(void *user, const char *name, void *bytes, size_t size);

static gerne_status visit_snapshot(const gn_network *network, const char *name,
                                   const gn_snapshot *s, block_fn *visit, void *user)
{
    char full[GN_BLOCK_NAME];
    size_t statistics;
    if (!s->values)
        return GERNE_OK;
    const gn_store *store = gn_network_store(network);
    gn_store_statistics(store, &statistics);
    snprintf(full, sizeof full, "%s values", name);
    GN_TRY(visit(user, full, s->values, gn_store_block(store).size * sizeof(float)));
    snprintf(full, sizeof full, "%s statistics", name);
    return visit(user, full, s->statistics, statistics * sizeof(float));
}

static gerne_status visit_network(gn_trainer *t, int i, int64_t *steps, block_fn *visit, void *user)
{
    char full[GN_BLOCK_NAME], name[32];
    size_t size;
    snprintf(name, sizeof name, "network %d", i);
    const gn_store *store = gn_network_store(t->now.networks[i]);
    float *statistics = gn_store_statistics(store, &size);
    gn_block block = gn_store_block(store);
    snprintf(full, sizeof full, "%s values", name);
    GN_TRY(visit(user, full, block.values, block.size * sizeof(float)));
    snprintf(full, sizeof full, "%s statistics", name);
    GN_TRY(visit(user, full, statistics, size * sizeof(float)));
    float *state = gn_optimizer_state(t->now.optimizers[i], &size);
    snprintf(full, sizeof full, "%s optimizer", name);
    GN_TRY(visit(user, full, state, size * sizeof(float)));
    snprintf(full, sizeof full, "%s steps", name);
    return visit(user, full, steps, sizeof *steps);
}

static gerne_status visit_stage(gn_trainer *t, int64_t *steps, block_fn *visit, void *user)
{
    for (int i = 0; i < t->run.stage->networks; i++)
        GN_TRY(visit_network(t, i, &steps[i], visit, user));
    GN_TRY(visit_snapshot(t->now.networks[0], "best", &t->now.best, visit, user));
    GN_TRY(visit_snapshot(t->now.networks[0], "oracle", &t->now.oracle, visit, user));
    for (int i = 1; i < t->run.stage->networks; i++) {
        char name[32];
        snprintf(name, sizeof name, "best %d", i);
        GN_TRY(visit_snapshot(t->now.networks[i], name, &t->now.best_others[i], visit, user));
    }
    if (!t->now.average)
        return GERNE_OK;
    return visit(user, "average", t->now.average,
                 gn_store_block(gn_network_store(t->now.networks[0])).size * sizeof(float));
}

typedef struct collector {
    gerne_ctx *ctx;
    gn_checkpoint_blocks blocks;
} collector;

static gerne_status collect(void *user, const char *name, void *bytes, size_t size)
{
    collector *c = user;
    return size ? gn_checkpoint_add(c->ctx, &c->blocks, name, bytes, size) : GERNE_OK;
}

static gerne_status take(void *user, const char *name, void *bytes, size_t size)
{
    return size ? gn_checkpoint_take(user, name, bytes, size, NULL) : GERNE_OK;
}

gerne_status gn_restore_stage(gn_trainer *t)
{
    int64_t steps[GN_NETWORKS_MAX] = {0};
    if (!t->resume)
        return GERNE_OK;
    GN_TRY(visit_stage(t, steps, take, t->resume));
    for (int i = 0; i < t->run.stage->networks; i++)
        gn_optimizer_set_steps(t->now.optimizers[i], steps[i]);
    gn_checkpoint_close(t->resume);
    t->resume = NULL;
    return GERNE_OK;
}

static gerne_status head_of(gn_trainer *t, json_t **out)
{
    uint64_t log, events;
    gn_text config = {0};
    GN_TRY(gn_runlog_sync(t->record.log, &log));
    GN_TRY(gn_events_sync(t->record.events, &events));
    GN_TRY(gn_config_print(t->run.ctx, t->config->config, GN_NO_HASH, &config));
    *out =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:I,s:I,s:I,s:O}", "gerne", gerne_version(),
                  "run_hash", t->run_hash, "data_fingerprint", t->input.fingerprint, "config",
                  config.bytes, "cpu", gn_device_cpu(), "threads", gn_device_threads(t->device),
                  "ranks", gn_ranks_size(gn_ranks_of(t->run.ctx)), "log", (json_int_t)log, "events",
                  (json_int_t)events, "batch", (json_int_t)gn_network_batch(t->now.networks[0]),
                  "warnings", t->record.warnings);
    gn_text_free(&config);
    if (*out && t->input.elsewhere)
        json_object_set_new(*out, "groups", json_string(t->input.elsewhere_digest));
    return *out ? GERNE_OK : gn_fail(t->run.ctx, GERNE_ENOMEM, "out of memory");
}

gerne_status gn_save(gn_trainer *t)
{
    collector c = {.ctx = t->run.ctx};
    int64_t steps[GN_NETWORKS_MAX] = {0};
    const char *path;
    json_t *head;
    if (!gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    if (t->record.best_changed && t->at.stage == t->stage_count - 1)
        GN_TRY(gn_save_best(t));
    GN_TRY(gn_path_of(t, "last.ckpt", &path));
    GN_TRY(gn_checkpoint_add(c.ctx, &c.blocks, "position", &t->at, sizeof t->at));
    for (size_t i = 0; i < t->table_count; i++) {
        char name[GN_BLOCK_NAME];
        snprintf(name, sizeof name, "table %s", t->tables[i].name);
        GN_TRY(gn_checkpoint_add(c.ctx, &c.blocks, name, t->tables[i].values,
                                 t->tables[i].count * sizeof(float)));
    }
    for (int i = 0; i < t->run.stage->networks; i++)
        steps[i] = gn_optimizer_steps(t->now.optimizers[i]);
    GN_TRY(visit_stage(t, steps, collect, &c));
    GN_TRY(head_of(t, &head));
    GN_TRY(gn_checkpoint_write(c.ctx, path, &c.blocks, head));
    t->record.saved_at = gn_seconds();
    return GERNE_OK;
}

gerne_status gn_save_model(gn_trainer *t, const char *path)
{
    gn_network *network = t->now.networks[0];
    if (!gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    if (t->input.frozen) {
        GN_TRY(gn_frozen_put(t->run.ctx, t->input.frozen, network));
        network = gn_frozen_network(t->input.frozen);
    }
    gn_model_card card = gn_model_card_of(network, t->input.data, t->run.method->name);
    if (t->input.frozen) {
        memcpy(card.scale, t->input.scale, sizeof card.scale);
        memcpy(card.shift, t->input.shift, sizeof card.shift);
    }
    return gn_model_file_save(t->run.ctx, path, network, &card);
}

/* The kept weights go into the network for the time of writing. */
gerne_status gn_save_best(gn_trainer *t)
{
    const char *path;
    GN_TRY(gn_path_of(t, "best.safetensors", &path));
    gn_snapshot_swap(&t->now.best, t->now.networks[0]);
    gerne_status status = gn_save_model(t, path);
    gn_snapshot_swap(&t->now.best, t->now.networks[0]);
    t->record.best_changed = status != GERNE_OK;
    return status;
}
