/* fig2.c - Fig. 2: losses and accuracies over epochs for several beta. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reproduce/run_logs.h"

/* The paper's points lie 10/11 of an epoch apart; its last two, 50 and 70, are on the plateau. */
#define EPOCHS_PER_POINT (10.0 / 11.0)
#define PLATEAU_FROM     (49.5 * EPOCHS_PER_POINT)
#define PLATEAU_BAND     6.0 /* points */

enum { POINTS_MAX = 16 };

static const gn_figure_axis epochs = {"epoch", "", false};

/* The paper's drawing for one beta. */
typedef struct drawing {
    double epoch[POINTS_MAX], losses[3][POINTS_MAX], test[POINTS_MAX];
    size_t count;
} drawing;

static bool cells_of_row(gn_csv *csv, double *values)
{
    for (size_t c = 0; c < 8; c++)
        if (!gn_parse_double(gn_csv_cell(csv, c), &values[c]))
            return false;
    return true;
}

static gerne_status read_rows(gn_csv *csv, double beta, drawing *out)
{
    for (bool more = true;;) {
        double v[8];
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        if (!cells_of_row(csv, v) || out->count == POINTS_MAX)
            return gn_csv_fail(csv, GERNE_EINTERNAL, -1, "not a point of Fig. 2");
        if (fabs(v[0] - beta) > 1e-9)
            continue;
        size_t i = out->count++;
        out->epoch[i] = v[1] * EPOCHS_PER_POINT;
        for (int k = 0; k < 3; k++)
            out->losses[k][i] = v[2 + k];
        out->test[i] = v[7];
    }
}

static gerne_status read_drawing(gn_reproduction *r, double beta, drawing *out)
{
    gn_csv *csv;
    *out = (drawing){.count = 0};
    GN_TRY(gn_paper_open(r->ctx, "fig2.csv", &csv));
    gerne_status status = read_rows(csv, beta, out);
    gn_csv_close(csv);
    return status;
}

static gn_track drawn(drawing *d, double *values)
{
    return (gn_track){d->epoch, values, NULL, d->count};
}

/* L_b is not computed where beta = 0, nor L_lb where beta = -1: the log has zeros there. */
static void drop_if_zero(gn_track *curve)
{
    for (size_t i = 0; i < curve->count; i++)
        if (curve->mean[i] != 0)
            return;
    curve->count = 0;
}

static gerne_status add_losses(gn_reproduction *r, const char *variant, const gn_run_logs *curves,
                               drawing *paper)
{
    static const char *const keys[] = {"L_b", "L_lb", "loss"};
    static const char *const names[] = {"L_b", "L_lb", "L_ext"};
    char words[64];
    snprintf(words, sizeof words, "Losses, %s", variant);
    json_t *figure =
        gn_figure_add(r->figures, words, epochs, (gn_figure_axis){"loss", "", false}, NULL);
    for (int k = 0; k < 3; k++) {
        gn_track curve;
        GN_TRY(gn_track_of(r, curves, "train", keys[k], &curve));
        drop_if_zero(&curve);
        GN_TRY(gn_figure_add_series(r->ctx, figure, names[k], &curve, 1, false));
        snprintf(words, sizeof words, "%s, paper", names[k]);
        curve = drawn(paper, paper->losses[k]);
        GN_TRY(gn_figure_add_series(r->ctx, figure, words, &curve, 1, true));
    }
    return GERNE_OK;
}

static gerne_status add_accuracies(gn_reproduction *r, const char *variant,
                                   const gn_run_logs *curves, drawing *paper)
{
    static const struct {
        const char *part, *key, *name;
    } list[] = {{"test", "gba", "test, mean of groups"},
                {"test", "minority_acc", "test, minority"},
                {"test", "majority_acc", "test, majority"},
                {"val", "minority_acc", "validation, minority"}};
    char words[64];
    snprintf(words, sizeof words, "Accuracy, %s", variant);
    json_t *figure =
        gn_figure_add(r->figures, words, epochs, (gn_figure_axis){"accuracy", "%", false}, NULL);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        gn_track curve;
        GN_TRY(gn_track_of(r, curves, list[i].part, list[i].key, &curve));
        GN_TRY(gn_figure_add_series(r->ctx, figure, list[i].name, &curve, 100, false));
    }
    gn_track curve = drawn(paper, paper->test);
    return gn_figure_add_series(r->ctx, figure, "test, paper", &curve, 1, true);
}

static double paper_plateau(const drawing *paper)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < paper->count; i++)
        if (paper->epoch[i] >= PLATEAU_FROM) {
            sum += paper->test[i];
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}

static gerne_status add_row(gn_reproduction *r, gn_sheet *sheet, const char *variant,
                            const gn_run_logs *curves, const drawing *paper)
{
    static const char *const keys[] = {"gba", "minority_acc", "majority_acc"};
    double target = paper_plateau(paper), ours = NAN;
    GN_TRY(gn_sheet_add(r->ctx, sheet, variant));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, (double)curves->count, 0));
    for (int k = 0; k < 3; k++) {
        gn_spread s;
        GN_TRY(gn_run_logs_plateau(r, curves, "test", keys[k], PLATEAU_FROM, &s));
        GN_TRY(gn_sheet_add_spread(r->ctx, sheet, 100 * s.mean, 100 * s.sd));
        ours = k ? ours : 100 * s.mean;
    }
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, target, 2));
    GN_TRY(gn_sheet_add_signed(r->ctx, sheet, ours - target, 2));
    return gn_sheet_add(r->ctx, sheet,
                        isnan(ours) || r->options->steps      ? "-"
                        : fabs(ours - target) <= PLATEAU_BAND ? "yes"
                                                              : "no");
}

static gerne_status add_beta(gn_reproduction *r, const gn_cell *cell, gn_sheet *sheet,
                             json_t *overview)
{
    const char *variant = cell->variant;
    const char *equals = strchr(variant, '=');
    double beta = NAN;
    drawing paper;
    gn_run_logs curves;
    gn_track curve;
    if (!equals || !gn_parse_double(equals + 1, &beta))
        return gn_fail(r->ctx, GERNE_EINTERNAL, "cells.csv: '%s' names no beta", variant);
    GN_TRY(read_drawing(r, beta, &paper));
    gerne_status status = gn_run_logs_read(r, cell, 0, &curves);
    if (status == GERNE_OK)
        status = add_row(r, sheet, variant, &curves, &paper);
    if (status == GERNE_OK)
        status = gn_track_of(r, &curves, "test", "gba", &curve);
    if (status == GERNE_OK)
        status = gn_figure_add_series(r->ctx, overview, variant, &curve, 100, false);
    if (status == GERNE_OK && curves.count)
        status = add_losses(r, variant, &curves, &paper);
    if (status == GERNE_OK && curves.count)
        status = add_accuracies(r, variant, &curves, &paper);
    gn_run_logs_free(&curves);
    GN_TRY(status);
    char words[64];
    snprintf(words, sizeof words, "%s, paper", variant);
    curve = drawn(&paper, paper.test);
    return gn_figure_add_series(r->ctx, overview, words, &curve, 1, true);
}

gerne_status gn_reproduce_fig2(gn_reproduction *r)
{
    static const char *const columns[] = {"beta",     "seeds", "test plateau", "minority",
                                          "majority", "paper", "diff.",        "within 6 points"};
    gn_sheet *sheet;
    json_t *overview = gn_figure_add(r->figures, "Fig. 2: test accuracy over epochs", epochs,
                                     (gn_figure_axis){"mean accuracy of groups", "%", false}, NULL);
    GN_TRY(gn_sheet_new(r->ctx, r->arena, "Plateaus of Fig. 2", columns, 8, &sheet));
    sheet->note =
        "Test split, no checkpoint selected: mean of all evaluations from epoch 45 on; mean "
        "+- standard deviation over seeds. paper: mean of its points 50 and 70 (epochs "
        "45.5 and 63.6), read from the drawing.";
    r->sheets[r->sheet_count++] = sheet;
    for (size_t i = 0; i < r->cells.count; i++)
        GN_TRY(add_beta(r, &r->cells.list[i], sheet, overview));
    return GERNE_OK;
}
