/* checksum.h - a fast sum of a file's bytes that damage changes: the CRC-32 of every slice of a
 * mebibyte, and the SHA-256 of these. Against accidents, not against whoever wants to deceive.
 */
#ifndef GN_DATA_CHECKSUM_H
#define GN_DATA_CHECKSUM_H

#include "base/sha256.h"

typedef struct gn_checksum {
    gn_sha256 whole;
    uint32_t slice;
    size_t filled; /* bytes of the slice */
} gn_checksum;

enum { GN_CHECKSUM_SIZE = GN_SHA256_SIZE };

void gn_checksum_start(gn_checksum *sum);
void gn_checksum_add(gn_checksum *sum, const void *bytes, size_t size);
void gn_checksum_end(gn_checksum *sum, unsigned char out[GN_CHECKSUM_SIZE]);

/* All of the above at once. */
void gn_checksum_of(const void *bytes, size_t size, unsigned char out[GN_CHECKSUM_SIZE]);

#endif
