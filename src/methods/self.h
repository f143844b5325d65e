/* self.h - the rules of SELF: which held-out samples the head is fine-tuned on. */
#ifndef GN_METHODS_SELF_H
#define GN_METHODS_SELF_H

#include <stddef.h>
#include <stdint.h>

/* scores[i] = KL(p_early || p_final) of sample i: sum_k p_early log(p_early / p_final), over the
 * number of classes. */
void gn_disagreement(const float *early, const float *final, size_t n, size_t classes,
                     float *scores);

/* Sorts the count items by falling score, ties by their number. */
void gn_highest_first(const float *scores, uint32_t *items, size_t count);

#endif
