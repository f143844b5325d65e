#include "engine/tile_product.h"

/* Sides of a tile: 16 rows of 32 numbers of bfloat16. A panel is two tiles beside each other; a
 * unit is what a panel has of one step along the inner dimension, in three parts. */
enum {
    TILE_ROWS = 16,
    STEP = 32,
    PANEL = 2 * TILE_ROWS,
    PARTS = 3,
    TILE_BYTES = TILE_ROWS * STEP * 2,
    UNIT_BYTES = PARTS * 2 * TILE_BYTES,
};

static int64_t over(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

static size_t packed_size(int64_t lines, int64_t inner)
{
    return (size_t)(over(lines, PANEL) * over(inner, STEP)) * UNIT_BYTES;
}

size_t gn_tile_scratch(int64_t rows, int64_t columns, int64_t inner)
{
    return packed_size(rows, inner) + packed_size(columns, inner);
}

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ON_TILES __attribute__((target("avx512f,avx512bw,amx-tile,amx-bf16")))
#define VECTORS  __attribute__((target("avx512f,avx512bw")))

static bool cpu_lists_tiles(void)
{
    enum { BF16 = 1 << 22, TILES = 1 << 24 };       /* of edx */
    enum { AVX512F = 1 << 16, AVX512BW = 1 << 30 }; /* of ebx */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & BF16) && (d & TILES) && (b & AVX512F) &&
           (b & AVX512BW);
}

bool gn_cpu_has_tiles(void)
{
    enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return cpu_lists_tiles() && syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
}

/* ---- packing: parts of numbers in tiles ---- */

/* An operand, line by line: the rows of a, the columns of b. */
typedef struct operand {
    const float *numbers;
    int64_t stride, lines, inner;
    bool along; /* a line's numbers lie together */
    bool pairs; /* a tile has rows of pairs, as b's, rather than rows of lines */
    char *packed;
} operand;

/* The upper half of each number is its first part; the rest goes on. */
VECTORS static inline __m512i take_part(__m512 *rest)
{
    __m512i part = _mm512_and_si512(_mm512_castps_si512(*rest), _mm512_set1_epi32(-65536));
    *rest = _mm512_sub_ps(*rest, _mm512_castsi512_ps(part));
    return part;
}

static inline __mmask16 first_lanes(int64_t count)
{
    return (__mmask16)(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

/* 16 lines of a step whose numbers lie together: rows of 32. */
VECTORS static void split_lines(const operand *o, int64_t line, int64_t at, __m512i *parts)
{
    const __m512i upper =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    __mmask16 left = first_lanes(o->inner - at), right = first_lanes(o->inner - at - 16);
    for (int64_t i = 0; i < TILE_ROWS; i++) {
        const float *from = o->numbers + (line + i) * o->stride + at;
        bool there = line + i < o->lines;
        __m512 a = there ? _mm512_maskz_loadu_ps(left, from) : _mm512_setzero_ps();
        __m512 b = there ? _mm512_maskz_loadu_ps(right, from + 16) : _mm512_setzero_ps();
        for (int p = 0; p < PARTS; p++) {
            __m512i first = take_part(&a), second = take_part(&b);
            parts[p * TILE_ROWS + i] = _mm512_permutex2var_epi16(first, upper, second);
        }
    }
}

/* The same of lines side by side: rows of 16 pairs. */
VECTORS static void split_pairs(const operand *o, int64_t line, int64_t at, __m512i *parts)
{
    __mmask16 lanes = first_lanes(o->lines - line);
    for (int64_t i = 0; i < TILE_ROWS; i++) {
        const float *from = o->numbers + (at + 2 * i) * o->stride + line;
        int64_t left = o->inner - at - 2 * i;
        __m512 a = left > 0 ? _mm512_maskz_loadu_ps(lanes, from) : _mm512_setzero_ps();
        __m512 b = left > 1 ? _mm512_maskz_loadu_ps(lanes, from + o->stride) : _mm512_setzero_ps();
        for (int p = 0; p < PARTS; p++) {
            __m512i first = take_part(&a), second = take_part(&b);
            parts[p * TILE_ROWS + i] = _mm512_or_si512(_mm512_srli_epi32(first, 16), second);
        }
    }
}

/* 16 x 16 pairs. */
VECTORS static void transpose(__m512i *rows)
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 4) {
        __m512i a = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        __m512i b = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
        __m512i c = _mm512_unpacklo_epi32(rows[i + 2], rows[i + 3]);
        __m512i d = _mm512_unpackhi_epi32(rows[i + 2], rows[i + 3]);
        t[i] = _mm512_unpacklo_epi64(a, c);
        t[i + 1] = _mm512_unpackhi_epi64(a, c);
        t[i + 2] = _mm512_unpacklo_epi64(b, d);
        t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    for (int i = 0; i < 4; i++) {
        __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
        __m512i b = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
        __m512i c = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
        __m512i d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
        rows[i] = _mm512_shuffle_i32x4(a, c, 0x88);
        rows[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        rows[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        rows[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

VECTORS static void pack_unit(const operand *o, int64_t panel, int64_t step)
{
    char *unit = o->packed + (panel * over(o->inner, STEP) + step) * UNIT_BYTES;
    for (int64_t half = 0; half < 2; half++) {
        __m512i parts[PARTS * TILE_ROWS];
        int64_t line = panel * PANEL + half * TILE_ROWS;
        if (o->along)
            split_lines(o, line, step * STEP, parts);
        else
            split_pairs(o, line, step * STEP, parts);
        for (int p = 0; p < PARTS; p++) {
            __m512i *rows = parts + (ptrdiff_t)p * TILE_ROWS;
            if (o->along == o->pairs)
                transpose(rows);
            memcpy(unit + (2 * p + half) * TILE_BYTES, rows, TILE_BYTES);
        }
    }
}

/* In the order in which the numbers lie. */
static void pack(const operand *o, int threads)
{
    int64_t panels = over(o->lines, PANEL), steps = over(o->inner, STEP);
    int64_t outer = o->along ? panels : steps, inner = o->along ? steps : panels;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++)
            pack_unit(o, o->along ? i : j, o->along ? j : i);
}

/* ---- multiplying ---- */

/* Tiles 0 to 3 are the result's, 4 and 5 a's, 6 and 7 b's. */
typedef struct tile_configuration {
    uint8_t palette, first_row, reserved[14];
    uint16_t bytes_of_row[16];
    uint8_t rows[16];
} tile_configuration;

ON_TILES static void start_tiles(void)
{
    tile_configuration c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.bytes_of_row[i] = 64;
        c.rows[i] = TILE_ROWS;
    }
    _tile_loadconfig(&c);
}

ON_TILES static void end_tiles(void)
{
    _tile_release();
}

/* A square of two by two tiles. */
typedef struct square {
    const char *a, *b; /* the first of `steps` units */
    int64_t steps;
    const float *start; /* what the tiles start with, NULL: zero */
    int64_t start_stride;
    float *result;
    int64_t stride;
} square;

#define LOAD_A(part)                                                                               \
    _tile_loadd(4, a + 2 * (part)*TILE_BYTES, 64);                                                 \
    _tile_loadd(5, a + (2 * (part) + 1) * TILE_BYTES, 64)
#define LOAD_B(part)                                                                               \
    _tile_loadd(6, b + 2 * (part)*TILE_BYTES, 64);                                                 \
    _tile_loadd(7, b + (2 * (part) + 1) * TILE_BYTES, 64)
#define MULTIPLY()                                                                                 \
    _tile_dpbf16ps(0, 4, 6);                                                                       \
    _tile_dpbf16ps(1, 4, 7);                                                                       \
    _tile_dpbf16ps(2, 5, 6);                                                                       \
    _tile_dpbf16ps(3, 5, 7)

ON_TILES static void start_square(const square *s)
{
    if (!s->start) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    size_t stride = (size_t)s->start_stride * sizeof(float);
    const float *below = s->start + TILE_ROWS * s->start_stride;
    _tile_loadd(0, s->start, stride);
    _tile_loadd(1, s->start + TILE_ROWS, stride);
    _tile_loadd(2, below, stride);
    _tile_loadd(3, below + TILE_ROWS, stride);
}

/* Pairs of parts in an order that changes one of them at a time. */
ON_TILES static void multiply_square(const square *s)
{
    start_square(s);
    const char *a = s->a, *b = s->b;
    for (int64_t i = 0; i < s->steps; i++, a += UNIT_BYTES, b += UNIT_BYTES) {
        LOAD_A(2);
        LOAD_B(0);
        MULTIPLY();
        LOAD_A(1);
        MULTIPLY();
        LOAD_B(1);
        MULTIPLY();
        LOAD_A(0);
        MULTIPLY();
        LOAD_B(2);
        MULTIPLY();
        LOAD_B(0);
        MULTIPLY();
    }
    size_t stride = (size_t)s->stride * sizeof(float);
    float *below = s->result + TILE_ROWS * s->stride;
    _tile_stored(0, s->result, stride);
    _tile_stored(1, s->result + TILE_ROWS, stride);
    _tile_stored(2, below, stride);
    _tile_stored(3, below + TILE_ROWS, stride);
}

/* A square of which only a part belongs to the result. */
static void multiply_part(square s, int64_t rows, int64_t columns)
{
    float numbers[PANEL * PANEL] = {0};
    float *result = s.result;
    int64_t stride = s.stride;
    for (int64_t i = 0; s.start && i < rows; i++)
        memcpy(numbers + i * PANEL, s.start + i * s.start_stride, (size_t)columns * sizeof(float));
    s.start = s.result = numbers;
    s.start_stride = s.stride = PANEL;
    multiply_square(&s);
    for (int64_t i = 0; i < rows; i++)
        memcpy(result + i * stride, numbers + i * PANEL, (size_t)columns * sizeof(float));
}

/* Squares that share what the second level of cache holds: a run of steps of both operands, and the
 * results. */
enum { ROW_PANELS = 8, COLUMN_PANELS = 12, RUN = 16 };

typedef struct block {
    int64_t row, row_end, column, column_end; /* panels */
} block;

static void multiply_panels(const gn_tile_product *p, int64_t row, int64_t column, int64_t step)
{
    int64_t steps = over(p->inner, STEP), i = row * PANEL, j = column * PANEL;
    const char *a = p->scratch, *b = a + packed_size(p->rows, p->inner);
    square s = {.a = a + (row * steps + step) * UNIT_BYTES,
                .b = b + (column * steps + step) * UNIT_BYTES,
                .steps = steps - step < RUN ? steps - step : RUN,
                .result = p->result.numbers + i * p->result.stride + j,
                .stride = p->result.stride};
    if (step > 0 || p->adds) {
        s.start = s.result;
        s.start_stride = s.stride;
    } else if (p->bias) {
        s.start = p->bias + j; /* every row starts alike */
    }
    int64_t rows = p->rows - i, columns = p->columns - j;
    if (rows >= PANEL && columns >= PANEL)
        multiply_square(&s);
    else
        multiply_part(s, rows < PANEL ? rows : PANEL, columns < PANEL ? columns : PANEL);
}

static void multiply_block(const gn_tile_product *p, const block *b)
{
    for (int64_t step = 0; step < over(p->inner, STEP); step += RUN)
        for (int64_t column = b->column; column < b->column_end; column++)
            for (int64_t row = b->row; row < b->row_end; row++)
                multiply_panels(p, row, column, step);
}

static block block_at(const gn_tile_product *p, int64_t across, int64_t down, int64_t index)
{
    int64_t i = index / across, j = index % across;
    int64_t rows = over(p->rows, PANEL), columns = over(p->columns, PANEL);
    return (block){i * rows / down, (i + 1) * rows / down, j * columns / across,
                   (j + 1) * columns / across};
}

/* No instruction of tiles stands here: LLVM 14 forgets the target in what it makes of a parallel
 * region. */
static void multiply_blocks(const gn_tile_product *p, int threads)
{
    int64_t down = over(over(p->rows, PANEL), ROW_PANELS);
    int64_t across = over(over(p->columns, PANEL), COLUMN_PANELS);
#pragma omp parallel num_threads(threads)
    {
        start_tiles();
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < down * across; i++) {
            block b = block_at(p, across, down, i);
            multiply_block(p, &b);
        }
        end_tiles();
    }
}

void gn_multiply_on_tiles(const gn_tile_product *p, int threads)
{
    char *packed = p->scratch;
    const operand a = {.numbers = p->a.numbers,
                       .stride = p->a.stride,
                       .lines = p->rows,
                       .inner = p->inner,
                       .along = !p->a.transposed,
                       .pairs = false,
                       .packed = packed};
    const operand b = {.numbers = p->b.numbers,
                       .stride = p->b.stride,
                       .lines = p->columns,
                       .inner = p->inner,
                       .along = p->b.transposed,
                       .pairs = true,
                       .packed = packed + packed_size(p->rows, p->inner)};
    pack(&a, threads);
    pack(&b, threads);
    multiply_blocks(p, threads);
}

#else

bool gn_cpu_has_tiles(void)
{
    return false;
}

void gn_multiply_on_tiles(const gn_tile_product *p, int threads)
{
    (void)p;
    (void)threads;
}

#endif
