#include "study/summary.h"

#include <string.h>

#include "base/file.h"
#include "study/trial.h"

json_t *gn_spread_json(gn_spread spread)
{
    return json_pack("{s:o,s:o,s:o}", "mean", gn_json_number(spread.mean), "sd",
                     gn_json_number(spread.sd), "se", gn_json_number(spread.se));
}

/* ---- trials ---- */

static json_t *figures_of(const json_t *results, const char *split)
{
    static const char *const keys[] = {"n",
                                       "gba",
                                       "gba_ci95",
                                       "wga",
                                       "wga_ci95",
                                       "acc_avg",
                                       "worst_class",
                                       "balanced_acc",
                                       "minority_acc",
                                       "inferred_wga",
                                       "inferred_gba",
                                       "bias_wga",
                                       "bias_gba",
                                       NULL};
    const json_t *from = json_object_get(json_object_get(results, "splits"), split);
    json_t *to = json_object();
    for (size_t i = 0; keys[i]; i++)
        if (json_object_get(from, keys[i]))
            json_object_set(to, keys[i], json_object_get(from, keys[i]));
    return to;
}

static gerne_status trial_json(gerne_ctx *ctx, const gn_trial *trial, json_t **out)
{
    json_t *settings;
    char run[GN_TRIAL_ID + 8];
    snprintf(run, sizeof run, "trials/%s", trial->id);
    GN_TRY(gn_json_parse(ctx, trial->settings, strlen(trial->settings), "the ledger's settings",
                         &settings));
    *out = json_pack("{s:s,s:s,s:o,s:I,s:s,s:o}", "id", trial->id, "run", run, "settings", settings,
                     "seed", (json_int_t)trial->seed, "state", gn_trial_state_name(trial->state),
                     "reason", trial->reason ? json_string(trial->reason) : json_null());
    if (!*out)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for JSON");
    if (trial->tag[0])
        json_object_set_new(*out, "tag", json_string(trial->tag));
    if (trial->state == GN_TRIAL_FAILED)
        json_object_set_new(*out, "diverged", json_boolean(gn_trial_diverged(trial)));
    if (trial->results) {
        json_t *warnings = json_object_get(trial->results, "warnings");
        json_object_set_new(*out, "warnings", warnings ? json_deep_copy(warnings) : json_array());
        json_object_set_new(*out, "val", figures_of(trial->results, "val"));
        json_object_set_new(*out, "test", figures_of(trial->results, "test"));
    }
    return GERNE_OK;
}

static gerne_status trials_json(gerne_ctx *ctx, const gn_trial_list *list, json_t *out)
{
    for (size_t i = 0; i < list->count; i++) {
        json_t *trial;
        GN_TRY(trial_json(ctx, &list->items[i], &trial));
        json_array_append_new(out, trial);
    }
    return GERNE_OK;
}

/* ---- ranking ---- */

static json_t *interval_json(gn_interval interval)
{
    return json_pack("[o,o]", gn_json_number(interval.lo), gn_json_number(interval.hi));
}

static json_t *difference_json(const gn_difference *d)
{
    if (d->test == GN_NOT_TESTED)
        return json_null();
    return json_pack(
        "{s:o,s:o,s:s,s:b}", "mean", gn_json_number(d->mean), "ci95", interval_json(d->interval),
        "test", d->test == GN_PAIRED_OVER_SEEDS ? "paired over seeds" : "intervals of the figures",
        "significant", gn_difference_significant(d));
}

static json_t *rank_json(const gn_ranked *r, size_t rank)
{
    json_t *test = json_object();
    for (int f = 0; f < GN_TEST_FIGURES; f++)
        json_object_set_new(test, gn_test_figures[f], gn_spread_json(r->test[f]));
    json_t *item = json_pack("{s:I,s:O,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:s?}", "rank",
                             (json_int_t)rank, "settings", r->settings, "n", (json_int_t)r->done,
                             "failed", (json_int_t)r->failed, "mean",
                             gn_json_number(r->figure.mean), "sd", gn_json_number(r->figure.sd),
                             "se", gn_json_number(r->figure.se), "ci95", interval_json(r->interval),
                             "test", test, "difference", difference_json(&r->to_first), "warned",
                             (json_int_t)r->warned, "warning", r->warning);
    if (item && r->trials[0]->tag[0])
        json_object_set_new(item, "tag", json_string(r->trials[0]->tag));
    return item;
}

/* ---- the document ---- */

static json_t *counts_json(const size_t counts[GN_TRIAL_STATES])
{
    static const gn_trial_state order[] = {GN_TRIAL_DONE, GN_TRIAL_FAILED, GN_TRIAL_WAITING,
                                           GN_TRIAL_RUNNING};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        json_object_set_new(object, gn_trial_state_name(order[i]),
                            json_integer((json_int_t)counts[order[i]]));
    return object;
}

/* Every key that a trial sets, in order of appearance. */
static json_t *parameters_json(const json_t *trials)
{
    json_t *seen = json_object(), *list = json_array(), *trial, *value;
    size_t i;
    const char *key;
    json_array_foreach(trials, i, trial)
    {
        json_object_foreach(json_object_get(trial, "settings"), key, value)
        {
            if (!json_object_get(seen, key))
                json_array_append_new(list, json_string(key));
            json_object_set_new(seen, key, json_true());
        }
    }
    json_decref(seen);
    return list;
}

static json_t *copy_array(const json_t *array)
{
    return array ? json_deep_copy(array) : json_array();
}

gerne_status gn_study_json(gerne_ctx *ctx, const gn_study_info *info, const gn_trial_list *list,
                           const gn_ranking *ranking, json_t **out)
{
    GN_LOCAL(json_t) *trials = json_array(), *ranks = json_array();
    size_t counts[GN_TRIAL_STATES];
    gn_trial_list_count(list, counts);
    bool unfinished = counts[GN_TRIAL_WAITING] + counts[GN_TRIAL_RUNNING] > 0;
    *out = NULL;
    for (size_t i = 0; i < ranking->count; i++)
        json_array_append_new(ranks, rank_json(&ranking->items[i], i + 1));
    GN_TRY(trials_json(ctx, list, trials));
    *out = json_pack("{s:s,s:s,s:s,s:s,s:{s:s,s:s,s:b},s:b,s:o,s:o,s:o,s:O,s:O,s:o,s:o}", "gerne",
                     gerne_version(), "kind", info->kind, "title", info->title, "command",
                     info->command, "selection", "metric", info->metric, "split", info->split,
                     "oracle", strcmp(info->split, "test") == 0, "complete",
                     !unfinished && !info->more_to_come, "counts", counts_json(counts), "notes",
                     copy_array(info->notes), "parameters", parameters_json(trials), "trials",
                     trials, "ranking", ranks, "tables", copy_array(info->tables), "figures",
                     copy_array(info->figures));
    if (!*out)
        return gn_fail(ctx, GERNE_ENOMEM,
                       "no memory for the study's JSON, or its title is not UTF-8");
    return GERNE_OK;
}

gerne_status gn_study_note(gerne_ctx *ctx, json_t *notes, const char *format, ...)
{
    char words[1024];
    GN_FORMAT(words, format);
    gn_mend_end(words);
    for (size_t i = 0; i < json_array_size(notes); i++)
        if (strcmp(json_string_value(json_array_get(notes, i)), words) == 0)
            return GERNE_OK;
    return json_array_append_new(notes, json_string(words)) == 0
               ? GERNE_OK
               : gn_fail(ctx, GERNE_ENOMEM, "no memory for notes");
}

gerne_status gn_study_write(gerne_ctx *ctx, const char *dir, const json_t *study)
{
    GN_LOCAL(gn_text) path = {0};
    GN_TRY(gn_text_add(ctx, &path, "%s/study.json", dir));
    return gn_json_write(ctx, path.bytes, study);
}
