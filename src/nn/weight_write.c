/* Floats as items of a file, little endian. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nn/weight_set.h"

enum { BLOCK = 4096 };

void gn_weight_store(unsigned char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* To nearest, ties to even; a NaN stays one, and quiet. */
static uint32_t bf16_of(uint32_t bits)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* Likewise; what is too large becomes infinite. */
static uint32_t f16_of(uint32_t bits)
{
    enum { REBIAS = 127 - 15, NARROW = 13 };
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000)
        return sign | 0x7e00 | (size >> NARROW & 0x3ff);
    if (size >= 0x477ff000) /* 65520, halfway to the next power of two */
        return sign | 0x7c00;
    if (size < 0x38800000) { /* 2^-14: subnormal, in steps of 2^-24 */
        float value;
        memcpy(&value, &size, sizeof value);
        return sign | (uint32_t)rintf(value * 0x1p24f);
    }
    size -= (uint32_t)REBIAS << 23;
    return sign | ((size + 0xfff + (size >> NARROW & 1)) >> NARROW);
}

gerne_status gn_weight_check_range(gerne_ctx *ctx, const char *name, gn_weight_type type,
                                   const float *values, size_t count)
{
    const float largest = 65504;
    if (type != GN_WEIGHT_F16)
        return GERNE_OK;
    for (size_t i = 0; i < count; i++)
        if (fabsf(values[i]) > largest) {
            gn_fail(ctx, GERNE_EUSAGE, "'%s' has the value %g, and fp16 ends at %g", name,
                    (double)values[i], (double)largest);
            gn_hint(ctx, "--precision fp32");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

gerne_status gn_weight_write(gn_writer *writer, gn_weight_type type, const float *values,
                             size_t count)
{
    unsigned char block[BLOCK * sizeof(float)];
    size_t size = gn_weight_type_size(type);
    for (size_t done = 0; done < count;) {
        size_t now = BLOCK;
        if (count - done < now)
            now = count - done;
        for (size_t i = 0; i < now; i++) {
            uint32_t bits;
            memcpy(&bits, &values[done + i], sizeof bits);
            if (type == GN_WEIGHT_BF16)
                bits = bf16_of(bits);
            else if (type == GN_WEIGHT_F16)
                bits = f16_of(bits);
            gn_weight_store(block + i * size, bits, size);
        }
        GN_TRY(gn_write(writer, block, now * size));
        done += now;
    }
    return GERNE_OK;
}
