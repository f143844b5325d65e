#include "debias/modes.h"

#include <math.h>

static const double least_deviation = 1e-3; /* of that of all numbers */
static const double enough = 1e-10;         /* gain of the mean log-likelihood that ends the fit */
enum { ITERATIONS_MAX = 500 };

/* Moments of numbers with weights. */
typedef struct moments {
    double weight, sum, squares;
} moments;

static void add(moments *m, double weight, double x)
{
    m->weight += weight;
    m->sum += weight * x;
    m->squares += weight * x * x;
}

static double mean_of(const moments *m)
{
    return m->sum / m->weight;
}

static double deviation_of(const moments *m, double least)
{
    double mean = mean_of(m), variance = m->squares / m->weight - mean * mean;
    return fmax(variance > 0 ? sqrt(variance) : 0, least);
}

/* The logarithm of a share of a normal density, but for a constant. */
static double log_density(double share, double mean, double sd, double x)
{
    double z = (x - mean) / sd;
    return log(share) - log(sd) - z * z / 2;
}

/* The posterior of the lower one, and the log-likelihood of x. */
static double judge(const gn_modes *m, double x, double *log_likelihood)
{
    double low = log_density(m->share, m->low_mean, m->low_sd, x);
    double high = log_density(1 - m->share, m->high_mean, m->high_sd, x);
    double top = fmax(low, high), sum = exp(low - top) + exp(high - top);
    *log_likelihood = top + log(sum);
    return exp(low - top) / sum;
}

/* One iteration; returns the mean log-likelihood before it. A component that loses all numbers
 * stays where it is. */
static double improve(gn_modes *m, const double *x, size_t n, double middle, double least)
{
    moments low = {0}, high = {0};
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        double one, posterior = judge(m, x[i], &one);
        total += one;
        /* About the middle, so that squares lose no digits. */
        add(&low, posterior, x[i] - middle);
        add(&high, 1 - posterior, x[i] - middle);
    }
    m->share = low.weight / (double)n;
    if (low.weight > 0) {
        m->low_mean = middle + mean_of(&low);
        m->low_sd = deviation_of(&low, least);
    }
    if (high.weight > 0) {
        m->high_mean = middle + mean_of(&high);
        m->high_sd = deviation_of(&high, least);
    }
    return total / (double)n;
}

static void put_in_order(gn_modes *m)
{
    if (m->low_mean <= m->high_mean)
        return;
    *m = (gn_modes){1 - m->share, m->high_mean, m->high_sd, m->low_mean, m->low_sd};
}

gn_modes gn_modes_fit(const double *sorted, size_t n)
{
    moments all = {0};
    double middle = sorted[n / 2], before = (double)-INFINITY;
    for (size_t i = 0; i < n; i++)
        add(&all, 1, sorted[i] - middle);
    double sd = deviation_of(&all, 0);
    double least = fmax(least_deviation * sd, 1e-9 * (1 + fabs(middle)));
    gn_modes m = {0.5, sorted[n / 20], fmax(sd, least), sorted[n - 1 - n / 20], fmax(sd, least)};
    for (int i = 0; i < ITERATIONS_MAX && m.share > 0 && m.share < 1; i++) {
        double now = improve(&m, sorted, n, middle, least);
        if (now - before < enough)
            break;
        before = now;
    }
    put_in_order(&m);
    return m;
}

double gn_modes_low(const gn_modes *m, double x)
{
    double ignored;
    return judge(m, x, &ignored);
}

size_t gn_modes_count(const gn_modes *m, const double *sorted, size_t n, double *precision)
{
    size_t count = 0;
    double sum = 0, sum_here = 0;
    for (size_t i = 0; i < n && sorted[i] < m->high_mean; i++) {
        double posterior = gn_modes_low(m, sorted[i]);
        sum_here += posterior;
        if (posterior > 0.5) {
            count = i + 1;
            sum = sum_here;
        }
    }
    *precision = count ? sum / (double)count : (double)NAN;
    return count;
}

double gn_modes_distance(const gn_modes *m)
{
    return (m->high_mean - m->low_mean) / m->high_sd;
}

double gn_modes_pooled_distance(const gn_modes *m)
{
    double low = m->low_sd * m->low_sd, high = m->high_sd * m->high_sd;
    return (m->high_mean - m->low_mean) / sqrt(m->share * low + (1 - m->share) * high);
}
