#include "data/assign.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* The draws of one seed: see also synthetic.c and rows.c (folds, hold-out). */
enum { STEP_HOLD_OUT = 10, STEP_REDRAW = 11 };

enum { DFA_VALIDATION = 5000 };

/* Milestones of the LfF construction: the k-th image of a class gets the smallest attribute whose
 * milestone is above k. */
static void milestones(size_t count, size_t y, double own, double other,
                       size_t out[GN_MADE_CLASSES])
{
    double sum = 0;
    for (size_t a = 0; a < GN_MADE_CLASSES; a++) {
        sum += a == y ? own : other;
        out[a] = (size_t)nearbyint((double)count * sum); /* half to even */
    }
    out[GN_MADE_CLASSES - 1] = count; /* the sum is 1 */
}

static void count_classes(const uint8_t *labels, size_t n, size_t counts[GN_MADE_CLASSES])
{
    memset(counts, 0, GN_MADE_CLASSES * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[labels[i]]++;
}

static void assign_exactly(const uint8_t *labels, size_t n, double own, double other, int32_t *a)
{
    size_t counts[GN_MADE_CLASSES], seen[GN_MADE_CLASSES] = {0};
    size_t marks[GN_MADE_CLASSES][GN_MADE_CLASSES];
    count_classes(labels, n, counts);
    for (size_t y = 0; y < GN_MADE_CLASSES; y++)
        milestones(counts[y], y, own, other, marks[y]);
    for (size_t i = 0; i < n; i++) {
        size_t y = labels[i], k = seen[y]++;
        int32_t attribute = 0;
        while (marks[y][attribute] <= k)
            attribute++;
        a[i] = attribute;
    }
}

static void assign_by_chance(const uint8_t *labels, size_t n, size_t first, double ratio,
                             uint64_t seed, int32_t *a)
{
    for (size_t i = 0; i < n; i++) {
        gn_stream stream = gn_stream_at(seed, GN_RNG_DATA, STEP_REDRAW, first + i);
        bool redrawn = gn_random_uniform(&stream) < ratio;
        int32_t drawn = (int32_t)gn_random_below(&stream, GN_MADE_CLASSES);
        a[i] = redrawn ? drawn : labels[i];
    }
}

/* Holds val samples out, from every class its share (largest remainders first, then by class). */
static void hold_out(const uint8_t *labels, size_t n, size_t val, uint64_t seed, uint8_t *split)
{
    size_t counts[GN_MADE_CLASSES], quota[GN_MADE_CLASSES], seen[GN_MADE_CLASSES] = {0}, given = 0;
    count_classes(labels, n, counts);
    for (size_t y = 0; y < GN_MADE_CLASSES; y++)
        given += quota[y] = (size_t)((double)val * (double)counts[y] / (double)n);
    while (given < val) {
        size_t best = 0;
        double most = -1;
        for (size_t y = 0; y < GN_MADE_CLASSES; y++) {
            double lack = (double)val * (double)counts[y] / (double)n - (double)quota[y];
            if (lack > most && quota[y] < counts[y]) {
                most = lack;
                best = y;
            }
        }
        quota[best]++;
        given++;
    }
    for (size_t i = 0; i < n; i++) {
        size_t y = labels[i];
        gn_permutation order = gn_permutation_at(counts[y], seed, GN_RNG_DATA, STEP_HOLD_OUT, y);
        split[i] = gn_permute(&order, seen[y]++) < quota[y] ? GN_VAL : GN_TRAIN;
    }
}

/* lff holds out of its exact counts: every cell gives its share, so that both parts keep the
 * ratios as far as whole samples allow. */
static gerne_status hold_out_cells(gerne_ctx *ctx, const int32_t *y, const int32_t *a, size_t n,
                                   size_t val, uint64_t seed, uint8_t *split)
{
    enum { CELLS = GN_MADE_CLASSES * GN_MADE_CLASSES };
    size_t counts[CELLS] = {0}, first[CELLS] = {0}, seen[CELLS] = {0};
    for (size_t i = 0; i < n; i++)
        counts[(size_t)y[i] * GN_MADE_CLASSES + (size_t)a[i]]++;
    for (size_t cell = 1; cell < CELLS; cell++)
        first[cell] = first[cell - 1] + counts[cell - 1];
    GN_FREED uint8_t *held = NULL;
    GN_TRY(gn_alloc(ctx, n, 1, "samples", &held));
    /* All samples in a row, cell after cell: every n/val-th one is taken. */
    for (size_t k = 0; k < val; k++)
        held[(size_t)(((double)k + 0.5) * (double)n / (double)val)] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t cell = (size_t)y[i] * GN_MADE_CLASSES + (size_t)a[i];
        gn_permutation order =
            gn_permutation_at(counts[cell], seed, GN_RNG_DATA, STEP_HOLD_OUT, cell);
        split[i] = held[first[cell] + gn_permute(&order, seen[cell]++)] ? GN_VAL : GN_TRAIN;
    }
    return GERNE_OK;
}

gerne_status gn_assign(gerne_ctx *ctx, const gn_data_options *options, const gn_base *base,
                       gn_dataset *dataset)
{
    uint64_t seed = (uint64_t)options->seed;
    bool dfa = options->construction == GN_CONSTRUCTION_DFA;
    size_t val = options->val ? (size_t)options->val : dfa ? DFA_VALIDATION : 0;
    if (val >= base->train) {
        gn_fail(ctx, GERNE_EUSAGE, "data.val %zu leaves none of the %zu training samples", val,
                base->train);
        gn_hint(ctx, "choose --data.val below %zu", base->train);
        return GERNE_EUSAGE;
    }
    for (size_t i = 0; i < base->train; i++)
        dataset->y[i] = base->train_labels[i];
    for (size_t i = 0; i < base->test; i++) {
        dataset->y[base->train + i] = base->test_labels[i];
        dataset->split[base->train + i] = GN_TEST;
    }
    int32_t *test = dataset->a + base->train;
    if (dfa) {
        hold_out(base->train_labels, base->train, val, seed, dataset->split);
        assign_by_chance(base->train_labels, base->train, 0, options->ratio, seed, dataset->a);
        assign_by_chance(base->test_labels, base->test, base->train, 1, seed, test);
        return GERNE_OK;
    }
    assign_exactly(base->train_labels, base->train, 1 - options->ratio,
                   options->ratio / (GN_MADE_CLASSES - 1), dataset->a);
    assign_exactly(base->test_labels, base->test, 0.1, 0.1, test);
    return val ? hold_out_cells(ctx, dataset->y, dataset->a, base->train, val, seed, dataset->split)
               : GERNE_OK;
}
