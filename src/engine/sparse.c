#include "engine/sparse.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/vector.h"

enum {
    LANES = 16,
    TILE = 64,       /* bits of a word; rows of this many numbers and vectors fit the first cache */
    VECTORS_MAX = 7, /* sums that the registers hold, also where a vector takes two of them */
    AHEAD = 6,       /* rows that are on their way to the cache */
    PROBE = 16,      /* rows that show whether it is worth looking at the others */
};
static const double dense = 0.4; /* share of numbers from which on a dense product is faster */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

static int64_t words_of(int64_t columns)
{
    return (columns + TILE - 1) / TILE;
}

/* What is found in a row, and a word behind it that is not zero where the row is left out. */
static uint64_t *found_in(const gn_sparse *x, int64_t row)
{
    return x->found + row * (words_of(x->columns) + 1);
}

static uint64_t *left_out(const gn_sparse *x, int64_t row)
{
    return found_in(x, row) + words_of(x->columns);
}

size_t gn_sparse_size(int64_t rows, int64_t columns)
{
    return (size_t)rows * (size_t)(words_of(columns) + 1) * sizeof(uint64_t);
}

/* ---- finding what is not zero ---- */

static uint64_t find_in(const float *x, int64_t count)
{
    uint64_t found = 0;
    for (int64_t i = 0; i < count; i++)
        found |= (uint64_t)(x[i] != 0) << i;
    return found;
}

/* These fill whole words and return how many numbers they found. */
static int64_t find_in_words(const float *x, int64_t words, uint64_t *found)
{
    int64_t count = 0;
    for (int64_t i = 0; i < words; i++) {
        found[i] = find_in(x + i * TILE, TILE);
        count += __builtin_popcountll(found[i]);
    }
    return count;
}

#ifdef __x86_64__
/* Compilers do not think of the instruction that turns comparisons into bits. */
__attribute__((target("avx2,popcnt"))) static int64_t
find_in_words_wide(const float *x, int64_t words, uint64_t *found)
{
    enum { WIDTH = 8 };
    int64_t count = 0;
    for (int64_t i = 0; i < words; i++) {
        found[i] = 0;
        for (int j = 0; j < TILE; j += WIDTH) {
            __m256 differs =
                _mm256_cmp_ps(_mm256_loadu_ps(x + i * TILE + j), _mm256_setzero_ps(), _CMP_NEQ_UQ);
            found[i] |= (uint64_t)(unsigned)_mm256_movemask_ps(differs) << j;
        }
        count += __builtin_popcountll(found[i]);
    }
    return count;
}

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#else
#define find_in_words_wide find_in_words
static bool has_wide(void)
{
    return false;
}
#endif

static int64_t find_in_row(const gn_sparse *x, int64_t row)
{
    int64_t words = words_of(x->columns), whole = x->columns / TILE;
    const float *numbers = x->numbers + row * x->columns;
    uint64_t *found = found_in(x, row);
    int64_t count = has_wide() ? find_in_words_wide(numbers, whole, found)
                               : find_in_words(numbers, whole, found);
    if (whole < words) {
        found[whole] = find_in(numbers + whole * TILE, x->columns - whole * TILE);
        count += __builtin_popcountll(found[whole]);
    }
    found[words] = false;
    return count;
}

static bool too_many(const gn_sparse *x, int64_t rows, int64_t count)
{
    return (double)count > dense * (double)rows * (double)x->columns;
}

bool gn_sparse_find(const gn_sparse *x)
{
    int64_t probed = x->rows < PROBE ? x->rows : PROBE, count = 0;
    for (int64_t i = 0; i < probed; i++)
        count += find_in_row(x, i);
    if (too_many(x, probed, count))
        return false;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int64_t i = probed; i < x->rows; i++)
        count += find_in_row(x, i);
    return !too_many(x, x->rows, count);
}

/* Returns whether it leaves the row out. */
static bool leave_out(const gn_sparse *x, int64_t row)
{
    if (!too_many(x, 1, find_in_row(x, row)))
        return false;
    memset(found_in(x, row), 0, (size_t)words_of(x->columns) * sizeof *x->found);
    *left_out(x, row) = true;
    return true;
}

bool gn_sparse_find_rows(const gn_sparse *x)
{
    int64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int64_t i = 0; i < x->rows; i++)
        count += leave_out(x, i);
    return count == 0;
}

/* ---- a tile ---- */

/* Some of the columns that are computed, as vectors; the last one ends where they end and may
 * overlap with the one before it. */
typedef struct strip {
    int64_t first, columns;
    int vectors;
} strip;

static int strips_of(int64_t width)
{
    return (int)((width + VECTORS_MAX * LANES - 1) / (VECTORS_MAX * LANES));
}

/* All but the last have whole vectors; the last has two or more unless it has one that is whole. */
static strip strip_at(int64_t width, int index)
{
    int64_t vectors = (width + LANES - 1) / LANES, count = strips_of(width);
    int64_t begin = vectors * index / count, end = vectors * (index + 1) / count;
    int64_t last = end * LANES < width ? end * LANES : width;
    return (strip){begin * LANES, last - begin * LANES, (int)(end - begin)};
}

static inline __attribute__((always_inline)) int64_t place_of(int vector, int vectors,
                                                              int64_t columns)
{
    return vector < vectors - 1 ? (int64_t)vector * LANES : columns - LANES;
}

typedef struct tile {
    lanes rows[TILE][VECTORS_MAX];
} tile;

static void pack(const float *from, int64_t rows, int64_t width, const strip *s, tile *out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < s->vectors; k++)
            memcpy(&out->rows[i][k],
                   from + i * width + s->first + place_of(k, s->vectors, s->columns),
                   sizeof(lanes));
}

/* out += the rows that are found, each times its number. The compiler has to know `vectors`. */
static inline __attribute__((always_inline)) void add_rows_of(int vectors, const tile *t,
                                                              uint64_t found, const float *numbers,
                                                              int64_t step, int64_t columns,
                                                              float *out)
{
    lanes sums[VECTORS_MAX];
    if (!found)
        return;
    for (int k = 0; k < vectors; k++)
        memcpy(&sums[k], out + place_of(k, vectors, columns), sizeof sums[k]);
    for (; found; found &= found - 1) {
        int i = __builtin_ctzll(found);
        float number = numbers[i * step];
        for (int k = 0; k < vectors; k++)
            sums[k] += number * t->rows[i][k];
    }
    for (int k = 0; k < vectors; k++)
        memcpy(out + place_of(k, vectors, columns), &sums[k], sizeof sums[k]);
}

/* The numbers of a word. Those of the next row lie too far away for a processor to expect them. */
static inline void fetch_word(const float *numbers)
{
    for (int i = 0; i < TILE; i += LANES)
        __builtin_prefetch(numbers + i);
}

/* A row for each word. */
typedef struct rows {
    const uint64_t *found; /* `stride` apart */
    const float *numbers;  /* of the first row; of the next one `next` further */
    int64_t count, stride, step, next;
    float *out; /* `width` apart */
    int64_t width;
} rows;

/* Rows of samples only: a row of columns takes its numbers from all of them. */
static inline void fetch_ahead(const rows *r, int64_t row)
{
    int64_t ahead = row + AHEAD;
    if (r->step == 1 && ahead < r->count && r->found[ahead * r->stride])
        fetch_word(r->numbers + ahead * r->next);
}

#define ADD_ROWS(vectors)                                                                          \
    case vectors:                                                                                  \
        for (int64_t i = 0; i < r->count; i++) {                                                   \
            fetch_ahead(r, i);                                                                     \
            add_rows_of(vectors, t, r->found[i * r->stride], r->numbers + i * r->next, r->step,    \
                        columns, r->out + i * r->width + s->first);                                \
        }                                                                                          \
        break

GN_FUSED static void add_rows(const tile *t, const strip *s, const rows *r)
{
    int64_t columns = s->columns;
    switch (s->vectors) {
        ADD_ROWS(1);
        ADD_ROWS(2);
        ADD_ROWS(3);
        ADD_ROWS(4);
        ADD_ROWS(5);
        ADD_ROWS(6);
        ADD_ROWS(7);
    default:
        break;
    }
}

/* ---- forward ---- */

static void start_rows(const gn_sparse *x, const float *bias, int64_t width, int64_t begin,
                       int64_t end, float *y)
{
    for (int64_t i = begin; i < end; i++)
        if (!*left_out(x, i))
            memcpy(y + i * width, bias, (size_t)width * sizeof *y);
}

static void rectify(int64_t count, float *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = y[i] < 0 ? 0 : y[i]; /* NaN stays NaN, and rows that are left out as they are */
}

static void forward_rows(const gn_sparse *x, const float *w, int64_t width, int64_t begin,
                         int64_t end, float *y)
{
    int64_t words = words_of(x->columns);
    tile t;
    for (int i = 0; i < strips_of(width); i++) {
        strip s = strip_at(width, i);
        for (int64_t word = 0; word < words; word++) {
            int64_t rest = x->columns - word * TILE;
            pack(w + word * TILE * width, rest < TILE ? rest : TILE, width, &s, &t);
            add_rows(&t, &s,
                     &(rows){.found = found_in(x, begin) + word,
                             .stride = words + 1,
                             .numbers = x->numbers + begin * x->columns + word * TILE,
                             .step = 1,
                             .next = x->columns,
                             .count = end - begin,
                             .out = y + begin * width,
                             .width = width});
        }
    }
}

static int threads_of(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

void gn_sparse_forward(const gn_sparse *x, const float *w, const float *bias, int64_t width,
                       bool relu, float *y)
{
    int parts = threads_of();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < parts; i++) {
        int64_t begin = x->rows * i / parts, end = x->rows * (i + 1) / parts;
        start_rows(x, bias, width, begin, end, y);
        forward_rows(x, w, width, begin, end, y);
        if (relu)
            rectify((end - begin) * width, y + begin * width);
    }
}

/* ---- backward ---- */

/* Bit i of word j becomes bit j of word i. */
static void transpose_bits(uint64_t bits[TILE])
{
    uint64_t mask = UINT32_MAX;
    for (int width = TILE / 2; width; width /= 2, mask ^= mask << width)
        for (int i = 0; i < TILE; i = (i + width + 1) & ~width) {
            uint64_t swapped = (bits[i] >> width ^ bits[i + width]) & mask;
            bits[i] ^= swapped << width;
            bits[i + width] ^= swapped;
        }
}

/* Columns of a word, from samples first..first+count-1; those of the next word are on their way. */
static void backward_word(const gn_sparse *x, int64_t word, int64_t first, int64_t count,
                          const tile *t, const strip *s, int64_t width, float *dw)
{
    uint64_t bits[TILE] = {0};
    int64_t rest = x->columns - word * TILE;
    for (int64_t i = 0; i < count; i++) {
        bits[i] = found_in(x, first + i)[word];
        if (word + 1 < words_of(x->columns) && found_in(x, first + i)[word + 1])
            fetch_word(x->numbers + (first + i) * x->columns + (word + 1) * TILE);
    }
    transpose_bits(bits);
    add_rows(t, s,
             &(rows){.found = bits,
                     .stride = 1,
                     .numbers = x->numbers + first * x->columns + word * TILE,
                     .step = x->columns,
                     .next = 1,
                     .count = rest < TILE ? rest : TILE,
                     .out = dw + word * TILE * width,
                     .width = width});
}

static void backward_words(const gn_sparse *x, const float *dy, int64_t width, int64_t begin,
                           int64_t end, float *dw)
{
    tile t;
    for (int i = 0; i < strips_of(width); i++) {
        strip s = strip_at(width, i);
        for (int64_t first = 0; first < x->rows; first += TILE) {
            int64_t count = x->rows - first < TILE ? x->rows - first : TILE;
            pack(dy + first * width, count, width, &s, &t);
            for (int64_t word = begin; word < end; word++)
                backward_word(x, word, first, count, &t, &s, width, dw);
        }
    }
}

void gn_sparse_backward(const gn_sparse *x, const float *dy, int64_t width, bool add, float *dw)
{
    int parts = threads_of();
    int64_t words = words_of(x->columns);
    if (!add)
        memset(dw, 0, (size_t)x->columns * (size_t)width * sizeof *dw);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < parts; i++)
        backward_words(x, dy, width, words * i / parts, words * (i + 1) / parts, dw);
}
