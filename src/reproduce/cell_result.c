/* cell_result.c - the result of a cell's runs: the grid point selected on validation, and the
 * one selected on test (oracle). */
#include <math.h>

#include "reproduce/cell.h"
#include "study/result.h"

typedef struct tally {
    const gn_cell *cell;
    const gn_trial_list *trials;
    double *values, *chosen_by; /* [cell->run_count] */
} tally;

static void widen(gn_interval *hull, gn_interval one)
{
    if (isnan(one.lo))
        return;
    hull->lo = isnan(hull->lo) || 100 * one.lo < hull->lo ? 100 * one.lo : hull->lo;
    hull->hi = isnan(hull->hi) || 100 * one.hi > hull->hi ? 100 * one.hi : hull->hi;
}

/* The choice as it would be with this point. */
static gn_cell_choice judge_point(tally *t, size_t point, bool oracle)
{
    const char *metric = t->cell->dataset->metric;
    gn_cell_choice choice = {.point = point, .interval = {NAN, NAN}};
    size_t n = 0;
    for (size_t i = 0; i < t->cell->run_count; i++) {
        const gn_trial *trial = &t->trials->items[t->cell->runs[i].trial];
        gn_result_selection by;
        if (t->cell->runs[i].point != point || trial->state != GN_TRIAL_DONE)
            continue;
        gn_result_selection_of(trial->results, &by);
        if (!oracle && by.oracle)
            continue; /* not an honest figure */
        const json_t *splits = gn_result_splits(trial->results, oracle);
        double value = gn_result_figure(splits, "test", metric);
        if (isnan(value))
            continue;
        t->chosen_by[n] = 100 * gn_result_figure(splits, oracle ? "test" : by.split, by.metric);
        t->values[n++] = 100 * value;
        widen(&choice.interval, gn_result_interval(splits, "test", metric));
    }
    choice.measure = gn_spread_of(t->values, n);
    choice.chosen_by = gn_spread_of(t->chosen_by, n);
    return choice;
}

static gn_cell_choice choose_point(tally *t, bool oracle)
{
    gn_cell_choice best = judge_point(t, 0, oracle);
    for (size_t p = 1; p < gn_grid_size(&t->cell->axes); p++) {
        gn_cell_choice choice = judge_point(t, p, oracle);
        double value = choice.chosen_by.mean, best_value = best.chosen_by.mean;
        bool more = choice.measure.n > best.measure.n;
        bool better =
            choice.measure.n == best.measure.n && (isnan(best_value) || value > best_value);
        if (more || better)
            best = choice;
    }
    return best;
}

static void count_warnings(const gn_trial_list *trials, gn_cell *cell)
{
    gn_cell_result *r = &cell->result;
    for (size_t i = 0; i < cell->run_count; i++) {
        const char *first;
        if (cell->runs[i].point == r->honest.point &&
            gn_result_warnings(trials->items[cell->runs[i].trial].results, &first))
            r->warning = r->warned++ ? r->warning : first;
    }
}

gerne_status gn_cell_sum_up(gerne_ctx *ctx, const gn_trial_list *trials, gn_cell *cell)
{
    tally t = {.cell = cell, .trials = trials};
    cell->result = (gn_cell_result){0};
    GN_TRY(
        gn_alloc(ctx, 2 * cell->run_count + 1, sizeof *t.values, "figures of a cell", &t.values));
    t.chosen_by = t.values + cell->run_count;
    for (size_t i = 0; i < cell->run_count; i++) {
        const gn_trial *trial = &trials->items[cell->runs[i].trial];
        cell->result.done += trial->state == GN_TRIAL_DONE;
        cell->result.failed += trial->state == GN_TRIAL_FAILED;
        if (trial->state == GN_TRIAL_FAILED && !cell->result.failure)
            cell->result.failure = trial;
    }
    cell->result.honest = choose_point(&t, false);
    cell->result.oracle = choose_point(&t, true);
    count_warnings(trials, cell);
    gn_free(t.values);
    return GERNE_OK;
}
