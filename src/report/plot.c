/* plot.c - lines and points. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 420, HEIGHT = 236, LEFT = 46, RIGHT = 14, TOP = 26, BOTTOM = 38 };
enum { DOTS_MAX = 48, DOTS_SEEN = 24, NAME_CHARACTERS = 12 };

bool gn_series_of(gn_page *page, const gn_curves *curves, const char *column, double factor,
                  gn_series *out)
{
    ptrdiff_t at = gn_curves_find(curves, column);
    double *x = at < 0 ? NULL : gn_page_array(page, 2 * curves->rows, sizeof *x);
    if (!x)
        return false;
    double *y = x + curves->rows;
    for (size_t i = 0; i < curves->rows; i++) {
        x[i] = gn_curves_at(curves, 0, i);
        y[i] = factor * gn_curves_at(curves, (size_t)at, i);
    }
    *out = (gn_series){.x = x, .y = y, .count = curves->rows};
    return true;
}

typedef struct frame {
    gn_page *page;
    const gn_plot *plot;
    gn_scale x, y;
} frame;

static bool can_draw(const frame *f, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!f->x.log || x > 0) && (!f->y.log || y > 0);
}

static void find_ranges(frame *f)
{
    const gn_plot *p = f->plot;
    double x_lo = INFINITY, x_hi = -INFINITY, y_lo = INFINITY, y_hi = -INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        const gn_series *s = &p->series[i];
        gn_extend_range(s->x, s->count, &x_lo, &x_hi);
        gn_extend_range(s->y, s->count, &y_lo, &y_hi);
        gn_extend_range(s->lo, s->count, &y_lo, &y_hi);
        gn_extend_range(s->hi, s->count, &y_lo, &y_hi);
    }
    x_lo = fmin(x_lo, isnan(p->x.min) ? x_lo : p->x.min);
    x_hi = fmax(x_hi, isnan(p->x.max) ? x_hi : p->x.max);
    y_lo = fmin(y_lo, isnan(p->y.min) ? y_lo : p->y.min);
    y_hi = fmax(y_hi, isnan(p->y.max) ? y_hi : p->y.max);
    f->x = gn_scale_inside(x_lo, x_hi, p->x.log, 5);
    f->y = gn_scale_over(y_lo, y_hi, p->y.log, 4);
    bool points = p->count && p->series[0].points_only;
    f->x.from = LEFT + (points ? 14 : 0);
    f->x.to = WIDTH - RIGHT - (points ? 14 : 0);
    f->y.from = HEIGHT - BOTTOM;
    f->y.to = TOP;
}

static void add_label(gn_page *page, const gn_axis *axis)
{
    gn_page_text(page, axis->label);
    if (axis->unit && *axis->unit)
        gn_page_fill(page, ", %s", axis->unit);
}

void gn_grid_draw(gn_page *page, const gn_scale *y, int left, int right)
{
    char label[32];
    for (size_t i = 0; i < y->tick_count; i++) {
        double at = gn_scale_at(y, y->ticks[i]);
        gn_scale_label(y, y->ticks[i], label, sizeof label);
        gn_page_add(page,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                    left, right, at, at, left - 7, at + 4, label);
    }
}

static void draw_y_axis(const frame *f)
{
    gn_page *page = f->page;
    gn_grid_draw(page, &f->y, LEFT, WIDTH - RIGHT);
    gn_page_add(page, "<text class=\"label\" x=\"2\" y=\"12\">");
    add_label(page, &f->plot->y);
    gn_page_add(page, "</text>");
}

static void draw_named_ticks(const frame *f)
{
    gn_page *page = f->page;
    const gn_axis *axis = &f->plot->x;
    size_t every = axis->name_count / 8 + 1;
    for (size_t i = 0; i < axis->name_count; i += every) {
        gn_page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\"><title>",
                    gn_scale_at(&f->x, (double)i), HEIGHT - BOTTOM + 17);
        gn_page_fill(page, "%s</title>%.*s</text>", axis->names[i],
                     axis->name_count > 4 ? 6 : NAME_CHARACTERS, axis->names[i]);
    }
}

static void draw_x_axis(const frame *f)
{
    gn_page *page = f->page;
    int y = HEIGHT - BOTTOM;
    char label[32];
    gn_page_add(page, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", LEFT,
                WIDTH - RIGHT, y, y);
    if (f->plot->x.names)
        draw_named_ticks(f);
    for (size_t i = 0; i < f->x.tick_count && !f->plot->x.names; i++) {
        double at = gn_scale_at(&f->x, f->x.ticks[i]);
        gn_scale_label(&f->x, f->x.ticks[i], label, sizeof label);
        gn_page_add(page,
                    "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                    at, at, y, y + 4, at, y + 17, label);
    }
    gn_page_add(page, "<text class=\"label\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT,
                HEIGHT - 3);
    add_label(page, &f->plot->x);
    gn_page_add(page, "</text>");
}

static void add_class(gn_page *page, const char *kind, int colour)
{
    if (colour == GN_GREY)
        gn_page_add(page, " class=\"%s grey\"", kind);
    else
        gn_page_add(page, " class=\"%s c%d\"", kind, colour % GN_COLOURS);
}

/* One polygon for each stretch without gaps. */
static void draw_band(const frame *f, const gn_series *s)
{
    for (size_t i = 0; s->lo && s->hi && i < s->count;) {
        size_t end = i;
        while (end < s->count && can_draw(f, s->x[end], s->lo[end]) &&
               can_draw(f, s->x[end], s->hi[end]))
            end++;
        if (end > i + 1) {
            gn_page_add(f->page, "<polygon");
            add_class(f->page, "band", s->colour);
            gn_page_add(f->page, " points=\"");
            for (size_t k = i; k < end; k++)
                gn_page_add(f->page, "%.1f,%.1f ", gn_scale_at(&f->x, s->x[k]),
                            gn_scale_at(&f->y, s->lo[k]));
            for (size_t k = end; k-- > i;)
                gn_page_add(f->page, "%.1f,%.1f ", gn_scale_at(&f->x, s->x[k]),
                            gn_scale_at(&f->y, s->hi[k]));
            gn_page_add(f->page, "\"/>");
        }
        i = end > i ? end : i + 1;
    }
}

static void draw_line(const frame *f, const gn_series *s)
{
    bool open = false;
    for (size_t i = 0; i < s->count && !s->points_only; i++) {
        bool there = can_draw(f, s->x[i], s->y[i]);
        if (there && !open) {
            gn_page_add(f->page, "<polyline");
            add_class(f->page, s->dashed ? "line dashed" : "line", s->colour);
            if (s->name)
                gn_page_fill(f->page, " data-name=\"%.60s\"", s->name);
            gn_page_add(f->page, " points=\"");
        } else if (!there && open) {
            gn_page_add(f->page, "\"/>");
        }
        open = there;
        if (there)
            gn_page_add(f->page, "%.2f,%.2f ", gn_scale_at(&f->x, s->x[i]),
                        gn_scale_at(&f->y, s->y[i]));
    }
    if (open)
        gn_page_add(f->page, "\"/>");
}

static void add_x_value(const frame *f, double x)
{
    const gn_axis *axis = &f->plot->x;
    gn_page_fill(f->page, "%s ", axis->label);
    if (axis->names && x >= 0 && x < (double)axis->name_count)
        gn_page_text(f->page, axis->names[(size_t)x]);
    else
        gn_page_add(f->page, "%s", gn_show_number(x).text);
}

static void draw_dot(const frame *f, const gn_series *s, size_t i, bool seen)
{
    gn_page *page = f->page;
    double x = gn_scale_at(&f->x, s->x[i]);
    if (s->points_only && s->lo && s->hi && isfinite(s->lo[i]) && isfinite(s->hi[i])) {
        gn_page_add(page, "<line");
        add_class(page, "line", s->colour);
        gn_page_add(page, " x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x,
                    gn_scale_at(&f->y, s->lo[i]), gn_scale_at(&f->y, s->hi[i]));
    }
    gn_page_add(page, "<circle");
    /* On a dense line they would look like dashes: they show under the pointer. */
    add_class(page, seen ? "dot" : "dot ghost", s->colour);
    gn_page_add(page, " cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>", x, gn_scale_at(&f->y, s->y[i]),
                s->points_only ? "4.5" : "2.6");
    if (s->name)
        gn_page_fill(page, "%.60s, ", s->name);
    add_x_value(f, s->x[i]);
    gn_page_fill(page, ": %s %s</title></circle>", gn_show_number(s->y[i]).text, f->plot->y.unit);
}

/* Of a long line only some points are marked; grey lines are background. */
static void draw_dots(const frame *f, const gn_series *s)
{
    if (s->colour == GN_GREY && !s->points_only)
        return;
    size_t there = 0;
    for (size_t i = 0; i < s->count; i++)
        there += can_draw(f, s->x[i], s->y[i]);
    size_t every = s->points_only ? 1 : there / DOTS_MAX + 1, k = 0;
    for (size_t i = s->count; i-- > 0;)
        if (can_draw(f, s->x[i], s->y[i]) && k++ % every == 0)
            draw_dot(f, s, i, s->points_only || there <= DOTS_SEEN);
}

static void draw_mark(const frame *f)
{
    double at = f->plot->mark;
    if (!(at >= f->x.lo && at <= f->x.hi))
        return;
    at = gn_scale_at(&f->x, at);
    gn_page_add(f->page, "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"><title>",
                at, at, TOP, HEIGHT - BOTTOM);
    gn_page_fill(f->page, "%s</title></line>", f->plot->mark_label);
}

static void draw_legend(gn_page *page, const gn_plot *plot)
{
    gn_page_add(page, "<ul class=\"legend\">");
    for (size_t i = 0; i < plot->count; i++) {
        const gn_series *s = &plot->series[i];
        if (!s->name)
            continue;
        gn_page_add(page, "<li><svg width=\"22\" height=\"10\" aria-hidden=\"true\">");
        if (s->points_only) {
            gn_page_add(page, "<circle");
            add_class(page, "dot", s->colour);
            gn_page_add(page, " cx=\"11\" cy=\"5\" r=\"4\"/>");
        } else {
            gn_page_add(page, "<line");
            add_class(page, s->dashed ? "line dashed" : "line", s->colour);
            gn_page_add(page, " x1=\"1\" x2=\"21\" y1=\"5\" y2=\"5\"/>");
        }
        gn_page_fill(page, "</svg>%.80s</li>", s->name);
    }
    if (plot->mark_label && isfinite(plot->mark))
        gn_page_fill(page,
                     "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\"><line "
                     "class=\"mark\" x1=\"11\" x2=\"11\" y1=\"0\" y2=\"14\"/></svg>%s</li>",
                     plot->mark_label);
    gn_page_add(page, "</ul>");
}

static bool has_points(const gn_plot *plot)
{
    for (size_t i = 0; i < plot->count; i++)
        for (size_t k = 0; k < plot->series[i].count; k++)
            if (isfinite(plot->series[i].x[k]) && isfinite(plot->series[i].y[k]))
                return true;
    return false;
}

static void draw_picture(const frame *f)
{
    gn_page *page = f->page;
    const gn_plot *plot = f->plot;
    gn_page_add(page,
                "<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" data-x=\"%.9g %.9g %.1f "
                "%.1f %d\" data-y=\"%.9g %.9g %.1f %.1f %d\" data-unit=\"",
                WIDTH, HEIGHT, f->x.lo, f->x.hi, f->x.from, f->x.to, f->x.log, f->y.lo, f->y.hi,
                f->y.from, f->y.to, f->y.log);
    gn_page_fill(page, "%s\" data-label=\"%s\" aria-label=\"%s\">", plot->y.unit, plot->x.label,
                 plot->title);
    draw_y_axis(f);
    draw_x_axis(f);
    draw_mark(f);
    /* Backwards: the first of the legend lies on top. */
    for (size_t i = plot->count; i-- > 0;)
        draw_band(f, &plot->series[i]);
    for (size_t i = plot->count; i-- > 0;)
        draw_line(f, &plot->series[i]);
    for (size_t i = plot->count; i-- > 0;)
        draw_dots(f, &plot->series[i]);
    gn_page_add(page, "</svg>");
}

bool gn_plot_draw(gn_page *page, const gn_plot *plot)
{
    frame f = {.page = page, .plot = plot};
    if (!has_points(plot))
        return false;
    find_ranges(&f);
    gn_page_fill(page, "<figure><figcaption>%s</figcaption>", plot->title);
    draw_legend(page, plot);
    draw_picture(&f);
    if (plot->note)
        gn_page_fill(page, "<p class=\"note\">%s</p>", plot->note);
    gn_page_add(page, "</figure>\n");
    return true;
}
