/* initial_weights.h - the random weights that a network starts from. */
#ifndef GN_NN_INITIAL_WEIGHTS_H
#define GN_NN_INITIAL_WEIGHTS_H

#include "nn/model.h"

/* Draws the parameters of the store's graphs from `graph` on. Every parameter has random numbers of
 * its own: neither the number of threads nor the parameters that are skipped change them. */
GERNE_CHECKED gerne_status gn_draw_weights(gerne_ctx *ctx, gn_store *store, gn_initialization rule,
                                           int graph, uint64_t seed);

#endif
