#include "nn/protobuf.h"

#include <string.h>

enum { VARINT = 0, LENGTH = 2, FIXED32 = 5, VARINT_BYTES = 10 };

static gerne_status add_varint(gerne_ctx *ctx, gn_text *message, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    size_t size = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[size++] = (unsigned char)(value & 0x7f) | 0x80;
    bytes[size++] = (unsigned char)value;
    return gn_text_add_bytes(ctx, message, bytes, size);
}

static gerne_status add_tag(gerne_ctx *ctx, gn_text *message, int field, int type)
{
    return add_varint(ctx, message, (uint64_t)field << 3 | (uint64_t)type);
}

gerne_status gn_pb_integer(gerne_ctx *ctx, gn_text *message, int field, int64_t value)
{
    GN_TRY(add_tag(ctx, message, field, VARINT));
    return add_varint(ctx, message, (uint64_t)value);
}

gerne_status gn_pb_float(gerne_ctx *ctx, gn_text *message, int field, float value)
{
    uint32_t bits;
    unsigned char bytes[sizeof bits];
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    GN_TRY(add_tag(ctx, message, field, FIXED32));
    return gn_text_add_bytes(ctx, message, bytes, sizeof bytes);
}

gerne_status gn_pb_start(gerne_ctx *ctx, gn_text *message, int field, uint64_t size)
{
    GN_TRY(add_tag(ctx, message, field, LENGTH));
    return add_varint(ctx, message, size);
}

gerne_status gn_pb_bytes(gerne_ctx *ctx, gn_text *message, int field, const void *bytes,
                         size_t size)
{
    GN_TRY(gn_pb_start(ctx, message, field, size));
    return size ? gn_text_add_bytes(ctx, message, bytes, size) : GERNE_OK;
}

gerne_status gn_pb_string(gerne_ctx *ctx, gn_text *message, int field, const char *text)
{
    return gn_pb_bytes(ctx, message, field, text, strlen(text));
}
