/* output.c - what a search found: the ranking, study.json, best.yaml, and what it removes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tune/tune.h"

enum { SHOWN = 15, REASONS_SHOWN = 5 };

static bool is_oracle(const gn_tuner *t)
{
    return strcmp(t->split, "test") == 0;
}

static const char *split_words(const gn_tuner *t)
{
    return is_oracle(t) ? "the test split" : "validation";
}

/* ---- weights of losers ---- */

gerne_status gn_tune_prune(gn_tuner *t)
{
    gn_trial_list list;
    gn_ranking ranking;
    if (t->request->keep)
        return GERNE_OK;
    GN_TRY(gn_ledger_list(t->ledger, &list));
    gerne_status status = gn_rank(t->ctx, &list, t->split, t->metric, &ranking);
    if (status != GERNE_OK) {
        gn_trial_list_free(&list);
        return status;
    }
    /* Means of finished configurations do not change: who is behind one stays behind. */
    bool leader_found = false;
    for (size_t i = 0; i < ranking.count; i++) {
        const gn_ranked *r = &ranking.items[i];
        if (r->done + r->failed < r->trials)
            continue;
        bool leads = !leader_found && r->done > 0;
        leader_found = leader_found || leads;
        for (size_t j = r->first; !leads && j < list.count; j++)
            if (list.items[j].level == r->level && strcmp(list.items[j].settings, r->settings) == 0)
                gn_trial_prune(t->ctx, t->request->dir, list.items[j].id);
    }
    gn_ranking_free(&ranking);
    gn_trial_list_free(&list);
    return GERNE_OK;
}

/* ---- the ranking for people ---- */

typedef struct table {
    gn_tuner *t;
    json_t **settings; /* of the rows */
    int widths[GN_AXES_MAX + 1];
    const char *keys[GN_AXES_MAX + 1];
    size_t columns;
} table;

static void measure(table *b, const json_t *row)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)row, key, value)
    {
        size_t c = 0;
        while (c < b->columns && strcmp(b->keys[c], key) != 0)
            c++;
        if (c == GN_AXES_MAX + 1)
            continue;
        if (c == b->columns) {
            b->keys[c] = key;
            b->widths[c] = (int)strlen(key);
            b->columns++;
        }
        int width = (int)strlen(json_string_value(value) ? json_string_value(value) : "");
        b->widths[c] = width > b->widths[c] ? width : b->widths[c];
    }
}

static gerne_status print_head(table *b, gn_text *out)
{
    gerne_ctx *ctx = b->t->ctx;
    GN_TRY(gn_text_add(ctx, out, "  rank"));
    for (size_t c = 0; c < b->columns; c++)
        GN_TRY(gn_text_add(ctx, out, "  %*s", b->widths[c], b->keys[c]));
    return gn_text_add(ctx, out, "  seeds    mean      sd      se   95 %% of one run  %9s %9s\n",
                       "test GBA", "test WGA");
}

/* A percentage in so many columns, or a dash. */
static gerne_status print_percent(gerne_ctx *ctx, int width, double value, gn_text *out)
{
    if (isnan(value))
        return gn_text_add(ctx, out, "%*s", width, "-");
    return gn_text_add(ctx, out, "%*.2f", width, 100 * value);
}

static gerne_status print_row(table *b, size_t rank, const gn_ranked *r, const json_t *settings,
                              gn_text *out)
{
    gerne_ctx *ctx = b->t->ctx;
    GN_TRY(gn_text_add(ctx, out, "  %4zu", rank));
    for (size_t c = 0; c < b->columns; c++) {
        const char *word = json_string_value(json_object_get(settings, b->keys[c]));
        GN_TRY(gn_text_add(ctx, out, "  %*s", b->widths[c], word ? word : ""));
    }
    GN_TRY(gn_text_add(ctx, out, "  %2zu/%-2zu", r->done, r->trials));
    GN_TRY(print_percent(ctx, 8, r->figure.mean, out));
    GN_TRY(print_percent(ctx, 8, r->figure.sd, out));
    GN_TRY(print_percent(ctx, 8, r->figure.se, out));
    if (isnan(r->interval.lo))
        GN_TRY(gn_text_add(ctx, out, "%17s", "-"));
    else
        GN_TRY(
            gn_text_add(ctx, out, "  [%6.2f,%6.2f]", 100 * r->interval.lo, 100 * r->interval.hi));
    GN_TRY(print_percent(ctx, 11, r->test[0].mean, out));
    GN_TRY(print_percent(ctx, 10, r->test[1].mean, out));
    return gn_text_add(ctx, out, "\n");
}

static gerne_status print_rows(table *b, const gn_ranking *ranking, gn_text *out)
{
    gerne_ctx *ctx = b->t->ctx;
    size_t shown = ranking->count < SHOWN ? ranking->count : SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const char *text = ranking->items[i].settings;
        GN_TRY(gn_json_parse(ctx, text, strlen(text), "the ledger's settings", &b->settings[i]));
        measure(b, b->settings[i]);
    }
    GN_TRY(print_head(b, out));
    for (size_t i = 0; i < shown; i++)
        GN_TRY(print_row(b, i + 1, &ranking->items[i], b->settings[i], out));
    if (shown < ranking->count)
        GN_TRY(gn_text_add(ctx, out, "  ... and %zu more in study.json\n", ranking->count - shown));
    return GERNE_OK;
}

static gerne_status print_ranking(gn_tuner *t, const gn_ranking *ranking, gn_text *out)
{
    table b = {.t = t};
    json_t *settings[SHOWN] = {0};
    b.settings = settings;
    gerne_status status = print_rows(&b, ranking, out);
    for (int i = 0; i < SHOWN; i++)
        json_decref(settings[i]);
    return status;
}

static gerne_status print_failures(gn_tuner *t, const gn_trial_list *list, gn_text *out)
{
    size_t failed = 0;
    for (size_t i = 0; i < list->count; i++) {
        char words[200];
        if (list->items[i].state != GN_TRIAL_FAILED)
            continue;
        gn_trial_words(&list->items[i], words, sizeof words);
        if (failed++ == 0)
            GN_TRY(gn_text_add(t->ctx, out, "\nfailed trials:\n"));
        if (failed <= REASONS_SHOWN)
            GN_TRY(gn_text_add(t->ctx, out, "  %s: %s\n", words, list->items[i].reason));
    }
    if (failed > REASONS_SHOWN)
        GN_TRY(
            gn_text_add(t->ctx, out, "  ... and %zu more in study.json\n", failed - REASONS_SHOWN));
    return GERNE_OK;
}

static gerne_status print_report(gn_tuner *t, const gn_trial_list *list, const gn_ranking *ranking,
                                 gn_text *out)
{
    gerne_ctx *ctx = t->ctx;
    GN_TRY(gn_text_add(
        ctx, out, "%s: %zu configurations, %zu trials; ranked by the mean %s on %s, in %%\n",
        t->config->method->name, t->points.count, list->count, t->metric, split_words(t)));
    GN_TRY(gn_text_add(ctx, out, "%s\n\n",
                       is_oracle(t)
                           ? "ORACLE: chosen with the labels that it is judged on (select.split)"
                           : "the test split had no say in the choice"));
    GN_TRY(print_ranking(t, ranking, out));
    GN_TRY(gn_text_add(ctx, out,
                       "\n  sd: of one run over seeds; se: of the mean, sd / sqrt(seeds); 95 %%: "
                       "of one run's figure,\n  from the sizes of its groups, averaged over "
                       "seeds\n"));
    GN_TRY(print_failures(t, list, out));
    return gn_text_add(ctx, out,
                       "\nthe best configuration is in %s/best.yaml; gerne train %s/best.yaml "
                       "runs it\n",
                       t->request->dir, t->request->dir);
}

/* ---- best.yaml ---- */

static gerne_status best_text(gn_tuner *t, const gn_trial *first, const gn_ranked *best,
                              gn_text *out)
{
    gn_run_config *config;
    const char *run;
    GN_TRY(gn_path_join(t->ctx, t->arena, t->request->dir, "best", &run));
    GN_TRY(gn_trial_config(t->ctx, first->config, run, NULL, &config));
    gerne_status status =
        gn_text_add(t->ctx, out, "# The best of a search by gerne tune: mean %s on %s %.2f %%",
                    t->metric, split_words(t), 100 * best->figure.mean);
    if (status == GERNE_OK && best->done > 1)
        status = gn_text_add(t->ctx, out, " over %zu seeds (sd %.2f, se %.2f)", best->done,
                             100 * best->figure.sd, 100 * best->figure.se);
    if (status == GERNE_OK)
        status = gn_text_add(t->ctx, out, "%s\n",
                             is_oracle(t) ? "\n# ORACLE: chosen with the labels that it is judged "
                                            "on"
                                          : "");
    if (status == GERNE_OK)
        status = gn_config_print(t->ctx, config->config, GN_NOT_ASKED, out);
    gn_run_config_close(config);
    return status;
}

static gerne_status write_best(gn_tuner *t, const gn_trial_list *list, const gn_ranked *best)
{
    gn_text text = {0};
    const char *path;
    GN_TRY(gn_path_join(t->ctx, t->arena, t->request->dir, "best.yaml", &path));
    gerne_status status = best_text(t, &list->items[best->first], best, &text);
    if (status == GERNE_OK)
        status = gn_file_write(t->ctx, path, text.bytes, text.size);
    gn_text_free(&text);
    return status;
}

/* ---- study.json ---- */

static void add_note(json_t *notes, const char *text)
{
    json_array_append_new(notes, json_string(text));
}

/* Runs of other data than the first's: the files changed while the study went on. */
static size_t other_data(const gn_trial_list *list)
{
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *data =
            json_string_value(json_object_get(list->items[i].results, "data_fingerprint"));
        if (!first)
            first = data;
        count += data && strcmp(data, first) != 0;
    }
    return count;
}

static json_t *notes_json(const gn_tuner *t, const gn_trial_list *list)
{
    json_t *notes = json_array();
    char text[400];
    add_note(notes, is_oracle(t) ? "Oracle: the winner was chosen on the test split that it is "
                                   "judged on (select.split: test)."
                                 : "The winner was chosen on validation; the test split had no "
                                   "say.");
    if (t->points.dropped) {
        snprintf(text, sizeof text, "%zu configurations were left out: %s.", t->points.dropped,
                 t->points.example);
        add_note(notes, text);
    }
    size_t failed = 0, other = other_data(list);
    for (size_t i = 0; i < list->count; i++)
        failed += list->items[i].state == GN_TRIAL_FAILED;
    if (failed) {
        snprintf(text, sizeof text,
                 "%zu trials failed; a configuration that lost a seed ranks behind those that did "
                 "not.",
                 failed);
        add_note(notes, text);
    }
    if (other) {
        snprintf(text, sizeof text,
                 "%zu trials saw other data than the first: the data changed during the study.",
                 other);
        add_note(notes, text);
    }
    return notes;
}

static gerne_status make_study(gn_tuner *t, const gn_trial_list *list, const gn_ranking *ranking,
                               json_t **out)
{
    char title[160];
    json_t *figures;
    GN_TRY(gn_tune_figures(t, ranking, &figures));
    json_t *notes = notes_json(t, list);
    snprintf(title, sizeof title, "Search over %zu configurations of %s", t->points.count,
             t->config->method->name);
    const gn_study_info info = {.kind = "tune",
                                .title = title,
                                .command = t->request->command,
                                .metric = t->metric,
                                .split = t->split,
                                .more_to_come = gn_tune_to_come(t) > 0,
                                .notes = notes,
                                .figures = figures};
    gerne_status status = gn_study_json(t->ctx, &info, list, ranking, out);
    json_decref(notes);
    json_decref(figures);
    if (status == GERNE_OK)
        status = gn_study_write(t->ctx, t->request->dir, *out);
    return status;
}

static bool is_finished(const gn_tuner *t, const gn_trial_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == GN_TRIAL_WAITING || list->items[i].state == GN_TRIAL_RUNNING)
            return false;
    return gn_tune_to_come(t) == 0 || list->count == 0;
}

static gerne_status all_failed(gn_tuner *t, const gn_trial_list *list)
{
    gn_fail(t->ctx, GERNE_EDIVERGED, "every trial failed; the first: %s", list->items[0].reason);
    gn_hint(t->ctx,
            "'%s/study.json' has all reasons; change the search, or the configuration, and "
            "use another --out",
            t->request->dir);
    return GERNE_EDIVERGED;
}

static gerne_status conclude(gn_tuner *t, const gn_trial_list *list, const gn_ranking *ranking,
                             gn_text *report, json_t **study)
{
    const gn_ranked *best = gn_ranking_best(ranking);
    GN_TRY(make_study(t, list, ranking, study));
    if (!is_finished(t, list))
        return GERNE_OK;
    if (!best)
        return all_failed(t, list);
    GN_TRY(write_best(t, list, best));
    return report ? print_report(t, list, ranking, report) : GERNE_OK;
}

gerne_status gn_tune_conclude(gn_tuner *t, gn_text *report, json_t **study)
{
    gn_trial_list list;
    gn_ranking ranking;
    json_t *document = NULL;
    GN_TRY(gn_ledger_list(t->ledger, &list));
    gerne_status status = gn_rank(t->ctx, &list, t->split, t->metric, &ranking);
    if (status == GERNE_OK) {
        status = conclude(t, &list, &ranking, report, &document);
        gn_ranking_free(&ranking);
    }
    gn_trial_list_free(&list);
    if (status == GERNE_OK && study)
        *study = document;
    else
        json_decref(document);
    return status;
}
