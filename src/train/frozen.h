/* frozen.h - what frozen layers compute is a dataset: it is computed once and kept in a cache.
 *
 * With model.freeze body only the head trains, and with a layer's name what lies behind it; what
 * they see of a sample never changes. So the features of all samples are computed once into a
 * memory-mapped file under the cache folder, and the rest trains on them as on any dataset of
 * features:
 *
 *     gn_frozen *frozen;
 *     GN_TRY(gn_frozen_features(ctx, device, &options, images, &frozen));
 *     GN_TRY(gn_frozen_new_network(ctx, frozen, false, seed, batch, &network));
 *     ... train the network on gn_frozen_dataset(frozen) ...
 *     GN_TRY(gn_frozen_put(ctx, frozen, network));
 *     GN_TRY(gn_model_file_save(ctx, path, gn_frozen_network(frozen), &card));  // all layers
 *
 * A file is found by what it was made from: the architecture and weights of what is frozen, the
 * fingerprint of the data (contents, transform, labels), precision and threads. It appears under
 * its name only when it is complete; one that is damaged is detected and computed again.
 *
 * With model.views N a training sample has N - 1 further rows, of its picture changed as
 * data.augment says. They depend on nothing but the data, the layers and N, so that runs of other
 * seeds share them; which one a step sees is drawn by data/fetch.h.
 */
#ifndef GN_TRAIN_FROZEN_H
#define GN_TRAIN_FROZEN_H

#include "data/dataset.h"
#include "nn/network.h"

typedef struct gn_frozen gn_frozen;

typedef struct gn_frozen_options {
    const gn_model_options *model; /* lent as long as the result lives */
    const char *cache;             /* folder; made when it is not there */
    uint64_t seed;                 /* of the body's weights when model.weights is not given */
    int64_t classes;               /* of the head; 0: those of the dataset */
    int threads;                   /* that decode samples which are not in memory */
    bool evaluates;                /* the other views are not worth computing */
} gn_frozen_options;

/* Builds the network, loads model.weights, and finds or computes the features: of the body, or
 * behind the layer that model.freeze names, which must be a place to cut (gn_network_can_cut). The
 * dataset must be prepared; it may be closed afterwards. */
GERNE_CHECKED gerne_status gn_frozen_features(gerne_ctx *ctx, gn_device *device,
                                              const gn_frozen_options *options,
                                              const gn_dataset *dataset, gn_frozen **out);
void gn_frozen_close(gn_frozen *frozen); /* takes NULL */

/* Features with the labels, splits and names of the dataset; prepared. Borrowed. */
gn_dataset *gn_frozen_dataset(const gn_frozen *frozen);

/* The whole network. Borrowed. */
gn_network *gn_frozen_network(const gn_frozen *frozen);

/* A network from features to logits; the caller closes it before the frozen layers. Behind a body
 * it is linear: its tensors are fc1.weight and fc1.bias; behind a layer its tensors have the names
 * of the whole network, and head_only freezes those that are not the head's. A head has fresh
 * weights by the seed, or those of model.weights where that file has one of this size. */
GERNE_CHECKED gerne_status gn_frozen_new_network(gerne_ctx *ctx, const gn_frozen *frozen,
                                                 bool head_only, uint64_t seed, int64_t batch,
                                                 gn_network **out);
const gn_architecture *gn_frozen_architecture(const gn_frozen *frozen); /* of these networks */

/* Puts the weights of such a network into the whole one. */
GERNE_CHECKED gerne_status gn_frozen_put(gerne_ctx *ctx, gn_frozen *frozen,
                                         const gn_network *trained);

/* True when the features came from the cache. */
bool gn_frozen_cached(const gn_frozen *frozen);

#endif
