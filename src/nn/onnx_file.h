/* onnx_file.h - an ONNX model as it is put together: nodes, constants, inputs and outputs as
 * encoded messages, and the weights by name, which are written to the file one after the other.
 *
 *     gn_onnx o = {.ctx = ctx};
 *     gn_onnx_input(&o, "x", GN_ONNX_FLOAT, 2, (int64_t[]){GN_ONNX_BATCH, 512}, "what it is");
 *     gn_onnx_int(&o, "transB", 1);                       // attributes of the next node
 *     gn_onnx_node(&o, "Gemm", "y", (const char *[]){"x", "fc.weight", "fc.bias"}, 3);
 *     ...
 *     status = gn_onnx_write(&o, path, &weights, limit);
 *     gn_onnx_free(&o);
 *
 * The first failure sticks, so that graphs read without a test after every line; gn_onnx_write
 * reports it. Nodes have to be added in an order in which they can be computed.
 */
#ifndef GN_NN_ONNX_FILE_H
#define GN_NN_ONNX_FILE_H

#include "nn/protobuf.h"
#include "nn/weights.h"

typedef enum gn_onnx_type { GN_ONNX_FLOAT = 1, GN_ONNX_INT64 = 7, GN_ONNX_HALF = 10 } gn_onnx_type;

/* Dimensions that are known only when the model runs. */
enum { GN_ONNX_BATCH = -1, GN_ONNX_LENGTH = -2 };

enum { GN_ONNX_NAME_MAX = 128 };

typedef struct gn_onnx {
    gerne_ctx *ctx;
    gerne_status failed;
    gn_text attributes; /* of the next node */
    gn_text nodes, constants, inputs, outputs;
    gn_text properties; /* of the model */
} gn_onnx;

void gn_onnx_free(gn_onnx *onnx);

void gn_onnx_int(gn_onnx *onnx, const char *name, int64_t value);
void gn_onnx_ints(gn_onnx *onnx, const char *name, const int64_t *values, size_t count);
void gn_onnx_float(gn_onnx *onnx, const char *name, double value);

/* A node with one output, which is also its name. */
void gn_onnx_node(gn_onnx *onnx, const char *type, const char *output, const char *const *inputs,
                  size_t count);
/* One with several. */
void gn_onnx_node_many(gn_onnx *onnx, const char *type, const char *const *outputs,
                       size_t output_count, const char *const *inputs, size_t count);

/* Small constants; ndims 0 is a scalar. */
void gn_onnx_floats(gn_onnx *onnx, const char *name, size_t ndims, const int64_t *dims,
                    const float *values);
void gn_onnx_integers(gn_onnx *onnx, const char *name, size_t ndims, int64_t count,
                      const int64_t *values);

void gn_onnx_input(gn_onnx *onnx, const char *name, gn_onnx_type type, size_t ndims,
                   const int64_t *dims, const char *meaning);
void gn_onnx_output(gn_onnx *onnx, const char *name, size_t ndims, const int64_t *dims,
                    const char *meaning);

void gn_onnx_property(gn_onnx *onnx, const char *key, const char *value);

/* One weight of the model: a tensor whose numbers are asked for when it is their turn. */
typedef struct gn_onnx_weight {
    const char *name;
    gn_weight_type type; /* GN_WEIGHT_F32 or GN_WEIGHT_F16 */
    size_t ndims;
    int64_t dims[GN_WEIGHT_DIMS];
} gn_onnx_weight;

typedef struct gn_onnx_weights {
    const gn_onnx_weight *list;
    size_t count;
    gerne_status (*read)(gerne_ctx *ctx, void *user, size_t index, float *out);
    void *user;
} gn_onnx_weights;

/* The most that readers take: protocol buffers of 2 GB. */
#define GN_ONNX_LIMIT INT64_C(0x7fffffff)

/* The file appears under its name only when it is complete. One weight at a time is in memory.
 * GERNE_EUSAGE when it would be larger than limit. graph: its name. *size may be NULL. */
GERNE_CHECKED gerne_status gn_onnx_write(gn_onnx *onnx, const char *path, const char *graph,
                                         const gn_onnx_weights *weights, int64_t limit,
                                         int64_t *size);

#endif
