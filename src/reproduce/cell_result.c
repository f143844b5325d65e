#include "reproduce/cell_result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The figures of a checkpoint: those of the run's own choice, or of the oracle's. */
static const json_t *splits_of(const json_t *results, bool oracle)
{
    const json_t *side = oracle ? json_object_get(results, "oracle") : results;
    return json_object_get(side, "splits");
}

static double figure(const json_t *splits, const char *split, const char *metric)
{
    const json_t *value = json_object_get(json_object_get(splits, split), metric);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* What the choice among points goes by. */
static double selected_value(const json_t *results, bool oracle)
{
    const json_t *selection = json_object_get(results, "selection");
    const char *metric = json_string_value(json_object_get(selection, "metric"));
    const char *split = json_string_value(json_object_get(selection, "split"));
    if (!metric || !split)
        return (double)NAN;
    return figure(splits_of(results, oracle), oracle ? "test" : split, metric);
}

static bool chose_on_test(const json_t *results)
{
    return json_is_true(json_object_get(json_object_get(results, "selection"), "oracle"));
}

static void widen(gn_interval *hull, const json_t *splits, const char *metric)
{
    char key[64];
    snprintf(key, sizeof key, "%s_ci95", metric);
    const json_t *ci = json_object_get(json_object_get(splits, "test"), key);
    if (json_array_size(ci) != 2 || !json_is_number(json_array_get(ci, 0)) ||
        !json_is_number(json_array_get(ci, 1)))
        return;
    double lo = 100 * json_number_value(json_array_get(ci, 0));
    double hi = 100 * json_number_value(json_array_get(ci, 1));
    hull->lo = isnan(hull->lo) || lo < hull->lo ? lo : hull->lo;
    hull->hi = isnan(hull->hi) || hi > hull->hi ? hi : hull->hi;
}

typedef struct tally {
    const gn_slot_trial *trials;
    size_t count;
    const char *metric;
    double *values; /* [count] */
} tally;

/* The side as it would be with this point; *chosen_by is the mean that points are compared by. */
static gn_side judge_point(tally *t, size_t point, bool oracle, double *chosen_by)
{
    gn_side side = {.point = point, .interval = {NAN, NAN}};
    size_t n = 0;
    double sum = 0;
    for (size_t i = 0; i < t->count; i++) {
        const gn_trial *trial = t->trials[i].trial;
        if (t->trials[i].point != point || trial->state != GN_TRIAL_DONE)
            continue;
        if (!oracle && chose_on_test(trial->results))
            continue; /* not an honest figure */
        const json_t *splits = splits_of(trial->results, oracle);
        double value = figure(splits, "test", t->metric);
        if (isnan(value))
            continue;
        t->values[n++] = 100 * value;
        sum += selected_value(trial->results, oracle);
        widen(&side.interval, splits, t->metric);
    }
    side.measure = gn_spread_of(t->values, n);
    *chosen_by = n ? sum / (double)n : (double)NAN;
    return side;
}

static gn_side choose_point(tally *t, size_t points, bool oracle)
{
    double best_value;
    gn_side best = judge_point(t, 0, oracle, &best_value);
    for (size_t p = 1; p < points; p++) {
        double value;
        gn_side side = judge_point(t, p, oracle, &value);
        bool more = side.measure.n > best.measure.n;
        bool better = side.measure.n == best.measure.n && (isnan(best_value) || value > best_value);
        if (more || better) {
            best = side;
            best_value = value;
        }
    }
    return best;
}

gerne_status gn_cell_result_of(gerne_ctx *ctx, const gn_slot_trial *trials, size_t count,
                               size_t points, const char *metric, gn_cell_result *out)
{
    tally t = {.trials = trials, .count = count, .metric = metric};
    *out = (gn_cell_result){.planned = count};
    GN_TRY(gn_alloc(ctx, count ? count : 1, sizeof *t.values, "figures of a cell", &t.values));
    for (size_t i = 0; i < count; i++) {
        const gn_trial *trial = trials[i].trial;
        out->done += trial->state == GN_TRIAL_DONE;
        out->failed += trial->state == GN_TRIAL_FAILED;
        if (trial->state == GN_TRIAL_FAILED && !out->failure)
            out->failure = trial->reason ? trial->reason : "unknown";
    }
    out->honest = choose_point(&t, points, false);
    out->oracle = choose_point(&t, points, true);
    gn_free(t.values);
    return GERNE_OK;
}
