#include "base/statistics.h"

#include <float.h>
#include <math.h>

/* log of x^a (1-x)^b / (a B(a, b)), the factor before the continued fraction. lgamma_r, because
 * lgamma writes a global. */
static double log_front(double x, double a, double b)
{
    int sign;
    return a * log(x) + b * log1p(-x) + lgamma_r(a + b, &sign) - lgamma_r(a, &sign) -
           lgamma_r(b, &sign) - log(a);
}

/* Keeps Lentz's quotients away from zero. */
static double nonzero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* The continued fraction of the incomplete beta function by Lentz's method; converges in about
 * sqrt(max(a, b)) terms when x is below the mean. */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), value = d;
    double most = 200 + 20 * sqrt(fmax(a, b));
    for (double m = 1; m < most; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / nonzero(1 + even * d);
        c = nonzero(1 + even / c);
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / nonzero(1 + odd * d);
        c = nonzero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON)
            break;
    }
    return value;
}

double gn_beta_cdf(double x, double a, double b)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - exp(log_front(1 - x, b, a)) * beta_fraction(1 - x, b, a);
    return exp(log_front(x, a, b)) * beta_fraction(x, a, b);
}

double gn_beta_quantile(double p, double a, double b)
{
    if (!(p > 0))
        return 0;
    if (p >= 1)
        return 1;
    double lo = 0, hi = 1, x = a / (a + b);
    /* Newton's step inside a bracket that every evaluation narrows; halving where it would leave
     * the bracket, so that it always ends. */
    for (int i = 0; i < 200; i++) {
        double error = gn_beta_cdf(x, a, b) - p;
        if (error > 0)
            hi = x;
        else
            lo = x;
        double density = exp(log_front(x, a, b) + log(a) - log(x) - log1p(-x));
        double next = x - error / density;
        if (!(next > lo && next < hi))
            next = lo + (hi - lo) / 2;
        if (fabs(next - x) <= DBL_EPSILON * x || hi - lo <= DBL_EPSILON * hi)
            return next;
        x = next;
    }
    return x;
}

gn_interval gn_clopper_pearson(uint64_t correct, uint64_t n, double confidence)
{
    double tail = (1 - confidence) / 2, k = (double)correct, wrong = (double)(n - correct);
    /* The upper end is the lower end of the failures: the same small tail, no cancellation. */
    return (gn_interval){
        .lo = correct == 0 ? 0 : gn_beta_quantile(tail, k, wrong + 1),
        .hi = correct == n ? 1 : 1 - gn_beta_quantile(tail, wrong, k + 1),
    };
}

double gn_binomial_cdf(uint64_t k, uint64_t n, double p)
{
    if (k >= n)
        return 1;
    return gn_beta_cdf(1 - p, (double)(n - k), (double)k + 1);
}

double gn_mcnemar(uint64_t only_first, uint64_t only_second)
{
    uint64_t fewer = only_first < only_second ? only_first : only_second;
    if (only_first == only_second)
        return 1;
    return fmin(1, 2 * gn_binomial_cdf(fewer, only_first + only_second, 0.5));
}

double gn_sorted_quantile(const double *values, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return values[count - 1];
    double share = place - (double)below;
    return values[below] + share * (values[below + 1] - values[below]);
}

gn_spread gn_spread_of(const double *values, size_t count)
{
    gn_spread spread = {.n = count, .mean = (double)NAN, .sd = (double)NAN, .se = (double)NAN};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    if (count)
        spread.mean = sum / (double)count;
    if (count < 2)
        return spread;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - spread.mean) * (values[i] - spread.mean);
    spread.sd = sqrt(squares / (double)(count - 1));
    spread.se = spread.sd / sqrt((double)count);
    return spread;
}
