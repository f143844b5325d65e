/* group_rules.h - the rules of methods and estimators that look for groups themselves, as pure
 * functions. */
#ifndef GN_METHODS_GROUP_RULES_H
#define GN_METHODS_GROUP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The probability of class k, softmax(logits / temperature)[k]. */
float gn_probability(const float *logits, size_t classes, size_t k, double temperature);

/* The largest probability of a softmax. */
float gn_confidence(const float *logits, size_t classes);

/* out[i] = rows[indices[i]], rows of classes values. */
void gn_take_rows(const float *rows, const uint32_t *indices, size_t n, size_t classes, float *out);

/* ---- XRM ---- */

/* weights[i] = 1 / samples of the batch with the label of i: their losses' sum is the sum of the
 * classes' mean losses. counts has room for all classes. */
void gn_xrm_weights(const int32_t *labels, size_t n, size_t classes, size_t *counts,
                    float *weights);

/* (confidence - 1/K) K / (K - 1): 0 for a guess, 1 for certainty. */
double gn_xrm_flip_probability(double confidence, size_t classes);

/* ---- MAT ---- */

/* J[k][y] = mean over the batch of u[i][k] [labels[i] = y]; R: its rows normalised;
 * shift[i] = log(u[i] R + 1e-6). shares has room for [classes][classes]. */
void gn_mat_shift(const float *u, const int32_t *labels, size_t n, size_t classes, double *shares,
                  float *shift);

/* ---- uLA ---- */

/* shares <- memory shares + (1 - memory) mean over the batch of said[i][k] [labels[i] = y], by
 * [k][y]. */
void gn_ula_update(const float *said, const int32_t *labels, size_t n, size_t classes,
                   double memory, float *shares);

/* shift = tau log(row / sum of the row). */
void gn_ula_shift(const float *row, size_t classes, double tau, float *shift);

/* ---- MST ---- */

/* Marks at random share of each class's samples, rounded up: chosen[i] is 1 or 0. */
void gn_choose_share(const int32_t *y, size_t n, size_t classes, double share, uint64_t seed,
                     float *chosen);

/* ---- ECS ---- */

/* Peer picking. A network is sure of a sample when its p[y] is above eta of the largest in the
 * batch and class. Weights are 1/n where both are sure; where one alone is, punishment / n for that
 * one; else 0. Rows are the two networks; maxima has room for all classes. */
void gn_ecs_weights(const float *const losses[2], const int32_t *labels, size_t n, size_t classes,
                    double eta, double punishment, float *maxima, float *const weights[2]);

/* The most probable class that is not y; the first of equal ones. */
size_t gn_other_class(const float *probabilities, size_t classes, size_t y);

#endif
