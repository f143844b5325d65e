#include "debias/association.h"

#include <math.h>

#include "base/memory.h"

/* Quantiles of the normal distribution. */
static const double Z95 = 1.644853626951472, Z975 = 1.959963984540054, Z9875 = 2.241402727604947;

double gn_chi_square_quantile(double degrees, double q)
{
    bool upper = q > 0.96;
    if (degrees == 1) /* a squared normal variable */
        return upper ? Z9875 * Z9875 : Z975 * Z975;
    double part = 2 / (9 * degrees);
    double root = 1 - part + (upper ? Z975 : Z95) * sqrt(part);
    return degrees * root * root * root;
}

/* A table of shares with its sums; extra samples are spread over all cells that could have any. */
typedef struct shares {
    const uint64_t *counts;
    uint32_t classes, attributes;
    uint64_t *in_row, *in_column; /* samples */
    double extra, total;
    double *row, *column; /* sums of p */
    /* Parts of the gradient of phi^2: sum over the row of p^2/(r^2 c), over the column of
     * p^2/(r c^2). */
    double *row_sq, *column_sq;
    uint64_t n;
    uint32_t rows, columns; /* that are not empty */
} shares;

static bool used(const shares *t, uint32_t y, uint32_t a)
{
    return t->in_row[y] > 0 && t->in_column[a] > 0;
}

/* 0 outside of the used rows and columns. */
static double cell(const shares *t, uint32_t y, uint32_t a)
{
    double count = (double)t->counts[(size_t)y * t->attributes + a];
    return used(t, y, a) ? (count + t->extra) / t->total : 0;
}

static void fill(shares *t)
{
    t->total = (double)t->n + t->extra * t->rows * t->columns;
    for (uint32_t y = 0; y < t->classes; y++)
        t->row[y] = t->row_sq[y] = 0;
    for (uint32_t a = 0; a < t->attributes; a++)
        t->column[a] = t->column_sq[a] = 0;
    for (uint32_t y = 0; y < t->classes; y++)
        for (uint32_t a = 0; a < t->attributes; a++) {
            t->row[y] += cell(t, y, a);
            t->column[a] += cell(t, y, a);
        }
    for (uint32_t y = 0; y < t->classes; y++)
        for (uint32_t a = 0; a < t->attributes; a++)
            if (used(t, y, a)) {
                double square = cell(t, y, a) * cell(t, y, a);
                t->row_sq[y] += square / (t->row[y] * t->row[y] * t->column[a]);
                t->column_sq[a] += square / (t->row[y] * t->column[a] * t->column[a]);
            }
}

typedef struct moments {
    double phi2, phi2_variance, information, information_variance; /* variances times n */
} moments;

/* phi^2 = sum p^2/(r c) - 1 and I = sum p log(p/(r c)); their variances from the gradients. */
static moments measure(const shares *t)
{
    double phi2 = -1, information = 0, g_mean = 0, g_square = 0, i_square = 0;
    for (uint32_t y = 0; y < t->classes; y++)
        for (uint32_t a = 0; a < t->attributes; a++) {
            double p = cell(t, y, a);
            if (p == 0)
                continue;
            double even = t->row[y] * t->column[a],
                   slope = 2 * p / even - t->row_sq[y] - t->column_sq[a];
            double gain = log(p / even);
            phi2 += p * p / even;
            information += p * gain;
            i_square += p * gain * gain;
            g_mean += p * slope;
            g_square += p * slope * slope;
        }
    return (moments){fmax(0, phi2), fmax(0, g_square - g_mean * g_mean), fmax(0, information),
                     fmax(0, i_square - information * information)};
}

static double entropy(const double *p, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    return sum;
}

static gn_interval around(double value, double error, double noise, bool independent, double most)
{
    gn_interval ci = {fmax(0, value - Z975 * error), fmax(value + Z975 * error, noise)};
    ci.hi = fmin(ci.hi, most);
    if (independent)
        ci.lo = 0;
    return ci;
}

/* Bergsma (2013): phi^2 less its mean under independence, over what it can still reach. */
static double unbiased(const shares *t, double phi2, double degrees)
{
    if (t->n < 2)
        return 0;
    double others = (double)t->n - 1, rows = t->rows, columns = t->columns;
    double most = fmin(rows - 1 - (rows - 1) * (rows - 1) / others,
                       columns - 1 - (columns - 1) * (columns - 1) / others);
    double left = fmax(0, phi2 - degrees / others);
    return most > 0 ? fmin(1, sqrt(left / most)) : 0;
}

static void estimate(shares *t, gn_association *out)
{
    double n = (double)t->n;
    uint32_t smaller = (t->rows < t->columns ? t->rows : t->columns) - 1;
    fill(t);
    moments raw = measure(t);
    out->most_information = fmin(entropy(t->row, t->classes), entropy(t->column, t->attributes));
    if (smaller == 0)
        return; /* nothing varies: everything stays zero */
    t->extra = 0.5;
    fill(t);
    moments smooth = measure(t);
    out->degrees = (uint64_t)(t->rows - 1) * (t->columns - 1);
    double degrees = (double)out->degrees;
    bool independent = n * raw.phi2 < gn_chi_square_quantile(degrees, 0.95);
    double noise = gn_chi_square_quantile(degrees, 0.975) / n;
    out->cramers_v = fmin(1, sqrt(raw.phi2 / smaller));
    out->cramers_v_unbiased = unbiased(t, raw.phi2, degrees);
    double root = sqrt(fmax(smooth.phi2, 1e-300) / smaller);
    double v_error = sqrt(smooth.phi2_variance / n) / (2 * root * smaller);
    out->cramers_v_ci95 = around(out->cramers_v, v_error, sqrt(noise / smaller), independent, 1);
    out->mutual_information = raw.information;
    out->mutual_information_ci95 = around(raw.information, sqrt(smooth.information_variance / n),
                                          noise / 2, independent, log((double)smaller + 1));
}

/* For each attribute the largest class, and the largest class of all. */
static void guess(const shares *t, gn_association *out)
{
    uint64_t right = 0, largest = 0;
    for (uint32_t a = 0; a < t->attributes; a++) {
        uint64_t most = 0;
        for (uint32_t y = 0; y < t->classes; y++)
            if (t->counts[(size_t)y * t->attributes + a] > most)
                most = t->counts[(size_t)y * t->attributes + a];
        right += most;
    }
    for (uint32_t y = 0; y < t->classes; y++)
        if (t->in_row[y] > largest)
            largest = t->in_row[y];
    out->attribute_only = (double)right / (double)t->n;
    out->largest_class = (double)largest / (double)t->n;
    out->attribute_only_ci95 = gn_clopper_pearson(right, t->n, 0.95);
}

static void add_up(shares *t)
{
    for (uint32_t y = 0; y < t->classes; y++)
        for (uint32_t a = 0; a < t->attributes; a++) {
            uint64_t count = t->counts[(size_t)y * t->attributes + a];
            t->in_row[y] += count;
            t->in_column[a] += count;
            t->n += count;
        }
    for (uint32_t y = 0; y < t->classes; y++)
        t->rows += t->in_row[y] > 0;
    for (uint32_t a = 0; a < t->attributes; a++)
        t->columns += t->in_column[a] > 0;
}

gerne_status gn_association_of(gerne_ctx *ctx, const uint64_t *counts, uint32_t classes,
                               uint32_t attributes, gn_association *out)
{
    *out = (gn_association){0};
    size_t sides = (size_t)classes + attributes;
    GN_FREED double *sums = NULL;
    GN_FREED uint64_t *sizes = NULL;
    GN_TRY(gn_alloc(ctx, 2 * sides, sizeof *sums, "a table", &sums));
    GN_TRY(gn_alloc(ctx, sides, sizeof *sizes, "a table", &sizes));
    shares t = {.counts = counts,
                .classes = classes,
                .attributes = attributes,
                .in_row = sizes,
                .in_column = sizes + classes,
                .row = sums,
                .row_sq = sums + classes,
                .column = sums + 2 * (size_t)classes,
                .column_sq = sums + sides + classes};
    add_up(&t);
    out->n = t.n;
    if (t.n > 0) {
        estimate(&t, out);
        guess(&t, out);
    }
    return GERNE_OK;
}
