/* rng.h - random numbers as pure functions of (seed, purpose, step, index).
 *
 * Nothing here has state that outlives a stream on the stack: the same four numbers give the same
 * values in any order of access, on any thread, after any resume.
 */
#ifndef GN_BASE_RNG_H
#define GN_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* what plug-ins may call */

/* Every use has its own purpose, so that no two uses share numbers. Append only: the values are
 * part of what "the same seed" means. */
typedef enum gn_purpose {
    GN_RNG_TEST = 0,
    GN_RNG_INIT = 1,      /* initial weights: index = parameter */
    GN_RNG_DRAW = 2,      /* batches by law: see debias/sampler */
    GN_RNG_SHUFFLE = 3,   /* epoch permutations and uniform batches */
    GN_RNG_AUGMENT = 4,   /* random crops and flips: index = sample */
    GN_RNG_DATA = 5,      /* making a dataset: hold-out, attributes, noise */
    GN_RNG_BOOTSTRAP = 6, /* resamples of an interval */
    GN_RNG_METHOD = 7,    /* mixing coefficients and the like */
    GN_RNG_SEARCH = 8,    /* random search */
    GN_RNG_DROPOUT = 9,   /* masks: index = the sample's place in its step */
    GN_RNG_INSIDE = 10,   /* masks inside of a network: see engine/sequence.h */
    GN_RNG_VIEW = 11,     /* which kept view of a sample a step sees: index = sample */
} gn_purpose;

typedef struct gn_stream {
    uint64_t key[2];     /* seed, purpose */
    uint64_t counter[3]; /* step, index, block */
    uint64_t block[4];
    int left;
} gn_stream;

gn_stream gn_stream_at(uint64_t seed, gn_purpose purpose, uint64_t step, uint64_t index);

uint64_t gn_random_u64(gn_stream *stream);
double gn_random_uniform(gn_stream *stream);                  /* in [0, 1), 53 bits */
double gn_random_normal(gn_stream *stream);                   /* mean 0, variance 1 */
uint64_t gn_random_below(gn_stream *stream, uint64_t bound);  /* in [0, bound), exact; bound > 0 */
double gn_random_beta(gn_stream *stream, double a, double b); /* in [0, 1]; a and b > 0 */

/* Many numbers at once for masks: count words, functions of the key and their place alone. A hash
 * of 32 bits, which vectors compute: good enough to drop by, not for statistics. */
void gn_random_words(uint64_t key, uint32_t *words, size_t count);

/* Puts the items into an order, all equally likely. */
void gn_random_shuffle(gn_stream *stream, uint32_t *items, size_t count);

/* A keyed permutation of 0..n-1 with random access and no table: position -> element. */
enum { GN_PERMUTATION_TABLE = 32 };

typedef struct gn_permutation {
    uint64_t n;
    uint64_t key[4];
    unsigned low_bits, high_bits;
    uint8_t table[GN_PERMUTATION_TABLE]; /* the whole permutation when n is this small */
} gn_permutation;

/* n in 1..2^62; step and index as for a stream. */
gn_permutation gn_permutation_at(uint64_t n, uint64_t seed, gn_purpose purpose, uint64_t step,
                                 uint64_t index);
uint64_t gn_permute(const gn_permutation *permutation, uint64_t position);

#pragma GCC visibility pop

#endif
