#include "base/rng.h"

#include <assert.h>
#include <math.h>

#include "base/vector.h"

/* Random123's headers convert signs freely; they are not ours to mend. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

gn_stream gn_stream_at(uint64_t seed, gn_purpose purpose, uint64_t step, uint64_t index)
{
    return (gn_stream){.key = {seed, (uint64_t)purpose}, .counter = {step, index, 0}};
}

uint64_t gn_random_u64(gn_stream *stream)
{
    if (stream->left == 0) {
        philox4x64_ctr_t counter = {
            {stream->counter[0], stream->counter[1], stream->counter[2], 0}};
        philox4x64_key_t key = {{stream->key[0], stream->key[1]}};
        philox4x64_ctr_t block = philox4x64(counter, key);
        for (int i = 0; i < 4; i++)
            stream->block[i] = block.v[i];
        stream->counter[2]++;
        stream->left = 4;
    }
    return stream->block[4 - stream->left--];
}

GN_WIDE void gn_random_words(uint64_t key, uint32_t *words, size_t count)
{
    const uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (size_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)i * 0x9e3779b9u + low;
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x = (x + high) * 0x846ca68bu;
        words[i] = x ^ x >> 16;
    }
}

double gn_random_uniform(gn_stream *stream)
{
    return (double)(gn_random_u64(stream) >> 11) * 0x1.0p-53;
}

double gn_random_normal(gn_stream *stream)
{
    double radius = sqrt(-2.0 * log(1.0 - gn_random_uniform(stream)));
    return radius * cos(6.283185307179586477 * gn_random_uniform(stream));
}

uint64_t gn_random_below(gn_stream *stream, uint64_t bound)
{
    assert(bound > 0);
    /* Reject the incomplete last copy of 0..bound-1, so that every value is equally likely. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t value;
    do
        value = gn_random_u64(stream);
    while (value >= limit);
    return value % bound;
}

void gn_random_shuffle(gn_stream *stream, uint32_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)gn_random_below(stream, i);
        uint32_t item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}

/* The logarithm of a gamma variate: Marsaglia and Tsang 2000, a shape below 1 by their boost. Small
 * shapes give values far below what a double holds. */
static double log_gamma_variate(gn_stream *stream, double shape)
{
    double boost = shape < 1 ? log(1 - gn_random_uniform(stream)) / shape : 0;
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = gn_random_normal(stream), v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        double u = 1 - gn_random_uniform(stream);
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + boost;
    }
}

double gn_random_beta(gn_stream *stream, double a, double b)
{
    double first = log_gamma_variate(stream, a), second = log_gamma_variate(stream, b);
    return 1 / (1 + exp(second - first));
}

/* A Feistel network over a few bits reaches too few permutations; a shuffled table reaches all. */
static void fill_table(gn_permutation *p, gn_stream *stream)
{
    for (uint64_t i = 0; i < p->n; i++) {
        uint64_t j = gn_random_below(stream, i + 1);
        p->table[i] = p->table[j];
        p->table[j] = (uint8_t)i;
    }
}

gn_permutation gn_permutation_at(uint64_t n, uint64_t seed, gn_purpose purpose, uint64_t step,
                                 uint64_t index)
{
    assert(n >= 1 && n <= (uint64_t)1 << 62);
    gn_permutation p = {.n = n};
    gn_stream stream = gn_stream_at(seed, purpose, step, index);
    if (n <= GN_PERMUTATION_TABLE) {
        fill_table(&p, &stream);
        return p;
    }
    unsigned bits = 64 - (unsigned)__builtin_clzll(n - 1);
    p.low_bits = bits / 2;
    p.high_bits = bits - p.low_bits;
    for (int i = 0; i < 4; i++)
        p.key[i] = gn_random_u64(&stream);
    return p;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* A Feistel network over the smallest power of two that holds n, its halves at most one bit apart;
 * values that fall outside 0..n-1 are sent round again (less than once on average). */
uint64_t gn_permute(const gn_permutation *p, uint64_t position)
{
    assert(position < p->n);
    if (p->n <= GN_PERMUTATION_TABLE)
        return p->table[position];
    enum { ROUNDS = 8 };
    const uint64_t low_mask = ((uint64_t)1 << p->low_bits) - 1;
    const uint64_t high_mask = ((uint64_t)1 << p->high_bits) - 1;
    uint64_t low = position & low_mask, high = position >> p->low_bits;
    do {
        for (unsigned round = 0; round < ROUNDS; round += 2) {
            uint64_t key = p->key[round / 2];
            high ^= mix(low + key) >> 17 & high_mask;
            low ^= mix(high + (key ^ 0x9e3779b97f4a7c15u)) >> 17 & low_mask;
        }
    } while ((high << p->low_bits | low) >= p->n);
    return high << p->low_bits | low;
}
