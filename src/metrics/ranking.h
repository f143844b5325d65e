/* ranking.h - figures of probabilities rather than of decisions: AUROC and calibration error. */
#ifndef GN_METRICS_RANKING_H
#define GN_METRICS_RANKING_H

#include "metrics/predictions.h"

/* The area under the ROC curve: the share of pairs of a positive and a negative sample in which the
 * positive one has the higher score, ties counting half. Two classes: of class 1. More: the mean of
 * one class against the rest, over the classes that have samples on both sides. NaN when there is
 * no such class or no probability. */
GERNE_CHECKED gerne_status gn_auroc(gerne_ctx *ctx, const gn_predictions *predictions, double *out);

/* The expected calibration error in ten bins of equal width: sum over bins of
 * (n_b / n) |mean outcome - mean confidence|. Two classes: confidence is the probability of class 1
 * and the outcome y = 1; otherwise the largest probability and whether it is right. A value on an
 * edge belongs to the bin above. NaN without samples or probabilities. */
double gn_calibration_error(const gn_predictions *predictions);

#endif
