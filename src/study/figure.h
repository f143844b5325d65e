/* figure.h - a figure of study.json: curves with bands that the report draws. */
#ifndef GN_STUDY_FIGURE_H
#define GN_STUDY_FIGURE_H

#include "base/json.h"

/* What a figure is of; label and unit are lent. */
typedef struct gn_figure_axis {
    const char *label, *unit;
    bool log;
} gn_figure_axis;

/* Means over x, each with the half width of its band (NAN: none; NULL: none at all). */
typedef struct gn_track {
    double *x, *mean, *width;
    size_t count;
} gn_track;

/* A figure without series, appended to the array figures, which owns it; NULL without memory. note
 * may be NULL. */
json_t *gn_figure_add(json_t *figures, const char *title, gn_figure_axis x, gn_figure_axis y,
                      const char *note);

/* Adds a series scaled by factor; nothing when it is empty. It has a band when any point has. */
GERNE_CHECKED gerne_status gn_figure_add_series(gerne_ctx *ctx, json_t *figure, const char *name,
                                                const gn_track *track, double factor, bool dashed);

#endif
