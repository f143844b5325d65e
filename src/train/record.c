/* record.c - what a run tells: log.jsonl, TensorBoard events, and its warnings. */
#include <string.h>

#include "base/file.h"
#include "debias/describe.h"
#include "ranks/ranks.h"
#include "train/divergence.h"
#include "train/trainer.h"

/* ---- warnings ---- */

static bool is_recorded(const json_t *warnings, const char *text)
{
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strcmp(json_string_value(json_array_get(warnings, i)), text) == 0)
            return true;
    return false;
}

static gerne_status log_warning(gn_trainer *t, const char *text)
{
    return gn_runlog_event(t->record.log, "warning", json_pack("{s:s}", "message", text));
}

/* Called for every gn_warn while the run lives. A log that cannot be written fails at the next
 * evaluation. */
static void take_warning(void *user, const char *text)
{
    gn_trainer *t = user;
    if (is_recorded(t->record.warnings, text))
        return;
    json_array_append_new(t->record.warnings, json_string(text));
    if (t->record.log && log_warning(t, text) != GERNE_OK)
        gn_log(t->run.ctx, GERNE_LOG_DEBUG, "%s", gerne_message(t->run.ctx));
}

gerne_status gn_record_start(gn_trainer *t)
{
    t->record.warnings = json_array();
    if (!t->record.warnings)
        return gn_fail(t->run.ctx, GERNE_ENOMEM, "no memory for a run");
    gn_set_warning_sink(t->run.ctx, take_warning, t);
    return GERNE_OK;
}

/* Those of the checkpoint come first; settling the run has repeated some of them. */
static void restore_warnings(gn_trainer *t, const json_t *head)
{
    json_t *all = json_deep_copy(json_object_get(head, "warnings"));
    if (!json_is_array(all)) {
        json_decref(all);
        return;
    }
    for (size_t i = 0; i < json_array_size(t->record.warnings); i++) {
        json_t *text = json_array_get(t->record.warnings, i);
        if (!is_recorded(all, json_string_value(text)))
            json_array_append(all, text);
    }
    json_decref(t->record.warnings);
    t->record.warnings = all;
}

/* ---- logs ---- */

static json_t *lines_json(const gn_log_plot *plot)
{
    json_t *lines = json_array();
    for (int i = 0; i < GN_LOG_LINES_MAX && plot->lines[i].figure; i++)
        json_array_append_new(lines,
                              json_pack("{s:s,s:s*,s:b}", "figure", plot->lines[i].figure, "name",
                                        plot->lines[i].name, "limit", plot->lines[i].limit));
    return lines;
}

/* What the report draws of the method's figures: it reads run directories, not descriptors. */
static json_t *plots_json(const gn_log_plot *plot)
{
    json_t *plots = json_array();
    for (; plot && plot->title; plot++)
        json_array_append_new(plots, json_pack("{s:s,s:s*,s:s,s:o}", "title", plot->title, "note",
                                               plot->note, "needs", plot->needs, "lines",
                                               lines_json(plot)));
    return plots;
}

static gerne_status log_start(gn_trainer *t)
{
    const gn_dataset *data = t->input.data;
    gn_text config = {0};
    GN_TRY(gn_config_print(t->run.ctx, t->config->config, GN_NO_HASH, &config));
    json_t *event =
        json_pack("{s:s,s:s,s:s,s:s,s:i,s:i,s:o,s:o,s:o,s:o}", "gerne", gerne_version(), "run_hash",
                  t->run_hash, "data_fingerprint", t->input.fingerprint, "config",
                  config.bytes ? config.bytes : "", "threads", gn_device_threads(t->device),
                  "ranks", gn_ranks_size(gn_ranks_of(t->run.ctx)), "class_names",
                  gn_json_names(data->class_names, data->classes), "attribute_names",
                  gn_attribute_names_json(data->attribute_names, data->attributes), "train_counts",
                  gn_json_counts(t->input.train_counts, data->classes,
                                 data->attributes ? data->attributes : 1),
                  "plots", plots_json(t->run.method->plots));
    gn_text_free(&config);
    GN_TRY(gn_runlog_event(t->record.log, "start", event));
    for (size_t i = 0; i < json_array_size(t->record.warnings); i++)
        GN_TRY(log_warning(t, json_string_value(json_array_get(t->record.warnings, i))));
    return GERNE_OK;
}

static uint64_t length_at(const json_t *head, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(head, key));
}

gerne_status gn_record_open(gn_trainer *t, const json_t *head)
{
    const char *path;
    if (head)
        restore_warnings(t, head);
    if (!gn_ranks_first(t->run.ctx))
        return GERNE_OK;
    GN_TRY(gn_path_of(t, "log.jsonl", &path));
    GN_TRY(gn_runlog_open(t->run.ctx, path, length_at(head, "log"), &t->record.log));
    GN_TRY(gn_path_of(t, GN_EVENTS_FILE, &path));
    GN_TRY(gn_events_open(t->run.ctx, path, length_at(head, "events"), &t->record.events));
    return head ? GERNE_OK : log_start(t);
}

void gn_record_close(gn_trainer *t)
{
    gn_set_warning_sink(t->run.ctx, NULL, NULL);
    gn_runlog_close(t->record.log);
    gn_events_close(t->record.events);
    json_decref(t->record.warnings);
}

/* ---- divergence ---- */

void gn_record_divergence(gn_trainer *t)
{
    if (!gn_ranks_first(t->run.ctx))
        return;
    json_t *json = json_pack("{s:s,s:I,s:o,s:s,s:s}", "stage", t->run.stage->name, "step",
                             (json_int_t)t->at.step + 1, "loss", gn_json_number(t->now.step_loss),
                             "message", gerne_message(t->run.ctx), "hint", gerne_hint(t->run.ctx));
    if (!json)
        return;
    gn_saved_failure failure = gn_save_failure(t->run.ctx);
    if (gn_divergence_write(t->run.ctx, t->directory.path, json) != GERNE_OK ||
        gn_runlog_event(t->record.log, "diverged", json_incref(json)) != GERNE_OK)
        gn_log(t->run.ctx, GERNE_LOG_WARNING, "divergence not recorded: %s",
               gerne_message(t->run.ctx));
    gn_restore_failure(t->run.ctx, &failure);
    json_decref(json);
}
