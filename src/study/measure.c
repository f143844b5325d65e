#include "study/measure.h"

#include <math.h>

gn_measure gn_measure_of(const double *values, size_t count)
{
    gn_measure m = {.n = count, .mean = NAN, .sd = NAN};
    if (count == 0)
        return m;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    m.mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - m.mean) * (values[i] - m.mean);
    if (count > 1)
        m.sd = sqrt(squares / (double)(count - 1));
    return m;
}

double gn_band(const gn_paper_figure *paper)
{
    return !isnan(paper->sd) && paper->sd > GN_BAND_LEAST ? paper->sd : GN_BAND_LEAST;
}

gn_verdict gn_judge_band(const gn_measure *ours, const gn_paper_figure *paper)
{
    if (isnan(ours->mean) || isnan(paper->mean))
        return GN_NO_VERDICT;
    double difference = ours->mean - paper->mean, band = gn_band(paper);
    return difference > band ? GN_ABOVE : difference < -band ? GN_BELOW : GN_INSIDE;
}

const char *gn_verdict_name(gn_verdict verdict)
{
    static const char *const names[] = {"-", "inside", "above", "below"};
    return names[verdict];
}
