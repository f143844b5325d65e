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

typedef struct direction {
    const float *x;
    double norm;
    float *gradient;
} direction;

/* gradient of u += factor d cos(u, v) / du. Features that are all zero have no direction: a step
 * would be of any length. */
static void add_slope(const direction *u, const direction *v, size_t width, double cosine,
                      double factor)
{
    if (u->norm <= least_norm)
        return;
    const float along = (float)(factor / (u->norm * v->norm));
    const float back = (float)(factor * cosine / (u->norm * u->norm));
    for (size_t j = 0; j < width; j++)
        u->gradient[j] += along * v->x[j] - back * u->x[j];
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
    double *cosines = unit->scratch, *norms = unit->scratch + 2 * m;
    const float *a = part->features + c->anchor * width;
    double own = norm(a, width), largest = -INFINITY, sum = 0, positive = 0;
    for (size_t i = 0; i < 2 * m; i++) {
        const float *v = part->features + other_of(c, m, i) * width;
        norms[i] = norm(v, width);
        cosines[i] = dot(a, v, width) / (own * norms[i]);
        largest = fmax(largest, cosines[i] / unit->tau);
        positive += i < m ? cosines[i] / (unit->tau * (double)m) : 0;
    }
    for (size_t i = 0; i < 2 * m; i++)
        sum += exp(cosines[i] / unit->tau - largest);
    for (size_t i = 0; i < 2 * m && part->feature_gradient; i++) {
        size_t from = c->anchor * width, to = other_of(c, m, i) * width;
        const direction u = {a, own, part->feature_gradient + from};
        const direction v = {part->features + to, norms[i], part->feature_gradient + to};
        double slope = exp(cosines[i] / unit->tau - largest) / sum - (i < m ? 1 / (double)m : 0);
        double factor = unit->scale * unit->lambda * slope / unit->tau;
        add_slope(&u, &v, width, cosines[i], factor);
        add_slope(&v, &u, width, cosines[i], factor);
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
