/* npy.h - NumPy's arrays: .npy files and the .npz archives that hold several of them. */
#ifndef GN_DATA_NPY_H
#define GN_DATA_NPY_H

#include "base/text.h"

/* What a header says; at most two dimensions. */
typedef struct gn_npy {
    char kind;   /* f, i, u, b, U or S */
    size_t item; /* bytes of an item */
    bool fortran;
    size_t dimensions, shape[2]; /* shape[1] is 1 for one dimension */
    size_t offset;               /* of the first item */
    size_t size;                 /* of all items, in bytes */
} gn_npy;

/* Reads the header from the first bytes of a file (name stands for it in messages). Big-endian
 * arrays, other types and more dimensions are GERNE_EDATA. Whether the items are all there is the
 * caller's to check. */
GERNE_CHECKED gerne_status gn_npy_parse(gerne_ctx *ctx, const char *name, const void *bytes,
                                        size_t size, gn_npy *out);

/* Item (row, column) as a number; kinds f, i, u and b. */
double gn_npy_number(const gn_npy *array, const unsigned char *items, size_t row, size_t column);

/* The whole matrix of kind f or u8 as floats. */
void gn_npy_floats(const gn_npy *array, const unsigned char *items, float *out);

/* Appends item i of a vector as text: whole numbers in digits, strings in UTF-8. */
GERNE_CHECKED gerne_status gn_npy_text(gerne_ctx *ctx, const gn_npy *array, const char *name,
                                       const unsigned char *items, size_t i, gn_text *out);

/* One array of an archive. */
typedef struct gn_npz_member {
    const char *name; /* asked for, such as "x"; NULL for nothing */
    const char *key;  /* what named it ("data.x") when it has to be there, or NULL */
    bool found;
    gn_npy array;
    unsigned char *items; /* array.size bytes; the caller frees */
} gn_npz_member;

/* Reads the members with the given names; others are skipped. Together they may need limit bytes.
 * Members that are not there stay found = false, or fail when they have a key. On failure nothing
 * is to be freed. */
GERNE_CHECKED gerne_status gn_npz_read(gerne_ctx *ctx, const char *path, size_t limit,
                                       gn_npz_member *members, size_t count);
/* The same from memory, for tests and fuzzing. */
GERNE_CHECKED gerne_status gn_npz_parse(gerne_ctx *ctx, const char *name, const void *bytes,
                                        size_t size, size_t limit, gn_npz_member *members,
                                        size_t count);
void gn_npz_free(gn_npz_member *members, size_t count);

#endif
