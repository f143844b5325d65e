#include "data/gzip.h"

#include <libdeflate.h>
#include <stdint.h>

enum { RATIO_MAX = 1032, TRAILER = 8 };

bool gn_gzip_may_hold(size_t size, size_t unpacked)
{
    return unpacked / RATIO_MAX <= size;
}

bool gn_gzip_says(const void *bytes, size_t size, size_t unpacked)
{
    if (size < TRAILER)
        return false;
    const unsigned char *last = (const unsigned char *)bytes + size - 4;
    uint32_t said = (uint32_t)last[0] | (uint32_t)last[1] << 8 | (uint32_t)last[2] << 16 |
                    (uint32_t)last[3] << 24;
    return said == (uint32_t)unpacked; /* the rest of larger sizes is not written there */
}

bool gn_gzip_unpack(const void *bytes, size_t size, void *out, size_t unpacked)
{
    struct libdeflate_decompressor *unpacker = libdeflate_alloc_decompressor();
    if (!unpacker)
        return false;
    size_t used, made;
    enum libdeflate_result result =
        libdeflate_gzip_decompress_ex(unpacker, bytes, size, out, unpacked, &used, &made);
    libdeflate_free_decompressor(unpacker);
    return result == LIBDEFLATE_SUCCESS && used == size && made == unpacked;
}
