/* loss.h - softmax cross-entropy, the one loss that all methods build on. */
#ifndef GN_NN_LOSS_H
#define GN_NN_LOSS_H

#include <stddef.h>
#include <stdint.h>

/* For each of count samples: losses[i] = -log softmax(logits[i])[labels[i]], predictions[i] = the
 * arg max (lowest index on ties), and gradient[i] = weights[i] * (softmax - one-hot). Any of
 * losses, predictions, gradient may be NULL; weights NULL means 1. */
void gn_cross_entropy(const float *logits, size_t count, size_t classes, const int32_t *labels,
                      const float *weights, float *losses, int32_t *predictions, float *gradient);

/* In place: logits -> probabilities. */
void gn_softmax(float *logits, size_t count, size_t classes);

#endif
