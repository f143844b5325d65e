#include "reproduce/band.h"

#include <math.h>

double gn_band(const gn_paper_figure *paper)
{
    return !isnan(paper->sd) && paper->sd > GN_BAND_LEAST ? paper->sd : GN_BAND_LEAST;
}

gn_agreement gn_agreement_of(const gn_spread *ours, const gn_paper_figure *paper)
{
    if (isnan(ours->mean) || isnan(paper->mean))
        return GN_NOT_COMPARED;
    double difference = ours->mean - paper->mean, band = gn_band(paper);
    return difference > band ? GN_ABOVE : difference < -band ? GN_BELOW : GN_INSIDE;
}

const char *gn_agreement_name(gn_agreement agreement)
{
    static const char *const names[] = {"-", "inside", "above", "below"};
    return names[agreement];
}
