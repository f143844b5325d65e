/* decay.h - what weight decay acts on. */
#ifndef GN_NN_DECAY_H
#define GN_NN_DECAY_H

#include "nn/network.h"
#include "nn/optimizer.h"

/* An optimiser of what the network trains. AdamW on a transformer decays its matrices alone, not
 * its biases, norms, class token and image positions; with compat_bert_decay it is the other way
 * round. All other optimisers and networks decay everything. */
GERNE_CHECKED gerne_status gn_network_optimizer(gerne_ctx *ctx, const gn_optimizer_options *options,
                                                const gn_network *network, gn_optimizer **out);

#endif
