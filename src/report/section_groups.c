/* section_groups.c - the groups with their intervals, confusion by group, images or texts of
 * errors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot.h"
#include "report/sections.h"

enum { ROWS_MAX = 2000, MISTAKEN_FOR = 4 };

/* ---- which ---- */

size_t gn_worst_groups(gn_page *page, const gn_run_record *run, size_t *ids, size_t limit)
{
    const gn_split_record *split = &run->test;
    size_t count = 0, groups = (size_t)run->classes * run->attributes;
    gn_ranked_group *list = split->there ? gn_page_array(page, groups, sizeof *list) : NULL;
    for (size_t g = 0; list && g < groups; g++)
        if (split->groups[g].n && isfinite(split->groups[g].acc))
            list[count++] = (gn_ranked_group){g, split->groups[g].acc};
    gn_sort_groups(list, count);
    count = count < limit ? count : limit;
    for (size_t i = 0; i < count; i++)
        ids[i] = list[i].id;
    return count;
}

/* ---- the table ---- */

static double least_end(const gn_split_record *split, const size_t *ids, size_t count)
{
    double least = 1;
    for (size_t i = 0; i < count; i++) {
        const gn_group_record *g = &split->groups[ids[i]];
        double end = isfinite(g->lo) ? g->lo : g->acc;
        least = isfinite(end) ? fmin(least, end) : least;
    }
    return least;
}

static void add_group_row(gn_page *page, const gn_run_record *run, const gn_group_record *g,
                          size_t id, const gn_scale *scale)
{
    char title[128];
    bool worst = (ptrdiff_t)id == run->test.worst;
    gn_page_add(page, "<tr%s><td class=\"name\">", worst ? " class=\"worst\"" : "");
    gn_page_group(page, run, id, true);
    gn_page_add(page, "</td><td class=\"n\">%s</td>", gn_show_count(g->n).text);
    gn_page_add(page, "<td class=\"n\">%s <small>%s</small></td>", gn_show_percent(g->acc, 2).text,
                gn_interval_words(g->lo, g->hi).text);
    if (scale) {
        snprintf(title, sizeof title, "%s (95 %% interval %s), %llu of %llu right",
                 gn_show_percent(g->acc, 2).text, gn_interval_words(g->lo, g->hi).text,
                 (unsigned long long)g->correct, (unsigned long long)g->n);
        gn_page_add(page, "<td class=\"plotcell\">");
        gn_whisker(page, scale, g->acc, g->lo, g->hi, worst ? 1 : 0, title);
        gn_page_add(page, "</td>");
    }
    gn_page_add(page, "</tr>");
}

static void add_group_table(gn_page *page, const gn_run_record *run, const size_t *ids,
                            size_t count, bool whiskers)
{
    gn_scale scale = gn_whisker_scale(least_end(&run->test, ids, count));
    gn_page_add(page,
                "<div class=\"scroll\"><table><thead><tr><th>group %s</th>"
                "<th class=\"n\">n</th>"
                "<th class=\"n\">accuracy <small>95 %% interval</small></th>",
                run->attributes > 1 ? "<small>class " GN_DOT " attribute</small>" : "");
    if (whiskers) {
        gn_page_add(page, "<th class=\"plotcell\">");
        gn_whisker_head(page, &scale);
        gn_page_add(page, "</th>");
    }
    gn_page_add(page, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++)
        add_group_row(page, run, &run->test.groups[ids[i]], ids[i], whiskers ? &scale : NULL);
    gn_page_add(page, "</tbody></table></div>\n");
}

static void add_many_groups(gn_page *page, const gn_run_record *run, size_t *ids, size_t count)
{
    gn_page_add(page, "<p>The %d worst of %s groups, each with its exact interval.</p>\n",
                (int)GN_ROWS_SHOWN, gn_show_count(count).text);
    add_group_table(page, run, ids, GN_ROWS_SHOWN, true);
    size_t shown = count < ROWS_MAX ? count : ROWS_MAX;
    gn_page_add(page, "<details><summary>%s %s groups, worst first</summary>",
                shown < count ? "The first" : "All", gn_show_count(shown).text);
    add_group_table(page, run, ids, shown, false);
    gn_page_add(page, "</details>\n");
}

void gn_section_groups(gn_page *page, gn_run_record *run)
{
    size_t groups = (size_t)run->classes * run->attributes;
    size_t *ids = run->test.there ? gn_page_array(page, groups, sizeof *ids) : NULL;
    if (!ids)
        return;
    size_t count = gn_worst_groups(page, run, ids, groups);
    gn_page_add(page, "<h2>Groups</h2>\n");
    if (count > GN_ROWS_SHOWN) {
        add_many_groups(page, run, ids, count);
    } else {
        gn_page_add(page, "<p>Accuracy of every group on the test split, each with its exact "
                          "interval.</p>\n");
        for (size_t g = 0; g < groups; g++)
            ids[g] = g;
        add_group_table(page, run, ids, groups <= GN_ROWS_SHOWN ? groups : count, true);
    }
}

/* ---- confusion ---- */

/* How often each of the shown groups was taken for each class. */
typedef struct confusion {
    size_t ids[GN_ROWS_SHOWN], count;
    uint64_t *counts; /* [count][classes] */
} confusion;

static bool count_confusion(gn_page *page, const gn_run_record *run, confusion *c)
{
    const gn_predictions *p = &run->predictions.predictions;
    uint8_t *place = /* of a group among the shown ones, plus 1 */
        gn_page_array(page, (size_t)run->classes * run->attributes, 1);
    c->counts = gn_page_array(page, c->count * run->classes, sizeof *c->counts);
    if (!place || !c->counts)
        return false;
    for (size_t i = 0; i < c->count; i++)
        place[c->ids[i]] = (uint8_t)(i + 1);
    for (size_t i = 0; i < p->count; i++) {
        uint8_t at = place[(size_t)p->y[i] * run->attributes + (size_t)p->a[i]];
        if (at)
            c->counts[(size_t)(at - 1) * run->classes + (size_t)p->pred[i]]++;
    }
    return true;
}

static void add_confusion_row(gn_page *page, const gn_run_record *run, const confusion *c, size_t i)
{
    const uint64_t *counts = c->counts + i * run->classes;
    uint64_t n = run->test.groups[c->ids[i]].n;
    gn_page_add(page, "<tr><th>");
    gn_page_group(page, run, c->ids[i], true);
    gn_page_add(page, "</th>");
    for (uint32_t k = 0; k < run->classes; k++) {
        bool own = k == c->ids[i] / run->attributes;
        double share = n ? (double)counts[k] / (double)n : 0;
        if (!counts[k])
            gn_page_add(page, "<td class=\"none\">" GN_DOT "</td>");
        else
            gn_page_add(page,
                        "<td class=\"%s%s\" style=\"--v:%.3f\" title=\"%s of the group\">%s"
                        "</td>",
                        own ? "own" : "bad", share > GN_STRONG ? " strong" : "", share,
                        gn_show_percent(share, 1).text, gn_show_count(counts[k]).text);
    }
    gn_page_add(page, "</tr>");
}

static void add_confusion_table(gn_page *page, const gn_run_record *run, const confusion *c)
{
    gn_page_add(page, "<div class=\"scroll\"><table class=\"heat\"><thead><tr><th>group</th>");
    for (uint32_t k = 0; k < run->classes; k++)
        gn_page_fill(page, "<th>%.40s</th>", run->class_names[k]);
    gn_page_add(page, "</tr></thead><tbody>");
    for (size_t i = 0; i < c->count; i++)
        add_confusion_row(page, run, c, i);
    gn_page_add(page, "</tbody></table></div><p class=\"note\">Test samples of each group by "
                      "predicted class. Outlined: the true class; orange: errors.</p>\n");
}

/* The classes a group was most often taken for, in words. */
static void add_mistaken(gn_page *page, const gn_run_record *run, const confusion *c, size_t i)
{
    const uint64_t *counts = c->counts + i * run->classes;
    uint32_t own = (uint32_t)(c->ids[i] / run->attributes), given[MISTAKEN_FOR];
    size_t used = 0;
    for (; used < MISTAKEN_FOR; used++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t k = 0; k < run->classes; k++) {
            bool taken = k == own || !counts[k];
            for (size_t j = 0; j < used; j++)
                taken = taken || given[j] == k;
            if (!taken && (best == UINT32_MAX || counts[k] > counts[best]))
                best = k;
        }
        if (best == UINT32_MAX)
            break;
        given[used] = best;
        gn_page_add(page, "%s", used ? ", " : "");
        gn_page_fill(page, "%.40s (%s)", run->class_names[best], gn_show_count(counts[best]).text);
    }
    if (!used)
        gn_page_add(page, "nothing");
}

static void add_confusion_list(gn_page *page, const gn_run_record *run, const confusion *c)
{
    gn_page_add(page, "<div class=\"scroll\"><table><thead><tr><th>group</th><th class=\"n\">"
                      "wrong</th><th>most often predicted as</th></tr></thead><tbody>");
    for (size_t i = 0; i < c->count; i++) {
        const gn_group_record *g = &run->test.groups[c->ids[i]];
        gn_page_add(page, "<tr><td class=\"name\">");
        gn_page_group(page, run, c->ids[i], true);
        gn_page_add(page, "</td><td class=\"n\">%s of %s</td><td class=\"name\">",
                    gn_show_count(g->n - (g->correct < g->n ? g->correct : g->n)).text,
                    gn_show_count(g->n).text);
        add_mistaken(page, run, c, i);
        gn_page_add(page, "</td></tr>");
    }
    gn_page_add(page, "</tbody></table></div>\n");
}

void gn_section_confusion(gn_page *page, gn_run_record *run)
{
    confusion c = {0};
    if (!run->predictions.predictions.count || !run->test.there)
        return;
    c.count = gn_worst_groups(page, run, c.ids, GN_ROWS_SHOWN);
    if (!c.count || !count_confusion(page, run, &c))
        return;
    gn_page_add(page, "<h2>Confusion by group</h2>\n");
    if (c.count == GN_ROWS_SHOWN)
        gn_page_add(page, "<p>The %d worst groups, worst first.</p>\n", (int)GN_ROWS_SHOWN);
    if (run->classes <= GN_HEAT_SIDE)
        add_confusion_table(page, run, &c);
    else
        add_confusion_list(page, run, &c);
}

/* ---- pictures and texts ---- */

enum { QUOTE_LENGTH = 600 };

/* Pictures of few pixels are shown as such, not smeared: the width stands in a PNG's first chunk.
 */
static bool is_tiny(const gn_picture_record *picture)
{
    const unsigned char *width = (const unsigned char *)picture->bytes.bytes + 16;
    return picture->bytes.size > 24 && !width[0] && !width[1] && !width[2] && width[3] <= 48;
}

static void add_picture(gn_page *page, const gn_picture_record *p)
{
    gn_page_add(page, "<img%s alt=\"test image %llu\" src=\"data:image/png;base64,",
                is_tiny(p) ? " class=\"tiny\"" : "", (unsigned long long)p->index);
    gn_page_base64(page, p->bytes.bytes, p->bytes.size);
    gn_page_add(page, "\">");
}

static void add_quote(gn_page *page, const gn_picture_record *p)
{
    gn_page_fill(page, "<blockquote dir=\"auto\">%.*s</blockquote>", QUOTE_LENGTH,
                 p->bytes.size ? p->bytes.bytes : "");
}

void gn_section_pictures(gn_page *page, gn_run_record *run)
{
    if (!run->picture_count)
        return;
    const gn_picture_record *first = &run->pictures[0];
    size_t group = (size_t)first->y * run->attributes + first->a;
    gn_page_add(page, "<h2>Errors in the worst group</h2>\n<p>Test %s of ",
                first->is_text ? "texts" : "images");
    gn_page_group(page, run, group, true);
    gn_page_add(page,
                " that the model misclassifies with the highest confidence.</p>\n"
                "<ul class=\"%s\">",
                first->is_text ? "quotes" : "pictures");
    for (size_t i = 0; i < run->picture_count; i++) {
        const gn_picture_record *p = &run->pictures[i];
        gn_page_add(page, "<li>");
        if (p->is_text)
            add_quote(page, p);
        else
            add_picture(page, p);
        gn_page_fill(page, "<span>predicted as %.60s", run->class_names[p->pred]);
        gn_page_add(page, "</span><small>sample %llu</small></li>", (unsigned long long)p->index);
    }
    gn_page_add(page, "</ul>\n");
}
