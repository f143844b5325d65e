#include <math.h>

#include "methods/cnc.h"

static double dot(const float *u, const float *v, size_t width)
{
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        sum += (double)u[j] * (double)v[j];
    return sum;
}

static const double least_norm = 1e-8;

static double norm(const float *u, size_t width)
{
    return fmax(sqrt(dot(u, u, width)), least_norm);
}

/* gradient += factor d cos(u, v) / du. Features that are all zero have no direction: a step would
 * be of any length. */
static void add_slope(const float *u, const float *v, size_t width, double factor, float *gradient)
{
    double nu = norm(u, width), nv = norm(v, width), cosine = dot(u, v, width) / (nu * nv);
    if (nu <= least_norm)
        return;
    for (size_t j = 0; j < width; j++)
        gradient[j] += (float)(factor * ((double)v[j] / nv - cosine * (double)u[j] / nu) / nu);
}

/* One sample contrasted with 2 m others: positives first..first+m-1 of the part, then negatives. */
typedef struct contrast {
    size_t anchor, positives, negatives;
} contrast;

static size_t other_of(const contrast *c, size_t m, size_t i)
{
    return i < m ? c->positives + i : c->negatives + i - m;
}

/* -1/m sum_p s_p / tau + log sum_v e^{s_v / tau}: d/ds_v = (softmax_v - [v is positive] / m) / tau
 */
static double contrast_loss(const gn_cnc_unit *unit, const gn_loss_part *part, const contrast *c)
{
    size_t m = unit->m, width = part->width;
    const float *a = part->features + c->anchor * width;
    double largest = -INFINITY, sum = 0, positive = 0;
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < 2 * m; i++) {
            size_t at = other_of(c, m, i);
            const float *v = part->features + at * width;
            double z = dot(a, v, width) / (norm(a, width) * norm(v, width) * unit->tau);
            if (pass == 0) {
                largest = fmax(largest, z);
                positive += i < m ? z / (double)m : 0;
            } else if (pass == 1) {
                sum += exp(z - largest);
            } else if (part->feature_gradient) {
                double slope = exp(z - largest) / sum - (i < m ? 1 / (double)m : 0);
                double factor = unit->scale * unit->lambda * slope / unit->tau;
                add_slope(a, v, width, factor, part->feature_gradient + c->anchor * width);
                add_slope(v, a, width, factor, part->feature_gradient + at * width);
            }
        }
    return largest + log(sum) - positive;
}

static double unit_loss(const void *given, const gn_loss_part *part)
{
    const gn_cnc_unit *unit = given;
    size_t m = unit->m;
    const gn_cross_entropy terms = {.labels = unit->labels, .weights = unit->weights};
    const gn_loss plain = gn_cross_entropy_loss(&terms);
    const contrast from_anchor = {.anchor = 0, .positives = m, .negatives = 2 * m};
    const contrast from_positive = {.anchor = m, .positives = 0, .negatives = 3 * m};
    double value = contrast_loss(unit, part, &from_anchor);
    value += contrast_loss(unit, part, &from_positive);
    return unit->scale * unit->lambda * value + plain.evaluate(plain.terms, part);
}

gn_loss gn_cnc_loss(const gn_cnc_unit *unit)
{
    return (gn_loss){.evaluate = unit_loss, .terms = unit, .wants_features = true};
}
