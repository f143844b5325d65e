#include "methods/group_rules.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "methods/rules.h"
#include "nn/loss.h"

float gn_probability(const float *logits, size_t classes, size_t k, double temperature)
{
    float largest = logits[gn_argmax_float(logits, classes)];
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)(logits[c] - largest) / temperature);
    return (float)(exp((double)(logits[k] - largest) / temperature) / sum);
}

float gn_confidence(const float *logits, size_t classes)
{
    return gn_probability(logits, classes, gn_argmax_float(logits, classes), 1);
}

void gn_take_rows(const float *rows, const uint32_t *indices, size_t n, size_t classes, float *out)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * classes, rows + indices[i] * classes, classes * sizeof *out);
}

void gn_xrm_weights(const int32_t *labels, size_t n, size_t classes, size_t *counts, float *weights)
{
    for (size_t c = 0; c < classes; c++)
        counts[c] = 0;
    for (size_t i = 0; i < n; i++)
        counts[labels[i]]++;
    for (size_t i = 0; i < n; i++)
        weights[i] = 1.0f / (float)counts[labels[i]];
}

double gn_xrm_flip_probability(double confidence, size_t classes)
{
    double k = (double)classes;
    return (confidence - 1 / k) * k / (k - 1);
}

void gn_mat_shift(const float *u, const int32_t *labels, size_t n, size_t classes, double *shares,
                  float *shift)
{
    memset(shares, 0, classes * classes * sizeof *shares);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < classes; k++)
            shares[k * classes + (size_t)labels[i]] += (double)u[i * classes + k] / (double)n;
    for (size_t k = 0; k < classes; k++) {
        double *row = shares + k * classes, sum = 0;
        for (size_t y = 0; y < classes; y++)
            sum += row[y];
        for (size_t y = 0; sum > 0 && y < classes; y++)
            row[y] /= sum;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t y = 0; y < classes; y++) {
            double expected = 0;
            for (size_t k = 0; k < classes; k++)
                expected += (double)u[i * classes + k] * shares[k * classes + y];
            shift[i * classes + y] = (float)log(expected + 1e-6);
        }
}

void gn_ula_update(const float *said, const int32_t *labels, size_t n, size_t classes,
                   double memory, float *shares)
{
    for (size_t cell = 0; cell < classes * classes; cell++) {
        size_t k = cell / classes, y = cell % classes;
        double mean = 0;
        for (size_t i = 0; i < n; i++)
            if ((size_t)labels[i] == y)
                mean += (double)said[i * classes + k] / (double)n;
        shares[cell] = (float)(memory * (double)shares[cell] + (1 - memory) * mean);
    }
}

void gn_ula_shift(const float *row, size_t classes, double tau, float *shift)
{
    double sum = 0;
    for (size_t y = 0; y < classes; y++)
        sum += (double)row[y];
    for (size_t y = 0; y < classes; y++)
        shift[y] = (float)(tau * log((double)row[y] / sum));
}

void gn_choose_share(const int32_t *y, size_t n, size_t classes, double share, uint64_t seed,
                     float *chosen)
{
    for (size_t c = 0; c < classes; c++) {
        size_t size = 0, at = 0;
        for (size_t i = 0; i < n; i++)
            size += (size_t)y[i] == c;
        if (!size)
            continue;
        double wanted = ceil(share * (double)size - 1e-9);
        const gn_permutation order = gn_permutation_at(size, seed, GN_RNG_METHOD, 0, c);
        for (size_t i = 0; i < n; i++)
            if ((size_t)y[i] == c)
                chosen[i] = (double)gn_permute(&order, at++) < wanted;
    }
}

void gn_ecs_weights(const float *const losses[2], const int32_t *labels, size_t n, size_t classes,
                    double eta, double punishment, float *maxima, float *const weights[2])
{
    for (int net = 0; net < 2; net++) {
        float *p = weights[net];
        for (size_t i = 0; i < n; i++)
            p[i] = expf(-losses[net][i]);
        gn_class_maxima(p, labels, n, classes, maxima);
        for (size_t i = 0; i < n; i++)
            p[i] = (double)p[i] > eta * (double)maxima[labels[i]];
    }
    for (size_t i = 0; i < n; i++) {
        bool sure[2] = {weights[0][i] != 0, weights[1][i] != 0};
        for (int net = 0; net < 2; net++) {
            double weight = sure[0] && sure[1] ? 1 : sure[net] ? punishment : 0;
            weights[net][i] = (float)(weight / (double)n);
        }
    }
}

size_t gn_other_class(const float *probabilities, size_t classes, size_t y)
{
    size_t best = y == 0 ? 1 : 0;
    for (size_t c = best + 1; c < classes; c++)
        if (c != y && probabilities[c] > probabilities[best])
            best = c;
    return best;
}
