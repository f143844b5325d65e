/* denetdm.h - the loss of DeNetDM's second stage. */
#ifndef GN_METHODS_DENETDM_H
#define GN_METHODS_DENETDM_H

#include "nn/loss.h"

/* weight T^2 mean_i sum_k -softmax(teacher / T)_k log softmax(logits / T)_k */
typedef struct gn_distillation {
    const float *teacher; /* [of the batch][classes], logits */
    size_t count;         /* of the batch */
    double temperature, weight;
} gn_distillation;

gn_loss gn_distillation_loss(const gn_distillation *terms);

#endif
