#include "base/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 9, LEAST = -14, PLAIN = -4 }; /* exponents: of the smallest number, and of %f */

static const double tenths[] = {1,    1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6, 1e-7,
                                1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14};

static const uint64_t tens[] = {1,         10,         100,         1000,
                                10000,     100000,     1000000,     10000000,
                                100000000, 1000000000, 10000000000, 100000000000};

/* The first nine digits as a number, exactly rounded (to even, as printf does): a double is a whole
 * number of 53 bits times a power of two, and 10^22 times it fits 128 bits. */
static uint32_t nine_digits(double value, int exponent)
{
    int shift, power = DIGITS - 1 - exponent;
    uint64_t whole = (uint64_t)ldexp(frexp(value, &shift), 53);
    shift = 53 - shift;
    unsigned __int128 scaled = (unsigned __int128)whole * tens[power / 2] * tens[power - power / 2];
    unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
    unsigned __int128 rest = scaled & (2 * half - 1);
    uint32_t digits = (uint32_t)(scaled >> shift);
    return digits + (rest > half || (rest == half && digits % 2 == 1));
}

/* 0.00123: point, zeros and digits. */
static size_t write_plain(const char *digits, size_t count, int exponent, char *out)
{
    size_t zeros = (size_t)-exponent;
    memcpy(out, "0.000", zeros + 1);
    memcpy(out + zeros + 1, digits, count);
    return zeros + 1 + count;
}

/* 1.23, or 1.23e-05. */
static size_t write_pointed(const char *digits, size_t count, int exponent, char *out)
{
    size_t size = 0;
    out[size++] = digits[0];
    if (count > 1) {
        out[size++] = '.';
        memcpy(out + size, digits + 1, count - 1);
        size += count - 1;
    }
    if (exponent < 0) {
        const char tail[] = {'e', '-', (char)('0' - exponent / 10), (char)('0' - exponent % 10)};
        memcpy(out + size, tail, sizeof tail);
        size += sizeof tail;
    }
    return size;
}

static size_t print(double value, char out[GN_DECIMAL_SIZE])
{
    return (size_t)snprintf(out, GN_DECIMAL_SIZE, "%.9g", value);
}

size_t gn_decimal(double value, char out[GN_DECIMAL_SIZE])
{
    if (!(value >= tenths[-LEAST] && value < 10))
        return print(value, out);
    int exponent = 0;
    while (value < tenths[-exponent])
        exponent--;
    uint32_t number = nine_digits(value, exponent);
    if (number == tens[DIGITS]) /* 9.9999999996 */
        return print(value, out);
    char digits[DIGITS];
    size_t count = DIGITS;
    for (size_t i = DIGITS; i-- > 0; number /= 10)
        digits[i] = (char)('0' + number % 10);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    size_t size = exponent < 0 && exponent >= PLAIN ? write_plain(digits, count, exponent, out)
                                                    : write_pointed(digits, count, exponent, out);
    out[size] = '\0';
    return size;
}
