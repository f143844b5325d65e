/* weights.h - the named tensors of a file: safetensors in and out, PyTorch .pt/.pth in.
 *
 *     gn_weights *weights;
 *     GN_TRY(gn_weights_open(ctx, path, &weights));
 *     status = gn_weights_match(ctx, weights, wanted, count, found, &match);
 *     for (i...) if (found[i]) status = gn_weight_to_f32(ctx, found[i], GN_WEIGHT_FINITE, out);
 *     gn_weights_close(weights);
 *
 * A gn_weights owns its names, strings and the mapped file; everything that the getters return is
 * borrowed from it. Opening reads only headers; the file must not be truncated while it is open.
 */
#ifndef GN_NN_WEIGHTS_H
#define GN_NN_WEIGHTS_H

#include "base/memory.h"

/* Type, its name in safetensors, bytes of an item. Integers can be listed but not converted. */
#define GN_WEIGHT_TYPE_LIST(X)                                                                     \
    X(F32, 4)                                                                                      \
    X(F16, 2)                                                                                      \
    X(BF16, 2)                                                                                     \
    X(F64, 8)                                                                                      \
    X(I64, 8)                                                                                      \
    X(I32, 4)                                                                                      \
    X(I16, 2)                                                                                      \
    X(I8, 1)                                                                                       \
    X(U8, 1)                                                                                       \
    X(BOOL, 1)

typedef enum gn_weight_type {
#define GN_WEIGHT_TYPE_ENUM(name, size) GN_WEIGHT_##name,
    GN_WEIGHT_TYPE_LIST(GN_WEIGHT_TYPE_ENUM)
#undef GN_WEIGHT_TYPE_ENUM
} gn_weight_type;

const char *gn_weight_type_name(gn_weight_type type); /* "F32"; static */
size_t gn_weight_type_size(gn_weight_type type);

enum { GN_WEIGHT_DIMS = 8 };

typedef struct gn_weight {
    const char *name;   /* free of control characters, at most 1,000 bytes */
    const char *source; /* the file's name, for messages */
    gn_weight_type type;
    size_t ndims;
    int64_t dims[GN_WEIGHT_DIMS];    /* all >= 0; their product fits in memory */
    int64_t strides[GN_WEIGHT_DIMS]; /* in items */
    size_t count;                    /* of items */
    const unsigned char *bytes;      /* the first item, little endian, not aligned */
    bool contiguous;                 /* the items lie in row-major order without gaps */
} gn_weight;

typedef struct gn_weights gn_weights;

/* Opens by content, whatever the name. */
GERNE_CHECKED gerne_status gn_weights_open(gerne_ctx *ctx, const char *path, gn_weights **out);

/* The same from memory, which is lent until gn_weights_close; source names it in messages. */
GERNE_CHECKED gerne_status gn_weights_parse(gerne_ctx *ctx, const void *bytes, size_t size,
                                            const char *source, gn_weights **out);
void gn_weights_close(gn_weights *weights); /* takes NULL */
GN_LOCAL_HANDLE(gn_weights, gn_weights_close)

size_t gn_weights_count(const gn_weights *weights);
const gn_weight *gn_weights_at(const gn_weights *weights, size_t i);           /* file order */
const gn_weight *gn_weights_find(const gn_weights *weights, const char *name); /* or NULL */
/* The first whose name is this one, or ends with it behind a dot; or NULL. */
const gn_weight *gn_weights_find_end(const gn_weights *weights, const char *name);
const char *gn_weights_metadata(const gn_weights *weights, const char *key); /* or NULL */
size_t gn_weights_metadata_count(const gn_weights *weights);
const char *gn_weights_metadata_key(const gn_weights *weights, size_t i); /* in file order */

enum { GN_WEIGHT_FINITE = 1 }; /* refuse NaN and infinite values by name and position */

/* Writes weight->count floats in row-major order. F32, F16, BF16 exactly, F64 rounded; integer
 * types are refused. flags: 0 or GN_WEIGHT_FINITE. */
GERNE_CHECKED gerne_status gn_weight_to_f32(gerne_ctx *ctx, const gn_weight *weight, unsigned flags,
                                            float *out);

/* Matching a file to a network. */
typedef struct gn_wanted {
    const char *name;
    size_t ndims;
    int64_t dims[GN_WEIGHT_DIMS];
    bool is_head;
    bool optional; /* of a head: files may have none */
} gn_wanted;

typedef struct gn_match {
    bool head_replaced;      /* the file's head has another shape, or there is none that may be
                                missing: no head tensor was taken */
    const gn_wanted *head;   /* the head tensor that differs, lent from wanted; NULL if none */
    const gn_weight *theirs; /* what the file has in its place */
} gn_match;

/* found[i] becomes the tensor for wanted[i], or NULL for every tensor of a head that is replaced
 * (match says so, and an information line is logged). Missing, unexpected and misshapen tensors
 * are named in one error. "module." and the like before every name is looked through,
 * "*.num_batches_tracked" is passed over, and so is what unused (which may be NULL) knows. found
 * has count items; match may be NULL. */
typedef bool gn_unused_fn(const char *name);
GERNE_CHECKED gerne_status gn_weights_match(gerne_ctx *ctx, const gn_weights *weights,
                                            const gn_wanted *wanted, size_t count,
                                            gn_unused_fn *unused, const gn_weight **found,
                                            gn_match *match);

/* Writing safetensors. */
typedef struct gn_weight_out {
    const char *name; /* UTF-8 */
    size_t ndims;
    int64_t dims[GN_WEIGHT_DIMS];
    const float
        *data; /* or NULL: get gives it when it is written, so that one is copied at a time */
    gerne_status (*get)(gerne_ctx *ctx, const struct gn_weight_out *tensor, float *out);
    const void *from; /* for get */
    int index;
} gn_weight_out;

typedef struct gn_metadata {
    const char *key, *value; /* UTF-8 */
} gn_metadata;

/* Writes the tensors in the given order and the metadata sorted by key, as GN_WEIGHT_F32,
 * GN_WEIGHT_F16 or GN_WEIGHT_BF16 (rounded to nearest even). The same arguments give the same
 * bytes; the file appears under its name only when it is complete. */
GERNE_CHECKED gerne_status gn_safetensors_write(gerne_ctx *ctx, const char *path,
                                                gn_weight_type type, const gn_weight_out *tensors,
                                                size_t count, const gn_metadata *metadata,
                                                size_t metadata_count);

#endif
