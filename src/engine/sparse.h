/* sparse.h - products with a matrix most of whose numbers are zero, such as drawings, counts of
 * words, or columns that stand for one value each. Zeros are found while the program runs; the
 * rest is multiplied row by row, in an order that does not depend on the number of threads.
 */
#ifndef GN_ENGINE_SPARSE_H
#define GN_ENGINE_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GN_SPARSE_WIDTH_MIN = 16 }; /* of what it is multiplied with */

typedef struct gn_sparse {
    const float *numbers; /* [rows][columns] */
    int64_t rows, columns;
    uint64_t *found; /* gn_sparse_size bytes: a bit for each number, set unless it is zero */
} gn_sparse;

size_t gn_sparse_size(int64_t rows, int64_t columns);

/* Fills `found`; false when a dense product is faster. */
bool gn_sparse_find(const gn_sparse *x);
/* Looks at each row by itself and leaves out those for which a dense product is faster; false when
 * there are any. */
bool gn_sparse_find_rows(const gn_sparse *x);

/* y[rows][width] = x w + bias, where w is [columns][width]; with ReLU when asked. Of rows that were
 * left out y stays, but for the ReLU. */
void gn_sparse_forward(const gn_sparse *x, const float *w, const float *bias, int64_t width,
                       bool relu, float *y);

/* dw[columns][width] = x' dy, or added to it. */
void gn_sparse_backward(const gn_sparse *x, const float *dy, int64_t width, bool add, float *dw);

#endif
