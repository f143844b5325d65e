/* band.h - whether a mean over seeds agrees with the paper's. In percent points. */
#ifndef GN_REPRODUCE_BAND_H
#define GN_REPRODUCE_BAND_H

#include "base/statistics.h"
#include "reproduce/paper.h"

/* The band around the paper's mean: its own deviation over three seeds, but at least one point,
 * since the small deviations of three runs say little about another implementation's three. */
#define GN_BAND_LEAST 1.0
double gn_band(const gn_paper_figure *paper);

typedef enum gn_verdict { GN_NO_VERDICT, GN_INSIDE, GN_ABOVE, GN_BELOW } gn_verdict;

/* GN_NO_VERDICT when either side is missing. */
gn_verdict gn_judge_band(const gn_spread *ours, const gn_paper_figure *paper);
const char *gn_verdict_name(gn_verdict verdict);

#endif
