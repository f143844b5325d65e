#include "methods/rules.h"

#include <math.h>

#include "nn/loss.h"

void gn_groupdro_update(float *q, const double *losses, const bool *present, size_t groups,
                        double eta)
{
    double sum = 0;
    for (size_t g = 0; g < groups; g++) {
        if (present[g])
            q[g] = (float)((double)q[g] * exp(eta * losses[g]));
        sum += (double)q[g];
    }
    for (size_t g = 0; g < groups; g++)
        q[g] = (float)((double)q[g] / sum);
}

float gn_gce_factor(float cross_entropy, double q)
{
    return (float)(q * exp(-q * (double)cross_entropy));
}

float gn_lff_mean(float mean, bool seen, float loss, double rho)
{
    return (float)(rho * (double)mean + (1 - (seen ? rho : 0)) * (double)loss);
}

void gn_class_maxima(const float *values, const int32_t *y, size_t n, size_t classes, float *maxima)
{
    for (size_t c = 0; c < classes; c++)
        maxima[c] = 0;
    for (size_t i = 0; i < n; i++)
        if (values[i] > maxima[y[i]])
            maxima[y[i]] = values[i];
}

float gn_lff_weight(float biased, float debiased)
{
    return (float)((double)biased / ((double)biased + (double)debiased + 1e-8));
}

float gn_focal_loss(float cross_entropy, double gamma)
{
    return (float)(pow(-expm1(-(double)cross_entropy), gamma) * (double)cross_entropy);
}

/* CE / (1 - p) is 1 where both vanish. */
float gn_focal_slope(float cross_entropy, double gamma)
{
    double ce = (double)cross_entropy, rest = -expm1(-ce);
    double ratio = rest > 0 ? ce / rest : 1;
    return (float)(pow(rest, gamma) * (1 + gamma * exp(-ce) * ratio));
}

size_t gn_error_set(const float *logits, const int32_t *y, size_t n, size_t classes, uint32_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (gn_argmax_float(logits + i * classes, classes) != (size_t)y[i])
            list[count++] = (uint32_t)i;
    return count;
}
