#include "base/sha256.h"

#include <string.h>

#include "base/file.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_INSTRUCTIONS 1
#include <cpuid.h>
#include <immintrin.h>
#endif

/* The first 32 bits of the fractions of the cube roots of the first 64 primes (FIPS 180-4). */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void gn_sha256_start(gn_sha256 *hash)
{
    *hash = (gn_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                  0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

/* One round on eight letters of which only two change: d, and h, which is returned. */
static inline uint32_t one_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                                 uint32_t f, uint32_t g, uint32_t h, uint32_t input)
{
    uint32_t choice = g ^ (e & (f ^ g)), majority = (a & b) | (c & (a | b));
    uint32_t t = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + input;
    *d += t;
    return t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
}

static void mix_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t i = 0; i < 64; i += 8) { /* eight rounds bring every letter back to its place */
        h = one_round(a, b, c, &d, e, f, g, h, round_constants[i] + w[i]);
        g = one_round(h, a, b, &c, d, e, f, g, round_constants[i + 1] + w[i + 1]);
        f = one_round(g, h, a, &b, c, d, e, f, round_constants[i + 2] + w[i + 2]);
        e = one_round(f, g, h, &a, b, c, d, e, round_constants[i + 3] + w[i + 3]);
        d = one_round(e, f, g, &h, a, b, c, d, round_constants[i + 4] + w[i + 4]);
        c = one_round(d, e, f, &g, h, a, b, c, round_constants[i + 5] + w[i + 5]);
        b = one_round(c, d, e, &f, g, h, a, b, round_constants[i + 6] + w[i + 6]);
        a = one_round(b, c, d, &e, f, g, h, a, round_constants[i + 7] + w[i + 7]);
    }
    const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++)
        state[i] += mixed[i];
}

/* ---- the processor's own rounds, several times as fast ---- */

#ifdef HAS_INSTRUCTIONS

static bool has_instructions(void)
{
    enum { SSSE3 = 1 << 9, SSE41 = 1 << 19, SHA = 1 << 29 };
    static _Atomic int known; /* 0: not asked yet, 1: no, 2: yes */
    if (!known) {
        unsigned a, b, c, d, features = 0;
        if (__get_cpuid(1, &a, &b, &c, &d))
            features = c;
        bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA);
        known = sha && (features & SSSE3) && (features & SSE41) ? 2 : 1;
    }
    return known == 2;
}

/* The instructions keep the letters as (f, e, b, a) and (h, g, d, c), lowest lane first, and do two
 * rounds each; the last four groups of four words are all that the next group needs. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
mix_with_instructions(uint32_t state[8], const unsigned char *at, size_t count)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const void *)state), 0xB1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const void *)(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
    for (; count; count--, at += 64) {
        __m128i w[4], first = abef, second = cdgh;
        for (size_t i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const void *)(at + 16 * i)), big_endian);
#pragma GCC unroll 16
        for (size_t i = 0; i < 16; i++) {
            __m128i *now = &w[i % 4];
            if (i >= 4) {
                __m128i last = w[(i + 3) % 4], middle = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
                *now = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) % 4]), middle);
                *now = _mm_sha256msg2_epu32(*now, last);
            }
            __m128i constants = _mm_loadu_si128((const void *)(round_constants + 4 * i));
            __m128i input = _mm_add_epi32(*now, constants);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, input);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(input, 0x0E));
        }
        abef = _mm_add_epi32(abef, first);
        cdgh = _mm_add_epi32(cdgh, second);
    }
    low = _mm_shuffle_epi32(abef, 0x1B);
    high = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((void *)state, _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

#endif

static void mix_blocks(gn_sha256 *hash, const unsigned char *at, size_t count)
{
#ifdef HAS_INSTRUCTIONS
    if (!hash->portable && has_instructions()) {
        mix_with_instructions(hash->state, at, count);
        return;
    }
#endif
    for (; count; count--, at += 64)
        mix_block(hash->state, at);
}

void gn_sha256_add(gn_sha256 *hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t held = (size_t)(hash->size % 64);
    hash->size += size;
    if (held) {
        size_t take = 64 - held < size ? 64 - held : size;
        memcpy(hash->block + held, at, take);
        at += take;
        size -= take;
        if (held + take < 64)
            return;
        mix_blocks(hash, hash->block, 1);
    }
    mix_blocks(hash, at, size / 64);
    if (size % 64)
        memcpy(hash->block, at + size / 64 * 64, size % 64);
}

void gn_sha256_end(gn_sha256 *hash, unsigned char digest[GN_SHA256_SIZE])
{
    uint64_t bits = hash->size * 8;
    unsigned char tail[72] = {0x80};
    size_t held = (size_t)(hash->size % 64);
    size_t padding = held < 56 ? 56 - held : 120 - held;
    for (size_t i = 0; i < 8; i++)
        tail[padding + i] = (unsigned char)(bits >> (56 - 8 * i));
    gn_sha256_add(hash, tail, padding + 8);
    for (size_t i = 0; i < GN_SHA256_SIZE; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void gn_sha256_of(const void *bytes, size_t size, unsigned char digest[GN_SHA256_SIZE])
{
    gn_sha256 hash;
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, bytes, size);
    gn_sha256_end(&hash, digest);
}

void gn_sha256_hex(const unsigned char digest[GN_SHA256_SIZE], char hex[GN_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < GN_SHA256_SIZE; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[GN_SHA256_HEX - 1] = '\0';
}

gerne_status gn_sha256_file(gerne_ctx *ctx, const char *path, unsigned char digest[GN_SHA256_SIZE])
{
    GN_LOCAL(gn_map) map = {0};
    GN_TRY(gn_map_open(ctx, path, &map));
    gn_sha256_of(map.bytes, map.size, digest);
    return GERNE_OK;
}
