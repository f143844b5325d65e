/* sha256.h - SHA-256: fingerprints of data and checks of downloads. */
#ifndef GN_BASE_SHA256_H
#define GN_BASE_SHA256_H

#include "base/status.h"

typedef struct gn_sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    unsigned char block[64];
    bool portable; /* set after the start: without the processor's instructions for it */
} gn_sha256;

enum { GN_SHA256_SIZE = 32, GN_SHA256_HEX = 65 };

void gn_sha256_start(gn_sha256 *hash);
void gn_sha256_add(gn_sha256 *hash, const void *bytes, size_t size);
void gn_sha256_end(gn_sha256 *hash, unsigned char digest[GN_SHA256_SIZE]);

/* All of the above at once. */
void gn_sha256_of(const void *bytes, size_t size, unsigned char digest[GN_SHA256_SIZE]);

/* 64 lower-case digits and a final '\0'. */
void gn_sha256_hex(const unsigned char digest[GN_SHA256_SIZE], char hex[GN_SHA256_HEX]);

/* Of a whole file. */
GERNE_CHECKED gerne_status gn_sha256_file(gerne_ctx *ctx, const char *path,
                                          unsigned char digest[GN_SHA256_SIZE]);

#endif
