#include "study/difference.h"

#include <math.h>

/* The t that a Student variable exceeds, to either side, with probability 0.05: P(|T| > t) is
 * I_x(n/2, 1/2) at x = n / (n + t^2). */
static double critical_t(double freedom)
{
    double x = gn_beta_quantile(0.05, freedom / 2, 0.5);
    return sqrt(freedom * (1 - x) / x);
}

gn_difference gn_difference_over_seeds(const double *differences, size_t count)
{
    gn_spread s = gn_spread_of(differences, count);
    if (count < 2 || isnan(s.se))
        return (gn_difference){.mean = s.mean, .interval = {NAN, NAN}};
    double half = critical_t((double)count - 1) * s.se;
    return (gn_difference){GN_PAIRED_OVER_SEEDS, s.mean, {s.mean - half, s.mean + half}};
}

gn_difference gn_difference_of_figures(double ours, gn_interval our_interval, double reference,
                                       gn_interval reference_interval)
{
    double mean = ours - reference;
    double below = hypot(ours - our_interval.lo, reference_interval.hi - reference);
    double above = hypot(our_interval.hi - ours, reference - reference_interval.lo);
    if (isnan(mean) || isnan(below) || isnan(above))
        return (gn_difference){.mean = mean, .interval = {NAN, NAN}};
    return (gn_difference){GN_METRIC_INTERVALS, mean, {mean - below, mean + above}};
}

bool gn_difference_significant(const gn_difference *d)
{
    return d->test != GN_NOT_TESTED && (d->interval.lo > 0 || d->interval.hi < 0);
}
