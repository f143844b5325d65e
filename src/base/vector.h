/* vector.h - hot loops for wide vectors. */
#ifndef GN_BASE_VECTOR_H
#define GN_BASE_VECTOR_H

/* A function that is compiled for wide vectors too and chosen at run time. Sanitizers run before
 * the code that chooses does. GN_WIDEST adds 512 bits, for code that is written in vectors. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GN_WIDE   __attribute__((target_clones("avx2", "default")))
#define GN_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#define GN_FUSED  __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define GN_WIDE
#define GN_WIDEST
#define GN_FUSED
#endif

#endif
