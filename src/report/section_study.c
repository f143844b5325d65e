/* section_study.c - a study: its ranking, its parameters, whatever tables and figures it brings. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/plot.h"
#include "report/sections.h"

enum {
    RANKS_SHOWN = 20,
    TRIALS_SHOWN = 2000,
    SERIES_MAX = 40,
    PLOTS_MAX = 12,
    CATEGORIES_MAX = 24,
    COLUMNS_MAX = 64,
};

/* A value of settings: texts as they are, numbers short. */
static void add_value(gn_page *page, const json_t *value)
{
    if (json_is_string(value))
        gn_page_text(page, json_string_value(value));
    else if (json_is_integer(value))
        gn_page_add(page, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        gn_page_add(page, "%s", gn_show_number(json_real_value(value)).text);
    else if (json_is_boolean(value))
        gn_page_add(page, "%s", json_is_true(value) ? "true" : "false");
    else
        gn_page_add(page, "n/a");
}

static const char *short_key(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot && dot[1] ? dot + 1 : key;
}

/* ---- verdict ---- */

static void add_settings(gn_page *page, const json_t *settings)
{
    const char *key;
    json_t *value;
    bool first = true;
    json_object_foreach((json_t *)(uintptr_t)settings, key, value)
    {
        gn_page_add(page, "%s", first ? "" : ", ");
        first = false;
        gn_page_fill(page, "%s\xC2\xA0=\xC2\xA0", short_key(key));
        add_value(page, value);
    }
}

static void add_stamps(gn_page *page, const json_t *study)
{
    const json_t *selection = json_object_get(study, "selection");
    const json_t *counts = json_object_get(study, "counts");
    if (!json_is_true(json_object_get(study, "complete")))
        gn_page_add(page, "<span class=\"stamp open\">not complete</span>");
    if (json_is_true(json_object_get(selection, "oracle")))
        gn_page_add(page, "<span class=\"stamp oracle\">ORACLE: selected on the test split that it "
                          "is evaluated on</span>");
    else if (gn_json_text(selection, "metric"))
        gn_page_fill(page, "<span class=\"stamp\">selected on validation by %s</span>",
                     gn_json_text(selection, "metric"));
    const char *const names[] = {"done", "failed", "waiting"};
    for (size_t i = 0; i < 3; i++) {
        double n = gn_json_real(counts, names[i]);
        if (n > 0)
            gn_page_add(page, "<span class=\"stamp\">%s trial%s %s</span>", gn_show_whole(n).text,
                        n == 1 ? "" : "s", names[i]);
    }
    gn_page_add(page, "\n");
}

/* Compared with rank 1, and no significant difference found. */
static bool ties(const json_t *row)
{
    return json_is_false(json_object_get(json_object_get(row, "difference"), "significant"));
}

static void add_ties(gn_page *page, const json_t *ranking)
{
    size_t count = 0, i;
    const json_t *row;
    json_array_foreach(ranking, i, row)
    {
        count += ties(row);
    }
    if (count)
        gn_page_add(page, "; no significant difference from %zu other configuration%s", count,
                    count == 1 ? "" : "s");
}

/* Runs behind the headline that warned. */
static void add_warned(gn_page *page, const json_t *best)
{
    double warned = gn_json_real(best, "warned");
    const char *warning = gn_json_text(best, "warning");
    if (!(warned > 0))
        return;
    gn_page_add(page, "<ul class=\"remarks\"><li>%.0f of %.0f runs of it warned: ", warned,
                gn_json_real(best, "n"));
    gn_page_fill(page, "%s</li></ul>\n", warning ? warning : "");
}

static void add_verdict(gn_page *page, const json_t *study)
{
    const json_t *best = json_array_get(json_object_get(study, "ranking"), 0);
    const char *metric = gn_json_text(json_object_get(study, "selection"), "metric");
    const char *split = gn_json_text(json_object_get(study, "selection"), "split");
    const char *title = gn_json_text(study, "title");
    if (!best) {
        gn_page_fill(page, "<p class=\"verdict\">%s</p>\n", title ? title : "A study");
        return;
    }
    gn_page_add(page, "<p class=\"verdict\">Best: ");
    add_settings(page, json_object_get(best, "settings"));
    gn_page_fill(page, "</p>\n<p class=\"lead\">%s %s",
                 gn_show_percent(gn_json_real(best, "mean"), 1).text, metric);
    gn_page_add(page, " on %s",
                split && strcmp(split, "test") == 0 ? "the test split" : "validation");
    double n = gn_json_real(best, "n");
    if (n > 1)
        gn_page_add(page, ", mean of %.0f seeds with standard error %s", n,
                    gn_show_percent(gn_json_real(best, "se"), 1).text);
    const json_t *test = json_object_get(best, "test");
    double wga = gn_json_real(json_object_get(test, "wga"), "mean");
    if (isfinite(wga))
        gn_page_add(page, "; worst group %s on test", gn_show_percent(wga, 1).text);
    add_ties(page, json_object_get(study, "ranking"));
    gn_page_add(page, ".</p>\n");
    add_warned(page, best);
}

static void add_notes(gn_page *page, const json_t *notes)
{
    const json_t *note;
    size_t i;
    if (!json_array_size(notes))
        return;
    gn_page_add(page, "<ul class=\"remarks calm\">");
    json_array_foreach(notes, i, note)
    {
        gn_page_fill(page, "<li>%s</li>", json_string_value(note));
    }
    gn_page_add(page, "</ul>\n");
}

/* ---- ranking ---- */

static void add_parameter_heads(gn_page *page, const json_t *parameters)
{
    const json_t *name;
    size_t i;
    json_array_foreach(parameters, i, name)
    {
        const char *key = json_string_value(name);
        gn_page_fill(page, "<th title=\"%s\">%s</th>", key, key ? short_key(key) : "");
    }
}

static void add_parameter_cells(gn_page *page, const json_t *parameters, const json_t *settings)
{
    const json_t *name;
    size_t i;
    json_array_foreach(parameters, i, name)
    {
        const char *key = json_string_value(name);
        gn_page_add(page, "<td>");
        add_value(page, key ? json_object_get(settings, key) : NULL);
        gn_page_add(page, "</td>");
    }
}

static void add_mean(gn_page *page, const json_t *figure)
{
    double sd = gn_json_real(figure, "sd");
    gn_page_add(page, "<td class=\"n\">%s", gn_show_percent(gn_json_real(figure, "mean"), 2).text);
    if (isfinite(sd))
        gn_page_add(page, " <small>\xC2\xB1 %.2f</small>", 100 * sd);
    gn_page_add(page, "</td>");
}

/* Signed points, with the mark of no significant difference. */
static void add_difference(gn_page *page, const json_t *row)
{
    double mean = gn_json_real(json_object_get(row, "difference"), "mean");
    gn_page_add(page, "<td class=\"n\">");
    if (isfinite(mean))
        gn_page_add(page, "%+.2f%s", 100 * mean, ties(row) ? " =" : "");
    gn_page_add(page, "</td>");
}

static void add_rank(gn_page *page, const json_t *study, const json_t *row, const gn_scale *scale)
{
    const json_t *test = json_object_get(row, "test");
    double mean = gn_json_real(row, "mean"), se = gn_json_real(row, "se");
    char title[128];
    snprintf(title, sizeof title, "%s, standard error %s", gn_show_percent(mean, 2).text,
             gn_show_percent(se, 2).text);
    gn_page_add(page, "<tr><td class=\"n\">%.0f%s</td>", gn_json_real(row, "rank"),
                gn_json_real(row, "warned") > 0 ? " !" : "");
    add_parameter_cells(page, json_object_get(study, "parameters"),
                        json_object_get(row, "settings"));
    gn_page_add(page, "<td class=\"n\">%.0f</td>", gn_json_real(row, "n"));
    add_mean(page, row);
    gn_page_add(page, "<td class=\"plotcell\">");
    gn_whisker(page, scale, mean, mean - se, fmin(mean + se, 1),
               gn_json_real(row, "rank") == 1 ? 1 : 0, title);
    gn_page_add(page, "</td>");
    add_difference(page, row);
    add_mean(page, json_object_get(test, "gba"));
    add_mean(page, json_object_get(test, "wga"));
    gn_page_add(page, "</tr>\n");
}

static gn_scale ranking_scale(const json_t *ranking)
{
    double least = 1;
    const json_t *row;
    size_t i;
    json_array_foreach(ranking, i, row)
    {
        double mean = gn_json_real(row, "mean"), se = gn_json_real(row, "se");
        double end = mean - (isfinite(se) ? se : 0);
        least = isfinite(end) ? fmin(least, end) : least;
    }
    return gn_whisker_scale(least);
}

static void add_ranking_table(gn_page *page, const json_t *study, size_t from, size_t to,
                              const gn_scale *scale)
{
    const json_t *ranking = json_object_get(study, "ranking");
    const char *metric = gn_json_text(json_object_get(study, "selection"), "metric");
    gn_page_add(page, "<div class=\"scroll\"><table><thead><tr><th class=\"n\">rank</th>");
    add_parameter_heads(page, json_object_get(study, "parameters"));
    gn_page_fill(page,
                 "<th class=\"n\">n</th><th class=\"n\">%s <small>\xC2\xB1 sd</small></th><th "
                 "class=\"plotcell\">",
                 metric ? metric : "mean");
    gn_whisker_head(page, scale);
    gn_page_add(page, "</th><th class=\"n\">from rank 1</th><th class=\"n\">test GBA</th><th "
                      "class=\"n\">test WGA</th></tr></thead>"
                      "<tbody>\n");
    for (size_t i = from; i < to; i++)
        add_rank(page, study, json_array_get(ranking, i), scale);
    gn_page_add(page, "</tbody></table></div>\n");
}

static void add_ranking(gn_page *page, const json_t *study)
{
    const json_t *ranking = json_object_get(study, "ranking");
    size_t count = json_array_size(ranking);
    size_t shown = count < RANKS_SHOWN ? count : RANKS_SHOWN;
    if (!count)
        return;
    gn_scale scale = ranking_scale(ranking);
    gn_page_add(page, "<h2>Ranking</h2>\n");
    add_ranking_table(page, study, 0, shown, &scale);
    gn_page_add(page, "<p class=\"note\">\xC2\xB1 is the standard deviation over seeds; whiskers "
                      "show one standard error of the mean. = marks no significant difference "
                      "from rank 1, ! a configuration of which a run warned. The configuration "
                      "is selected on the split that the stamp names; the test columns are not "
                      "used for it.</p>\n");
    if (shown < count) {
        size_t end = count < TRIALS_SHOWN ? count : TRIALS_SHOWN;
        gn_page_add(page, "<details><summary>The other %zu</summary>", count - shown);
        add_ranking_table(page, study, shown, end, &scale);
        gn_page_add(page, "</details>\n");
    }
}

/* ---- parameters against the metric ---- */

typedef struct scatter {
    double *x, *y;
    size_t count;
    const char *names[CATEGORIES_MAX];
    size_t name_count;
    bool numeric;
} scatter;

/* Numbers in JSON or as text; false for words. */
static bool number_of(const json_t *value, double *out)
{
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return true;
    }
    return json_is_string(value) && gn_parse_double(json_string_value(value), out);
}

static bool category_of(scatter *s, const char *word, double *out)
{
    size_t i = 0;
    while (i < s->name_count && strcmp(s->names[i], word) != 0)
        i++;
    if (i == CATEGORIES_MAX)
        return false;
    if (i == s->name_count)
        s->names[s->name_count++] = word;
    *out = (double)i;
    return true;
}

static bool all_numeric(const json_t *trials, const char *key)
{
    const json_t *trial;
    size_t i;
    double ignored;
    json_array_foreach(trials, i, trial)
    {
        const json_t *value = json_object_get(json_object_get(trial, "settings"), key);
        if (value && !number_of(value, &ignored))
            return false;
    }
    return true;
}

static void collect(scatter *s, const json_t *study, const char *key)
{
    const json_t *trials = json_object_get(study, "trials"), *trial;
    const json_t *selection = json_object_get(study, "selection");
    const char *metric = gn_json_text(selection, "metric"),
               *split = gn_json_text(selection, "split");
    size_t i;
    s->count = s->name_count = 0;
    s->numeric = all_numeric(trials, key);
    json_array_foreach(trials, i, trial)
    {
        const json_t *value = json_object_get(json_object_get(trial, "settings"), key);
        const json_t *judged = json_object_get(trial, split ? split : "val");
        double x = 0, y = gn_json_real(judged, metric ? metric : "gba");
        const char *word = json_string_value(value);
        bool there = s->numeric ? number_of(value, &x) : word && category_of(s, word, &x);
        if (!there || !isfinite(y))
            continue;
        s->x[s->count] = x;
        s->y[s->count++] = 100 * y;
    }
}

/* Spread over more than a decade and a half: a logarithmic axis. */
static bool wants_log(const scatter *s)
{
    double lo = INFINITY, hi = -INFINITY;
    gn_extend_range(s->x, s->count, &lo, &hi);
    return s->numeric && lo > 0 && hi / lo >= 30;
}

static void draw_scatter(gn_page *page, const json_t *study, const char *key, scatter *s)
{
    const char *metric = gn_json_text(json_object_get(study, "selection"), "metric");
    char title[160];
    collect(s, study, key);
    if (s->count < 2)
        return;
    gn_series series = {.x = s->x, .y = s->y, .count = s->count, .points_only = true};
    snprintf(title, sizeof title, "%s", key);
    gn_mend_end(title);
    gn_plot_draw(
        page,
        &(gn_plot){.title = title,
                   .x = {.label = short_key(key),
                         .log = wants_log(s),
                         .min = NAN,
                         .max = NAN,
                         .names = s->numeric ? NULL : s->names,
                         .name_count = s->name_count},
                   .y = {.label = metric ? metric : "gba", .unit = "%", .min = NAN, .max = NAN},
                   .series = &series,
                   .count = 1,
                   .mark = NAN});
}

static void add_parameters(gn_page *page, const json_t *study)
{
    const json_t *parameters = json_object_get(study, "parameters"), *name;
    size_t trials = json_array_size(json_object_get(study, "trials")), i;
    scatter s = {0};
    if (!json_array_size(parameters) || trials < 2)
        return;
    s.x = gn_page_array(page, trials, 2 * sizeof *s.x);
    if (!s.x)
        return;
    s.y = s.x + trials;
    gn_page_add(page, "<h2>Effect of each parameter</h2>\n<p>The selection metric of every "
                      "trial.</p>\n"
                      "<div class=\"pair\">");
    json_array_foreach(parameters, i, name)
    {
        if (json_is_string(name) && i < PLOTS_MAX)
            draw_scatter(page, study, json_string_value(name), &s);
    }
    gn_page_add(page, "</div>\n");
}

/* ---- tables and figures that the study brings ---- */

/* A number, or a text that begins like one: "83.01 +- 0.23". */
static bool is_figure(const json_t *cell)
{
    const char *text = json_string_value(cell);
    return json_is_number(cell) || (text && isdigit((unsigned char)text[text[0] == '-']));
}

/* A column is one of figures as soon as one of its cells is. */
static bool column_of_figures(const json_t *rows, size_t column)
{
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        if (is_figure(json_array_get(row, column)))
            return true;
    }
    return false;
}

/* Two decimals: figures stand one below the other. Counts have none. */
static void add_cell(gn_page *page, const json_t *cell)
{
    double value = json_real_value(cell);
    if (json_is_real(cell) && fabs(value) >= 0.01)
        gn_page_add(page, "%.*f", value == floor(value) ? 0 : 2, value);
    else
        add_value(page, cell);
}

static void add_table_rows(gn_page *page, const json_t *rows, const bool *numbers)
{
    const json_t *cell, *row;
    size_t i, k;
    json_array_foreach(rows, i, row)
    {
        if (i == TRIALS_SHOWN)
            break;
        gn_page_add(page, "<tr>");
        json_array_foreach(row, k, cell)
        {
            gn_page_add(page, "<td class=\"%s\">", k < COLUMNS_MAX && numbers[k] ? "n" : "word");
            add_cell(page, cell);
            gn_page_add(page, "</td>");
        }
        gn_page_add(page, "</tr>\n");
    }
}

static void add_table(gn_page *page, const json_t *table)
{
    const json_t *cell, *rows = json_object_get(table, "rows");
    bool numbers[COLUMNS_MAX] = {false};
    size_t i;
    gn_page_fill(page, "<h3>%s</h3>\n<div class=\"scroll\"><table><thead><tr>",
                 gn_json_text(table, "title"));
    json_array_foreach(json_object_get(table, "columns"), i, cell)
    {
        if (i < COLUMNS_MAX)
            numbers[i] = column_of_figures(rows, i);
        gn_page_add(page, "<th%s>", i < COLUMNS_MAX && numbers[i] ? " class=\"n\"" : "");
        gn_page_fill(page, "%s</th>", json_string_value(cell));
    }
    gn_page_add(page, "</tr></thead><tbody>\n");
    add_table_rows(page, rows, numbers);
    gn_page_add(page, "</tbody></table></div>\n");
    if (gn_json_text(table, "note"))
        gn_page_fill(page, "<p class=\"note\">%s</p>\n", gn_json_text(table, "note"));
}

/* The numbers of a list; NULL when there is no list. */
static double *numbers_of(gn_page *page, const json_t *list, size_t count)
{
    double *values = json_is_array(list) ? gn_page_array(page, count, sizeof *values) : NULL;
    for (size_t i = 0; values && i < count; i++) {
        const json_t *value = json_array_get(list, i);
        values[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    return values;
}

static gn_axis axis_of(const json_t *axis)
{
    return (gn_axis){.label = gn_json_text(axis, "label"),
                     .unit = gn_json_text(axis, "unit"),
                     .log = json_is_true(json_object_get(axis, "log")),
                     .min = NAN,
                     .max = NAN};
}

static void add_figure(gn_page *page, const json_t *figure)
{
    const json_t *list = json_object_get(figure, "series"), *item;
    gn_series series[SERIES_MAX];
    size_t used = 0, i;
    json_array_foreach(list, i, item)
    {
        const json_t *x = json_object_get(item, "x"), *y = json_object_get(item, "y");
        size_t count =
            json_array_size(x) < json_array_size(y) ? json_array_size(x) : json_array_size(y);
        gn_series *s = &series[used];
        if (used == SERIES_MAX || !count)
            continue;
        *s = (gn_series){.name = gn_json_text(item, "name"),
                         .x = numbers_of(page, x, count),
                         .y = numbers_of(page, y, count),
                         .lo = numbers_of(page, json_object_get(item, "lo"), count),
                         .hi = numbers_of(page, json_object_get(item, "hi"), count),
                         .count = count,
                         .colour = (int)(used % GN_COLOURS),
                         .dashed =
                             json_is_true(json_object_get(item, "dashed")) || used >= GN_COLOURS};
        used += s->x && s->y;
    }
    gn_plot_draw(page, &(gn_plot){.title = gn_json_text(figure, "title"),
                                  .note = gn_json_text(figure, "note"),
                                  .x = axis_of(json_object_get(figure, "x")),
                                  .y = axis_of(json_object_get(figure, "y")),
                                  .series = series,
                                  .count = used,
                                  .mark = NAN});
}

static void add_figures(gn_page *page, const json_t *figures)
{
    const json_t *figure;
    size_t i;
    if (!json_array_size(figures))
        return;
    gn_page_add(page, "<h2>Figures</h2>\n<div class=\"pair\">");
    json_array_foreach(figures, i, figure)
    {
        add_figure(page, figure);
    }
    gn_page_add(page, "</div>\n");
}

/* ---- trials ---- */

static void add_small(gn_page *page, const char *text)
{
    gn_page_fill(page, "<br><small style=\"white-space:normal\">%s</small>", text);
}

static void add_trial(gn_page *page, const json_t *study, const json_t *trial)
{
    const json_t *warning;
    size_t i;
    const json_t *val = json_object_get(trial, "val"), *test = json_object_get(trial, "test");
    const char *reason = gn_json_text(trial, "reason");
    bool diverged = json_is_true(json_object_get(trial, "diverged")); /* the reason says it all */
    gn_page_fill(page, "<tr><td>%s</td><td>%s", gn_json_text(trial, "id"),
                 diverged ? reason : gn_json_text(trial, "state"));
    if (reason && !diverged)
        add_small(page, reason);
    json_array_foreach(json_object_get(trial, "warnings"), i, warning)
    {
        add_small(page, json_string_value(warning));
    }
    gn_page_add(page, "</td>");
    add_parameter_cells(page, json_object_get(study, "parameters"),
                        json_object_get(trial, "settings"));
    gn_page_add(page, "<td class=\"n\">%s</td>", gn_show_number(gn_json_real(trial, "seed")).text);
    const double figures[] = {gn_json_real(val, "gba"), gn_json_real(val, "wga"),
                              gn_json_real(test, "gba"), gn_json_real(test, "wga")};
    for (i = 0; i < sizeof figures / sizeof figures[0]; i++)
        gn_page_add(page, "<td class=\"n\">%s</td>", gn_show_percent(figures[i], 2).text);
    gn_page_add(page, "</tr>\n");
}

static void add_trials(gn_page *page, const json_t *study)
{
    const json_t *trials = json_object_get(study, "trials"), *trial;
    size_t i;
    if (!json_array_size(trials))
        return;
    gn_page_add(page,
                "<h2>Trials</h2>\n<details><summary>%zu trials</summary>"
                "<div class=\"scroll\"><table><thead><tr><th>trial</th><th>state</th>",
                json_array_size(trials));
    add_parameter_heads(page, json_object_get(study, "parameters"));
    gn_page_add(page, "<th class=\"n\">seed</th><th class=\"n\">val GBA</th><th class=\"n\">val "
                      "WGA</th><th class=\"n\">test GBA</th><th class=\"n\">test WGA</th></tr>"
                      "</thead><tbody>\n");
    json_array_foreach(trials, i, trial)
    {
        if (i == TRIALS_SHOWN)
            break;
        add_trial(page, study, trial);
    }
    gn_page_add(page, "</tbody></table></div></details>\n");
}

void gn_section_study(gn_page *page, const gn_study_record *record)
{
    const json_t *study = record->study, *tables = json_object_get(study, "tables"), *table;
    const char *command = gn_json_text(study, "command");
    size_t i;
    add_verdict(page, study);
    add_stamps(page, study);
    add_notes(page, json_object_get(study, "notes"));
    if (json_array_size(tables))
        gn_page_add(page, "<h2>Tables</h2>\n");
    json_array_foreach(tables, i, table)
    {
        add_table(page, table);
    }
    add_figures(page, json_object_get(study, "figures"));
    add_ranking(page, study);
    add_parameters(page, study);
    add_trials(page, study);
    if (command)
        gn_page_fill(page, "<h2>Reproduce this study</h2>\n<pre class=\"command\">%s</pre>\n",
                     command);
}
