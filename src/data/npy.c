#include "data/npy.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 10, HEADER_MAX = 1 << 16, ITEM_MAX = 1 << 16 };

static gerne_status bad(gerne_ctx *ctx, const char *name, const char *what)
{
    return gn_fail(ctx, GERNE_EDATA, "'%s' is not a valid NumPy array: %s", name, what);
}

/* The text after 'key': in the header, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    at++;
    return at + strspn(at, " ");
}

/* Of a type with its quotes, for messages; what never ends is cut. */
static int type_length(const char *text)
{
    const char *end = strchr(text + 1, text[0]);
    return end && end - text < 15 ? (int)(end - text) + 1 : 16;
}

/* '<f4', '|u1', '<U5' ... */
static gerne_status parse_type(gerne_ctx *ctx, const char *name, const char *text, gn_npy *out)
{
    char quote = *text;
    if (quote != '\'' && quote != '"')
        return bad(ctx, name, "its type is a structure");
    char order = text[1];
    if (!order || !text[2])
        return bad(ctx, name, "its type is truncated");
    out->kind = text[2];
    char *end;
    unsigned long item = strtoul(text + 3, &end, 10);
    if (!isdigit((unsigned char)text[3]) || *end != quote || item == 0 || item > ITEM_MAX ||
        !strchr("fiubUS", out->kind))
        return gn_fail(ctx, GERNE_EDATA, "'%s' has type %.*s, not f2, f4, f8, integers or strings",
                       name, type_length(text), text);
    if (order == '>' && item > 1) {
        gn_fail(ctx, GERNE_EDATA, "'%s' is big-endian (type %.*s)", name, type_length(text), text);
        gn_hint(ctx, "save it with x.astype(x.dtype.newbyteorder('<'))");
        return GERNE_EDATA;
    }
    out->item = out->kind == 'U' ? 4 * item : item;
    bool known =
        out->kind == 'U' || out->kind == 'S' || item == 1 || item == 2 || item == 4 || item == 8;
    if (!known || (out->kind == 'f' && item == 1))
        return gn_fail(ctx, GERNE_EDATA, "'%s' has type %.*s, which is not supported", name,
                       type_length(text), text);
    return GERNE_OK;
}

/* (3,) or (3, 4) */
static gerne_status parse_shape(gerne_ctx *ctx, const char *name, const char *text, gn_npy *out)
{
    if (*text++ != '(')
        return bad(ctx, name, "its shape is missing");
    out->shape[0] = out->shape[1] = 1;
    for (;;) {
        text += strspn(text, " ,");
        if (*text == ')')
            break;
        if (!isdigit((unsigned char)*text))
            return bad(ctx, name, "its shape is not a list of sizes");
        if (out->dimensions == 2)
            return bad(ctx, name, "it has more than two dimensions");
        char *end;
        unsigned long long size = strtoull(text, &end, 10);
        if (size > SIZE_MAX / 2)
            return bad(ctx, name, "its shape is too large");
        out->shape[out->dimensions++] = (size_t)size;
        text = end;
    }
    if (out->dimensions == 0)
        return bad(ctx, name, "it is a single number");
    size_t items;
    if (!gn_multiply(out->shape[0], out->shape[1], &items) ||
        !gn_multiply(items, out->item, &out->size))
        return bad(ctx, name, "its shape is too large");
    return GERNE_OK;
}

gerne_status gn_npy_parse(gerne_ctx *ctx, const char *name, const void *bytes, size_t size,
                          gn_npy *out)
{
    *out = (gn_npy){0};
    const unsigned char *at = bytes;
    if (size < PREFIX + 2 || memcmp(at, "\x93NUMPY", 6) != 0)
        return bad(ctx, name, "it has no magic number");
    bool wide = at[6] >= 2;
    size_t start = wide ? PREFIX + 2 : PREFIX;
    size_t length = at[8] | (size_t)at[9] << 8;
    if (wide)
        length |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (length > HEADER_MAX)
        return bad(ctx, name, "its header is too long");
    if (size - start < length)
        return bad(ctx, name, "its header is truncated");
    GN_FREED char *header = NULL;
    GN_TRY(gn_alloc(ctx, length + 1, 1, "a header", &header));
    memcpy(header, at + start, length);
    const char *type = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");
    if (!type || !order || !shape)
        return bad(ctx, name, "its header lacks descr, fortran_order or shape");
    GN_TRY(parse_type(ctx, name, type, out));
    GN_TRY(parse_shape(ctx, name, shape, out));
    out->fortran = strncmp(order, "True", 4) == 0 && out->dimensions == 2;
    out->offset = start + length;
    return GERNE_OK;
}

/* ---- items ---- */

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    if (exponent == 31)
        return fraction > 0 ? NAN : sign * INFINITY;
    return sign * ldexp(fraction + 1024, exponent - 25);
}

static double float_item(const unsigned char *at, size_t item)
{
    uint16_t half;
    float single;
    double value;
    switch (item) {
    case 2:
        memcpy(&half, at, sizeof half);
        return half_to_double(half);
    case 4:
        memcpy(&single, at, sizeof single);
        return (double)single;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

static uint64_t unsigned_item(const unsigned char *at, size_t item)
{
    uint64_t value = 0;
    for (size_t i = item; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static int64_t signed_item(const unsigned char *at, size_t item)
{
    assert(item > 0);
    uint64_t value = unsigned_item(at, item);
    if (item < 8 && value >> (8 * item - 1))
        value |= ~(uint64_t)0 << 8 * item;
    return (int64_t)value;
}

double gn_npy_number(const gn_npy *array, const unsigned char *items, size_t row, size_t column)
{
    size_t index = array->fortran ? column * array->shape[0] + row : row * array->shape[1] + column;
    const unsigned char *at = items + index * array->item;
    if (array->kind == 'f')
        return float_item(at, array->item);
    if (array->kind == 'i')
        return (double)signed_item(at, array->item);
    return (double)unsigned_item(at, array->item);
}

void gn_npy_floats(const gn_npy *array, const unsigned char *items, float *out)
{
    if (array->kind == 'f' && array->item == 4 && !array->fortran) {
        if (array->size)
            memcpy(out, items, array->size);
        return;
    }
    for (size_t row = 0; row < array->shape[0]; row++)
        for (size_t column = 0; column < array->shape[1]; column++)
            *out++ = (float)gn_npy_number(array, items, row, column);
}

static gerne_status add_code_point(gerne_ctx *ctx, uint64_t code, gn_text *out)
{
    unsigned char bytes[4];
    size_t count;
    if (code < 0x80) {
        bytes[0] = (unsigned char)code;
        count = 1;
    } else {
        count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = count; i-- > 1; code >>= 6)
            bytes[i] = (unsigned char)(0x80 | (code & 63));
        bytes[0] = (unsigned char)(leads[count] | (code & 63));
    }
    return gn_text_add_bytes(ctx, out, bytes, count);
}

gerne_status gn_npy_text(gerne_ctx *ctx, const gn_npy *array, const char *name,
                         const unsigned char *items, size_t i, gn_text *out)
{
    const unsigned char *at = items + i * array->item;
    if (array->kind == 'i')
        return gn_text_add(ctx, out, "%lld", (long long)signed_item(at, array->item));
    if (array->kind == 'u' || array->kind == 'b')
        return gn_text_add(ctx, out, "%llu", (unsigned long long)unsigned_item(at, array->item));
    if (array->kind == 'f') {
        double value = float_item(at, array->item);
        if (!(fabs(value) < 1e15) || value != floor(value))
            return gn_fail(ctx, GERNE_EDATA, "'%s', row %zu: %g is not a label", name, i, value);
        return gn_text_add(ctx, out, "%.0f", value);
    }
    size_t step = array->kind == 'U' ? 4 : 1;
    for (size_t k = 0; k < array->item; k += step) {
        uint64_t code = unsigned_item(at + k, step);
        if (code == 0)
            break;
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return gn_fail(ctx, GERNE_EDATA, "'%s', row %zu: the text is not valid Unicode", name,
                           i);
        GN_TRY(step == 4 ? add_code_point(ctx, code, out) : gn_text_add_bytes(ctx, out, at + k, 1));
    }
    return gn_text_add_bytes(ctx, out, "", 0);
}
