#include "report/curves.h"

#include <math.h>
#include <string.h>

void gn_curves_open(gerne_ctx *ctx, gn_curves *curves)
{
    *curves = (gn_curves){.ctx = ctx, .per_row = 1};
}

void gn_curves_close(gn_curves *curves)
{
    for (size_t i = 0; i < curves->column_count; i++) {
        gn_free(curves->columns[i].sums);
        gn_free(curves->columns[i].counts);
    }
    gn_free(curves->columns);
    *curves = (gn_curves){0};
}

ptrdiff_t gn_curves_find(const gn_curves *curves, const char *name)
{
    for (size_t i = 0; i < curves->column_count; i++)
        if (strcmp(curves->columns[i].name, name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

static gerne_status add_column(gn_curves *curves, const char *name)
{
    GN_TRY(gn_grow(curves->ctx, &curves->columns, &curves->capacity, curves->column_count + 1,
                   sizeof *curves->columns, "curves"));
    gn_curve_column column = {0};
    memcpy(column.name, name, strlen(name) + 1);
    GN_TRY(gn_alloc(curves->ctx, GN_CURVE_ROWS, sizeof *column.sums, "curves", &column.sums));
    gerne_status status =
        gn_alloc(curves->ctx, GN_CURVE_ROWS, sizeof *column.counts, "curves", &column.counts);
    if (status != GERNE_OK) {
        gn_free(column.sums);
        return status;
    }
    curves->columns[curves->column_count++] = column;
    return GERNE_OK;
}

/* Rows 2i and 2i + 1 become row i. */
static void halve(gn_curves *curves)
{
    size_t half = curves->rows / 2;
    for (size_t c = 0; c < curves->column_count; c++) {
        gn_curve_column *column = &curves->columns[c];
        for (size_t i = 0; i < half; i++) {
            bool position = c == 0;
            column->sums[i] = column->sums[2 * i + 1] + (position ? 0 : column->sums[2 * i]);
            column->counts[i] = position ? 1 : column->counts[2 * i] + column->counts[2 * i + 1];
        }
        memset(column->sums + half, 0, (GN_CURVE_ROWS - half) * sizeof *column->sums);
        memset(column->counts + half, 0, (GN_CURVE_ROWS - half) * sizeof *column->counts);
    }
    curves->rows = half;
    curves->per_row *= 2;
}

gerne_status gn_curves_entry(gn_curves *curves, double position)
{
    if (!curves->column_count)
        GN_TRY(add_column(curves, "position"));
    if (curves->rows == 0 || curves->in_last == curves->per_row) {
        if (curves->rows == GN_CURVE_ROWS)
            halve(curves);
        curves->rows++;
        curves->in_last = 0;
    }
    curves->in_last++;
    curves->next = 1;
    curves->columns[0].sums[curves->rows - 1] = position;
    curves->columns[0].counts[curves->rows - 1] = 1;
    return GERNE_OK;
}

gerne_status gn_curves_put(gn_curves *curves, const char *name, double value)
{
    if (!isfinite(value) || strlen(name) >= GN_CURVE_NAME || curves->rows == 0)
        return GERNE_OK;
    ptrdiff_t at = (ptrdiff_t)curves->next;
    if (curves->next >= curves->column_count || strcmp(curves->columns[at].name, name) != 0)
        at = gn_curves_find(curves, name);
    if (at < 0) {
        if (curves->column_count == GN_CURVE_COLUMNS)
            return GERNE_OK;
        GN_TRY(add_column(curves, name));
        at = (ptrdiff_t)curves->column_count - 1;
    }
    curves->columns[at].sums[curves->rows - 1] += value;
    curves->columns[at].counts[curves->rows - 1]++;
    curves->next = (size_t)at + 1;
    return GERNE_OK;
}

double gn_curves_at(const gn_curves *curves, size_t column, size_t row)
{
    const gn_curve_column *c = &curves->columns[column];
    return c->counts[row] ? c->sums[row] / (double)c->counts[row] : NAN;
}
