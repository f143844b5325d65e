/* results.c - the end of a run: both checkpoints judged, predictions.csv, results.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "debias/describe.h"
#include "debias/groups.h"
#include "metrics/predictions_csv.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

/* The figures of one checkpoint. */
typedef struct judgement {
    gn_metrics val, test;
} judgement;

static void free_judgement(judgement *j)
{
    gn_metrics_free(&j->val);
    gn_metrics_free(&j->test);
}

/* test keeps the predictions of the test split. */
static gerne_status judge(gn_trainer *t, gn_predictions *test, judgement *out)
{
    GN_TRY(gn_evaluate(t, GN_VAL, test, &out->val));
    return gn_evaluate(t, GN_TEST, test, &out->test);
}

/* ---- predictions.csv ---- */

static gerne_status add_lines(gn_trainer *t, const gn_predictions *p, gn_text *out)
{
    const gn_dataset *data = t->input.data;
    const gn_sample_list *list = &t->input.samples[GN_TEST];
    char file[4096];
    bool files = gn_dataset_has_files(data);
    GN_TRY(gn_predictions_add_header(t->run.ctx, data->class_names, p->classes, files, out));
    for (size_t i = 0; i < p->count; i++) {
        const gn_prediction_line line = {
            .index = gn_dataset_row(data, list->items[i]),
            .y = data->class_names[p->y[i]],
            .a = data->attributes ? data->attribute_names[p->a[i]] : "",
            .split = gn_split_name(GN_TEST),
            .pred = data->class_names[p->pred[i]],
            .probabilities = p->probabilities + i * (size_t)p->classes,
            .file = files ? gn_dataset_file(data, list->items[i], file, sizeof file) : NULL,
        };
        GN_TRY(gn_predictions_add_line(t->run.ctx, &line, p->classes, out));
    }
    return GERNE_OK;
}

static gerne_status write_predictions(gn_trainer *t, const gn_predictions *p)
{
    GN_LOCAL(gn_text) text = {0};
    const char *path;
    if (!gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    GN_TRY(gn_path_of(t, "predictions.csv", &path));
    GN_TRY(add_lines(t, p, &text));
    return gn_file_write(t->run.ctx, path, text.bytes, text.size);
}

/* ---- results.json ---- */

static json_t *judgement_json(const judgement *j)
{
    return json_pack("{s:o,s:o}", "val", gn_metrics_json(&j->val), "test",
                     gn_metrics_json(&j->test));
}

static json_t *option_json(const gn_option *option, const void *target)
{
    const void *field = (const char *)target + option->offset;
    char word[64];
    switch (option->type) {
    case GN_BOOL:
        return json_boolean(*(const bool *)field);
    case GN_INT:
        return json_integer(*(const int64_t *)field);
    case GN_REAL:
        return gn_json_number(*(const double *)field);
    case GN_CHOICE:
        return json_string(gn_choice_word(option->choices, *(const int *)field, word, sizeof word));
    case GN_TEXT:
        return json_string(*(const char *const *)field ? *(const char *const *)field : "");
    default:
        return json_null();
    }
}

/* What auto stood for takes the place of the word. */
static void add_automatic(json_t *object, const char *name, double value)
{
    char key[64];
    snprintf(key, sizeof key, "%s_auto", name);
    json_object_set_new(object, name, gn_json_number(value));
    json_object_set_new(object, key, json_true());
}

static void add_options(json_t *object, const gn_method *m, const void *options, double automatic)
{
    for (size_t i = 0; m && i < m->option_count; i++) {
        const gn_option *option = &m->options[i];
        const void *field = (const char *)options + option->offset;
        if (option->flags & GN_AUTO && isnan(*(const double *)field))
            add_automatic(object, option->name, automatic);
        else if (!(option->flags & GN_NO_HASH))
            json_object_set_new(object, option->name, option_json(option, options));
    }
}

static json_t *method_options_json(const gn_trainer *t)
{
    const gn_run *run = &t->run;
    json_t *object = json_object();
    json_object_set_new(object, "attributes", json_string(run->known ? "known" : "unknown"));
    if (!run->known)
        json_object_set_new(object, "estimator",
                            json_string(run->estimator ? run->estimator->name : "none"));
    if (t->config->method_choice.plugin_sha256)
        json_object_set_new(object, "plugin_sha256",
                            json_string(t->config->method_choice.plugin_sha256));
    add_options(object, run->method, t->config->method_options, run->automatic_value);
    add_options(object, t->config->estimator, t->config->estimator_options, t->at.pseudo.t);
    return object;
}

static json_t *selection_json(const gn_trainer *t, const gn_choice_made *choice, bool test)
{
    char word[32];
    return json_pack("{s:s,s:s,s:b,s:o,s:I}", "metric",
                     gn_choice_word(GN_METRIC_CHOICES, t->config->select.metric, word, sizeof word),
                     "split", test ? "test" : "val", "oracle", test, "epoch",
                     gn_json_number((double)choice->step / t->now.epoch_steps), "step",
                     (json_int_t)choice->step);
}

static json_t *pseudo_json(const gn_pseudo_report *p, const gerne_groups *groups)
{
    if (!p->made)
        return json_null();
    json_t *json =
        json_pack("{s:o,s:I,s:o,s:o,s:o,s:o}", "t", gn_json_number(p->t), "n", (json_int_t)p->n,
                  "share", gn_json_number((double)p->n / (double)gerne_groups_total(groups)),
                  "precision", gn_json_number(p->precision), "recall", gn_json_number(p->recall),
                  "names", gn_json_names(groups->attribute_names, groups->attributes));
    if (json && !isnan(p->expected_precision))
        json_object_set_new(json, "expected_precision", gn_json_number(p->expected_precision));
    if (json && !isnan(p->flipped))
        json_object_set_new(json, "flipped", gn_json_number(p->flipped));
    return json;
}

static gerne_status make_json(gn_trainer *t, const judgement *best, const judgement *last,
                              const judgement *oracle, json_t **out)
{
    json_t *bounds;
    double beta = t->run.beta;
    GN_TRY(
        gn_bounds_json(t->run.ctx, t->run.groups, t->run.c, isnan(beta) ? NULL : &beta, &bounds));
    bool on_test = t->config->select.split == GN_SELECT_TEST;
    *out = json_pack(
        "{s:s,s:s,s:o,s:I,s:i,s:i,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "gerne", gerne_version(),
        "method", t->run.method->name, "method_options", method_options_json(t), "seed",
        (json_int_t)t->config->top.seed, "threads", gn_device_threads(t->device), "ranks",
        gn_ranks_size(gn_ranks_of(t->run.ctx)), "run_hash", t->run_hash, "data_fingerprint",
        t->input.fingerprint, "class_names",
        gn_json_names(t->input.data->class_names, t->input.data->classes), "attribute_names",
        gn_attribute_names_json(t->input.data->attribute_names, t->input.data->attributes),
        "selection", selection_json(t, &t->at.best, on_test), "bounds", bounds, "pseudo",
        pseudo_json(&t->at.pseudo, t->run.groups), "splits", judgement_json(best), "last",
        judgement_json(last));
    if (*out)
        json_object_set(*out, "warnings", t->record.warnings);
    if (*out && oracle)
        json_object_set_new(*out, "oracle",
                            json_pack("{s:o,s:o}", "selection",
                                      selection_json(t, &t->at.oracle, true), "splits",
                                      judgement_json(oracle)));
    return *out ? GERNE_OK : gn_fail(t->run.ctx, GERNE_ENOMEM, "no memory for the results");
}

static gerne_status write_json(gn_trainer *t, const json_t *json)
{
    const char *path;
    if (!gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    GN_TRY(gn_path_of(t, "results.json", &path));
    return gn_json_write(t->run.ctx, path, json);
}

/* ---- for people ---- */

/* A row of percentages; '-' where a split has no samples. */
static gerne_status print_row(gn_trainer *t, const char *name, const judgement *j, gn_text *out)
{
    const double values[] = {j->test.gba, j->test.wga, j->val.gba, j->val.wga};
    GN_TRY(gn_text_add(t->run.ctx, out, "  %-10s", name));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        GN_TRY(isnan(values[i]) ? gn_text_add(t->run.ctx, out, " %10s", "-")
                                : gn_text_add(t->run.ctx, out, " %9.2f%%", 100 * values[i]));
    return gn_text_add(t->run.ctx, out, "\n");
}

static gerne_status print_pseudo(gn_trainer *t, gn_text *out)
{
    const gn_pseudo_report *p = &t->at.pseudo;
    if (!p->made || isnan(p->precision))
        return GERNE_OK;
    GN_TRY(gn_text_add(t->run.ctx, out, "\npseudo-groups: %llu sample%s taken for the minority",
                       (unsigned long long)p->n, p->n == 1 ? "" : "s"));
    if (!isnan(p->t))
        GN_TRY(gn_text_add(t->run.ctx, out, " (t = %g)", p->t));
    return gn_text_add(t->run.ctx, out, ", precision %.3f, recall %.3f\n", p->precision, p->recall);
}

static gerne_status print_report(gn_trainer *t, const judgement *best, const judgement *last,
                                 gn_text *out)
{
    static const char *const all[] = {"all"};
    char metric[32];
    const gn_group_names names = {t->input.data->class_names,
                                  t->input.data->attributes ? t->input.data->attribute_names : all};
    bool oracle = t->config->select.split == GN_SELECT_TEST;
    bool tested = t->input.samples[GN_TEST].count > 0;
    GN_TRY(gn_text_add(
        t->run.ctx, out, "%s, %s split, checkpoint of step %lld (best %s on %s%s)\n\n",
        t->run.method->name, tested ? "test" : "validation", (long long)t->at.best.step,
        gn_choice_word(GN_METRIC_CHOICES, t->config->select.metric, metric, sizeof metric),
        oracle ? "test" : "validation",
        oracle ? ": ORACLE, selected on the split it is evaluated on" : ""));
    GN_TRY(gn_metrics_print(t->run.ctx, tested ? &best->test : &best->val, &names, out));
    GN_TRY(gn_text_add(t->run.ctx, out, "\n  %-10s %10s %10s %10s %10s\n", "", "test GBA",
                       "test WGA", "val GBA", "val WGA"));
    GN_TRY(print_row(t, "selected", best, out));
    GN_TRY(print_row(t, "last", last, out));
    if (!tested)
        GN_TRY(gn_text_add(t->run.ctx, out,
                           "\nThe data has no test split: the checkpoint was selected on these "
                           "samples, so the figures are optimistic.\n"));
    GN_TRY(print_pseudo(t, out));
    return gn_text_add(t->run.ctx, out, "\nwritten to %s\n", t->directory.path);
}

/* ---- all of it ---- */

typedef struct ending {
    judgement best, last, oracle;
    const judgement *of_last, *of_oracle; /* best where they are the same; of_oracle may be NULL */
    gn_predictions predictions;
} ending;

/* With the kept weights in the network's place. */
static gerne_status judge_kept(gn_trainer *t, const gn_snapshot *kept, ending *e, judgement *out)
{
    gn_snapshot_swap(kept, t->now.networks[0]);
    gerne_status status = judge(t, &e->predictions, out);
    gn_snapshot_swap(kept, t->now.networks[0]);
    return status;
}

static gerne_status judge_last(gn_trainer *t, ending *e)
{
    gn_kept_head kept;
    gn_swap_average(t);
    gerne_status status = gn_refit_begin(t, &kept);
    if (status == GERNE_OK)
        status = judge(t, &e->predictions, &e->last);
    gn_refit_end(t, &kept, &status);
    gn_swap_average(t);
    return status;
}

/* Choices often fall on one checkpoint, the last one for example: it is judged once. */
static gerne_status judge_all(gn_trainer *t, ending *e)
{
    int64_t best = t->at.best.step;
    bool oracle = t->now.oracle.values != NULL;
    if (best != t->at.step)
        GN_TRY(judge_last(t, e));
    if (oracle && best != t->at.oracle.step)
        GN_TRY(judge_kept(t, &t->now.oracle, e, &e->oracle));
    GN_TRY(judge_kept(t, &t->now.best, e, &e->best));
    e->of_last = best == t->at.step ? &e->best : &e->last;
    e->of_oracle = !oracle ? NULL : best == t->at.oracle.step ? &e->best : &e->oracle;
    return GERNE_OK;
}

/* What is neither step nor inference is our own: drawing, metrics, logs, files. */
static gerne_status log_end(gn_trainer *t)
{
    const gn_ranks_traffic traffic = gn_ranks_exchanged(gn_ranks_of(t->run.ctx));
    GN_TRY(gn_runlog_event(t->record.log, "end",
                           json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:I}", "seconds",
                                     gn_seconds() - t->record.started, "seconds_in_steps",
                                     t->record.in_steps, "seconds_in_inference",
                                     t->record.in_inference, "seconds_in_exchange", traffic.seconds,
                                     "seconds_of_sums", traffic.sums, "seconds_of_hidden_sums",
                                     traffic.hidden, "bytes_sent", (json_int_t)traffic.bytes)));
    return t->record.log ? gn_runlog_sync(t->record.log, NULL) : GERNE_OK;
}

static gerne_status finish(gn_trainer *t, ending *e, gn_text *report, json_t **json)
{
    GN_TRY(judge_all(t, e));
    t->record.best_changed = true;
    GN_TRY(gn_save_best(t));
    GN_TRY(write_predictions(t, &e->predictions));
    if (gn_ranks_first(t->run.ctx))
        gn_save_thumbnails(t, &e->predictions, e->best.test.worst_group);
    /* The checkpoint keeps the log up to here: a run that is killed between the two and resumed
     * ends once. */
    GN_TRY(gn_save(t));
    GN_TRY(log_end(t));
    GN_TRY(make_json(t, &e->best, e->of_last, e->of_oracle, json));
    GN_TRY(write_json(t, *json));
    return report ? print_report(t, &e->best, e->of_last, report) : GERNE_OK;
}

gerne_status gn_finish_run(gn_trainer *t, gn_text *report, json_t **results)
{
    ending e = {0};
    json_t *json = NULL;
    gn_predictions_init(&e.predictions, (int32_t)t->run.classes,
                        (int32_t)(t->input.data->attributes ? t->input.data->attributes : 1), true);
    gerne_status status = finish(t, &e, report, &json);
    if (status == GERNE_OK && results)
        *results = json;
    else
        json_decref(json);
    free_judgement(&e.best);
    free_judgement(&e.last);
    free_judgement(&e.oracle);
    gn_predictions_free(&e.predictions);
    return status;
}
