/* section_comparison.c - several runs of one dataset side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot.h"
#include "report/sections.h"

enum { HEAT_RUNS = 8 };

/* ---- verdict ---- */

static const gn_run_record *best_of(const gn_run_record *runs, size_t count)
{
    const gn_run_record *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (runs[i].test.there && isfinite(runs[i].test.wga) &&
            (!best || runs[i].test.wga > best->test.wga))
            best = &runs[i];
    return best;
}

static void add_verdict(gn_page *page, const gn_run_record *runs, size_t count)
{
    const gn_run_record *best = best_of(runs, count);
    bool first = true;
    if (!best) {
        gn_page_add(page, "<p class=\"verdict\">None of the %zu runs has results</p>\n", count);
        return;
    }
    gn_page_fill(page, "<p class=\"verdict\">Best worst-group accuracy: %s with %s", best->name,
                 gn_show_percent(best->test.wga, 1).text);
    if (isfinite(best->test.wga_lo))
        gn_page_add(page, " <span>(95" GN_NARROW_SPACE "%% interval %s)</span>",
                    gn_interval_words(best->test.wga_lo, best->test.wga_hi).text);
    gn_page_add(page, "</p>\n<p class=\"lead\">The others: ");
    for (size_t i = 0; i < count && i < 12; i++) {
        if (&runs[i] == best)
            continue;
        gn_page_add(page, "%s", first ? "" : "; ");
        first = false;
        gn_page_text(page, runs[i].name);
        if (runs[i].test.there)
            gn_page_add(page, " %s", gn_show_percent(runs[i].test.wga, 1).text);
        else
            gn_page_add(page, " %s", gn_run_state(&runs[i]).text);
    }
    gn_page_add(page, ".</p>\n");
}

/* ---- the table ---- */

static void add_choice(gn_page *page, const gn_run_record *run)
{
    if (run->selection.oracle)
        gn_page_add(page, "<span class=\"stamp oracle\">ORACLE</span>");
    else
        gn_page_text(page, run->selection.metric ? run->selection.metric : "n/a");
}

static void add_row(gn_page *page, const gn_run_record *run, const gn_scale *scale, bool best)
{
    const gn_split_record *t = &run->test;
    char title[128];
    gn_page_add(page, "<tr><td class=\"name\">%s", best ? "<b>" : "");
    gn_page_text(page, run->name);
    gn_page_add(page, "%s%s <small>", best ? "</b>" : "", run->warnings.count ? " !" : "");
    gn_page_text(page, run->method ? run->method : "");
    gn_page_add(page, ", seed %lld</small></td>", (long long)run->seed);
    if (!t->there) {
        gn_page_add(page, "<td colspan=\"5\"><span class=\"stamp open\">%s</span></td></tr>\n",
                    gn_run_state(run).text);
        return;
    }
    snprintf(title, sizeof title, "worst group %s (95 %% interval %s)",
             gn_show_percent(t->wga, 2).text, gn_interval_words(t->wga_lo, t->wga_hi).text);
    gn_page_add(page, "<td class=\"n\">%s <small>%s</small></td><td class=\"plotcell\">",
                gn_show_percent(t->wga, 2).text, gn_interval_words(t->wga_lo, t->wga_hi).text);
    gn_whisker(page, scale, t->wga, t->wga_lo, t->wga_hi, best ? 1 : 0, title);
    gn_page_add(page, "</td><td class=\"n\">%s <small>%s</small></td><td class=\"n\">%s</td><td>",
                gn_show_percent(t->gba, 2).text, gn_interval_words(t->gba_lo, t->gba_hi).text,
                gn_show_percent(t->acc_avg, 2).text);
    add_choice(page, run);
    gn_page_add(page, "</td></tr>\n");
}

static void add_table(gn_page *page, const gn_run_record *runs, size_t count)
{
    double least = 1;
    const gn_run_record *best = best_of(runs, count);
    for (size_t i = 0; i < count; i++) {
        double end = isfinite(runs[i].test.wga_lo) ? runs[i].test.wga_lo : runs[i].test.wga;
        if (runs[i].test.there && isfinite(end))
            least = fmin(least, end);
    }
    gn_scale scale = gn_whisker_scale(least);
    gn_page_add(page, "<h2>Comparison</h2>\n<div class=\"scroll\"><table><thead><tr><th>run</th>"
                      "<th class=\"n\">worst group <small>95 %% interval</small></th>"
                      "<th class=\"plotcell\">");
    gn_whisker_head(page, &scale);
    gn_page_add(page, "</th><th class=\"n\">mean of groups <small>95 %% interval</small></th>"
                      "<th class=\"n\">all samples</th><th>selected "
                      "by</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++)
        add_row(page, &runs[i], &scale, &runs[i] == best);
    gn_page_add(page, "</tbody></table></div>\n");
}

static void add_diverged(gn_page *page, const gn_run_record *run)
{
    gn_page_fill(page, "<li><b>%s</b> %s", run->name, gn_run_state(run).text);
    gn_page_divergence(page, run);
    gn_page_add(page, ".</li>");
}

/* A headline never hides that its run warned. */
static void add_warned(gn_page *page, const gn_run_record *best)
{
    gn_page_fill(page, "<li><b>%s</b> has the best worst group and warned: %.*s</li>", best->name,
                 GN_WARNING_CHARACTERS, best->warnings.items[0]);
}

static void add_remarks(gn_page *page, const gn_run_record *runs, size_t count)
{
    size_t oracle = 0, unfinished = 0, unknown = 0, diverged = 0;
    const gn_run_record *best = best_of(runs, count);
    bool warned = best && best->warnings.count;
    for (size_t i = 0; i < count; i++) {
        oracle += runs[i].selection.oracle;
        diverged += runs[i].divergence.there;
        unfinished += !runs[i].results && !runs[i].divergence.there;
        unknown += !runs[i].fingerprint;
    }
    if (!(oracle && oracle < count) && !unfinished && !unknown && !diverged && !warned)
        return;
    gn_page_add(page, "<ul class=\"remarks\">");
    if (warned)
        add_warned(page, best);
    for (size_t i = 0; i < count; i++)
        if (runs[i].divergence.there)
            add_diverged(page, &runs[i]);
    if (oracle && oracle < count)
        gn_page_add(page,
                    "<li>%zu of %zu runs selected their checkpoint on the test split "
                    "(oracle): their figures are optimistic compared with the others.</li>",
                    oracle, count);
    if (unfinished)
        gn_page_add(page,
                    "<li>%zu of %zu runs %s not finished and shown up to their last "
                    "evaluation.</li>",
                    unfinished, count, unfinished == 1 ? "is" : "are");
    if (unknown)
        gn_page_add(page,
                    "<li>%zu of %zu runs do not record their data: whether they are "
                    "comparable could not be checked.</li>",
                    unknown, count);
    gn_page_add(page, "</ul>\n");
}

/* ---- warnings ---- */

static bool warned_of(const gn_run_record *run, const char *text)
{
    for (size_t i = 0; i < run->warnings.count && i < GN_WARNINGS_SHOWN; i++)
        if (strcmp(run->warnings.items[i], text) == 0)
            return true;
    return false;
}

/* One text and every run that has it, unless a run before the first-th has it, too. */
static void add_warning(gn_page *page, const gn_run_record *runs, size_t count, size_t first,
                        const char *text)
{
    for (size_t i = 0; i < first; i++)
        if (warned_of(&runs[i], text))
            return;
    gn_page_add(page, "<li>");
    for (size_t i = first; i < count; i++) {
        if (!warned_of(&runs[i], text))
            continue;
        gn_page_add(page, "%s<b>", i > first ? ", " : "");
        gn_page_fill(page, "%s</b>", runs[i].name);
    }
    gn_page_fill(page, ": %.*s</li>", GN_WARNING_CHARACTERS, text);
}

static void add_warnings(gn_page *page, const gn_run_record *runs, size_t count)
{
    size_t warned = 0;
    for (size_t i = 0; i < count; i++)
        warned += runs[i].warnings.count > 0;
    if (!warned)
        return;
    gn_page_add(page,
                "<p class=\"note\">! marks a run that warned:</p>\n<ul class=\"warned note\">");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < runs[i].warnings.count && k < GN_WARNINGS_SHOWN; k++)
            add_warning(page, runs, count, i, runs[i].warnings.items[k]);
    gn_page_add(page, "</ul>\n");
}

/* ---- paired ---- */

static void add_difference(gn_page *page, double value, gn_interval ci)
{
    gn_page_add(page, "<td class=\"n\">%s <small>%s to %s</small></td>",
                gn_show_points(value, 2).text, gn_show_points(ci.lo, 2).text,
                gn_show_points(ci.hi, 2).text);
}

static void add_pair_row(gn_page *page, const gn_run_record *run)
{
    const gn_comparison *d = &run->difference;
    gn_page_fill(page, "<tr><td class=\"name\">%s</td>", run->name);
    if (!run->is_paired) {
        gn_page_add(page, "<td colspan=\"4\"><small>not paired: the predictions are missing or on "
                          "other samples</small></td></tr>");
        return;
    }
    add_difference(page, d->wga_difference, d->wga_ci95);
    add_difference(page, d->gba_difference, d->gba_ci95);
    gn_page_add(page, "<td class=\"n\">%s</td><td class=\"n\">%s</td></tr>",
                gn_show_points(d->acc_difference, 2).text,
                d->mcnemar < 0.0001 ? "&lt; 0.0001" : gn_show_number(d->mcnemar).text);
}

static void add_paired(gn_page *page, const gn_run_record *runs, size_t count)
{
    const gn_run_record *first = &runs[0];
    size_t samples = first->predictions.predictions.count, others = 0;
    for (size_t i = 1; i < count; i++)
        others += runs[i].results != NULL;
    if (!samples || !others)
        return;
    gn_page_fill(
        page,
        "<h2>Paired differences</h2>\n<p>Each run minus %s, on the same %s test samples, in "
        "percentage points.</p>\n<div class=\"scroll\"><table><thead><tr><th>run</th><th "
        "class=\"n\">worst group <small>95 %% interval</small></th><th class=\"n\">mean of groups "
        "<small>95 %% interval</small></th><th class=\"n\">all samples</th><th "
        "class=\"n\">p</th></tr></thead><tbody>\n",
        first->name, gn_show_count(samples).text);
    for (size_t i = 1; i < count; i++)
        if (runs[i].results)
            add_pair_row(page, &runs[i]);
    gn_page_add(page,
                "</tbody></table></div><p class=\"note\">Intervals: %d paired resamples within "
                "the groups. p: exact McNemar test over all samples. Neither covers the "
                "variation over training seeds.</p>\n",
                (int)GN_RESAMPLES);
}

/* ---- curves ---- */

static void add_curve(gn_page *page, const gn_run_record *runs, size_t count, const char *column,
                      const char *title)
{
    gn_series *series = gn_page_array(page, count, sizeof *series);
    size_t used = 0;
    for (size_t i = 0; series && i < count; i++) {
        const gn_run_record *run = &runs[i];
        gn_series *s = &series[used];
        if (!run->stage_count ||
            !gn_series_of(page, &run->stages[run->stage_count - 1].curves, column, 100, s))
            continue;
        s->name = run->name;
        s->colour = (int)(i % GN_COLOURS);
        s->dashed = i / GN_COLOURS % 2;
        used++;
    }
    gn_plot_draw(page, &(gn_plot){.title = title,
                                  .x = {.label = "step", .min = NAN, .max = NAN},
                                  .y = {.label = "accuracy", .unit = "%", .min = NAN, .max = 100},
                                  .series = series,
                                  .count = used,
                                  .mark = NAN});
}

static void add_curves(gn_page *page, const gn_run_record *runs, size_t count)
{
    gn_page_add(page, "<h2>Training curves</h2>\n<div class=\"pair\">");
    add_curve(page, runs, count, "val/wga", "Worst group on validation");
    add_curve(page, runs, count, "val/gba", "Mean of groups on validation");
    gn_page_add(page, "</div>\n");
}

/* ---- groups ---- */

static int by_id(const void *left, const void *right)
{
    const gn_ranked_group *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static size_t find_least(const gn_run_record *runs, size_t count, gn_ranked_group *out)
{
    size_t used = 0, groups = (size_t)runs[0].classes * runs[0].attributes;
    for (size_t g = 0; g < groups; g++) {
        double least = INFINITY;
        for (size_t i = 0; i < count; i++)
            if (runs[i].test.there && isfinite(runs[i].test.groups[g].acc))
                least = fmin(least, runs[i].test.groups[g].acc);
        if (isfinite(least))
            out[used++] = (gn_ranked_group){g, least};
    }
    gn_sort_groups(out, used);
    if (used > GN_ROWS_SHOWN)
        return GN_ROWS_SHOWN;
    qsort(out, used, sizeof *out, by_id);
    return used;
}

static void add_group_cells(gn_page *page, const gn_run_record *runs, size_t count, size_t id)
{
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].test.there)
            continue;
        const gn_group_record *g = &runs[i].test.groups[id];
        bool worst = (ptrdiff_t)id == runs[i].test.worst;
        if (isfinite(g->acc))
            gn_page_add(page,
                        "<td class=\"bad%s%s\" style=\"--v:%.3f\" title=\"95 %% interval %s\">%s"
                        "</td>",
                        1 - g->acc > GN_STRONG ? " strong" : "", worst ? " own" : "", 1 - g->acc,
                        gn_interval_words(g->lo, g->hi).text, gn_show_percent(g->acc, 1).text);
        else
            gn_page_add(page, "<td class=\"none\">n/a</td>");
    }
}

static void add_groups(gn_page *page, const gn_run_record *runs, size_t count)
{
    size_t groups = (size_t)runs[0].classes * runs[0].attributes;
    bool wanted = groups && count <= HEAT_RUNS && best_of(runs, count);
    gn_ranked_group *list = wanted ? gn_page_array(page, groups, sizeof *list) : NULL;
    size_t shown = list ? find_least(runs, count, list) : 0;
    if (!shown)
        return;
    gn_page_add(page,
                "<h2>Groups</h2>\n<p>%s The stronger the colour, the lower the accuracy; "
                "the worst group of each run is outlined.</p>\n<div "
                "class=\"scroll\"><table class=\"heat\"><thead><tr><th>"
                "</th>",
                shown < groups ? "The groups on which some run is worst." : "");
    for (size_t i = 0; i < count; i++)
        if (runs[i].test.there)
            gn_page_fill(page, "<th>%.40s</th>", runs[i].name);
    gn_page_add(page, "</tr></thead><tbody>\n");
    for (size_t k = 0; k < shown; k++) {
        gn_page_add(page, "<tr><th>");
        gn_page_group(page, &runs[0], list[k].id, true);
        gn_page_add(page, "</th>");
        add_group_cells(page, runs, count, list[k].id);
        gn_page_add(page, "</tr>");
    }
    gn_page_add(page, "</tbody></table></div>\n");
}

void gn_section_comparison(gn_page *page, gn_run_record *runs, size_t count)
{
    add_verdict(page, runs, count);
    add_remarks(page, runs, count);
    add_table(page, runs, count);
    add_warnings(page, runs, count);
    add_paired(page, runs, count);
    add_groups(page, runs, count);
    add_curves(page, runs, count);
    gn_page_add(page, "<h2>Each run in detail</h2>\n");
    for (size_t i = 0; i < count; i++) {
        gn_page_fill(page, "<details class=\"run\"><summary>%s</summary>\n", runs[i].name);
        gn_section_verdict(page, &runs[i]);
        gn_sections_of_run(page, &runs[i]);
        gn_page_add(page, "</details>\n");
    }
}
