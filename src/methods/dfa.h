/* dfa.h - what DFA does to features and their gradients, as pure functions. Features of a sample
 * are [z_i; z_b]: half of the intrinsic encoder, half of the bias encoder. */
#ifndef GN_METHODS_DFA_H
#define GN_METHODS_DFA_H

#include <stddef.h>
#include <stdint.h>

/* swapped[j] = [z_i of sample j; z_b of sample partner[j]]. */
void gn_dfa_swap(const float *features, size_t count, size_t half, const uint32_t *partner,
                 float *swapped);

typedef enum gn_dfa_half { GN_DFA_INTRINSIC, GN_DFA_BIAS } gn_dfa_half;

/* Adds one half of the gradient of a classifier's features to sum; the other half is stopped. With
 * partners row j goes to sample partner[j], whose features it was given. */
void gn_dfa_collect(const float *gradient, size_t count, size_t half, gn_dfa_half which,
                    const uint32_t *partner, float *sum);

#endif
