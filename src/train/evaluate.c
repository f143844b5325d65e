/* evaluate.c - how good the network is now, and whether it is the best so far. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "train/trainer.h"

/* The cells of the samples that are judged. */
static const int32_t *values_of(const gn_trainer *t, const gn_cell_values *cells)
{
    const gn_judged_part *part = &t->now.judged;
    if (!part->places)
        return cells->values;
    for (size_t i = 0; i < part->samples.count; i++)
        part->cell_values[i] = cells->values[part->places[i]];
    return part->cell_values;
}

static gerne_status judge_cells(gn_trainer *t, const gn_predictions *predictions,
                                gn_metrics *metrics)
{
    gn_cell_metrics *const figures[GN_CELLS_KINDS] = {&metrics->inferred, &metrics->bias};
    for (int kind = 0; kind < GN_CELLS_KINDS; kind++) {
        const gn_cell_values *cells = &t->input.val_cells[kind];
        if (cells->values)
            GN_TRY(gn_metrics_judge_cells(t->run.ctx, predictions, values_of(t, cells),
                                          (int32_t)cells->count, figures[kind]));
    }
    return GERNE_OK;
}

gerne_status gn_evaluate(gn_trainer *t, gn_split split, gn_predictions *predictions,
                         gn_metrics *metrics)
{
    gn_predictions_clear(predictions);
    bool part = split == GN_VAL && t->now.judged.places;
    const gn_sample_list *list = part ? &t->now.judged.samples : &t->input.samples[split];
    double before = gn_seconds();
    GN_TRY(gn_inference_predict(t->now.inference, NULL, list->items, list->count, predictions));
    t->record.in_inference += gn_seconds() - before;
    GN_TRY(gn_metrics_compute(t->run.ctx, predictions,
                              t->input.data->attributes ? t->input.train_counts : NULL, metrics));
    return split == GN_VAL ? judge_cells(t, predictions, metrics) : GERNE_OK;
}

gerne_status gn_run_judge(gn_run *run, const float *logits, double *value)
{
    gn_trainer *t = (gn_trainer *)run;
    const gn_judged_part *part = &t->now.judged;
    const gn_dataset *data = t->input.data;
    const gn_sample_list *all = &t->input.samples[GN_VAL];
    size_t count = part->places ? part->samples.count : all->count;
    GN_LOCAL(gn_predictions) p = {0};
    GN_LOCAL(gn_metrics) m = {0};
    gn_predictions_init(&p, (int32_t)run->classes,
                        (int32_t)(data->attributes ? data->attributes : 1), false);
    for (size_t i = 0; i < count; i++) {
        size_t place = part->places ? part->places[i] : i;
        uint32_t sample = all->items[place];
        const int32_t a = data->attributes ? data->a[sample] : 0;
        GN_TRY(gn_predictions_add_logits(run->ctx, &p, logits + place * run->classes,
                                         &data->y[sample], &a, 1));
    }
    GN_TRY(gn_metrics_compute(run->ctx, &p, data->attributes ? t->input.train_counts : NULL, &m));
    GN_TRY(judge_cells(t, &p, &m));
    *value = gn_metrics_value(&m, (gn_metric)t->config->select.metric);
    return GERNE_OK;
}

/* The e-th evaluation follows step ceil(e N / (K B)); the last step is always judged. */
bool gn_evaluation_due(const gn_trainer *t, int64_t step)
{
    if (t->run.stage->keep == GN_KEEP_LAST)
        return false;
    if (step == t->run.steps)
        return true;
    if (t->config->train.eval_every)
        return step % t->config->train.eval_every == 0;
    double e = floor((double)step / t->now.epoch_steps + 1e-9);
    return e >= 1 && (int64_t)ceil(e * t->now.epoch_steps - 1e-9) == step;
}

/* Evaluations up to a step, apart from the one that only the end of the stage makes. */
static int64_t evaluations_until(const gn_trainer *t, int64_t step)
{
    if (t->config->train.eval_every)
        return step / t->config->train.eval_every;
    return (int64_t)floor((double)step / t->now.epoch_steps + 1e-9);
}

/* From steps alone, so that a resumed run stops where it would have stopped. */
bool gn_out_of_patience(const gn_trainer *t)
{
    int64_t patience = t->config->train.patience, best = t->at.best.step;
    if (!patience || !best || t->run.stage_index != t->stage_count - 1)
        return false;
    return evaluations_until(t, t->at.step) - evaluations_until(t, best) >= patience;
}

/* ---- the log ---- */

enum { LOGGED_GROUPS_MAX = 256 }; /* more would make the log larger than the model */

/* Accuracies by group id with five digits, which are enough for a curve. */
static json_t *group_accuracies(const gn_metrics *m)
{
    json_t *list = json_array();
    size_t count = (size_t)m->classes * (size_t)m->attributes;
    for (size_t g = 0; g < count; g++)
        json_array_append_new(list, gn_json_number(round(1e5 * m->groups[g].acc) / 1e5));
    return list;
}

static json_t *brief(const gn_metrics *m)
{
    json_t *object =
        json_pack("{s:o,s:o,s:o,s:o,s:o}", "gba", gn_json_number(m->gba), "wga",
                  gn_json_number(m->wga), "acc_avg", gn_json_number(m->acc_avg), "balanced_acc",
                  gn_json_number(m->balanced_acc), "minority_acc", gn_json_number(m->minority_acc));
    if (object)
        gn_metrics_add_cells(m, object);
    if (object && (int64_t)m->classes * m->attributes <= LOGGED_GROUPS_MAX)
        json_object_set_new(object, "groups", group_accuracies(m));
    return object;
}

static gerne_status log_scalars(gn_trainer *t, const char *split, const gn_metrics *m)
{
    const struct {
        const char *name;
        double value;
    } list[] = {{"gba", m->gba}, {"wga", m->wga}, {"acc_avg", m->acc_avg}};
    char tag[64];
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        snprintf(tag, sizeof tag, "%s/%s/%s", t->run.stage->name, split, list[i].name);
        GN_TRY(gn_events_scalar(t->record.events, tag, (uint64_t)t->at.step, list[i].value));
    }
    return GERNE_OK;
}

/* The method may know a mean loss that forebodes ill; said once. */
static gerne_status watch(gn_trainer *t, double mean)
{
    const gn_method *method = t->run.stage->owner;
    GN_LOCAL(gn_text) warning = {0};
    if (t->at.warned || !method->watch)
        return GERNE_OK;
    GN_TRY(method->watch(&t->run, mean, &warning));
    if (warning.size) {
        t->at.warned = true;
        gn_warn(t->run.ctx, "up to step %lld %s", (long long)t->at.step, warning.bytes);
    }
    return GERNE_OK;
}

/* The means since the last evaluation, which are then forgotten. */
static gerne_status log_figures(gn_trainer *t, json_t *event)
{
    json_t *train = json_object();
    gerne_status status = GERNE_OK;
    char tag[64];
    for (int i = 0; i < GN_FIGURES_MAX && status == GERNE_OK; i++) {
        gn_figure *f = &t->at.figures[i];
        if (!f->count)
            continue;
        double mean = f->sum / (double)f->count;
        if (strcmp(f->name, "loss") == 0)
            status = watch(t, mean);
        json_object_set_new(train, f->name, gn_json_number(mean));
        snprintf(tag, sizeof tag, "%s/train/%s", t->run.stage->name, f->name);
        if (status == GERNE_OK)
            status = gn_events_scalar(t->record.events, tag, (uint64_t)t->at.step, mean);
    }
    memset(t->at.figures, 0, sizeof t->at.figures);
    json_object_set_new(event, "train", train);
    return status;
}

/* ---- choosing ---- */

/* The test split has no other cells than its groups: an oracle goes by these. */
static gn_metric metric_of(const gn_trainer *t, gn_split split)
{
    gn_metric metric = (gn_metric)t->config->select.metric;
    if (split != GN_TEST)
        return metric;
    if (metric == GN_METRIC_INFERRED_WGA || metric == GN_METRIC_BIAS_WGA)
        return GN_METRIC_WGA;
    if (metric == GN_METRIC_INFERRED_GBA || metric == GN_METRIC_BIAS_GBA)
        return GN_METRIC_GBA;
    return metric;
}

static double judged(const gn_trainer *t, gn_split split, const gn_metrics *m)
{
    if (t->run.stage->keep == GN_KEEP_BALANCED_ACC)
        return m->balanced_acc;
    return gn_metrics_value(m, metric_of(t, split));
}

static gerne_status choose(gn_trainer *t, gn_split split, const gn_metrics *m,
                           gn_choice_made *choice, const gn_snapshot *snapshot, bool *better)
{
    double value = judged(t, split, m);
    if (isnan(value)) {
        char word[32];
        gn_fail(t->run.ctx, GERNE_EUSAGE, "select.metric: '%s' is undefined for this data",
                gn_choice_word(GN_METRIC_CHOICES, t->config->select.metric, word, sizeof word));
        gn_hint(t->run.ctx,
                "minority_acc needs groups below 1/A of their class in training; use gba or wga");
        return GERNE_EUSAGE;
    }
    *better = choice->step == 0 || value > choice->value;
    if (*better) {
        *choice = (gn_choice_made){.step = t->at.step, .value = value};
        gn_snapshot_take(snapshot, t->now.networks[0]);
    }
    return GERNE_OK;
}

/* What the method may know of an evaluation on validation. */
static gerne_status tell_method(gn_trainer *t, const gn_metrics *m)
{
    const gn_method *owner = t->run.stage->owner;
    size_t count = (size_t)m->classes * (size_t)m->attributes;
    GN_FREED double *accuracies = NULL;
    if (!owner->evaluated)
        return GERNE_OK;
    bool known = t->run.known && t->input.data->attributes;
    GN_TRY(gn_alloc(t->run.ctx, count, sizeof *accuracies, "accuracies", &accuracies));
    for (size_t g = 0; g < count; g++)
        accuracies[g] = m->groups[g].acc;
    const gn_validated validated = {.accuracies = known ? accuracies : NULL,
                                    .attributes = (uint32_t)m->attributes,
                                    .step = t->at.step};
    return owner->evaluated(&t->run, &validated);
}

/* One split: evaluated, logged, and weighed when it is the one that chooses. */
static gerne_status judge_split(gn_trainer *t, gn_split split, json_t *event)
{
    bool stage_wants_val = t->run.stage->keep == GN_KEEP_BALANCED_ACC;
    bool on_test = t->config->select.split == GN_SELECT_TEST && !stage_wants_val;
    bool chooses = (split == GN_TEST) == on_test;
    bool oracle = split == GN_TEST && t->config->train.log_test && !stage_wants_val;
    if (t->input.samples[split].count == 0 || (split == GN_TEST && !chooses && !oracle))
        return GERNE_OK;
    GN_LOCAL(gn_predictions) p = {0};
    GN_LOCAL(gn_metrics) m = {0};
    bool better = false, ignored;
    gn_predictions_init(&p, (int32_t)t->run.classes,
                        (int32_t)(t->input.data->attributes ? t->input.data->attributes : 1),
                        false);
    GN_TRY(gn_evaluate(t, split, &p, &m));
    if (chooses)
        GN_TRY(choose(t, split, &m, &t->at.best, &t->now.best, &better));
    t->record.best_changed = t->record.best_changed || better;
    for (int i = 1; better && i < t->run.stage->networks; i++)
        if (t->now.best_others[i].values)
            gn_snapshot_take(&t->now.best_others[i], t->now.networks[i]);
    if (oracle)
        GN_TRY(choose(t, split, &m, &t->at.oracle, &t->now.oracle, &ignored));
    json_object_set_new(event, gn_split_name(split), brief(&m));
    GN_TRY(log_scalars(t, gn_split_name(split), &m));
    if (better)
        json_object_set_new(event, "best", json_true());
    return split == GN_VAL ? tell_method(t, &m) : GERNE_OK;
}

gerne_status gn_evaluate_step(gn_trainer *t)
{
    double lr =
        t->run.lr_scale * gn_learning_rate(&t->now.optimizer_options, t->at.step - 1, t->run.steps);
    json_t *event = json_pack(
        "{s:s,s:I,s:o,s:o}", "stage", t->run.stage->name, "step", (json_int_t)t->at.step, "epoch",
        gn_json_number((double)t->at.step / t->now.epoch_steps), "lr", gn_json_number(lr));
    gn_kept_head kept;
    gn_swap_average(t);
    gerne_status status = gn_refit_begin(t, &kept);
    if (status == GERNE_OK)
        status = log_figures(t, event);
    if (status == GERNE_OK)
        status = judge_split(t, GN_VAL, event);
    if (status == GERNE_OK)
        status = judge_split(t, GN_TEST, event);
    gn_refit_end(t, &kept, &status);
    gn_swap_average(t);
    if (status != GERNE_OK) {
        json_decref(event);
        return status;
    }
    GN_TRY(gn_runlog_event(t->record.log, "evaluation", event));
    return gn_events_flush(t->record.events);
}

void gn_load_kept(gn_trainer *t)
{
    if (t->run.stage->keep == GN_KEEP_LAST) {
        gn_swap_average(t);
        return;
    }
    gn_snapshot_put(&t->now.best, t->now.networks[0]);
    for (int i = 1; i < t->run.stage->networks; i++)
        if (t->now.best_others[i].values)
            gn_snapshot_put(&t->now.best_others[i], t->now.networks[i]);
}
