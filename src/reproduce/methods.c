/* methods.c - all methods, or all rules for beta, side by side: one table for each dataset, the
 * best first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/reproduction.h"

enum { COLUMNS = 7 };

typedef struct comparison {
    const char *title; /* of a table; a dataset follows */
    const char *gba[COLUMNS], *wga[COLUMNS];
    const char *note;
    bool by_validation; /* sorted by what rows are compared by, which is shown */
} comparison;

static const comparison methods = {
    .title = "Methods on",
    .gba = {"method", "attributes", "runs", "GBA", "95% interval", "oracle", "remark"},
    .wga = {"method", "attributes", "runs", "WGA", "95% interval", "oracle", "remark"},
    .note =
        "In percent on the test split; mean +- standard deviation over runs (seeds). Settings: the "
        "best of a small grid on validation with the first seed, same budget for all. attributes: "
        "known in training and validation, val: in validation alone (to select, or as the method "
        "says), unknown: nowhere. 95% interval: of the metric on the test split, hull over runs. "
        "oracle: checkpoint selected on the test split; optimistic, not a result.",
};

static const comparison rules = {
    .title = "beta fixed and chosen by rules on",
    .gba = {"rule", "attributes", "runs", "GBA", "95% interval", "validation", "remark"},
    .wga = {"rule", "attributes", "runs", "WGA", "95% interval", "validation", "remark"},
    .note =
        "In percent; mean +- standard deviation over runs (seeds). s = c (1 + beta): 1 balances "
        "the groups (Resampling). All rows of a table share network, optimiser and budget, and "
        "nothing is tuned for a row. Rows are sorted by the metric on validation, which also "
        "selects the checkpoint; compare rules by it. 95% interval: of the metric on the test "
        "split, hull over runs.",
    .by_validation = true,
};

/* Best first; those without a result last, in the order of the list. */
static int by_spread(const gn_spread *x, const gn_spread *y, const gn_cell *a, const gn_cell *b)
{
    if (!x->n != !y->n)
        return !x->n ? 1 : -1;
    if (x->n && x->mean != y->mean)
        return x->mean < y->mean ? 1 : -1;
    return a < b ? -1 : 1;
}

static int by_result(const void *left, const void *right)
{
    const gn_cell *a = *(const gn_cell *const *)left, *b = *(const gn_cell *const *)right;
    return by_spread(&a->result.honest.measure, &b->result.honest.measure, a, b);
}

static int by_validation(const void *left, const void *right)
{
    const gn_cell *a = *(const gn_cell *const *)left, *b = *(const gn_cell *const *)right;
    return by_spread(&a->result.honest.chosen_by, &b->result.honest.chosen_by, a, b);
}

static gerne_status add_row(gn_reproduction *r, const comparison *what, gn_sheet *sheet,
                            const gn_cell *cell)
{
    const gn_cell_result *o = &cell->result;
    const gn_spread *second = what->by_validation ? &o->honest.chosen_by : &o->oracle.measure;
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", what->by_validation ? "" : cell->method,
             cell->variant[0] && !what->by_validation ? ", " : "", cell->variant);
    GN_TRY(gn_sheet_add(r->ctx, sheet, name));
    GN_TRY(gn_sheet_add(r->ctx, sheet, cell->setting));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, (double)o->honest.measure.n, 0));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, o->honest.measure.mean, o->honest.measure.sd));
    GN_TRY(gn_sheet_add_interval(r, sheet, &o->honest.interval));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, second->mean, second->sd));
    return gn_sheet_add_remark(r, sheet, cell);
}

/* The cells of one dataset and ratio, of which first is one. */
static gerne_status add_sheet(gn_reproduction *r, const comparison *what, const gn_cell *first)
{
    const gn_cell **rows;
    size_t count = 0;
    char title[128];
    const char *kept;
    gn_sheet *sheet;
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, r->cells.count, sizeof *rows, &rows));
    for (const gn_cell *cell = r->cells.list; cell < r->cells.list + r->cells.count; cell++)
        if (cell->dataset == first->dataset && strcmp(cell->ratio, first->ratio) == 0)
            rows[count++] = cell;
    qsort(rows, count, sizeof *rows, what->by_validation ? by_validation : by_result);
    snprintf(title, sizeof title, "%s %s%s%s%s", what->title, first->dataset->title,
             first->ratio[0] ? " " : "", first->ratio, first->ratio[0] ? " %" : "");
    GN_TRY(gn_arena_copy_text(r->ctx, r->arena, title, &kept));
    GN_TRY(gn_sheet_new(r->ctx, r->arena, kept,
                        strcmp(first->dataset->metric, "wga") == 0 ? what->wga : what->gba, COLUMNS,
                        &sheet));
    sheet->note = what->note;
    for (size_t i = 0; i < count; i++)
        GN_TRY(add_row(r, what, sheet, rows[i]));
    r->sheets[r->sheet_count++] = sheet;
    return GERNE_OK;
}

static gerne_status compare(gn_reproduction *r, const comparison *what)
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
        GN_TRY(add_sheet(r, what, &list[i]));
    }
    return GERNE_OK;
}

gerne_status gn_reproduce_methods(gn_reproduction *r)
{
    return compare(r, &methods);
}

gerne_status gn_reproduce_adapt(gn_reproduction *r)
{
    return compare(r, &rules);
}
