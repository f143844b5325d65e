/* comparison.h - two sets of predictions of the same samples: which is better, and is it luck?
 *
 * Samples are paired and groups keep their sizes: a resample draws, within each group, as many
 * samples as it has, and both sets are judged on the same draw. Resamples are keyed by (seed,
 * resample, group), so that the result is the same in every run. A difference is the first set
 * minus the second, which is the reference.
 */
#ifndef GN_METRICS_COMPARISON_H
#define GN_METRICS_COMPARISON_H

#include "base/json.h"
#include "base/statistics.h"
#include "metrics/predictions.h"

/* How often the two were right in one group. */
typedef struct gn_pairs {
    uint64_t both, only_first, only_second, neither;
} gn_pairs;

typedef struct gn_comparison {
    int32_t classes, attributes;
    gn_pairs *groups; /* [classes * attributes], owned */
    gn_pairs all;
    double mcnemar; /* exact two-sided p-value over all samples */
    double wga_difference, gba_difference, acc_difference;
    gn_interval wga_ci95, gba_ci95; /* of the differences */
    uint64_t gap_samples; /* fewest more right answers with which the lower WGA reaches the other */
    uint64_t resamples;
} gn_comparison;

enum { GN_RESAMPLES = 10000 };

/* Both hold the same samples in the same order (the groups are the first's). Free the result with
 * gn_comparison_free. */
GERNE_CHECKED gerne_status gn_compare(gerne_ctx *ctx, const gn_predictions *first,
                                      const gn_predictions *second, uint64_t resamples,
                                      uint64_t seed, gn_comparison *out);
void gn_comparison_free(gn_comparison *comparison);

/* New reference, or NULL without memory. */
json_t *gn_comparison_json(const gn_comparison *comparison);

/* Appends a few lines for people; first and second are what to call the two. */
GERNE_CHECKED gerne_status gn_comparison_print(gerne_ctx *ctx, const gn_comparison *comparison,
                                               const char *first, const char *second, gn_text *out);

#endif
