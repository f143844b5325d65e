#include "metrics/ranking.h"

#include <math.h>
#include <stdlib.h>

typedef struct scored {
    double score;
    bool positive;
} scored;

static int by_score(const void *left, const void *right)
{
    double a = ((const scored *)left)->score, b = ((const scored *)right)->score;
    return (a > b) - (a < b);
}

/* Twice the number of pairs that are in order, in whole numbers: exact, ties included. */
static uint64_t doubled_wins(const scored *list, size_t count)
{
    uint64_t wins = 0, negatives_before = 0;
    for (size_t start = 0, end; start < count; start = end) {
        uint64_t positives = 0, negatives = 0;
        for (end = start; end < count && list[end].score == list[start].score; end++) {
            positives += list[end].positive;
            negatives += !list[end].positive;
        }
        wins += positives * (2 * negatives_before + negatives);
        negatives_before += negatives;
    }
    return wins;
}

/* NaN unless both sides have samples. */
static double auroc_of_class(const gn_predictions *p, int32_t class, scored *scratch)
{
    uint64_t positives = 0, negatives;
    for (size_t i = 0; i < p->count; i++) {
        scratch[i].score = p->probabilities[i * (size_t)p->classes + (size_t) class];
        scratch[i].positive = p->y[i] == class;
        positives += scratch[i].positive;
    }
    negatives = p->count - positives;
    if (positives == 0 || negatives == 0)
        return NAN;
    qsort(scratch, p->count, sizeof *scratch, by_score);
    return (double)doubled_wins(scratch, p->count) / (2.0 * (double)positives * (double)negatives);
}

gerne_status gn_auroc(gerne_ctx *ctx, const gn_predictions *predictions, double *out)
{
    *out = NAN;
    if (!predictions->with_probabilities || predictions->count == 0)
        return GERNE_OK;
    scored *scratch;
    GN_TRY(gn_alloc(ctx, predictions->count, sizeof *scratch, "scores", &scratch));
    double sum = 0;
    int32_t counted = 0;
    for (int32_t class = predictions->classes == 2; class < predictions->classes; class ++) {
        double area = auroc_of_class(predictions, class, scratch);
        if (isnan(area))
            continue;
        sum += area;
        counted++;
    }
    if (counted)
        *out = sum / counted;
    gn_free(scratch);
    return GERNE_OK;
}

enum { BINS = 10 };

/* The edges are the products bin * 0.1 in double precision, as netcal and numpy have them. */
static int bin_of(double confidence)
{
    int bin = 0;
    while (bin + 1 < BINS && confidence >= (bin + 1) * 0.1)
        bin++;
    return bin;
}

double gn_calibration_error(const gn_predictions *predictions)
{
    if (!predictions->with_probabilities || predictions->count == 0)
        return NAN;
    double confidences[BINS] = {0}, outcomes[BINS] = {0};
    size_t classes = (size_t)predictions->classes;
    bool binary = classes == 2;
    for (size_t i = 0; i < predictions->count; i++) {
        const double *row = predictions->probabilities + i * classes;
        size_t judged = binary ? 1 : gn_argmax(row, classes);
        int bin = bin_of(row[judged]);
        confidences[bin] += row[judged];
        outcomes[bin] += (size_t)predictions->y[i] == judged;
    }
    double error = 0;
    for (int bin = 0; bin < BINS; bin++) /* n_b cancels: |sum of outcomes - sum of confidences| */
        error += fabs(outcomes[bin] - confidences[bin]);
    return error / (double)predictions->count;
}
