#include "nn/loss.h"

#include <math.h>

static size_t highest(const float *z, size_t classes)
{
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        if (z[k] > z[best])
            best = k;
    return best;
}

static double sum_of_exponentials(const float *z, size_t classes, float largest)
{
    double sum = 0;
    for (size_t k = 0; k < classes; k++)
        sum += (double)expf(z[k] - largest);
    return sum;
}

void gn_cross_entropy(const float *logits, size_t count, size_t classes, const int32_t *labels,
                      const float *weights, float *losses, int32_t *predictions, float *gradient)
{
#pragma omp parallel for schedule(static) if (count * classes > 4096)
    for (size_t i = 0; i < count; i++) {
        const float *z = logits + i * classes;
        size_t best = highest(z, classes), label = (size_t)labels[i];
        double sum = sum_of_exponentials(z, classes, z[best]);
        if (losses)
            losses[i] = (float)(log(sum) - (double)(z[label] - z[best]));
        if (predictions)
            predictions[i] = (int32_t)best;
        if (!gradient)
            continue;
        float weight = weights ? weights[i] : 1.0f, inverse = (float)(1.0 / sum);
        float *g = gradient + i * classes;
        for (size_t k = 0; k < classes; k++)
            g[k] = weight * (expf(z[k] - z[best]) * inverse - (k == label ? 1.0f : 0.0f));
    }
}

void gn_softmax(float *logits, size_t count, size_t classes)
{
#pragma omp parallel for schedule(static) if (count * classes > 4096)
    for (size_t i = 0; i < count; i++) {
        float *z = logits + i * classes;
        float largest = z[highest(z, classes)];
        float inverse = (float)(1.0 / sum_of_exponentials(z, classes, largest));
        for (size_t k = 0; k < classes; k++)
            z[k] = expf(z[k] - largest) * inverse;
    }
}
