/* network_weights.h - a network's weights from and to files. */
#ifndef GN_NN_NETWORK_WEIGHTS_H
#define GN_NN_NETWORK_WEIGHTS_H

#include "nn/network.h"
#include "nn/weights.h"

/* Takes every tensor from the file; a head of another size keeps its fresh weights (match, which
 * may be NULL, says so). NaN and infinite weights are refused. Nothing changes on failure. */
GERNE_CHECKED gerne_status gn_network_load(gerne_ctx *ctx, gn_network *network, const char *path,
                                           gn_match *match);

/* The weights that training starts from: fresh ones, or those of the file `path` unless that is
 * NULL, with a fresh head where the file has none of this size. Nothing that a file brings is drawn
 * first, which takes a large network longer than reading it. */
GERNE_CHECKED gerne_status gn_network_start(gerne_ctx *ctx, gn_network *network, const char *path,
                                            uint64_t seed, gn_match *match);

/* Writes all weights and running statistics as F32, F16 or BF16. */
GERNE_CHECKED gerne_status gn_network_save(gerne_ctx *ctx, gn_network *network, const char *path,
                                           gn_weight_type type, const gn_metadata *metadata,
                                           size_t metadata_count);

#endif
