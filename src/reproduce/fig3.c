/* fig3.c - Fig. 3: the threshold t against precision and recall of the pseudo-groups, the
 * best beta and the accuracy. */
#include <math.h>
#include <string.h>

#include "reproduce/run_logs.h"
#include "study/summary.h"

enum { THRESHOLDS_MAX = 16 };

/* Columns of fig3.csv, and of ours. */
typedef enum quantity { T, PRECISION, RECALL, BETA, ACCURACY, SD, QUANTITIES } quantity;

typedef struct side {
    double values[QUANTITIES][THRESHOLDS_MAX];
    size_t count;
} side;

static gerne_status read_rows(gn_csv *csv, side *out)
{
    for (bool more = true;; out->count++) {
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        for (size_t c = 0; c < QUANTITIES; c++)
            if (out->count == THRESHOLDS_MAX ||
                !gn_parse_double(gn_csv_cell(csv, c), &out->values[c][out->count]))
                return gn_csv_fail(csv, GERNE_EINTERNAL, -1, "not a point of Fig. 3");
    }
}

static gerne_status read_paper(gn_reproduction *r, side *out)
{
    gn_csv *csv;
    *out = (side){.count = 0};
    GN_TRY(gn_paper_open(r->ctx, "fig3.csv", &csv));
    gerne_status status = read_rows(csv, out);
    gn_csv_close(csv);
    return status;
}

static double row_of(const side *s, double t, quantity q)
{
    for (size_t i = 0; i < s->count; i++)
        if (fabs(s->values[T][i] - t) < 1e-9)
            return s->values[q][i];
    return (double)NAN;
}

/* Of the pseudo-groups, over all finished runs of the cell: they depend on t and seed alone. */
static double pseudo_mean(const gn_reproduction *r, const gn_cell *cell, const char *key)
{
    size_t n = 0;
    double sum = 0;
    for (size_t i = 0; i < cell->run_count; i++) {
        const gn_trial *trial = gn_trial_of(r, &cell->runs[i]);
        const json_t *value = json_object_get(json_object_get(trial->results, "pseudo"), key);
        if (trial->state != GN_TRIAL_DONE || !json_is_number(value))
            continue;
        sum += json_number_value(value);
        n++;
    }
    return n ? sum / (double)n : (double)NAN;
}

static double chosen_beta(const gn_cell *cell, const gn_cell_choice *chosen)
{
    double beta = NAN;
    const gn_settings *axes = &cell->axes;
    for (size_t a = 0; a < axes->count && chosen->measure.n; a++)
        if (strcmp(axes->list[a].key, "method.beta") == 0 &&
            !gn_parse_double(gn_grid_value(axes, chosen->point, a), &beta))
            return (double)NAN;
    return beta;
}

static gerne_status add_row(gn_reproduction *r, const gn_cell *cell, const side *paper, double t,
                            gn_sheet *sheet, side *ours, side *oracle)
{
    const gn_cell_result *result = &cell->result;
    const gn_spread *honest = &result->honest.measure, *best = &result->oracle.measure;
    double precision = pseudo_mean(r, cell, "precision"), recall = pseudo_mean(r, cell, "recall");
    double beta = chosen_beta(cell, &result->honest),
           best_beta = chosen_beta(cell, &result->oracle);
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, t, 4));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, precision, 3));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, row_of(paper, t, PRECISION), 3));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, recall, 3));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, row_of(paper, t, RECALL), 3));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, beta, 2));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, honest->mean, honest->sd));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, best_beta, 2));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, best->mean, best->sd));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, row_of(paper, t, BETA), 2));
    GN_TRY(gn_sheet_add_spread(r->ctx, sheet, row_of(paper, t, ACCURACY), row_of(paper, t, SD)));
    if (!honest->n || ours->count == THRESHOLDS_MAX)
        return GERNE_OK;
    const double a[QUANTITIES] = {t, precision, recall, beta, honest->mean, honest->sd};
    const double b[QUANTITIES] = {t, precision, recall, best_beta, best->mean, best->sd};
    for (int q = 0; q < QUANTITIES; q++) {
        ours->values[q][ours->count] = a[q];
        oracle->values[q][oracle->count] = b[q];
    }
    ours->count++;
    oracle->count++;
    return GERNE_OK;
}

static gerne_status draw(gn_reproduction *r, json_t *figure, side *s, quantity q, const char *name,
                         bool dashed)
{
    const gn_track curve = {s->values[T], s->values[q], q == ACCURACY ? s->values[SD] : NULL,
                            s->count};
    return gn_figure_add_series(r->ctx, figure, name, &curve, 1, dashed);
}

static gerne_status add_figures(gn_reproduction *r, side *ours, side *oracle, side *paper)
{
    static const gn_figure_axis t = {"t", "", true},
                                accuracy = {"mean accuracy of groups", "%", false},
                                share = {"share", "", false}, beta = {"beta", "", false};
    json_t *f = gn_figure_add(r->figures, "Fig. 3: accuracy against t", t, accuracy, NULL);
    GN_TRY(draw(r, f, ours, ACCURACY, "selected on validation", false));
    GN_TRY(draw(r, f, oracle, ACCURACY, "selected on test (oracle)", false));
    GN_TRY(draw(r, f, paper, ACCURACY, "paper", true));
    f = gn_figure_add(r->figures, "Fig. 3: pseudo-groups against t", t, share, NULL);
    GN_TRY(draw(r, f, ours, PRECISION, "precision", false));
    GN_TRY(draw(r, f, ours, RECALL, "recall", false));
    GN_TRY(draw(r, f, paper, PRECISION, "precision, paper", true));
    GN_TRY(draw(r, f, paper, RECALL, "recall, paper", true));
    f = gn_figure_add(r->figures, "Fig. 3: best beta against t", t, beta, NULL);
    GN_TRY(draw(r, f, ours, BETA, "selected on validation", false));
    GN_TRY(draw(r, f, oracle, BETA, "selected on test (oracle)", false));
    return draw(r, f, paper, BETA, "paper", true);
}

/* Where the accuracy is highest. */
static gerne_status note_maximum(gn_reproduction *r, const side *s, const char *how)
{
    size_t best = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->values[ACCURACY][i] > s->values[ACCURACY][best])
            best = i;
    if (s->count < 2)
        return GERNE_OK;
    return gn_study_note(r->ctx, r->notes,
                         "%s: the highest accuracy, %.2f %%, is at t = %g (the paper's at 0.003)",
                         how, s->values[ACCURACY][best], s->values[T][best]);
}

gerne_status gn_reproduce_fig3(gn_reproduction *r)
{
    static const char *const columns[] = {
        "t",    "precision",   "paper's precision", "recall",       "paper's recall", "beta",
        "ours", "oracle beta", "ours, oracle",      "paper's beta", "paper"};
    gn_sheet *sheet;
    side paper, ours = {.count = 0}, oracle = {.count = 0};
    GN_TRY(read_paper(r, &paper));
    GN_TRY(gn_sheet_new(r->ctx, r->arena, "Fig. 3: the threshold t", columns, 11, &sheet));
    sheet->note = "precision and recall of the pseudo-minority groups, mean over classes "
                  "and runs. ours: beta and checkpoint selected on validation; oracle: "
                  "selected on test, as in the paper.";
    r->sheets[r->sheet_count++] = sheet;
    for (size_t i = 0; i < r->cells.count; i++) {
        const gn_cell *cell = &r->cells.list[i];
        const char *equals = strchr(cell->variant, '=');
        double t;
        if (!equals || !gn_parse_double(equals + 1, &t))
            return gn_fail(r->ctx, GERNE_EINTERNAL, "cells.csv: '%s' names no t", cell->variant);
        GN_TRY(add_row(r, cell, &paper, t, sheet, &ours, &oracle));
    }
    GN_TRY(note_maximum(r, &ours, "selected on validation"));
    GN_TRY(note_maximum(r, &oracle, "selected on test (oracle)"));
    return add_figures(r, &ours, &oracle, &paper);
}
