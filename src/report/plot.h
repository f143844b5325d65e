/* plot.h - pictures in SVG: lines, points, whiskers beside a table's rows, the axis of beta, heat.
 *
 * All of them take their colours from the page's style (light and dark), carry titles, labels and
 * units, show values on hover by <title>, and skip what is not a number.
 */
#ifndef GN_REPORT_PLOT_H
#define GN_REPORT_PLOT_H

#include "report/curves.h"
#include "report/page.h"
#include "report/scale.h"

enum { GN_COLOURS = 7, GN_GREY = -1 };

typedef struct gn_series {
    const char *name; /* may be NULL: not in the legend */
    const double *x, *y;
    const double *lo, *hi; /* a band around y, or NULL */
    size_t count;
    int colour; /* 0..GN_COLOURS-1, or GN_GREY */
    bool dashed;
    bool points_only;
} gn_series;

/* A column of curves over their positions, times a factor, as a line; false when it is not there.
 */
bool gn_series_of(gn_page *page, const gn_curves *curves, const char *column, double factor,
                  gn_series *out);

typedef struct gn_axis {
    const char *label, *unit; /* unit may be NULL */
    bool log;
    double min, max;          /* the least range that is shown; NaN leaves it to the data */
    const char *const *names; /* of the values 0, 1, 2, ...; NULL for numbers */
    size_t name_count;
} gn_axis;

typedef struct gn_plot {
    const char *title, *note; /* note may be NULL */
    gn_axis x, y;
    const gn_series *series;
    size_t count;
    double mark;            /* a vertical line at this x, or NaN */
    const char *mark_label; /* for the legend */
} gn_plot;

/* Lines from left to right at the ticks of y, each with its label. */
void gn_grid_draw(gn_page *page, const gn_scale *y, int left, int right);

/* A <figure> with title, legend, and the picture. Draws nothing when no point is finite, and
 * returns false then. */
bool gn_plot_draw(gn_page *page, const gn_plot *plot);

/* ---- whiskers: a value with its interval, to stand in a cell of a table ---- */

/* The scale that a column of whiskers shares: from a round number below the least end to 1. */
gn_scale gn_whisker_scale(double least);

/* The head of the column: ticks in percent. */
void gn_whisker_head(gn_page *page, const gn_scale *scale);

/* A dot with its whisker; all in fractions. */
void gn_whisker(gn_page *page, const gn_scale *scale, double value, double lo, double hi,
                int colour, const char *title);

/* ---- the axis of beta ---- */

typedef struct gn_beta_axis {
    double lower, upper;     /* the interval; infinite or NaN where nothing binds */
    double balanced, chosen; /* NaN when there is none */
} gn_beta_axis;

void gn_beta_axis_draw(gn_page *page, const gn_beta_axis *axis);

/* ---- a bar chart of counts ---- */

typedef struct gn_bars {
    const char *title, *note, *x_label, *y_label;
    const double *edges; /* count + 1 */
    const uint64_t *values;
    size_t count;
} gn_bars;

void gn_bars_draw(gn_page *page, const gn_bars *bars);

#endif
