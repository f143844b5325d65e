#include "methods/linear_head.h"

#include <string.h>

#include "nn/loss.h"

void gn_head_logits(const gn_featured *samples, const gn_linear_head *head, float *logits)
{
    size_t width = samples->width, classes = samples->classes;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < samples->n; i++)
        for (size_t k = 0; k < classes; k++) {
            const float *x = samples->x + i * width, *w = head->weights + k * width;
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t j = 0; j < width; j++)
                sum += x[j] * w[j];
            logits[i * classes + k] = sum + head->bias[k];
        }
}

double gn_head_loss(const gn_featured *samples, const float *weights, float *logits, float *losses)
{
    const gn_cross_entropy terms = {.labels = samples->y, .weights = weights, .count = samples->n};
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    const gn_loss_part part = {.count = samples->n,
                               .classes = samples->classes,
                               .width = samples->width,
                               .logits = logits,
                               .features = samples->x,
                               .losses = losses,
                               .logit_gradient = logits};
    return loss.evaluate(loss.terms, &part);
}

void gn_head_gradient(const gn_featured *samples, const float *logit_gradient,
                      const gn_linear_head *gradient)
{
    size_t width = samples->width, classes = samples->classes;
    memset(gradient->weights, 0, classes * width * sizeof *gradient->weights);
    memset(gradient->bias, 0, classes * sizeof *gradient->bias);
    for (size_t i = 0; i < samples->n; i++)
        for (size_t k = 0; k < classes; k++) {
            float g = logit_gradient[i * classes + k];
            const float *x = samples->x + i * width;
            float *w = gradient->weights + k * width;
            gradient->bias[k] += g;
#pragma omp simd
            for (size_t j = 0; j < width; j++)
                w[j] += g * x[j];
        }
}
