/* folded_norm.h - inference: a convolution, the batch normalisation behind it and the addition
 * behind that in one kernel.
 *
 * Normalising by fixed statistics is a factor and a term for each channel. The factors go into a
 * copy of the weights, the terms are the bias; oneDNN adds the shortcut and applies the ReLU. A
 * convolution that folds emits nothing of its own, the last of the three layers runs all. */
#ifndef GN_ENGINE_FOLDED_NORM_H
#define GN_ENGINE_FOLDED_NORM_H

#include "engine/internal.h"

/* Whether a convolution waits for the normalisation behind it. */
bool gn_folds_norm(gn_compiler *c, const gn_node *convolution);
/* The addition may be NULL. */
gerne_status gn_folded_forward(gn_compiler *c, const gn_node *norm, const gn_node *addition);

/* normalization.c */
bool gn_is_norm(const gn_node *node);

#endif
