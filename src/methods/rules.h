/* rules.h - the update rules of methods as pure functions, apart from any network. */
#ifndef GN_METHODS_RULES_H
#define GN_METHODS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Group DRO ---- */

/* q_g <- q_g exp(eta loss_g) for the groups whose present[g] is set, then q sums to 1. */
void gn_groupdro_update(float *q, const double *losses, const bool *present, size_t groups,
                        double eta);

/* ---- LfF ---- */

/* Generalised cross-entropy as everybody uses it: the factor q p^q before the cross-entropy, p
 * being the probability of the right class. */
float gn_gce_factor(float cross_entropy, double q);

/* A sample's running mean of losses: the loss itself on the first visit (seen = 0), then
 * rho * mean + (1 - rho) * loss. Returns the new mean. */
float gn_lff_mean(float mean, bool seen, float loss, double rho);

/* maxima[c] = the largest value among the samples of class c; never below 0. */
void gn_class_maxima(const float *values, const int32_t *y, size_t n, size_t classes,
                     float *maxima);

/* biased / (biased + debiased + 1e-8). */
float gn_lff_weight(float biased, float debiased);

/* ---- focal loss ---- */

/* (1 - p)^gamma CE of a sample whose right class has probability p = exp(-CE). */
float gn_focal_loss(float cross_entropy, double gamma);

/* Its derivative by CE, the factor's own part included: (1 - p)^gamma + gamma p (1 - p)^(gamma - 1)
 * CE. */
float gn_focal_slope(float cross_entropy, double gamma);

/* ---- JTT ---- */

/* Fills list (room for n) with the samples whose arg max (lowest index on ties) is not their class;
 * returns how many. */
size_t gn_error_set(const float *logits, const int32_t *y, size_t n, size_t classes,
                    uint32_t *list);

#endif
