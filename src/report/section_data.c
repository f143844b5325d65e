/* section_data.c - the groups of the training data, how biased they are, and the axis of beta. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debias/audit.h"
#include "report/plot.h"
#include "report/sections.h"

enum { MAP_CELLS = 2500, BINS = 20, NAME_BYTES = 256 };

/* ---- how biased ---- */

static void add_words(gn_page *page, const gn_run_record *run, const gn_association *s)
{
    static const char *const words[] = {"Hardly biased", "Biased", "Strongly biased"};
    if (s->degrees == 0) {
        gn_page_add(page,
                    "<p>%s training samples of %u classes; there is no attribute that could "
                    "predict the class.</p>\n",
                    gn_show_count(s->n).text, run->classes);
        return;
    }
    gn_page_add(page,
                "<p>%s: of %s training samples, guessing the class from the attribute alone gets "
                "%s right (Cram\xC3\xA9r\xE2\x80\x99s V %.2f of 1).</p>\n",
                words[gn_verdict_of(s)], gn_show_count(s->n).text,
                gn_show_percent(s->attribute_only, 1).text, s->cramers_v);
}

/* ---- tables and maps of the groups ---- */

static uint64_t row_total(const gn_run_record *run, uint32_t y)
{
    uint64_t total = 0;
    for (uint32_t a = 0; a < run->attributes; a++)
        total += run->train_counts[(size_t)y * run->attributes + a];
    return total;
}

static void add_heat_row(gn_page *page, const gn_run_record *run, uint32_t y)
{
    uint64_t total = row_total(run, y);
    gn_page_fill(page, "<tr><th>%.60s</th>", run->class_names[y]);
    for (uint32_t a = 0; a < run->attributes; a++) {
        uint64_t n = run->train_counts[(size_t)y * run->attributes + a];
        double share = total ? (double)n / (double)total : 0;
        gn_page_add(page, "<td%s style=\"--v:%.3f\">%s<br><small>%s</small></td>",
                    share > GN_STRONG ? " class=\"strong\"" : "", share, gn_show_count(n).text,
                    gn_show_percent(share, 1).text);
    }
    gn_page_add(page, "</tr>");
}

static void add_heat_table(gn_page *page, const gn_run_record *run)
{
    gn_page_add(page, "<div class=\"scroll\"><table class=\"heat\"><thead><tr><th></th>");
    for (uint32_t a = 0; a < run->attributes; a++)
        gn_page_fill(page, "<th>%.40s</th>", run->attribute_names[a]);
    gn_page_add(page, "</tr></thead><tbody>");
    for (uint32_t y = 0; y < run->classes; y++)
        add_heat_row(page, run, y);
    gn_page_add(page, "</tbody></table></div><p class=\"note\">Rows are classes, columns "
                      "attributes. In a cell: training samples, and below their share \xCE\xB1 of "
                      "the class.</p>\n");
}

static void add_map_cell(gn_page *page, const gn_run_record *run, uint32_t y, uint32_t a,
                         double side)
{
    char name[NAME_BYTES];
    size_t g = (size_t)y * run->attributes + a;
    uint64_t total = row_total(run, y), n = run->train_counts[g];
    double share = total ? (double)n / (double)total : 0;
    gn_page_add(page,
                "<rect class=\"cell\" style=\"--v:%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                "height=\"%.1f\"><title>",
                share, a * side, y * side, side - 0.5, side - 0.5);
    gn_page_fill(page, "%s: %s, %s of the class</title></rect>",
                 gn_group_name(run, g, name, sizeof name), gn_show_count(n).text,
                 gn_show_percent(share, 1).text);
}

static void add_heat_map(gn_page *page, const gn_run_record *run)
{
    uint32_t longer = run->classes > run->attributes ? run->classes : run->attributes;
    double side = fmin(16, 400.0 / longer);
    gn_page_add(page,
                "<figure><svg class=\"plot wide\" style=\"max-width:%.0fpx\" viewBox=\"0 0 %.0f "
                "%.0f\" role=\"img\" aria-label=\"shares of the groups\">",
                fmax(1.4 * side * run->attributes, 120), side * run->attributes,
                side * run->classes);
    for (uint32_t y = 0; y < run->classes; y++)
        for (uint32_t a = 0; a < run->attributes; a++)
            add_map_cell(page, run, y, a, side);
    gn_page_add(page,
                "</svg></figure><p class=\"note\">Rows are the %u classes, columns the %u "
                "attributes; the stronger the colour, the larger its share \xCE\xB1 of the "
                "class.</p>\n",
                run->classes, run->attributes);
}

/* The largest share of each class, for data with more groups than a picture has room for. */
typedef struct class_share {
    uint32_t y, a;
    double share;
} class_share;

static int larger_share(const void *left, const void *right)
{
    const class_share *a = left, *b = right;
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    return (a->y > b->y) - (a->y < b->y);
}

static void find_shares(const gn_run_record *run, class_share *shares)
{
    for (uint32_t y = 0; y < run->classes; y++) {
        uint64_t total = row_total(run, y), most = 0;
        shares[y] = (class_share){.y = y};
        for (uint32_t a = 0; a < run->attributes; a++) {
            uint64_t n = run->train_counts[(size_t)y * run->attributes + a];
            if (n > most) {
                most = n;
                shares[y].a = a;
            }
        }
        shares[y].share = total ? (double)most / (double)total : 0;
    }
    qsort(shares, run->classes, sizeof *shares, larger_share);
}

static void add_shares(gn_page *page, const gn_run_record *run, const class_share *shares)
{
    double edges[BINS + 1];
    uint64_t bins[BINS] = {0};
    for (int i = 0; i <= BINS; i++)
        edges[i] = (double)i / BINS;
    for (uint32_t y = 0; y < run->classes; y++)
        bins[(int)fmin(shares[y].share * BINS, BINS - 1)]++;
    gn_page_add(page, "<div class=\"pair\">");
    gn_bars_draw(page, &(gn_bars){.title = "Imbalance within the classes",
                                  .x_label = "share of a class's largest group",
                                  .y_label = "classes",
                                  .edges = edges,
                                  .values = bins,
                                  .count = BINS});
    gn_page_add(page, "<figure><figcaption>The most imbalanced "
                      "classes</figcaption><table><thead>"
                      "<tr><th>class</th><th>largest group</th><th class=\"n\">share</th></tr>"
                      "</thead><tbody>");
    for (uint32_t i = 0; i < run->classes && i < GN_ROWS_SHOWN / 2; i++)
        gn_page_fill(page,
                     "<tr><td class=\"name\">%.60s</td><td class=\"name\">%.60s</td><td "
                     "class=\"n\">%s</td></tr>",
                     run->class_names[shares[i].y], run->attribute_names[shares[i].a],
                     gn_show_percent(shares[i].share, 1).text);
    gn_page_add(page, "</tbody></table></figure></div>\n");
}

static void add_large(gn_page *page, const gn_run_record *run)
{
    class_share *shares = gn_page_array(page, run->classes, sizeof *shares);
    if (!shares)
        return;
    find_shares(run, shares);
    add_shares(page, run, shares);
}

void gn_section_data(gn_page *page, gn_run_record *run)
{
    gn_association association;
    if (!run->train_counts || page->status != GERNE_OK)
        return;
    page->status = gn_association_of(page->ctx, run->train_counts, run->classes, run->attributes,
                                     &association);
    if (page->status != GERNE_OK)
        return;
    gn_page_add(page, "<h2>Training data</h2>\n");
    add_words(page, run, &association);
    if (run->classes <= GN_HEAT_SIDE && run->attributes <= GN_HEAT_SIDE)
        add_heat_table(page, run);
    else if ((size_t)run->classes * run->attributes <= MAP_CELLS)
        add_heat_map(page, run);
    else
        add_large(page, run);
}

/* ---- beta ---- */

static void add_pseudo(gn_page *page, const json_t *pseudo)
{
    if (!json_is_object(pseudo))
        return;
    const gn_shown n = gn_show_whole(gn_json_real(pseudo, "n"));
    if (isfinite(gn_json_real(pseudo, "t")))
        gn_page_add(
            page,
            "<p>The attributes were estimated: %s training samples that a biased model finds hard "
            "(t = %s) form a pseudo-group of their class.",
            n.text, gn_show_number(gn_json_real(pseudo, "t")).text);
    else
        gn_page_add(page,
                    "<p>The attributes were inferred: %s training samples were taken for "
                    "minorities of their classes.",
                    n.text);
    if (isfinite(gn_json_real(pseudo, "precision")))
        gn_page_add(page,
                    " Compared with the true minority, which training does not see: "
                    "precision %s, recall %s.",
                    gn_show_percent(gn_json_real(pseudo, "precision"), 1).text,
                    gn_show_percent(gn_json_real(pseudo, "recall"), 1).text);
    gn_page_add(page, "</p>\n");
}

static void add_binding(gn_page *page, const gn_run_record *run, const json_t *bounds,
                        const json_t *pseudo, double upper)
{
    const json_t *binding = json_object_get(bounds, "binding");
    double y = gn_json_real(binding, "y"), a = gn_json_real(binding, "a");
    if (!(y >= 0 && y < run->classes && a >= 0) || !isfinite(upper))
        return;
    gn_page_add(page, "<p class=\"note\">At the bound %s the share of ",
                gn_show_number(upper).text);
    if (json_is_object(pseudo)) {
        const char *name =
            json_string_value(json_array_get(json_object_get(pseudo, "names"), (size_t)a));
        gn_page_fill(page, "%s, %s samples,", run->class_names[(size_t)y], name ? name : "guessed");
    } else if (a < run->attributes) {
        size_t group = (size_t)y * run->attributes + (size_t)a;
        gn_page_group(page, run, group, true);
    }
    gn_page_add(page, " in the extrapolated loss reaches 0: it is the binding group.</p>\n");
}

void gn_section_beta(gn_page *page, gn_run_record *run)
{
    const json_t *bounds = json_object_get(run->results, "bounds");
    const json_t *pseudo = json_object_get(run->results, "pseudo");
    gn_beta_axis axis = {.chosen = gn_json_real(bounds, "beta"),
                         .balanced = gn_json_real(bounds, "beta_balanced")};
    if (!json_is_object(bounds) || isnan(axis.chosen))
        return;
    gn_json_range(bounds, "interval", &axis.lower, &axis.upper);
    gn_page_add(page,
                "<h2>Extrapolation factor \xCE\xB2 and its bounds</h2>\n<p>\xCE\xB2 = %s "
                "with c = %s. At "
                "\xCE\xB2 = " GN_MINUS "1 training follows the bias of the data, at 0 the "
                "less biased batches, at %s all groups of a class have the same weight.</p>\n",
                gn_show_number(axis.chosen).text, gn_show_number(gn_json_real(bounds, "c")).text,
                gn_show_number(axis.balanced).text);
    add_pseudo(page, pseudo);
    gn_beta_axis_draw(page, &axis);
    add_binding(page, run, bounds, pseudo, axis.upper);
}
