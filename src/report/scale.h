/* scale.h - axes: round ticks and their labels, and where a value lies. Pure functions. */
#ifndef GN_REPORT_SCALE_H
#define GN_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

enum { GN_TICKS_MAX = 12 };

typedef struct gn_scale {
    double lo, hi; /* of the values */
    bool log;
    double from, to; /* of the picture: lo lies at from, hi at to */
    double ticks[GN_TICKS_MAX];
    size_t tick_count;
    int decimals; /* that the labels of the ticks need */
} gn_scale;

/* A scale over [lo, hi] with about wanted ticks; the range is widened to whole ticks. A range that
 * is empty, infinite or not a number becomes one that can be drawn; log needs lo > 0 and is dropped
 * otherwise. */
gn_scale gn_scale_over(double lo, double hi, bool log, size_t wanted);

/* The same without widening: the first and last tick may lie inside. */
gn_scale gn_scale_inside(double lo, double hi, bool log, size_t wanted);

double gn_scale_at(const gn_scale *scale, double value);

/* 0.25, 10k, 1e-05: short, with the decimals of the scale. */
void gn_scale_label(const gn_scale *scale, double tick, char *out, size_t size);

/* Widens [*lo, *hi] to hold the finite values; start with +-INFINITY. */
void gn_extend_range(const double *values, size_t count, double *lo, double *hi);

#endif
