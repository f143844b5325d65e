/* table.c - the table that every reproduction has: ours, the paper's, the difference. */
#include <math.h>
#include <stdio.h>

#include "reproduce/reproduction.h"

static const char *const columns[] = {"cell",         "runs",        "ours",  "95% interval",
                                      "ours, oracle", "paper",       "diff.", "band",
                                      "oracle diff.", "oracle band", "remark"};

static const char note[] =
    "In percent; mean +- standard deviation over runs (seeds, folds); diff.: ours minus the "
    "paper's. ours: checkpoint (and grid point) selected on validation. "
    "ours, oracle: selected on the test split itself, as the paper's cited "
    "baselines are; optimistic, not a result. 95% interval: of the metric on "
    "the test split, hull over runs. "
    "band: whether the mean lies within the paper's standard deviation of its mean, or within 1 "
    "point where that is smaller.";

/* "2 of 3 failed: ..." and what else a reader must know. */
static gerne_status remark_of(gn_reproduction *r, const gn_cell *cell, gn_text *out)
{
    const gn_cell_result *o = &cell->result;
    if (cell->state != GN_CELL_RUNNABLE)
        return gn_text_add(r->ctx, out, "%s", cell->reason);
    const char *words;
    GN_TRY(gn_cell_point_words(r->ctx, r->arena, cell, o->honest.point, &words));
    if (o->honest.measure.n)
        GN_TRY(gn_text_add(r->ctx, out, "%s", words));
    bool has_paper = !isnan(cell->paper.mean);
    if (has_paper && cell->frozen)
        GN_TRY(gn_text_add(r->ctx, out, "%sfrozen body, not the paper's fine-tuning",
                           out->size ? "; " : ""));
    else if (has_paper && !gn_cell_comparable(r, cell))
        GN_TRY(gn_text_add(r->ctx, out, "%s%s, not the paper's protocol", out->size ? "; " : "",
                           r->options->steps ? "limited steps" : "quick budget"));
    if (o->failed)
        GN_TRY(gn_text_add(r->ctx, out, "%s%zu of %zu runs %s%s", out->size ? "; " : "", o->failed,
                           cell->run_count,
                           gn_trial_diverged(o->failure) ? "" : "failed: ", o->failure->reason));
    if (o->warned)
        GN_TRY(gn_text_add(r->ctx, out, "%s%zu runs warned: %s", out->size ? "; " : "", o->warned,
                           o->warning));
    if (o->done + o->failed < cell->run_count)
        GN_TRY(gn_text_add(r->ctx, out, "%s%zu of %zu runs unfinished", out->size ? "; " : "",
                           cell->run_count - o->done - o->failed, cell->run_count));
    return GERNE_OK;
}

gerne_status gn_sheet_add_remark(gn_reproduction *r, gn_sheet *sheet, const gn_cell *cell)
{
    gn_text remark = {0};
    gerne_status status = remark_of(r, cell, &remark);
    if (status == GERNE_OK)
        status = gn_sheet_add(r->ctx, sheet, remark.bytes ? remark.bytes : "");
    gn_text_free(&remark);
    return status;
}

static gerne_status add_comparison(gn_reproduction *r, gn_sheet *sheet, const gn_cell *cell,
                                   const gn_spread *ours)
{
    GN_TRY(gn_sheet_add_signed(r->ctx, sheet, ours->mean - cell->paper.mean, 2));
    gn_agreement agreement =
        gn_cell_comparable(r, cell) ? gn_agreement_of(ours, &cell->paper) : GN_NOT_COMPARED;
    return gn_sheet_add(r->ctx, sheet, gn_agreement_name(agreement));
}

gerne_status gn_sheet_add_interval(gn_reproduction *r, gn_sheet *sheet, const gn_interval *interval)
{
    char words[64];
    if (isnan(interval->lo))
        return gn_sheet_add(r->ctx, sheet, "-");
    snprintf(words, sizeof words, "%.1f to %.1f", interval->lo, interval->hi);
    return gn_sheet_add(r->ctx, sheet, words);
}

static gerne_status add_row(gn_reproduction *r, gn_sheet *sheet, const gn_cell *cell)
{
    const gn_cell_result *o = &cell->result;
    const gn_spread *honest = &o->honest.measure, *oracle = &o->oracle.measure;
    GN_TRY(gn_sheet_add(r->ctx, sheet, cell->path));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, (double)(honest->n ? honest->n : oracle->n), 0));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, honest->mean, honest->sd));
    GN_TRY(gn_sheet_add_interval(r, sheet, &o->honest.interval));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, oracle->mean, oracle->sd));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, cell->paper.mean, cell->paper.sd));
    GN_TRY(add_comparison(r, sheet, cell, honest));
    GN_TRY(add_comparison(r, sheet, cell, oracle));
    return gn_sheet_add_remark(r, sheet, cell);
}

gerne_status gn_sheet_of_cells(gn_reproduction *r, gn_sheet **out)
{
    GN_TRY(gn_sheet_new(r->ctx, r->arena, gn_reproduce_title(r->options->what), columns,
                        sizeof columns / sizeof columns[0], out));
    (*out)->note = note;
    for (size_t i = 0; i < r->cells.count; i++)
        GN_TRY(add_row(r, *out, &r->cells.list[i]));
    return GERNE_OK;
}
