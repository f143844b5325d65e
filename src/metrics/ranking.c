#include "metrics/ranking.h"

#include <math.h>
#include <string.h>

enum { BYTE_VALUES = 256, BYTES = sizeof(uint64_t) };

typedef struct scored {
    uint64_t rank; /* in the order of the scores; equal scores have equal ranks */
    bool positive;
} scored;

static uint64_t rank_of(double score)
{
    uint64_t bits, sign = UINT64_C(1) << 63;
    score += 0.0; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

/* One byte of the ranks after the other, the lowest first: scores come in the tens of thousands,
 * once for each class, and comparing them takes ten times as long. The result may be in `spare`. */
static scored *sort(scored *list, size_t count, scored *spare)
{
    size_t places[BYTES][BYTE_VALUES] = {0};
    for (size_t i = 0; i < count; i++)
        for (int b = 0; b < BYTES; b++)
            places[b][list[i].rank >> 8 * b & 0xff]++;
    for (int b = 0; b < BYTES; b++) {
        size_t *place = places[b], next = 0;
        if (count == 0 || place[list[0].rank >> 8 * b & 0xff] == count)
            continue; /* they agree in it */
        for (int value = 0; value < BYTE_VALUES; value++) {
            size_t here = place[value];
            place[value] = next;
            next += here;
        }
        for (size_t i = 0; i < count; i++)
            spare[place[list[i].rank >> 8 * b & 0xff]++] = list[i];
        scored *sorted = spare;
        spare = list;
        list = sorted;
    }
    return list;
}

/* Twice the number of pairs that are in order, in whole numbers: exact, ties included. */
static uint64_t doubled_wins(const scored *list, size_t count)
{
    uint64_t wins = 0, negatives_before = 0;
    for (size_t start = 0, end; start < count; start = end) {
        uint64_t positives = 0, negatives = 0;
        for (end = start; end < count && list[end].rank == list[start].rank; end++) {
            positives += list[end].positive;
            negatives += !list[end].positive;
        }
        wins += positives * (2 * negatives_before + negatives);
        negatives_before += negatives;
    }
    return wins;
}

/* NaN unless both sides have samples. */
static double auroc_of_class(const gn_predictions *p, int32_t class, scored *list, scored *spare)
{
    uint64_t positives = 0, negatives;
    for (size_t i = 0; i < p->count; i++) {
        list[i].rank = rank_of(p->probabilities[i * (size_t)p->classes + (size_t) class]);
        list[i].positive = p->y[i] == class;
        positives += list[i].positive;
    }
    negatives = p->count - positives;
    if (positives == 0 || negatives == 0)
        return NAN;
    uint64_t wins = doubled_wins(sort(list, p->count, spare), p->count);
    return (double)wins / (2.0 * (double)positives * (double)negatives);
}

gerne_status gn_auroc(gerne_ctx *ctx, const gn_predictions *predictions, double *out)
{
    *out = NAN;
    if (!predictions->with_probabilities || predictions->count == 0)
        return GERNE_OK;
    GN_FREED scored *lists = NULL;
    GN_TRY(gn_alloc(ctx, predictions->count, 2 * sizeof *lists, "scores", &lists));
    double sum = 0;
    int32_t counted = 0;
    for (int32_t class = predictions->classes == 2; class < predictions->classes; class ++) {
        double area = auroc_of_class(predictions, class, lists, lists + predictions->count);
        if (isnan(area))
            continue;
        sum += area;
        counted++;
    }
    if (counted)
        *out = sum / counted;
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
