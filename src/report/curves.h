/* curves.h - a table of figures over time that never holds more than GN_CURVE_ROWS rows.
 *
 * When it is full, neighbouring rows become one (means; the last of the first column, which is the
 * position in time), and from then on as many entries make one row: a log of any length is read in
 * bounded memory, and no part of it is preferred.
 */
#ifndef GN_REPORT_CURVES_H
#define GN_REPORT_CURVES_H

#include "base/memory.h"

enum { GN_CURVE_ROWS = 500, GN_CURVE_COLUMNS = 640, GN_CURVE_NAME = 40 };

typedef struct gn_curve_column {
    char name[GN_CURVE_NAME];
    double *sums;     /* owned */
    uint64_t *counts; /* owned */
} gn_curve_column;

typedef struct gn_curves {
    gerne_ctx *ctx;
    gn_curve_column *columns; /* owned */
    size_t column_count, capacity;
    size_t rows;
    uint64_t per_row, in_last; /* entries that make a row; entries in the last one */
    size_t next;               /* where the next figure is looked for first: entries are alike */
} gn_curves;

void gn_curves_open(gerne_ctx *ctx, gn_curves *curves); /* allocates nothing */
void gn_curves_close(gn_curves *curves);

/* Starts an entry at this position; the values that follow belong to it. */
GERNE_CHECKED gerne_status gn_curves_entry(gn_curves *curves, double position);

/* A figure of the present entry. Values that are not finite are ignored, and so are columns
 * beyond GN_CURVE_COLUMNS and names that are too long. */
GERNE_CHECKED gerne_status gn_curves_put(gn_curves *curves, const char *name, double value);

/* The index of a column, or -1. Column 0 is the position. */
ptrdiff_t gn_curves_find(const gn_curves *curves, const char *name);

/* NaN where there is none. */
double gn_curves_at(const gn_curves *curves, size_t column, size_t row);

#endif
