/* stage.c - a stage of a run: networks, budget, and the loop over steps. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "nn/network_weights.h"
#include "train/trainer.h"

enum { SECONDS_BETWEEN_SAVES = 10, LOSS_MAX = 10000 };

/* ---- entering ---- */

/* The last stage has the run's own seed, so that methods with one stage and with two start their
 * predicting network alike; every other network and stage has numbers of its own. */
static uint64_t seed_of(const gn_trainer *t, int network)
{
    uint64_t place =
        (uint64_t)(t->stage_count - 1 - t->run.stage_index) * GN_NETWORKS_MAX + (uint64_t)network;
    return (uint64_t)t->config->top.seed + place * 0x9E3779B97F4A7C15U;
}

/* Steps of a stage whose epochs have so many. */
static int64_t budget(const gn_trainer *t, const gn_stage *stage, double epoch_steps)
{
    const gn_train_options *train = &t->config->train;
    double steps = train->steps ? (double)train->steps : train->epochs * epoch_steps;
    if (stage->share > 0)
        steps *= stage->share;
    else if (stage->epochs > 0)
        steps = stage->epochs * epoch_steps;
    return steps > 1 ? (int64_t)ceil(steps - 1e-9) : 1;
}

static void set_budget(gn_trainer *t)
{
    size_t drawn =
        t->run.method->plain_batches ? t->run.batch : (size_t)t->run.classes * t->run.per_class;
    t->epoch_steps = (double)t->run.epoch_samples / (double)drawn;
    t->run.steps = budget(t, t->run.stage, t->epoch_steps);
}

/* Samples that run at once: a whole batch where its samples meet, else what fits the cache. */
static int64_t pass_size(const gn_trainer *t)
{
    if (t->run.whole)
        return (int64_t)t->run.pass_samples;
    if (t->config->train.micro_batch)
        return t->config->train.micro_batch;
    const gn_architecture *architecture = NULL;
    const char *name = t->frozen ? gn_linear_architecture.name : t->model.arch;
    if (gn_architecture_find(NULL, name, &architecture) != GERNE_OK)
        architecture = &gn_linear_architecture;
    int64_t most = gn_training_batch(architecture);
    return (int64_t)t->run.pass_samples < most ? (int64_t)t->run.pass_samples : most;
}

static gerne_status make_whole_network(gn_trainer *t, int i)
{
    gerne_ctx *ctx = t->run.ctx;
    const gn_model_options *model = &t->model;
    GN_TRY(gn_network_new(ctx, t->device, model, gn_dataset_shape(t->data), (int64_t)t->run.classes,
                          pass_size(t), &t->networks[i]));
    GN_TRY(gn_network_initialize(ctx, t->networks[i], seed_of(t, i)));
    return model->weights ? gn_network_load(ctx, t->networks[i], model->weights, NULL) : GERNE_OK;
}

static gerne_status make_network(gn_trainer *t, int i)
{
    gerne_ctx *ctx = t->run.ctx;
    if (t->frozen)
        GN_TRY(gn_frozen_new_head(ctx, t->frozen, seed_of(t, i), pass_size(t), &t->networks[i]));
    else
        GN_TRY(make_whole_network(t, i));
    return gn_optimizer_new(ctx, &t->optimizer_options, gn_network_trained(t->networks[i]),
                            &t->optimizers[i]);
}

static gerne_status make_average(gn_trainer *t)
{
    if (t->config->train.average == GN_AVERAGE_NONE)
        return GERNE_OK;
    return gn_alloc(t->run.ctx, gn_store_block(gn_network_store(t->networks[0])).size,
                    sizeof(float), "the mean weights", &t->average);
}

gerne_status gn_stage_enter(gn_trainer *t)
{
    gn_run *run = &t->run;
    gn_arena_reset(t->stage_arena);
    run->stage_index = (int)t->at.stage;
    run->stage = &t->stages[run->stage_index];
    run->seed = seed_of(t, 0);
    run->whole = run->coupled;
    run->pass_samples = run->batch;
    run->epoch_samples = run->n;
    run->c = 1;
    run->beta = (double)NAN;
    run->pseudo = t->at.pseudo;
    GN_TRY(
        gn_run_alloc(run, 1, run->method->state_size ? run->method->state_size : 1, &run->state));
    if (run->method->start)
        GN_TRY(run->method->start(run));
    t->at.pseudo = run->pseudo;
    set_budget(t);
    t->optimizer_options = t->config->train.optimizer;
    t->optimizer_options.lr *= run->stage->lr_factor;
    t->optimizer_options.weight_decay *= run->stage->decay_factor;
    for (int i = 0; i < run->stage->networks; i++)
        GN_TRY(make_network(t, i));
    GN_TRY(gn_snapshot_new(t, &t->best));
    if (t->config->train.log_test)
        GN_TRY(gn_snapshot_new(t, &t->oracle));
    GN_TRY(make_average(t));
    const gn_inference_options inference = {.threads = gn_device_threads(t->device)};
    GN_TRY(gn_inference_new(run->ctx, t->networks[0], t->data, &inference, &t->inference));
    GN_TRY(gn_feed_new(run, t->data, t->samples[GN_TRAIN].items, gn_device_threads(t->device),
                       &t->feed));
    return gn_restore_stage(t);
}

void gn_stage_leave(gn_trainer *t)
{
    gn_feed_close(t->feed);
    gn_inference_close(t->inference);
    t->feed = NULL;
    t->inference = NULL;
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        gn_optimizer_close(t->optimizers[i]);
        gn_network_close(t->networks[i]);
        t->optimizers[i] = NULL;
        t->networks[i] = NULL;
    }
    for (size_t i = 0; i < t->sampler_count; i++)
        gerne_sampler_close(t->samplers[i]);
    for (size_t i = 0; i < t->group_count; i++)
        gerne_groups_close(t->other_groups[i]);
    t->sampler_count = t->group_count = 0;
    gn_snapshot_free(&t->best);
    gn_snapshot_free(&t->oracle);
    gn_free(t->average);
    t->average = NULL;
}

/* ---- the loop ---- */

static gerne_status watch(gn_trainer *t)
{
    if (isfinite(t->step_loss) && fabs(t->step_loss) < LOSS_MAX)
        return GERNE_OK;
    gn_run *run = &t->run;
    gn_text reason = {0}, remedy = {0};
    if (run->method->explain && run->method->explain(run, &reason, &remedy) != GERNE_OK) {
        gn_text_clear(&reason);
        gn_text_clear(&remedy);
    }
    gerne_status status =
        gn_fail(run->ctx, GERNE_EDIVERGED, "diverged at step %lld: the loss is %g%s",
                (long long)t->at.step + 1, t->step_loss, reason.bytes ? reason.bytes : "");
    gn_hint(run->ctx, "lower train.lr%s, or set train.clip; the run so far is in '%s'",
            remedy.bytes ? remedy.bytes : "", t->dir);
    gn_text_free(&reason);
    gn_text_free(&remedy);
    return status;
}

void gn_update_average(gn_trainer *t)
{
    const gn_train_options *train = &t->config->train;
    if (!t->average)
        return;
    gn_block block = gn_store_block(gn_network_store(t->networks[0]));
    double keep = 0;
    if (train->average == GN_AVERAGE_EMA) {
        /* The start is forgotten faster, so that the first means are not those of nothing. */
        double warm = (double)(t->at.averaged + 1) / (double)(t->at.averaged + 10);
        keep = t->at.averaged ? fmin(train->average_decay, warm) : 0;
        t->at.averaged++;
    } else if ((double)t->at.step + 1 > train->average_from * (double)t->run.steps) {
        keep = (double)t->at.averaged / (double)(t->at.averaged + 1);
        t->at.averaged++;
    }
    float old = (float)keep, new = (float)(1 - keep);
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < block.size; i++)
        t->average[i] = old * t->average[i] + new *block.values[i];
}

/* "best val WGA 53.0 %", or nothing before the first evaluation. */
static void best_words(const gn_trainer *t, char *words, size_t size)
{
    static const char *const names[] = {"GBA",          "WGA",      "worst class",
                                        "balanced acc", "mean acc", "minority acc"};
    bool own = t->run.stage->keep == GN_KEEP_BALANCED_ACC;
    bool on_test = t->config->select.split == GN_SELECT_TEST && !own;
    int metric = own ? GN_METRIC_BALANCED_ACC : t->config->select.metric;
    if (t->at.best.step)
        snprintf(words, size, ", best %s %s %.1f %%", on_test ? "test" : "val", names[metric],
                 100 * t->at.best.value);
}

/* Counts the steps of all stages; those of other stages are what the configuration says. */
static gerne_status report_progress(gn_trainer *t, double started, int64_t first)
{
    char detail[160], best[64] = "";
    double seconds = gn_seconds() - started;
    double rate = seconds > 0 ? (double)(t->at.step - first) / seconds : 0;
    int64_t before = 0, after = 0;
    for (int i = 0; i < t->stage_count; i++)
        *(i < t->run.stage_index ? &before : &after) +=
            i == t->run.stage_index ? 0 : budget(t, &t->stages[i], t->epoch_steps);
    best_words(t, best, sizeof best);
    snprintf(detail, sizeof detail, "%s%s%sloss %.4f%s, %.0f samples/s",
             t->stage_count > 1 ? "stage " : "", t->stage_count > 1 ? t->run.stage->name : "",
             t->stage_count > 1 ? ", " : "", t->step_loss, best,
             rate * (double)t->run.epoch_samples / t->epoch_steps);
    const gerne_progress progress = {.what = "train",
                                     .done = (uint64_t)(before + t->at.step),
                                     .total = (uint64_t)(before + t->run.steps + after),
                                     .detail = detail};
    return gn_progress(t->run.ctx, &progress);
}

static bool save_due(const gn_trainer *t, bool evaluated)
{
    int64_t every = t->config->train.checkpoint_every;
    return (every && t->at.step % every == 0) ||
           (evaluated && gn_seconds() - t->saved_at > SECONDS_BETWEEN_SAVES);
}

gerne_status gn_stage_run(gn_trainer *t)
{
    double started = gn_seconds();
    int64_t first = t->at.step;
    while (t->at.step < t->run.steps) {
        gn_minibatch *batches;
        GN_TRY(gn_feed_next(t->feed, t->at.step, &batches));
        t->step_loss = (double)NAN;
        t->run.diagnose = t->config->train.log_gradients && gn_evaluation_due(t, t->at.step + 1);
        double before = gn_seconds();
        GN_TRY(t->run.method->step(&t->run, t->at.step, batches));
        t->in_steps += gn_seconds() - before;
        GN_TRY(watch(t));
        gn_update_average(t);
        t->at.step++;
        t->stepped = true;
        bool evaluated = gn_evaluation_due(t, t->at.step);
        if (evaluated)
            GN_TRY(gn_evaluate_step(t));
        if (save_due(t, evaluated))
            GN_TRY(gn_save(t));
        gerne_status status = report_progress(t, started, first);
        if (status == GERNE_EINTERRUPTED) {
            GN_TRY(gn_save(t));
            gn_fail(t->run.ctx, status, "interrupted after step %lld of %lld; the run is saved",
                    (long long)t->at.step, (long long)t->run.steps);
            gn_hint(t->run.ctx, "gerne train --resume '%s' goes on", t->dir);
        }
        GN_TRY(status);
    }
    return GERNE_OK;
}
