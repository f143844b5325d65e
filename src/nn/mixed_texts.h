/* mixed_texts.h - texts are mixed behind the encoder: tokens have no mean. */
#ifndef GN_NN_MIXED_TEXTS_H
#define GN_NN_MIXED_TEXTS_H

#include "nn/pass.h"

/* gn_pass_step of samples with a mixture on a network that takes tokens. Own and other source run
 * side by side, and their features are mixed in front of the head. The head is linear, so this
 * mixes their logits. The outcome's features are not filled. */
GERNE_CHECKED gerne_status gn_mixed_texts_step(gerne_ctx *ctx, gn_network *network,
                                               const gn_samples *samples, const gn_loss *loss,
                                               bool accumulate, const gn_outcome *outcome);

#endif
