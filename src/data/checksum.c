#include "data/checksum.h"

#include <libdeflate.h>

enum { SLICE = 1 << 20 };

void gn_checksum_start(gn_checksum *sum)
{
    *sum = (gn_checksum){0};
    gn_sha256_start(&sum->whole);
}

/* Little-endian, so that files can move between machines. */
static void close_slice(gn_checksum *sum)
{
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(sum->slice >> (8 * i));
    gn_sha256_add(&sum->whole, bytes, sizeof bytes);
    sum->slice = 0;
    sum->filled = 0;
}

void gn_checksum_add(gn_checksum *sum, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size) {
        size_t room = SLICE - sum->filled, take = size < room ? size : room;
        sum->slice = libdeflate_crc32(sum->slice, at, take);
        at += take;
        size -= take;
        sum->filled += take;
        if (sum->filled == SLICE)
            close_slice(sum);
    }
}

void gn_checksum_end(gn_checksum *sum, unsigned char out[GN_CHECKSUM_SIZE])
{
    if (sum->filled)
        close_slice(sum);
    gn_sha256_end(&sum->whole, out);
}

void gn_checksum_of(const void *bytes, size_t size, unsigned char out[GN_CHECKSUM_SIZE])
{
    gn_checksum sum;
    gn_checksum_start(&sum);
    gn_checksum_add(&sum, bytes, size);
    gn_checksum_end(&sum, out);
}
