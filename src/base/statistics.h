/* statistics.h - exact intervals and the few distributions behind them.
 *
 * Pure functions of their arguments, without tables and without state. Accuracy: 1e-12 of the
 * quantile for counts up to a million.
 */
#ifndef GN_BASE_STATISTICS_H
#define GN_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* what plug-ins may call */

typedef struct gn_interval {
    double lo, hi;
} gn_interval;

/* The regularised incomplete beta function I_x(a, b): the probability that a Beta(a, b) variable
 * is at most x. a, b > 0; x outside [0, 1] is clamped. */
double gn_beta_cdf(double x, double a, double b);

/* Its inverse: the x with I_x(a, b) = p; p in [0, 1]. */
double gn_beta_quantile(double p, double a, double b);

/* The Clopper-Pearson interval of correct successes in n > 0 trials: it covers the true
 * probability in at least a share confidence of all samples, whatever that probability is. */
gn_interval gn_clopper_pearson(uint64_t correct, uint64_t n, double confidence);

/* The probability that a Binomial(n, p) variable is at most k. */
double gn_binomial_cdf(uint64_t k, uint64_t n, double p);

/* The exact two-sided McNemar test: the probability of a split of the discordant pairs at least
 * as uneven as only_first to only_second when both are equally likely; 1 without such pairs. */
double gn_mcnemar(uint64_t only_first, uint64_t only_second);

/* The q-quantile of sorted values, linear between neighbours; count > 0. */
double gn_sorted_quantile(const double *values, size_t count, double q);

/* Over runs that differ in their seed: the mean, the standard deviation of one run (divisor n - 1)
 * and the standard error of the mean, sd / sqrt(n). NaN where there are too few values. */
typedef struct gn_spread {
    size_t n;
    double mean, sd, se;
} gn_spread;

gn_spread gn_spread_of(const double *values, size_t count);

#pragma GCC visibility pop

#endif
