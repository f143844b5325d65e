/* band.h - whether a mean over seeds agrees with the paper's. In percent points. */
#ifndef GN_REPRODUCE_BAND_H
#define GN_REPRODUCE_BAND_H

#include "base/statistics.h"
#include "reproduce/paper.h"

/* The band around the paper's mean: its own deviation over three seeds, but at least one point,
 * since the small deviations of three runs say little about another implementation's three. */
#define GN_BAND_LEAST 1.0
double gn_band(const gn_paper_figure *paper);

typedef enum gn_agreement { GN_NOT_COMPARED, GN_INSIDE, GN_ABOVE, GN_BELOW } gn_agreement;

/* GN_NOT_COMPARED when either side is missing. */
gn_agreement gn_agreement_of(const gn_spread *ours, const gn_paper_figure *paper);
const char *gn_agreement_name(gn_agreement agreement);

#endif
