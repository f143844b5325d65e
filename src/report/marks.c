/* marks.c - whiskers, the axis of beta, bars. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/plot.h"

/* ---- whiskers: positions in percent of the cell, so that they fit any width ---- */

enum { MARGIN = 4 }; /* percent left and right, for the dot at an end */

gn_scale gn_whisker_scale(double least)
{
    least = isfinite(least) ? fmin(fmax(least, 0), 0.999) : 0;
    gn_scale scale = gn_scale_over(least, 1, false, 3);
    scale.lo = fmax(scale.lo, 0);
    scale.hi = 1;
    scale.from = MARGIN;
    scale.to = 100 - MARGIN;
    return scale;
}

static bool shown_tick(const gn_scale *scale, double tick)
{
    return tick >= scale->lo - 1e-9 && tick <= scale->hi + 1e-9;
}

void gn_whisker_head(gn_page *page, const gn_scale *scale)
{
    gn_page_add(page, "<svg class=\"whisker head\" aria-hidden=\"true\">");
    for (size_t i = 0; i < scale->tick_count; i++) {
        double tick = scale->ticks[i];
        if (!shown_tick(scale, tick))
            continue;
        const char *anchor = i == 0 ? "start" : tick > 1 - 1e-9 ? "end" : "middle";
        double at = gn_scale_at(scale, tick) + (i == 0 ? -MARGIN : tick > 1 - 1e-9 ? MARGIN : 0);
        gn_page_add(page, "<text%s x=\"%.2f%%\" y=\"13\" text-anchor=\"%s\">%.4g%s</text>",
                    *anchor == 'm' ? " class=\"mid\"" : "", at, anchor, 100 * tick,
                    tick > 1 - 1e-9 ? GN_NARROW_SPACE "%" : "");
    }
    gn_page_add(page, "</svg>");
}

void gn_whisker(gn_page *page, const gn_scale *scale, double value, double lo, double hi,
                int colour, const char *title)
{
    gn_page_fill(page, "<svg class=\"whisker\" role=\"img\"><title>%s</title>", title);
    for (size_t i = 0; i < scale->tick_count; i++)
        if (shown_tick(scale, scale->ticks[i])) {
            double at = gn_scale_at(scale, scale->ticks[i]);
            gn_page_add(page,
                        "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" "
                        "y2=\"100%%\"/>",
                        at, at);
        }
    if (isfinite(lo) && isfinite(hi))
        gn_page_add(page,
                    "<line class=\"range c%d\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" "
                    "y2=\"50%%\"/>",
                    colour, gn_scale_at(scale, fmax(lo, scale->lo)),
                    gn_scale_at(scale, fmin(hi, scale->hi)));
    if (isfinite(value))
        gn_page_add(page, "<circle class=\"dot c%d\" cx=\"%.2f%%\" cy=\"50%%\" r=\"4.5\"/>", colour,
                    gn_scale_at(scale, fmin(fmax(value, scale->lo), scale->hi)));
    gn_page_add(page, "</svg>");
}

/* ---- the axis of beta ---- */

enum { BETA_WIDTH = 420, BETA_HEIGHT = 132, BETA_Y = 66, BETA_SIDE = 34 };

typedef struct beta_label {
    double at; /* of the picture */
    char number[32];
    const char *words;
} beta_label;

static gn_scale beta_scale(const gn_beta_axis *axis)
{
    double lo = -1, hi = 1;
    const double ends[] = {axis->lower, axis->upper, axis->balanced, axis->chosen};
    gn_extend_range(ends, sizeof ends / sizeof ends[0], &lo, &hi);
    double margin = 0.06 * (hi - lo);
    gn_scale scale = gn_scale_inside(lo - margin, hi + margin, false, 6);
    scale.from = BETA_SIDE;
    scale.to = BETA_WIDTH - BETA_SIDE;
    return scale;
}

static void draw_ticks(gn_page *page, const gn_scale *scale)
{
    char label[32];
    for (size_t i = 0; i < scale->tick_count; i++) {
        double at = gn_scale_at(scale, scale->ticks[i]);
        gn_scale_label(scale, scale->ticks[i], label, sizeof label);
        gn_page_add(page,
                    "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s%s</text>",
                    at, at, BETA_Y, BETA_Y + 5, at, BETA_Y + 19, *label == '-' ? GN_MINUS : "",
                    label + (*label == '-'));
    }
}

/* Words above the axis (the choice) and below the ticks (what it is measured by). */
static void draw_words(gn_page *page, double at, int y, const char *style, const char *words)
{
    const char *anchor = at < 110 ? "start" : at > BETA_WIDTH - 110 ? "end" : "middle";
    double x = at < 110                ? fmax(2, at - 20)
               : at > BETA_WIDTH - 110 ? fmin(BETA_WIDTH - 2, at + 20)
                                       : at;
    gn_page_add(page, "<text class=\"%s\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">", style, x, y,
                anchor);
    gn_page_fill(page, "%s</text>", words);
}

static void draw_bound(gn_page *page, const gn_scale *scale, double bound)
{
    if (!isfinite(bound))
        return;
    double at = gn_scale_at(scale, bound);
    gn_page_add(page,
                "<line class=\"bound\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"><title>bound: "
                "beta = %s</title></line>",
                at, at, BETA_Y - 15, BETA_Y + 5, gn_show_number(bound).text);
}

void gn_beta_axis_draw(gn_page *page, const gn_beta_axis *axis)
{
    gn_scale scale = beta_scale(axis);
    char words[160];
    double lo = isfinite(axis->lower) ? gn_scale_at(&scale, axis->lower) : scale.from;
    double hi = isfinite(axis->upper) ? gn_scale_at(&scale, axis->upper) : scale.to;
    gn_page_add(page,
                "<svg class=\"plot wide\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"the axis "
                "of beta\"><rect class=\"feasible\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
                "height=\"15\"><title>usable values of beta</title></rect>",
                BETA_WIDTH, BETA_HEIGHT, lo, BETA_Y - 15, fmax(hi - lo, 0));
    gn_page_add(page, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
                scale.from, scale.to, BETA_Y, BETA_Y);
    draw_ticks(page, &scale);
    draw_bound(page, &scale, axis->lower);
    draw_bound(page, &scale, axis->upper);
    if (isfinite(axis->balanced)) {
        double at = gn_scale_at(&scale, axis->balanced);
        gn_page_add(page,
                    "<path class=\"balanced\" d=\"M%.1f %dl6 8l-6 8l-6 -8z\"><title>balanced: beta "
                    "= %s</title></path>",
                    at, BETA_Y - 8, gn_show_number(axis->balanced).text);
        snprintf(words, sizeof words, "\xE2\x97\x86 balanced: %s",
                 gn_show_number(axis->balanced).text);
        draw_words(page, at, BETA_Y + 38, "small", words);
    }
    if (isfinite(axis->upper)) {
        snprintf(words, sizeof words, "| bound: %s", gn_show_number(axis->upper).text);
        draw_words(page, gn_scale_at(&scale, axis->upper), BETA_Y + 56, "small", words);
    }
    if (isfinite(axis->chosen)) {
        double at = gn_scale_at(&scale, axis->chosen);
        gn_page_add(page,
                    "<line class=\"stem\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><circle "
                    "class=\"dot c1\" cx=\"%.1f\" cy=\"%d\" r=\"6\"><title>configured: beta "
                    "= %s</title></circle>",
                    at, at, BETA_Y - 32, BETA_Y, at, BETA_Y - 34,
                    gn_show_number(axis->chosen).text);
        snprintf(words, sizeof words, "configured: %s", gn_show_number(axis->chosen).text);
        draw_words(page, at, BETA_Y - 46, "strong", words);
    }
    gn_page_add(page, "</svg>");
}

/* ---- bars ---- */

enum {
    BAR_WIDTH = 420,
    BAR_HEIGHT = 200,
    BAR_LEFT = 46,
    BAR_RIGHT = 14,
    BAR_TOP = 26,
    BAR_BOTTOM = 38
};

static void draw_bar_axes(gn_page *page, const gn_bars *bars, const gn_scale *x, const gn_scale *y)
{
    char label[32];
    gn_grid_draw(page, y, BAR_LEFT, BAR_WIDTH - BAR_RIGHT);
    for (size_t i = 0; i < x->tick_count; i++) {
        gn_scale_label(x, x->ticks[i], label, sizeof label);
        gn_page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                    gn_scale_at(x, x->ticks[i]), BAR_HEIGHT - BAR_BOTTOM + 17, label);
    }
    gn_page_fill(page, "<text class=\"label\" x=\"2\" y=\"12\">%s", bars->y_label);
    gn_page_add(page, "</text><text class=\"label\" x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                BAR_WIDTH - BAR_RIGHT, BAR_HEIGHT - 3);
    gn_page_fill(page, "%s</text>", bars->x_label);
}

void gn_bars_draw(gn_page *page, const gn_bars *bars)
{
    double most = 1;
    for (size_t i = 0; i < bars->count; i++)
        most = fmax(most, (double)bars->values[i]);
    gn_scale x = gn_scale_inside(bars->edges[0], bars->edges[bars->count], false, 5);
    gn_scale y = gn_scale_over(0, most, false, 3);
    x.from = BAR_LEFT;
    x.to = BAR_WIDTH - BAR_RIGHT;
    y.from = BAR_HEIGHT - BAR_BOTTOM;
    y.to = BAR_TOP;
    gn_page_fill(page, "<figure><figcaption>%s", bars->title);
    gn_page_add(page, "</figcaption><svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\">",
                BAR_WIDTH, BAR_HEIGHT);
    draw_bar_axes(page, bars, &x, &y);
    for (size_t i = 0; i < bars->count; i++) {
        double from = gn_scale_at(&x, bars->edges[i]), to = gn_scale_at(&x, bars->edges[i + 1]);
        double top = gn_scale_at(&y, (double)bars->values[i]);
        gn_page_add(page,
                    "<rect class=\"bar c0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                    "<title>%s to %s: %s</title></rect>",
                    from + 0.5, top, fmax(to - from - 1, 0.5), fmax(y.from - top, 0),
                    gn_show_number(bars->edges[i]).text, gn_show_number(bars->edges[i + 1]).text,
                    gn_show_count(bars->values[i]).text);
    }
    gn_page_add(page, "</svg></figure>\n");
}
