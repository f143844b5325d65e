/* methods.c - all methods side by side: one table for each dataset, the best first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/reproduction.h"

static const char note[] =
    "In percent on the test split; mean +- standard deviation over runs (seeds). Settings: the "
    "best of a small grid on validation with the first seed, same budget for all. attributes: "
    "known in training and validation, val: in validation alone (to select, or as the method "
    "says), unknown: nowhere. 95% interval: of the metric on the test split, hull over runs. "
    "oracle: checkpoint selected on the test split; optimistic, not a result.";

/* Best first; those without a result last, in the order of the list. */
static int by_result(const void *left, const void *right)
{
    const gn_cell *a = *(const gn_cell *const *)left, *b = *(const gn_cell *const *)right;
    const gn_spread *x = &a->result.honest.measure, *y = &b->result.honest.measure;
    if (!x->n != !y->n)
        return !x->n ? 1 : -1;
    if (x->n && x->mean != y->mean)
        return x->mean < y->mean ? 1 : -1;
    return a < b ? -1 : 1;
}

static gerne_status add_row(gn_reproduction *r, gn_sheet *sheet, const gn_cell *cell)
{
    const gn_cell_result *o = &cell->result;
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", cell->method, cell->variant[0] ? ", " : "",
             cell->variant);
    GN_TRY(gn_sheet_add(r->ctx, sheet, name));
    GN_TRY(gn_sheet_add(r->ctx, sheet, cell->setting));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, (double)o->honest.measure.n, 0));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, o->honest.measure.mean, o->honest.measure.sd));
    GN_TRY(gn_sheet_add_interval(r, sheet, &o->honest.interval));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, o->oracle.measure.mean, o->oracle.measure.sd));
    return gn_sheet_add_remark(r, sheet, cell);
}

/* The cells of one dataset and ratio, of which first is one. */
static gerne_status add_sheet(gn_reproduction *r, const gn_cell *first)
{
    static const char *const gba[] = {"method",       "attributes", "runs",  "GBA",
                                      "95% interval", "oracle",     "remark"};
    static const char *const wga[] = {"method",       "attributes", "runs",  "WGA",
                                      "95% interval", "oracle",     "remark"};
    const gn_cell **rows;
    size_t count = 0;
    char title[128];
    const char *kept;
    gn_sheet *sheet;
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, r->cells.count, sizeof *rows, &rows));
    for (const gn_cell *cell = r->cells.list; cell < r->cells.list + r->cells.count; cell++)
        if (cell->dataset == first->dataset && strcmp(cell->ratio, first->ratio) == 0)
            rows[count++] = cell;
    qsort(rows, count, sizeof *rows, by_result);
    snprintf(title, sizeof title, "All methods on %s%s%s%s", first->dataset->title,
             first->ratio[0] ? " " : "", first->ratio, first->ratio[0] ? " %" : "");
    GN_TRY(gn_arena_copy_text(r->ctx, r->arena, title, &kept));
    GN_TRY(gn_sheet_new(r->ctx, r->arena, kept,
                        strcmp(first->dataset->metric, "wga") == 0 ? wga : gba, 7, &sheet));
    sheet->note = note;
    for (size_t i = 0; i < count; i++)
        GN_TRY(add_row(r, sheet, rows[i]));
    r->sheets[r->sheet_count++] = sheet;
    return GERNE_OK;
}

gerne_status gn_reproduce_methods(gn_reproduction *r)
{
    const gn_cell *list = r->cells.list;
    for (size_t i = 0; i < r->cells.count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = list[j].dataset == list[i].dataset && strcmp(list[j].ratio, list[i].ratio) == 0;
        if (seen)
            continue;
        if (r->sheet_count == GN_SHEETS_MAX)
            return gn_fail(r->ctx, GERNE_EINTERNAL, "more than %d datasets", GN_SHEETS_MAX);
        GN_TRY(add_sheet(r, &list[i]));
    }
    return GERNE_OK;
}
