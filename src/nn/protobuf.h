/* protobuf.h - the wire format of protocol buffers, to the extent that ONNX files need it.
 *
 * A message is a gn_text that fields are appended to; a message inside a message is appended as
 * bytes. This is all there is to it (five functions), whereas protobuf-c would need ONNX's schema
 * from a C++ library's package to build, and every weight in memory at once to write.
 */
#ifndef GN_NN_PROTOBUF_H
#define GN_NN_PROTOBUF_H

#include "base/text.h"

/* Zero is written like any other number. */
GERNE_CHECKED gerne_status gn_pb_integer(gerne_ctx *ctx, gn_text *message, int field,
                                         int64_t value);
GERNE_CHECKED gerne_status gn_pb_float(gerne_ctx *ctx, gn_text *message, int field, float value);
GERNE_CHECKED gerne_status gn_pb_bytes(gerne_ctx *ctx, gn_text *message, int field,
                                       const void *bytes, size_t size);
GERNE_CHECKED gerne_status gn_pb_string(gerne_ctx *ctx, gn_text *message, int field,
                                        const char *text);

/* What stands before the size bytes of a field that are written elsewhere. */
GERNE_CHECKED gerne_status gn_pb_start(gerne_ctx *ctx, gn_text *message, int field, uint64_t size);

#endif
