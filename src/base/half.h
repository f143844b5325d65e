/* half.h - numbers of 16 bits on disk (IEEE 754 binary16), of 32 in memory. */
#ifndef GN_BASE_HALF_H
#define GN_BASE_HALF_H

#include <stdint.h>
#include <string.h>

/* What overflows becomes infinite: GN_HALF_INFINITY, or that with a sign. */
enum { GN_HALF_INFINITY = 0x7c00, GN_HALF_SIGN = 0x8000 };

/* To the nearest, to even on a tie. */
static inline uint16_t gn_half_from_float(float value)
{
    uint32_t bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & GN_HALF_SIGN;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) /* not a number */
        return (uint16_t)(sign | GN_HALF_INFINITY | 1);
    if (bits >= 0x477ff000) /* rounds to more than the largest, 65504 */
        return (uint16_t)(sign | GN_HALF_INFINITY);
    if (bits < 0x38800000) { /* subnormal: the addition leaves its steps of 2^-24, rounded */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits >> 13) - (112 << 10)));
}

/* Of finite ones. The product moves the exponent, of subnormal numbers too. */
static inline float gn_float_from_half(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= (uint32_t)(half & GN_HALF_SIGN) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
