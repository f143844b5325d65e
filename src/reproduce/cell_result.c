/* cell_result.c - the result of a cell's runs: the grid point selected on validation, and the
 * one selected on test (oracle). */
#include <math.h>

#include "reproduce/cell.h"
#include "study/result.h"

typedef struct tally {
    const gn_cell *cell;
    const gn_trial_list *trials;
    double *values; /* [cell->run_count] */
} tally;

static void widen(gn_interval *hull, gn_interval one)
{
    if (isnan(one.lo))
        return;
    hull->lo = isnan(hull->lo) || 100 * one.lo < hull->lo ? 100 * one.lo : hull->lo;
    hull->hi = isnan(hull->hi) || 100 * one.hi > hull->hi ? 100 * one.hi : hull->hi;
}

/* The choice as it would be with this point; *chosen_by is the mean that points are compared by. */
static gn_cell_choice judge_point(tally *t, size_t point, bool oracle, double *chosen_by)
{
    const char *metric = t->cell->dataset->metric;
    gn_cell_choice choice = {.point = point, .interval = {NAN, NAN}};
    size_t n = 0;
    double sum = 0;
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
        t->values[n++] = 100 * value;
        sum += gn_result_figure(splits, oracle ? "test" : by.split, by.metric);
        widen(&choice.interval, gn_result_interval(splits, "test", metric));
    }
    choice.measure = gn_spread_of(t->values, n);
    *chosen_by = n ? sum / (double)n : (double)NAN;
    return choice;
}

static gn_cell_choice choose_point(tally *t, bool oracle)
{
    double best_value;
    gn_cell_choice best = judge_point(t, 0, oracle, &best_value);
    for (size_t p = 1; p < gn_grid_size(&t->cell->axes); p++) {
        double value;
        gn_cell_choice choice = judge_point(t, p, oracle, &value);
        bool more = choice.measure.n > best.measure.n;
        bool better =
            choice.measure.n == best.measure.n && (isnan(best_value) || value > best_value);
        if (more || better) {
            best = choice;
            best_value = value;
        }
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
    GN_TRY(gn_alloc(ctx, cell->run_count + 1, sizeof *t.values, "figures of a cell", &t.values));
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
