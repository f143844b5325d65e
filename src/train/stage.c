/* stage.c - a stage of a run: networks, budget, and the loop over steps. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "nn/decay.h"
#include "nn/network_weights.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

enum { SECONDS_BETWEEN_SAVES = 10, LOSS_MAX = 10000 };

/* ---- entering ---- */

/* The last stage has the run's own seed, so that methods with one stage and with two start their
 * predicting network alike; every other network and stage has numbers of its own. */
static uint64_t seed_of(const gn_trainer *t, int network)
{
    enum { PAIR = 2, THIRD = 1 << 16 }; /* numbers of third networks lie apart */
    uint64_t before = (uint64_t)(t->stage_count - 1 - t->run.stage_index);
    uint64_t place = before * PAIR + (uint64_t)network;
    if (network >= PAIR)
        place = THIRD * (uint64_t)network + before;
    return (uint64_t)t->config->top.seed + place * 0x9E3779B97F4A7C15U;
}

/* Steps of a stage whose epochs have so many. */
static int64_t budget(const gn_trainer *t, const gn_stage *stage, double epoch_steps)
{
    const gn_train_options *train = &t->config->train;
    if (stage->steps > 0)
        return stage->steps;
    double steps = train->steps ? (double)train->steps : train->epochs * epoch_steps;
    if (stage->share > 0)
        steps *= stage->share;
    else if (stage->epochs > 0)
        steps = stage->epochs * epoch_steps;
    return steps > 1 ? (int64_t)ceil(steps - 1e-9) : 1;
}

static void set_budget(gn_trainer *t)
{
    size_t drawn = t->run.stage->owner->plain_batches ? t->run.batch
                                                      : (size_t)t->run.classes * t->run.per_class;
    t->now.epoch_steps = (double)t->run.epoch_samples / (double)drawn;
    t->run.steps = budget(t, t->run.stage, t->now.epoch_steps);
}

enum { AT_ONCE_MAX = 8192 }; /* samples of a small network: what memory gives without a thought */

/* Samples that run at once: a whole batch where its samples meet, else what fits the cache. */
static int64_t pass_size(const gn_trainer *t)
{
    /* The share of a rank; the largest, so that all ranks lay out their weights alike. */
    const gn_ranks *ranks = gn_ranks_of(t->run.ctx);
    int64_t share = (int64_t)gn_ranks_share(ranks, 0, t->run.pass_samples, 1).end;
    if (t->run.whole)
        return share;
    if (t->config->train.micro_batch)
        return t->config->train.micro_batch;
    const gn_architecture *architecture = &gn_linear_architecture;
    if (t->input.frozen)
        architecture = gn_frozen_architecture(t->input.frozen);
    else if (gn_architecture_find(NULL, t->model.arch, &architecture) != GERNE_OK)
        architecture = &gn_linear_architecture;
    const gn_sample_shape shape = gn_dataset_shape(t->input.data);
    int64_t most = gn_training_batch(architecture, &shape);
    if (t->run.looks_first && gn_architecture_is_small(architecture))
        most = AT_ONCE_MAX;
    if (!ranks || share <= most)
        return share < most ? share : most;
    int64_t parts = (share + most - 1) / most; /* of one size: ranks wait for the slowest */
    return (share + parts - 1) / parts;
}

/* A rank without samples would have nothing to do, and batch normalisation counts all alike. */
static gerne_status check_shares(const gn_trainer *t)
{
    size_t ranks = (size_t)gn_ranks_size(gn_ranks_of(t->run.ctx)), n = t->run.pass_samples;
    const gn_run *run = &t->run;
    if (n < ranks)
        return gn_fail(run->ctx, GERNE_EUSAGE, "%zu ranks share batches of %zu samples", ranks, n);
    if (!run->coupled || n % ranks == 0)
        return GERNE_OK;
    gn_fail(
        run->ctx, GERNE_EUSAGE,
        "a batch of %zu samples cannot be divided evenly over %zu ranks, as batch normalisation "
        "in training requires",
        n, ranks);
    gn_hint(run->ctx, "change --train.batch, --train.per_group or the number of ranks, or use "
                      "--model.bn frozen");
    return GERNE_EUSAGE;
}

static gerne_status make_whole_network(gn_trainer *t, int i)
{
    gerne_ctx *ctx = t->run.ctx;
    const gn_stage *stage = t->run.stage;
    gn_model_options model = stage->models[i].arch ? stage->models[i] : t->model;
    if (stage->head_only)
        model.freeze = "body";
    gn_sample_shape shape = gn_dataset_shape(t->input.data);
    if (stage->on_features[i])
        shape = gn_features_shape(gn_network_feature_count(t->now.networks[0]));
    GN_TRY(gn_network_new(ctx, t->device, &model, shape, (int64_t)t->run.classes, pass_size(t),
                          &t->now.networks[i]));
    if (stage->on_features[i])
        gn_network_want_feature_gradient(t->now.networks[i]);
    if (t->run.whole)
        gn_network_keep_whole(t->now.networks[i]);
    gn_match match;
    return gn_network_start(ctx, t->now.networks[i], model.weights, seed_of(t, i), &match);
}

static gerne_status inherit(gn_trainer *t, int i)
{
    gn_start start = i ? t->run.stage->others[i] : t->run.stage->start;
    if (start == GN_START_CONFIGURED || t->resume)
        return GERNE_OK; /* a checkpoint brings all weights */
    const gn_plain_weights *from = &t->inherited[start == GN_START_PREVIOUS_PREDICTOR ? 0 : i];
    gn_weights_part part = start == GN_START_PREVIOUS_BODY   ? GN_WEIGHTS_BODY
                           : start == GN_START_PREVIOUS_HEAD ? GN_WEIGHTS_HEAD
                                                             : GN_WEIGHTS_ALL;
    return gn_plain_weights_put(t->run.ctx, from, t->now.networks[i], part);
}

gerne_status gn_stage_bequeath(gn_trainer *t)
{
    for (int i = 0; i < t->run.stage->networks; i++)
        GN_TRY(gn_plain_weights_take(t->run.ctx, t->now.networks[i], &t->inherited[i]));
    return GERNE_OK;
}

/* What the choice of a checkpoint keeps: network 0, and the others where a stage follows. */
static gerne_status make_snapshots(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    bool last = t->run.stage_index == t->stage_count - 1;
    GN_TRY(gn_snapshot_new(ctx, t->now.networks[0], &t->now.best));
    for (int i = 1; i < t->run.stage->networks && !last; i++)
        GN_TRY(gn_snapshot_new(ctx, t->now.networks[i], &t->now.best_others[i]));
    return t->config->train.log_test ? gn_snapshot_new(ctx, t->now.networks[0], &t->now.oracle)
                                     : GERNE_OK;
}

static gerne_status make_network(gn_trainer *t, int i)
{
    gerne_ctx *ctx = t->run.ctx;
    if (t->input.frozen)
        GN_TRY(gn_frozen_new_network(ctx, t->input.frozen, t->run.stage->head_only, seed_of(t, i),
                                     pass_size(t), &t->now.networks[i]));
    else
        GN_TRY(make_whole_network(t, i));
    return gn_network_optimizer(ctx, &t->now.optimizer_options, t->now.networks[i],
                                &t->now.optimizers[i]);
}

static gerne_status make_average(gn_trainer *t)
{
    if (t->config->train.average == GN_AVERAGE_NONE)
        return GERNE_OK;
    return gn_alloc(t->run.ctx, gn_store_block(gn_network_store(t->now.networks[0])).size,
                    sizeof(float), "the mean weights", &t->now.average);
}

/* Whose samples the stage trains on. */
static gerne_status choose_samples(gn_trainer *t)
{
    gn_run *run = &t->run;
    bool val = run->stage->on_validation;
    gn_labelled labelled = gn_run_labelled(run, val ? GN_SET_VALIDATION : GN_SET_TRAIN);
    if (val && !t->input.val_groups)
        GN_TRY(gerne_groups_from_labels(run->ctx, labelled.y, labelled.a, labelled.n, run->classes,
                                        labelled.attributes, &t->input.val_groups));
    run->n = labelled.n;
    run->y = labelled.y;
    run->a = labelled.a;
    run->groups = val ? t->input.val_groups : t->input.groups;
    run->attributes = labelled.attributes;
    return GERNE_OK;
}

/* The groups of the estimator, from what its stages have left. */
static gerne_status find_groups(gn_trainer *t)
{
    gn_run *run = &t->run;
    if (!run->estimator || run->stage->owner == run->estimator)
        return GERNE_OK;
    run->options = t->config->estimator_options;
    run->pseudo = (gn_pseudo_report){
        .t = (double)NAN, .expected_precision = (double)NAN, .flipped = (double)NAN};
    return run->estimator->groups(run);
}

bool gn_passes_are_fixed(const gn_trainer *t, gn_augment augment)
{
    return !t->drops &&
           (augment == GN_AUGMENT_NONE || (t->on_features && gn_model_views(&t->model) == 1));
}

static gerne_status start_owner(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_method *owner = run->stage->owner;
    GN_TRY(find_groups(t));
    GN_TRY(choose_samples(t));
    run->options = owner == run->method ? t->config->method_options : t->config->estimator_options;
    run->coupled = t->couples && !run->stage->head_only;
    run->concatenate = run->coupled && t->model.bn == GN_BN_CONCAT;
    run->fixed = gn_passes_are_fixed(t, run->stage->augment);
    run->whole = run->coupled;
    run->looks_first = false;
    run->pass_samples = run->batch;
    run->epoch_samples = run->n;
    run->shuffled = NULL;
    run->c = 1;
    run->beta = (double)NAN;
    run->lr_scale = 1;
    run->weight_decay = t->config->train.optimizer.weight_decay * run->stage->decay_factor;
    GN_TRY(gn_run_alloc(run, 1, owner->state_size ? owner->state_size : 1, &run->state));
    return owner->start ? owner->start(run) : GERNE_OK;
}

gerne_status gn_stage_enter(gn_trainer *t)
{
    gn_run *run = &t->run;
    gn_arena_reset(t->stage_arena);
    run->stage_index = (int)t->at.stage;
    run->stage = &t->stages[run->stage_index];
    run->seed = seed_of(t, 0);
    run->pseudo = t->at.pseudo;
    GN_TRY(start_owner(t));
    GN_TRY(gn_enter_repair(t));
    t->at.pseudo = run->pseudo;
    set_budget(t);
    GN_TRY(check_shares(t));
    t->now.optimizer_options = t->config->train.optimizer;
    t->now.optimizer_options.lr *= run->stage->lr_factor;
    if (run->stage->lr > 0)
        t->now.optimizer_options.lr = run->stage->lr;
    t->now.optimizer_options.weight_decay *= run->stage->decay_factor;
    for (int i = 0; i < run->stage->networks; i++)
        GN_TRY(make_network(t, i));
    for (int i = 0; i < run->stage->networks; i++)
        GN_TRY(inherit(t, i));
    GN_TRY(make_snapshots(t));
    GN_TRY(make_average(t));
    const gn_inference_options inference = {.threads = gn_device_threads(t->device)};
    GN_TRY(gn_inference_new(run->ctx, t->now.networks[0], t->input.data, &inference,
                            &t->now.inference));
    gn_split split = run->stage->on_validation ? GN_VAL : GN_TRAIN;
    GN_TRY(gn_feed_new(run, t->input.data, t->input.samples[split].items,
                       gn_device_threads(t->device), &t->now.feed));
    return gn_restore_stage(t);
}

void gn_stage_leave(gn_trainer *t)
{
    gn_stage_parts *now = &t->now;
    gn_ranks_sum_abandon(t->run.ctx);
    gn_feed_close(now->feed);
    gn_inference_close(now->inference);
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        gn_split_parts *split = &now->split[i];
        gn_free(split->features.values);
        gn_free(split->logits.values);
        gn_free(split->logit_gradient.values);
        gn_free(split->feature_gradient.values);
        gn_optimizer_close(now->optimizers[i]);
        gn_network_close(now->networks[i]);
        gn_snapshot_free(&now->best_others[i]);
    }
    for (size_t i = 0; i < now->sampler_count; i++)
        gerne_sampler_close(now->samplers[i]);
    for (size_t i = 0; i < now->group_count; i++)
        gerne_groups_close(now->other_groups[i]);
    gn_snapshot_free(&now->best);
    gn_snapshot_free(&now->oracle);
    gn_free(now->average);
    *now = (gn_stage_parts){0};
}

/* ---- the loop ---- */

static gerne_status watch(gn_trainer *t)
{
    if (t->now.figures_full)
        return gn_fail(t->run.ctx, GERNE_EINTERNAL, "method '%s' logs more than %d figures",
                       t->run.method->name, GN_FIGURES_MAX);
    if (isfinite(t->now.step_loss) && fabs(t->now.step_loss) < LOSS_MAX)
        return GERNE_OK;
    gn_run *run = &t->run;
    gn_text reason = {0}, remedy = {0};
    const gn_method *owner = run->stage->owner;
    if (owner->explain && owner->explain(run, &reason, &remedy) != GERNE_OK) {
        gn_text_clear(&reason);
        gn_text_clear(&remedy);
    }
    gerne_status status =
        gn_fail(run->ctx, GERNE_EDIVERGED, "diverged at step %lld: the loss is %g%s",
                (long long)t->at.step + 1, t->now.step_loss, reason.bytes ? reason.bytes : "");
    gn_hint(run->ctx, "lower train.lr%s, or set train.clip%s%s%s", remedy.bytes ? remedy.bytes : "",
            t->stepped ? "; the run so far is in '" : "", t->stepped ? t->directory.path : "",
            t->stepped ? "'" : "");
    gn_text_free(&reason);
    gn_text_free(&remedy);
    gn_record_divergence(t);
    return status;
}

/* "best val WGA 53.0 %", or nothing before the first evaluation. */
static void best_words(const gn_trainer *t, char *words, size_t size)
{
    static const char *const names[] = {"GBA",      "WGA",          "worst class",  "balanced acc",
                                        "mean acc", "minority acc", "inferred WGA", "inferred GBA",
                                        "bias WGA", "bias GBA"};
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
            i == t->run.stage_index ? 0 : budget(t, &t->stages[i], t->now.epoch_steps);
    best_words(t, best, sizeof best);
    snprintf(detail, sizeof detail, "%s%s%sloss %.4f%s, %.0f samples/s",
             t->stage_count > 1 ? "stage " : "", t->stage_count > 1 ? t->run.stage->name : "",
             t->stage_count > 1 ? ", " : "", t->now.step_loss, best,
             rate * (double)t->run.epoch_samples / t->now.epoch_steps);
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
           (evaluated && gn_seconds() - t->record.saved_at > SECONDS_BETWEEN_SAVES);
}

gerne_status gn_stage_run(gn_trainer *t)
{
    double started = gn_seconds();
    int64_t first = t->at.step;
    while (t->at.step < t->run.steps && !gn_out_of_patience(t)) {
        gn_minibatch *batches;
        GN_TRY(gn_feed_next(t->now.feed, t->at.step, &batches));
        t->now.step_loss = (double)NAN;
        t->run.diagnose = t->config->train.log_gradients && gn_evaluation_due(t, t->at.step + 1);
        double before = gn_seconds();
        GN_TRY(t->run.stage->owner->step(&t->run, t->at.step, batches));
        GN_TRY(gn_ranks_sum_wait(t->run.ctx)); /* of a gradient that the step has not used */
        t->record.in_steps += gn_seconds() - before;
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
        bool interrupted;
        GN_TRY(gn_ranks_any(t->run.ctx, status == GERNE_EINTERRUPTED, &interrupted));
        if (interrupted) {
            status = GERNE_EINTERRUPTED;
            GN_TRY(gn_save(t));
            gn_fail(t->run.ctx, status, "interrupted after step %lld of %lld; the run is saved",
                    (long long)t->at.step, (long long)t->run.steps);
            gn_hint(t->run.ctx, "gerne train --resume '%s' resumes it", t->directory.path);
        }
        GN_TRY(status);
    }
    if (t->at.step < t->run.steps)
        gn_log(t->run.ctx, GERNE_LOG_INFO,
               "stopped after step %lld of %lld: nothing better since step %lld (train.patience)",
               (long long)t->at.step, (long long)t->run.steps, (long long)t->at.best.step);
    return GERNE_OK;
}
