/* tile_product.h - products of fp32 matrices on the tiles of AMX.
 *
 * Tiles multiply bfloat16 and add in fp32, sixteen times as many numbers a cycle as vectors of
 * fp32. A number of fp32 is the exact sum of three of bfloat16, of 8 bits each. Of the nine
 * products of the parts of two numbers the six largest are added; what the others would add is, on
 * average, 2^-24 of the product, as much as fp32's rounding. Sums are as precise as in fp32.
 *
 * Every number of the result is one sum in one order, whatever the number of threads. */
#ifndef GN_ENGINE_TILE_PRODUCT_H
#define GN_ENGINE_TILE_PRODUCT_H

#include <stddef.h>

#include "engine/kernels.h"

/* Whether the CPU has tiles, and Linux lets this process use them. */
bool gn_cpu_has_tiles(void);

typedef struct gn_tile_product {
    int64_t rows, columns, inner;
    gn_matrix a, b, result; /* [rows][inner], [inner][columns], [rows][columns] */
    const float *bias;      /* of each column, or NULL */
    bool adds;              /* to the result; then there is no bias */
    void *scratch;          /* gn_tile_scratch bytes, at a multiple of 64 */
} gn_tile_product;

size_t gn_tile_scratch(int64_t rows, int64_t columns, int64_t inner);

/* result = a b + bias, or result += a b; only where gn_cpu_has_tiles. */
void gn_multiply_on_tiles(const gn_tile_product *product, int threads);

#endif
