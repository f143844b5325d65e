#include "debias/association.h"

#include <math.h>

#include "debias/groups.h"

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
    const gerne_groups *groups;
    double extra, total;
    double *row, *column; /* sums of p */
    /* Parts of the gradient of phi^2: sum over the row of p^2/(r^2 c), over the column of
     * p^2/(r c^2). */
    double *row_sq, *column_sq;
    uint32_t rows, columns; /* that are not empty */
} shares;

static double cell(const shares *t, uint32_t y, uint32_t a)
{
    return ((double)gerne_groups_count(t->groups, y, a) + t->extra) / t->total;
}

/* An attribute that no sample has is no part of the table. */
static bool used(const uint64_t *column_counts, uint32_t a)
{
    return column_counts[a] > 0;
}

static void fill(shares *t, const uint64_t *column_counts)
{
    const gerne_groups *groups = t->groups;
    t->total = (double)groups->total + t->extra * t->rows * t->columns;
    for (uint32_t y = 0; y < groups->classes; y++)
        t->row[y] = t->row_sq[y] = 0;
    for (uint32_t a = 0; a < groups->attributes; a++)
        t->column[a] = t->column_sq[a] = 0;
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++)
            if (used(column_counts, a)) {
                t->row[y] += cell(t, y, a);
                t->column[a] += cell(t, y, a);
            }
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++)
            if (used(column_counts, a)) {
                double square = cell(t, y, a) * cell(t, y, a);
                t->row_sq[y] += square / (t->row[y] * t->row[y] * t->column[a]);
                t->column_sq[a] += square / (t->row[y] * t->column[a] * t->column[a]);
            }
}

typedef struct moments {
    double phi2, phi2_variance, information, information_variance; /* variances times n */
} moments;

/* phi^2 = sum p^2/(r c) - 1 and I = sum p log(p/(r c)); their variances from the gradients. */
static moments measure(const shares *t, const uint64_t *column_counts)
{
    double phi2 = -1, information = 0, g_mean = 0, g_square = 0, i_square = 0;
    for (uint32_t y = 0; y < t->groups->classes; y++)
        for (uint32_t a = 0; a < t->groups->attributes; a++) {
            double p = used(column_counts, a) ? cell(t, y, a) : 0;
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

static void estimate(shares *t, const uint64_t *column_counts, gn_association *out)
{
    double n = (double)t->groups->total;
    uint32_t smaller = (t->rows < t->columns ? t->rows : t->columns) - 1;
    fill(t, column_counts);
    moments raw = measure(t, column_counts);
    out->most_information =
        fmin(entropy(t->row, t->groups->classes), entropy(t->column, t->groups->attributes));
    if (smaller == 0)
        return; /* nothing varies: everything stays zero */
    t->extra = 0.5;
    fill(t, column_counts);
    moments smooth = measure(t, column_counts);
    double degrees = (double)(t->rows - 1) * (t->columns - 1);
    bool independent = n * raw.phi2 < gn_chi_square_quantile(degrees, 0.95);
    double noise = gn_chi_square_quantile(degrees, 0.975) / n;
    out->cramers_v = fmin(1, sqrt(raw.phi2 / smaller));
    double root = sqrt(fmax(smooth.phi2, 1e-300) / smaller);
    double v_error = sqrt(smooth.phi2_variance / n) / (2 * root * smaller);
    out->cramers_v_ci95 = around(out->cramers_v, v_error, sqrt(noise / smaller), independent, 1);
    out->mutual_information = raw.information;
    out->mutual_information_ci95 = around(raw.information, sqrt(smooth.information_variance / n),
                                          noise / 2, independent, log((double)smaller + 1));
}

/* For each attribute the largest class, and the largest class of all. */
static void guess(const gerne_groups *groups, gn_association *out)
{
    uint64_t right = 0, largest = 0;
    for (uint32_t a = 0; a < groups->attributes; a++) {
        uint64_t most = 0;
        for (uint32_t y = 0; y < groups->classes; y++)
            if (gerne_groups_count(groups, y, a) > most)
                most = gerne_groups_count(groups, y, a);
        right += most;
    }
    for (uint32_t y = 0; y < groups->classes; y++)
        if (groups->class_counts[y] > largest)
            largest = groups->class_counts[y];
    out->attribute_only = (double)right / (double)groups->total;
    out->largest_class = (double)largest / (double)groups->total;
    out->attribute_only_ci95 = gn_clopper_pearson(right, groups->total, 0.95);
}

gerne_status gn_association_of(gerne_ctx *ctx, const gerne_groups *groups, gn_association *out)
{
    *out = (gn_association){0};
    size_t classes = groups->classes, attributes = groups->attributes;
    double *block;
    uint64_t *column_counts;
    GN_TRY(gn_alloc(ctx, 2 * (classes + attributes), sizeof *block, "a table", &block));
    gerne_status status =
        gn_alloc(ctx, attributes, sizeof *column_counts, "a table", &column_counts);
    if (status == GERNE_OK) {
        shares t = {.groups = groups,
                    .row = block,
                    .row_sq = block + classes,
                    .column = block + 2 * classes,
                    .column_sq = block + 2 * classes + attributes};
        for (uint32_t y = 0; y < classes; y++)
            for (uint32_t a = 0; a < attributes; a++)
                column_counts[a] += gerne_groups_count(groups, y, a);
        t.rows = groups->classes;
        for (uint32_t a = 0; a < attributes; a++)
            t.columns += used(column_counts, a);
        estimate(&t, column_counts, out);
        guess(groups, out);
    }
    gn_free(column_counts);
    gn_free(block);
    return status;
}
