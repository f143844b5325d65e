/* output.c - what a search found: the ranking, study.json, best.yaml, and what it removes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "study/result.h"
#include "study/sheet.h"
#include "tune/tune.h"

enum { SHOWN = 15, LINES_SHOWN = 5, OPTIONS_MAX = GN_AXES_MAX + 1 }; /* a rung sets one more */

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
    GN_LOCAL(gn_trial_list) list = {0};
    GN_LOCAL(gn_ranking) ranking = {0};
    if (t->request->keep)
        return GERNE_OK;
    GN_TRY(gn_ledger_list(t->ledger, &list));
    GN_TRY(gn_rank(t->ctx, &list, t->split, t->metric, &ranking));
    /* Means of finished configurations do not change: who is behind one stays behind. */
    bool leader_found = false;
    for (size_t i = 0; i < ranking.count; i++) {
        const gn_ranked *r = &ranking.items[i];
        if (r->done + r->failed < r->count)
            continue;
        bool leads = !leader_found && r->done > 0;
        leader_found = leader_found || leads;
        for (size_t j = 0; !leads && j < r->count; j++)
            gn_trial_prune(t->ctx, t->request->dir, r->trials[j]->id);
    }
    return GERNE_OK;
}

/* ---- the ranking for people ---- */

enum { BEFORE = 1, BEHIND = 8 }; /* columns before and behind the options */
static const char *const behind[BEHIND] = {"seeds",           "mean",  "sd",       "se",
                                           "95 % of one run", "diff.", "test GBA", "test WGA"};

/* The options that the ranks set, in order of appearance; returns how many. */
static size_t list_options(const gn_ranking *ranking, size_t shown, const char **keys)
{
    size_t count = 0;
    for (size_t i = 0; i < shown; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(ranking->items[i].settings, key, value)
        {
            size_t c = 0;
            while (c < count && strcmp(keys[c], key) != 0)
                c++;
            if (c == count && count < OPTIONS_MAX)
                keys[count++] = key;
        }
    }
    return count;
}

/* "-1.25 =": the mark says that the difference is not significant, or (?) was not tested. */
static gerne_status add_difference(gerne_ctx *ctx, gn_sheet *sheet, const gn_ranked *r)
{
    char text[32];
    const gn_difference *d = &r->to_first;
    const char *mark = d->test == GN_NOT_TESTED ? "?" : gn_ranked_ties(r) ? "=" : " ";
    snprintf(text, sizeof text, "%+.2f %s", 100 * d->mean, mark);
    if (isnan(d->mean))
        return gn_sheet_add(ctx, sheet, "-");
    return gn_sheet_add(ctx, sheet, text);
}

static gerne_status add_rank(gerne_ctx *ctx, gn_sheet *sheet, size_t rank, const gn_ranked *r)
{
    char text[64];
    const double figures[] = {r->figure.mean, r->figure.sd, r->figure.se};
    snprintf(text, sizeof text, "%zu%s", rank, r->warned ? " !" : "");
    GN_TRY(gn_sheet_add(ctx, sheet, text));
    for (size_t c = BEFORE; c + BEHIND < sheet->column_count; c++) {
        const char *word = json_string_value(json_object_get(r->settings, sheet->columns[c]));
        GN_TRY(gn_sheet_add(ctx, sheet, word ? word : "-"));
    }
    snprintf(text, sizeof text, "%zu/%zu", r->done, r->count);
    GN_TRY(gn_sheet_add(ctx, sheet, text));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        GN_TRY(gn_sheet_add_number(ctx, sheet, 100 * figures[i], 2));
    snprintf(text, sizeof text, "%.2f to %.2f", 100 * r->interval.lo, 100 * r->interval.hi);
    GN_TRY(gn_sheet_add(ctx, sheet, isnan(r->interval.lo) ? "-" : text));
    GN_TRY(add_difference(ctx, sheet, r));
    GN_TRY(gn_sheet_add_number(ctx, sheet, 100 * r->test[0].mean, 2));
    return gn_sheet_add_number(ctx, sheet, 100 * r->test[1].mean, 2);
}

static gerne_status print_ranking(gn_tuner *t, const gn_ranking *ranking, const char *title,
                                  gn_text *out)
{
    const char *columns[BEFORE + OPTIONS_MAX + BEHIND] = {"rank"};
    size_t shown = ranking->count < SHOWN ? ranking->count : SHOWN;
    size_t count = BEFORE + list_options(ranking, shown, columns + BEFORE);
    gn_sheet *sheet;
    memcpy(columns + count, behind, sizeof behind);
    GN_TRY(gn_sheet_new(t->ctx, t->arena, title, columns, count + BEHIND, &sheet));
    for (size_t i = 0; i < shown; i++)
        GN_TRY(add_rank(t->ctx, sheet, i + 1, &ranking->items[i]));
    GN_TRY(gn_sheet_print(t->ctx, sheet, out));
    if (shown < ranking->count)
        GN_TRY(
            gn_text_add(t->ctx, out, "  ... and %zu more in study.json\n", ranking->count - shown));
    return gn_text_add(t->ctx, out,
                       "\n  sd: of one run over seeds; se: of the mean, sd / sqrt(seeds); 95 %%: "
                       "of one run's figure,\n  from the sizes of its groups, averaged over seeds; "
                       "diff.: of the mean from rank 1;\n  =: no significant difference; ?: not "
                       "tested; !: a run warned\n");
}

/* ---- trials that people should know of ---- */

/* The lines of at most LINES_SHOWN trials under a heading. */
typedef struct listing {
    const char *heading;
    size_t count;
} listing;

static gerne_status print_trial(gn_tuner *t, listing *l, const gn_trial *trial, const char *how,
                                const char *why, gn_text *out)
{
    char words[200];
    gn_trial_words(trial, words, sizeof words);
    if (l->count++ == 0)
        GN_TRY(gn_text_add(t->ctx, out, "\n%s:\n", l->heading));
    return l->count > LINES_SHOWN ? GERNE_OK
                                  : gn_text_add(t->ctx, out, "  %s%s%s\n", words, how, why);
}

static gerne_status print_more(gn_tuner *t, const listing *l, gn_text *out)
{
    return l->count > LINES_SHOWN ? gn_text_add(t->ctx, out, "  ... and %zu more in study.json\n",
                                                l->count - LINES_SHOWN)
                                  : GERNE_OK;
}

static gerne_status print_warnings(gn_tuner *t, const gn_trial_list *list, gn_text *out)
{
    listing l = {.heading = "trials with warnings"};
    for (size_t i = 0; i < list->count; i++) {
        const char *first;
        if (gn_result_warnings(list->items[i].results, &first))
            GN_TRY(print_trial(t, &l, &list->items[i], ": ", first, out));
    }
    return print_more(t, &l, out);
}

static gerne_status print_failures(gn_tuner *t, const gn_trial_list *list, gn_text *out)
{
    listing l = {.heading = "failed trials"};
    for (size_t i = 0; i < list->count; i++) {
        const gn_trial *trial = &list->items[i];
        if (trial->state == GN_TRIAL_FAILED)
            GN_TRY(print_trial(t, &l, trial, gn_trial_diverged(trial) ? " " : ": ", trial->reason,
                               out));
    }
    return print_more(t, &l, out);
}

/* ---- all of it ---- */

/* What must be said beside the winner: its ties, its warnings. Each line starts with prefix. */
static gerne_status add_caveats(gn_tuner *t, const gn_ranking *ranking, const char *prefix,
                                gn_text *out)
{
    GN_LOCAL(gn_text) text = {0};
    GN_TRY(gn_ranking_describe_ties(t->ctx, ranking, &text));
    if (text.size)
        GN_TRY(gn_text_add(t->ctx, out, "%s%s\n", prefix, text.bytes));
    gn_text_clear(&text);
    GN_TRY(gn_ranked_describe_warnings(t->ctx, &ranking->items[0], &text));
    if (text.size)
        GN_TRY(gn_text_add(t->ctx, out, "%swarning about rank 1: %s\n", prefix, text.bytes));
    return GERNE_OK;
}

static gerne_status print_report(gn_tuner *t, const gn_trial_list *list, const gn_ranking *ranking,
                                 gn_text *out)
{
    gerne_ctx *ctx = t->ctx;
    char title[400];
    snprintf(title, sizeof title,
             "%s: %zu configuration%s, %zu trial%s; ranked by the mean %s on %s, in %%\n%s",
             t->config->method->name, t->points.count, t->points.count == 1 ? "" : "s", list->count,
             list->count == 1 ? "" : "s", t->metric, split_words(t),
             is_oracle(t) ? "ORACLE: selected on the test split that it is evaluated on "
                            "(select.split)"
                          : "selected without the test split");
    GN_TRY(print_ranking(t, ranking, title, out));
    GN_TRY(print_warnings(t, list, out));
    GN_TRY(print_failures(t, list, out));
    GN_TRY(gn_text_add(ctx, out, "\n"));
    GN_TRY(add_caveats(t, ranking, "", out));
    return gn_text_add(ctx, out,
                       "the best configuration is in %s/best.yaml; gerne train %s/best.yaml "
                       "runs it\n",
                       t->request->dir, t->request->dir);
}

/* ---- best.yaml ---- */

static gerne_status best_text(gn_tuner *t, const gn_ranking *ranking, gn_text *out)
{
    const gn_ranked *best = &ranking->items[0];
    GN_LOCAL(gn_run_config) *config = NULL;
    const char *run;
    GN_TRY(gn_path_join(t->ctx, t->arena, t->request->dir, "best", &run));
    GN_TRY(gn_trial_config(t->ctx, best->trials[0]->config, run, NULL, &config));
    GN_TRY(gn_text_add(t->ctx, out, "# The best of a search by gerne tune: mean %s on %s %.2f %%",
                       t->metric, split_words(t), 100 * best->figure.mean));
    if (best->done > 1)
        GN_TRY(gn_text_add(t->ctx, out, " over %zu seeds (sd %.2f, se %.2f)", best->done,
                           100 * best->figure.sd, 100 * best->figure.se));
    GN_TRY(gn_text_add(
        t->ctx, out, "%s\n",
        is_oracle(t) ? "\n# ORACLE: selected on the test split that it is evaluated on" : ""));
    GN_TRY(add_caveats(t, ranking, "# ", out));
    return gn_config_print(t->ctx, config->config, GN_NOT_ASKED, out);
}

static gerne_status write_best(gn_tuner *t, const gn_ranking *ranking)
{
    GN_LOCAL(gn_text) text = {0};
    const char *path;
    GN_TRY(gn_path_join(t->ctx, t->arena, t->request->dir, "best.yaml", &path));
    GN_TRY(best_text(t, ranking, &text));
    return gn_file_write(t->ctx, path, text.bytes, text.size);
}

/* ---- study.json ---- */

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

static gerne_status note_ties(gn_tuner *t, const gn_ranking *ranking, json_t *notes)
{
    GN_LOCAL(gn_text) text = {0};
    GN_TRY(gn_ranking_describe_ties(t->ctx, ranking, &text));
    if (text.size)
        GN_TRY(gn_study_note(t->ctx, notes, "%s", text.bytes));
    return GERNE_OK;
}

static gerne_status add_notes(gn_tuner *t, const gn_trial_list *list, const gn_ranking *ranking,
                              json_t *notes)
{
    size_t counts[GN_TRIAL_STATES], warned = 0, other = other_data(list);
    gn_trial_list_count(list, counts);
    size_t failed = counts[GN_TRIAL_FAILED], dropped = t->points.dropped;
    for (size_t i = 0; i < ranking->count; i++)
        warned += ranking->items[i].warned;
    GN_TRY(gn_study_note(
        t->ctx, notes, "%s",
        is_oracle(t) ? "Oracle: the winner was selected on the test split that it is evaluated "
                       "on (select.split: test)."
                     : "The winner was selected on validation, without the test split."));
    GN_TRY(note_ties(t, ranking, notes));
    if (dropped)
        GN_TRY(gn_study_note(t->ctx, notes, "%zu configuration%s skipped: %s.", dropped,
                             dropped == 1 ? " was" : "s were", t->points.example));
    if (warned)
        GN_TRY(gn_study_note(t->ctx, notes, "%zu trial%s warned; ! marks them in the ranking.",
                             warned, warned == 1 ? "" : "s"));
    if (failed)
        GN_TRY(gn_study_note(t->ctx, notes,
                             "%zu trial%s failed; a configuration that lost a seed ranks behind "
                             "those that did not.",
                             failed, failed == 1 ? "" : "s"));
    if (other)
        GN_TRY(
            gn_study_note(t->ctx, notes,
                          "%zu trial%s had other data than the first: the data changed during the "
                          "study.",
                          other, other == 1 ? "" : "s"));
    return GERNE_OK;
}

static gerne_status make_study(gn_tuner *t, const gn_trial_list *list, const gn_ranking *ranking,
                               json_t **out)
{
    char title[160];
    GN_LOCAL(json_t) *figures = NULL, *notes = json_array();
    GN_TRY(gn_tune_figures(t, ranking, &figures));
    GN_TRY(add_notes(t, list, ranking, notes));
    snprintf(title, sizeof title, "Search over %zu configuration%s of %s", t->points.count,
             t->points.count == 1 ? "" : "s", t->config->method->name);
    const gn_study_info info = {.kind = "tune",
                                .title = title,
                                .command = t->request->command,
                                .metric = t->metric,
                                .split = t->split,
                                .more_to_come = gn_tune_to_come(t) > 0,
                                .notes = notes,
                                .figures = figures};
    GN_TRY(gn_study_json(t->ctx, &info, list, ranking, out));
    return gn_study_write(t->ctx, t->request->dir, *out);
}

static bool is_finished(const gn_tuner *t, const gn_trial_list *list)
{
    size_t counts[GN_TRIAL_STATES];
    gn_trial_list_count(list, counts);
    return counts[GN_TRIAL_WAITING] + counts[GN_TRIAL_RUNNING] == 0 &&
           (gn_tune_to_come(t) == 0 || list->count == 0);
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
    GN_TRY(make_study(t, list, ranking, study));
    if (!is_finished(t, list))
        return GERNE_OK;
    if (!gn_ranking_best(ranking))
        return all_failed(t, list);
    GN_TRY(write_best(t, ranking));
    return report ? print_report(t, list, ranking, report) : GERNE_OK;
}

gerne_status gn_tune_conclude(gn_tuner *t, gn_text *report, json_t **study)
{
    GN_LOCAL(gn_trial_list) list = {0};
    GN_LOCAL(gn_ranking) ranking = {0};
    GN_LOCAL(json_t) *document = NULL;
    GN_TRY(gn_ledger_list(t->ledger, &list));
    GN_TRY(gn_rank(t->ctx, &list, t->split, t->metric, &ranking));
    GN_TRY(conclude(t, &list, &ranking, report, &document));
    return study ? gn_give(&document, study) : GERNE_OK;
}
