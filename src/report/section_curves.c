/* section_curves.c - losses and accuracies over time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot.h"
#include "report/sections.h"

enum { LINES_MAX = 300, COLOURED_GROUPS = 5, NAME_BYTES = 256, PLOTS_MAX = 16 };

/* The series of one plot. */
typedef struct lines {
    gn_page *page;
    gn_series series[LINES_MAX];
    size_t count;
} lines;

/* Adds the column as a line when it is there; true then. */
static bool add_line(lines *l, const gn_curves *curves, const char *column, const char *name,
                     double factor, int colour, bool dashed)
{
    gn_series *s = &l->series[l->count];
    if (l->count == LINES_MAX || !gn_series_of(l->page, curves, column, factor, s))
        return false;
    s->name = name;
    s->colour = colour;
    s->dashed = dashed;
    l->count++;
    return true;
}

static gn_plot plot_of(const lines *l, const char *title, const char *label, const char *unit)
{
    return (gn_plot){.title = title,
                     .x = {.label = "step", .min = NAN, .max = NAN},
                     .y = {.label = label, .unit = unit, .min = NAN, .max = NAN},
                     .series = l->series,
                     .count = l->count,
                     .mark = NAN};
}

/* On the plots of the last stage: the chosen checkpoint, or where the run diverged. */
static void mark_step(gn_plot *plot, const gn_run_record *run)
{
    const gn_divergence_record *d = &run->divergence;
    const gn_stage_record *stage = &run->stages[run->stage_count - 1];
    if (!d->there) {
        plot->mark = run->selection.step;
        plot->mark_label = "selected checkpoint";
    } else if (isfinite(d->step) && d->stage && strcmp(d->stage, stage->name) == 0) {
        plot->mark = d->step; /* after the last evaluation */
        plot->x.max = fmax(d->step, gn_curves_at(&stage->curves, 0, stage->curves.rows - 1));
        plot->mark_label = "diverged";
    }
}

static void draw(const lines *l, const gn_run_record *run, gn_plot *plot, bool last)
{
    if (last)
        mark_step(plot, run);
    gn_plot_draw(l->page, plot);
}

static const char LOGGED[] = "mean since the last evaluation";

/* Of a run, or a stage, without plots of its own: loss, and the figures called L_something. */
static void draw_losses(lines *l, const gn_run_record *run, const gn_curves *curves, bool last)
{
    static const char prefix[] = "train/L_";
    l->count = 0;
    add_line(l, curves, "train/loss", "loss", 1, 0, false);
    for (size_t i = 0; i < curves->column_count; i++) {
        const char *column = curves->columns[i].name;
        if (strncmp(column, prefix, sizeof prefix - 1) == 0)
            add_line(l, curves, column, column + strlen("train/"), 1, (int)l->count, false);
    }
    gn_plot plot = plot_of(l, "Training loss", LOGGED, NULL);
    draw(l, run, &plot, last);
}

/* A line of a described plot, when its figure was logged. */
static void add_figure(lines *l, const gn_curves *curves, const json_t *line)
{
    char column[GN_CURVE_NAME];
    const char *figure = gn_json_text(line, "figure");
    bool limit = json_is_true(json_object_get(line, "limit"));
    if (!figure)
        return;
    snprintf(column, sizeof column, "train/%s", figure);
    add_line(l, curves, column, gn_json_text(line, "name"), 1, limit ? GN_GREY : (int)l->count,
             limit);
}

static void draw_logged(lines *l, const gn_run_record *run, const gn_curves *curves,
                        const json_t *described)
{
    char needed[GN_CURVE_NAME];
    const char *title = gn_json_text(described, "title"), *needs = gn_json_text(described, "needs");
    const json_t *list = json_object_get(described, "lines");
    if (!title || !needs)
        return;
    snprintf(needed, sizeof needed, "train/%s", needs);
    if (gn_curves_find(curves, needed) < 0)
        return;
    l->count = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        add_figure(l, curves, json_array_get(list, i));
    gn_plot plot = plot_of(l, title, LOGGED, NULL);
    plot.note = gn_json_text(described, "note");
    draw(l, run, &plot, true);
}

/* The figures of the last stage, which is the method's, as the log's first event describes them. */
static void draw_figures(lines *l, const gn_run_record *run, const gn_curves *curves, bool last)
{
    const json_t *plots = json_object_get(run->start, "plots");
    size_t count = last ? json_array_size(plots) : 0;
    if (count == 0)
        draw_losses(l, run, curves, last);
    for (size_t i = 0; i < count && i < PLOTS_MAX; i++)
        draw_logged(l, run, curves, json_array_get(plots, i));
}

static void draw_accuracies(lines *l, const gn_run_record *run, const gn_curves *curves, bool last)
{
    l->count = 0;
    add_line(l, curves, "val/wga", "worst group", 100, 1, false);
    add_line(l, curves, "val/gba", "mean of groups", 100, 0, false);
    add_line(l, curves, "val/acc_avg", "all samples", 100, 2, false);
    bool test = add_line(l, curves, "test/wga", "worst group, test", 100, 1, true);
    add_line(l, curves, "test/gba", "mean of groups, test", 100, 0, true);
    gn_plot plot = plot_of(l, "Worst-group and mean accuracy on validation", "accuracy", "%");
    plot.y.max = 100;
    if (test)
        plot.note = run->selection.oracle
                        ? "Dashed: the test split, on which the checkpoint was selected (oracle)."
                        : "Dashed: the test split, logged on request and not used for selection.";
    draw(l, run, &plot, last);
}

/* The row of the chosen checkpoint, or the last. */
static size_t chosen_row(const gn_run_record *run, const gn_curves *curves)
{
    size_t row = curves->rows - 1;
    for (size_t i = 0; i < curves->rows; i++)
        if (gn_curves_at(curves, 0, i) <= run->selection.step)
            row = i;
    return row;
}

static size_t find_groups(const gn_run_record *run, const gn_curves *curves, const char *split,
                          gn_ranked_group *out)
{
    char column[GN_CURVE_NAME];
    size_t count = 0, groups = (size_t)run->classes * run->attributes;
    for (size_t g = 0; g < groups && count < LINES_MAX; g++) {
        snprintf(column, sizeof column, "%s#%zu", split, g);
        ptrdiff_t at = gn_curves_find(curves, column);
        if (at >= 0)
            out[count++] =
                (gn_ranked_group){g, gn_curves_at(curves, (size_t)at, chosen_row(run, curves))};
    }
    gn_sort_groups(out, count);
    return count;
}

/* The worst groups in colour above all others in grey. */
static void draw_groups(lines *l, const gn_run_record *run, const gn_curves *curves)
{
    static const int colours[COLOURED_GROUPS] = {1, 0, 2, 3, 4};
    gn_ranked_group found[LINES_MAX];
    char column[GN_CURVE_NAME], names[COLOURED_GROUPS][NAME_BYTES];
    if (!curves->rows)
        return;
    size_t count = find_groups(run, curves, "val", found);
    size_t coloured = count < COLOURED_GROUPS ? count : COLOURED_GROUPS;
    l->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool strong = i < coloured;
        snprintf(column, sizeof column, "val#%zu", found[i].id);
        if (strong)
            gn_group_name(run, found[i].id, names[i], sizeof names[i]);
        add_line(l, curves, column, strong ? names[i] : NULL, 100, strong ? colours[i] : GN_GREY,
                 false);
    }
    gn_plot plot = plot_of(l, "Accuracy of every group on validation", "accuracy", "%");
    plot.y.max = 100;
    mark_step(&plot, run);
    if (count > coloured)
        plot.note =
            run->results
                ? "In colour: the worst groups at the selected checkpoint. Grey: all others."
                : "In colour: the worst groups at the last evaluation. Grey: all others.";
    gn_plot_draw(l->page, &plot);
}

static void draw_stage(lines *l, const gn_run_record *run, const gn_stage_record *stage, bool last)
{
    const gn_curves *curves = &stage->curves;
    gn_page_add(l->page, "<div class=\"pair\">");
    draw_accuracies(l, run, curves, last);
    if (last)
        draw_groups(l, run, curves);
    draw_figures(l, run, curves, last);
    gn_page_add(l->page, "</div>\n");
}

static bool has_curves(const gn_run_record *run)
{
    for (size_t i = 0; i < run->stage_count; i++)
        if (run->stages[i].curves.rows)
            return true;
    return false;
}

void gn_section_curves(gn_page *page, gn_run_record *run)
{
    lines *l = has_curves(run) ? gn_page_array(page, 1, sizeof *l) : NULL;
    if (!l)
        return;
    l->page = page;
    gn_page_add(page, "<h2>Training curves</h2>\n");
    size_t last = run->stage_count - 1;
    draw_stage(l, run, &run->stages[last], true);
    for (size_t i = 0; i < last; i++) {
        gn_page_fill(page, "<details><summary>Earlier stage: %s</summary>", run->stages[i].name);
        draw_stage(l, run, &run->stages[i], false);
        gn_page_add(page, "</details>\n");
    }
}
