#include "nn/loss.h"

#include <math.h>

enum { WORTH_THREADS = 4096 }; /* logits of a part */

static double sum_of_exponentials(const float *z, size_t classes, float largest)
{
    double sum = 0;
    for (size_t k = 0; k < classes; k++)
        sum += (double)expf(z[k] - largest);
    return sum;
}

/* What sample i of the batch should be: one class, or a mixture of two. */
typedef struct target {
    size_t label, other;
    float share; /* of label */
} target;

static target target_of(const gn_cross_entropy *terms, size_t i)
{
    size_t label = (size_t)terms->labels[i];
    if (!terms->others)
        return (target){label, label, 1};
    return (target){label, (size_t)terms->others[i], terms->share[i]};
}

static float loss_of(const float *z, const target *t, float largest, double sum)
{
    double loss = log(sum) - (double)(z[t->label] - largest);
    if (t->share == 1)
        return (float)loss;
    double other = log(sum) - (double)(z[t->other] - largest);
    return (float)((double)t->share * loss + (1 - (double)t->share) * other);
}

static void gradient_of(const float *z, size_t classes, const target *t, float largest, double sum,
                        float weight, float *gradient)
{
    float inverse = (float)(1.0 / sum);
    for (size_t k = 0; k < classes; k++) {
        float wanted = (k == t->label ? t->share : 0.0f) + (k == t->other ? 1 - t->share : 0.0f);
        gradient[k] = weight * (expf(z[k] - largest) * inverse - wanted);
    }
}

static double value_of(const gn_cross_entropy *terms, const gn_loss_part *part, float equal)
{
    double value = 0;
    for (size_t i = 0; i < part->count; i++)
        value += (double)(terms->weights ? terms->weights[part->first + i] : equal) *
                 (double)part->losses[i];
    return value;
}

static double cross_entropy(const void *given, const gn_loss_part *part)
{
    const gn_cross_entropy *terms = given;
    size_t classes = part->classes;
    float equal = terms->weights ? 0 : 1.0f / (float)terms->count;
#pragma omp parallel for schedule(static) if (part->count * classes > WORTH_THREADS)
    for (size_t i = 0; i < part->count; i++) {
        const float *z = part->logits + i * classes;
        target t = target_of(terms, part->first + i);
        float largest = z[gn_argmax_float(z, classes)];
        double sum = sum_of_exponentials(z, classes, largest);
        if (part->losses)
            part->losses[i] = loss_of(z, &t, largest, sum);
        if (part->logit_gradient)
            gradient_of(z, classes, &t, largest, sum,
                        terms->weights ? terms->weights[part->first + i] : equal,
                        part->logit_gradient + i * classes);
    }
    return part->losses ? value_of(terms, part, equal) : (double)NAN;
}

gn_loss gn_cross_entropy_loss(const gn_cross_entropy *terms)
{
    return (gn_loss){.evaluate = cross_entropy, .terms = terms};
}

void gn_softmax(float *logits, size_t count, size_t classes)
{
#pragma omp parallel for schedule(static) if (count * classes > WORTH_THREADS)
    for (size_t i = 0; i < count; i++) {
        float *z = logits + i * classes;
        float largest = z[gn_argmax_float(z, classes)];
        float inverse = (float)(1.0 / sum_of_exponentials(z, classes, largest));
        for (size_t k = 0; k < classes; k++)
            z[k] = expf(z[k] - largest) * inverse;
    }
}

void gn_predict(const float *logits, size_t count, size_t classes, int32_t *predictions)
{
    for (size_t i = 0; i < count; i++)
        predictions[i] = (int32_t)gn_argmax_float(logits + i * classes, classes);
}
