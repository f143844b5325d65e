/* estimators.c - how well every estimator finds the minority, against the true attributes: one
 * table over all datasets. The truth is looked at here alone, after the runs. */
#include <math.h>
#include <stdio.h>

#include "reproduce/reproduction.h"
#include "study/result.h"

static const char *const columns[] = {"data",      "estimator", "runs",     "found",
                                      "precision", "recall",    "expected", "remark"};

static const char note[] =
    "Of the training samples that an estimator takes for the minority, how many are of it "
    "(precision), and how many of the minority it takes (recall), as means over classes; in "
    "percent, mean +- standard deviation over runs (seeds). found: samples taken, in percent of "
    "the training split. expected: the precision that the estimator itself expects, without "
    "looking at attributes. No run sees the attributes of training.";

/* A figure of "pseudo" in results.json over the finished runs of a cell, in percent. */
static gerne_status spread_of(gn_reproduction *r, const gn_cell *cell, const char *key,
                              gn_spread *out)
{
    double *values;
    size_t n = 0;
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, cell->run_count + 1, sizeof *values, &values));
    for (size_t i = 0; i < cell->run_count; i++) {
        const gn_trial *trial = gn_trial_of(r, &cell->runs[i]);
        if (trial->state != GN_TRIAL_DONE)
            continue;
        double value = gn_result_pseudo(trial->results, key);
        if (!isnan(value))
            values[n++] = 100 * value;
    }
    *out = gn_spread_of(values, n);
    return GERNE_OK;
}

static gerne_status add_row(gn_reproduction *r, gn_sheet *sheet, const gn_cell *cell)
{
    static const char *const figures[] = {"share", "precision", "recall", "expected_precision"};
    char data[128];
    snprintf(data, sizeof data, "%s%s%s%s", cell->dataset->title, cell->ratio[0] ? " " : "",
             cell->ratio, cell->ratio[0] ? " %" : "");
    GN_TRY(gn_sheet_add(r->ctx, sheet, data));
    GN_TRY(gn_sheet_add(r->ctx, sheet, cell->variant));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, (double)cell->result.done, 0));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        gn_spread spread;
        GN_TRY(spread_of(r, cell, figures[i], &spread));
        GN_TRY(gn_sheet_add_spread(r->ctx, sheet, spread.mean, spread.sd));
    }
    return gn_sheet_add_remark(r, sheet, cell);
}

gerne_status gn_reproduce_estimators(gn_reproduction *r)
{
    gn_sheet *sheet;
    GN_TRY(gn_sheet_new(r->ctx, r->arena, gn_reproduce_title(r->options->what), columns,
                        sizeof columns / sizeof columns[0], &sheet));
    sheet->note = note;
    for (size_t i = 0; i < r->cells.count; i++)
        GN_TRY(add_row(r, sheet, &r->cells.list[i]));
    r->sheets[r->sheet_count++] = sheet;
    return GERNE_OK;
}
