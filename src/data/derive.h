/* derive.h - a dataset of features that were computed from the samples of another. */
#ifndef GN_DATA_DERIVE_H
#define GN_DATA_DERIVE_H

#include "base/file.h"
#include "data/checksum.h"
#include "data/dataset.h"

/* Features in a file: dimension numbers a sample, in the order of the samples, from offset on (a
 * multiple of 4); then those of the other views, as gn_views says. */
typedef struct gn_kept_features {
    size_t offset, dimension;
    bool halves;          /* of 16 bits, not 32 */
    size_t views;         /* of a training sample; 0 stands for 1 */
    const char *settings; /* how they were made: a part of the fingerprint */
} gn_kept_features;

/* Rows and bytes of all of them; false when there are too many to count. */
bool gn_kept_size(const gn_dataset *like, const gn_kept_features *features, size_t *rows,
                  size_t *bytes);

/* Labels, names, splits, rows and paths of like (copied), features from a mapped file. The map is
 * taken over on success. The result still has to be prepared. */
GERNE_CHECKED gerne_status gn_dataset_derive(gerne_ctx *ctx, const gn_dataset *like, gn_map map,
                                             const gn_kept_features *features, gn_dataset **out);

/* The content digest that gn_dataset_prepare will find, computed as features are written. Their
 * origin is in the fingerprint, so that a fast sum does: it only has to tell damage. */
typedef struct gn_feature_digest {
    gn_checksum block;
    gn_sha256 whole;
    size_t filled; /* bytes of the block */
} gn_feature_digest;

void gn_feature_digest_start(gn_feature_digest *digest);
void gn_feature_digest_add(gn_feature_digest *digest, const void *bytes, size_t size);
void gn_feature_digest_end(gn_feature_digest *digest, unsigned char out[GN_SHA256_SIZE]);

#endif
