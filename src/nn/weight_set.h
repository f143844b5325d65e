/* weight_set.h - how the readers of the file formats fill a gn_weights. */
#ifndef GN_NN_WEIGHT_SET_H
#define GN_NN_WEIGHT_SET_H

#include "base/file.h"
#include "nn/weights.h"

struct gn_weights {
    gn_arena *arena;
    const char *source;
    gn_map map; /* empty when the bytes are lent */
    gn_weight *list;
    size_t count, capacity;
    size_t *by_name; /* indices of list, sorted by name */
    gn_metadata *metadata;
    size_t metadata_count, metadata_capacity;
};

/* Limits that no honest file comes near. */
enum {
    GN_WEIGHT_NAME_MAX = 1000,
    GN_WEIGHTS_MAX = 1 << 17,
    GN_WEIGHTS_HEADER_MAX = 1 << 24, /* bytes of a safetensors header or of a pickle */
};

/* Appends a tensor with its name copied; the caller fills in the rest. *out stays valid only until
 * the next call. */
GERNE_CHECKED gerne_status gn_weights_add(gerne_ctx *ctx, gn_weights *weights, const char *name,
                                          size_t name_size, gn_weight **out);
GERNE_CHECKED gerne_status gn_weights_add_metadata(gerne_ctx *ctx, gn_weights *weights,
                                                   const char *key, const char *value);

/* The type of that name; false when there is none. */
bool gn_weight_type_parse(const char *name, gn_weight_type *out);

/* The number of items; false when a dimension is negative or the bytes would overflow. */
bool gn_weight_items(const int64_t *dims, size_t ndims, size_t item_size, size_t *count);

/* Items as files hold them, little endian: one of up to 8 bytes, and floats as GN_WEIGHT_F32, F16
 * or BF16 (rounded to nearest even). Check the range first: GERNE_EUSAGE for what fp16 cannot hold.
 */
void gn_weight_store(unsigned char *at, uint64_t value, size_t size);
GERNE_CHECKED gerne_status gn_weight_check_range(gerne_ctx *ctx, const char *name,
                                                 gn_weight_type type, const float *values,
                                                 size_t count);
GERNE_CHECKED gerne_status gn_weight_write(gn_writer *writer, gn_weight_type type,
                                           const float *values, size_t count);

/* Fills strides for row-major order. */
void gn_weight_set_contiguous(gn_weight *weight);

/* "[3, 4]" into buffer, which is returned. */
enum { GN_SHAPE_TEXT = 192 };
const char *gn_shape_text(const int64_t *dims, size_t ndims, char buffer[GN_SHAPE_TEXT]);

/* Untrusted text, made safe for a message: at most 60 bytes, control characters as '?'. */
enum { GN_SAFE_TEXT = 64 };
const char *gn_safe_text(const char *bytes, size_t size, char buffer[GN_SAFE_TEXT]);

/* The formats. Failures are GERNE_EDATA without the file's name, which gn_weights_parse adds. */
GERNE_CHECKED gerne_status gn_safetensors_read(gerne_ctx *ctx, const unsigned char *bytes,
                                               size_t size, gn_weights *weights);
GERNE_CHECKED gerne_status gn_pth_read(gerne_ctx *ctx, const unsigned char *bytes, size_t size,
                                       gn_weights *weights);

#endif
