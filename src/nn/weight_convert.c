/* Items of a file as floats. Bytes are put together by hand: files are little endian and their
 * tensors lie on any address. */
#include "nn/weight_set.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t load_u16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t load_u32(const unsigned char *at)
{
    return load_u16(at) | load_u16(at + 2) << 16;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float load_f32(const unsigned char *at)
{
    return float_of(load_u32(at));
}

static float load_bf16(const unsigned char *at)
{
    return float_of(load_u16(at) << 16);
}

static float load_f64(const unsigned char *at)
{
    uint64_t bits = load_u32(at) | (uint64_t)load_u32(at + 4) << 32;
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

static float load_f16(const unsigned char *at)
{
    enum { EXPONENT_MAX = 31, FRACTION_BITS = 10, REBIAS = 127 - 15, WIDEN = 23 - FRACTION_BITS };
    uint32_t half = load_u16(at);
    uint32_t sign = (half & 0x8000) << 16;
    uint32_t exponent = half >> FRACTION_BITS & EXPONENT_MAX;
    uint32_t fraction = half & 0x3ff;
    if (exponent == EXPONENT_MAX) /* infinity, or NaN with its payload */
        return float_of(sign | 0x7f800000 | fraction << WIDEN);
    if (exponent > 0)
        return float_of(sign | (exponent + REBIAS) << 23 | fraction << WIDEN);
    float subnormal = (float)fraction * 0x1p-24f; /* exact; also both zeros */
    return sign ? -subnormal : subnormal;
}

typedef float load_fn(const unsigned char *at);

/* One switch a row, so that each loop is compiled for its loader. */
static void convert_row(gn_weight_type type, const unsigned char *at, int64_t stride, size_t count,
                        float *out)
{
#define CONVERT(load, size)                                                                        \
    for (size_t i = 0; i < count; i++)                                                             \
        out[i] = load(at + i * (size_t)stride * (size));
    switch (type) {
    case GN_WEIGHT_F32:
        CONVERT(load_f32, 4)
        break;
    case GN_WEIGHT_F16:
        CONVERT(load_f16, 2)
        break;
    case GN_WEIGHT_BF16:
        CONVERT(load_bf16, 2)
        break;
    case GN_WEIGHT_F64:
        CONVERT(load_f64, 8)
        break;
    default: /* the caller has refused integers */
        break;
    }
#undef CONVERT
}

/* Walks all rows of the last dimension. */
static void convert_strided(const gn_weight *weight, float *out)
{
    size_t last = weight->ndims - 1;
    size_t row = (size_t)weight->dims[last];
    int64_t index[GN_WEIGHT_DIMS] = {0}, item = 0;
    size_t item_size = gn_weight_type_size(weight->type);
    for (size_t done = 0; done < weight->count; done += row) {
        convert_row(weight->type, weight->bytes + (size_t)item * item_size, weight->strides[last],
                    row, out + done);
        for (size_t d = last; d-- > 0;) {
            item += weight->strides[d];
            if (++index[d] < weight->dims[d])
                break;
            item -= index[d] * weight->strides[d];
            index[d] = 0;
        }
    }
}

static gerne_status check_finite(gerne_ctx *ctx, const gn_weight *weight, const float *values)
{
    size_t i = 0;
    while (i < weight->count && isfinite(values[i]))
        i++;
    if (i == weight->count)
        return GERNE_OK;
    int64_t index[GN_WEIGHT_DIMS];
    size_t rest = i;
    for (size_t d = weight->ndims; d-- > 0;) {
        index[d] = (int64_t)(rest % (size_t)weight->dims[d]);
        rest /= (size_t)weight->dims[d];
    }
    char position[GN_SHAPE_TEXT];
    gerne_status status = gn_fail(ctx, GERNE_EDATA, "'%s': tensor '%s' is %s at %s", weight->source,
                                  weight->name, isnan(values[i]) ? "NaN" : "infinite",
                                  gn_shape_text(index, weight->ndims, position));
    gn_hint(ctx, "the training that wrote this file has probably diverged");
    return status;
}

gerne_status gn_weight_to_f32(gerne_ctx *ctx, const gn_weight *weight, unsigned flags, float *out)
{
    if (weight->type > GN_WEIGHT_F64)
        return gn_fail(ctx, GERNE_EDATA, "'%s': tensor '%s' holds %s, not floating-point numbers",
                       weight->source, weight->name, gn_weight_type_name(weight->type));
    if (weight->contiguous)
        convert_row(weight->type, weight->bytes, 1, weight->count, out);
    else
        convert_strided(weight, out);
    return flags & GN_WEIGHT_FINITE ? check_finite(ctx, weight, out) : GERNE_OK;
}
