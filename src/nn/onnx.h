/* onnx.h - a network as an ONNX file: normalisation of the input, body, head and softmax.
 *
 *     input    pixels          float [batch, channels, height, width], 0 to 255
 *              features        float [batch, width], as they are in the data
 *              input_ids       int64 [batch, length], and
 *              attention_mask  int64 [batch, length], 1 for a token and 0 behind the last
 *     output   probabilities   float [batch, classes]
 *              logits          float [batch, classes]
 *              body_features   float [batch, width of the features], when asked for
 *
 * The file follows from the graphs that the engine computes, so that every architecture made of the
 * layers of engine/operations.h can be written.
 */
#ifndef GN_NN_ONNX_H
#define GN_NN_ONNX_H

#include "nn/network.h"
#include "nn/weights.h"

typedef struct gn_onnx_options {
    const float *scale, *shift;    /* of each channel of pixels: byte * scale + shift; NULL: none */
    const float *mean, *deviation; /* of each feature; NULL: none */
    bool features;                 /* are an output, too */
    bool half;                     /* matrices are kept as fp16, and computed with as fp32 */
    const gn_metadata *metadata;   /* lent */
    size_t metadata_count;
    int64_t limit; /* bytes of the file; 0: GN_ONNX_LIMIT */
} gn_onnx_options;

/* GERNE_EUSAGE for a layer that ONNX does not have and for a file above the limit. *size, which may
 * be NULL, are the bytes written. */
GERNE_CHECKED gerne_status gn_network_write_onnx(gerne_ctx *ctx, const gn_network *network,
                                                 const char *path, const gn_onnx_options *options,
                                                 int64_t *size);

#endif
