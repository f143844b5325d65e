/* pickle.h - reads the pickles that torch.save writes for dictionaries of tensors; runs nothing.
 *
 * Only the opcodes of such pickles are known, and only a handful of names may be called; each has a
 * fixed meaning here. Everything else is refused by name. Time and memory are linear in the size of
 * the pickle. */
#ifndef GN_NN_PICKLE_H
#define GN_NN_PICKLE_H

#include "nn/weights.h"

typedef enum gn_pickle_kind {
    GN_PICKLE_PLAIN, /* None, a float, a list: nobody asks for its value */
    GN_PICKLE_BOOL,
    GN_PICKLE_INT,
    GN_PICKLE_TEXT,
    GN_PICKLE_TUPLE,
    GN_PICKLE_LIST,
    GN_PICKLE_DICT,
    GN_PICKLE_GLOBAL,
    GN_PICKLE_STORAGE,
    GN_PICKLE_TENSOR,
} gn_pickle_kind;

typedef struct gn_pickle_value gn_pickle_value;

typedef struct gn_pickle_pair {
    const gn_pickle_value *key, *value;
    struct gn_pickle_pair *next;
} gn_pickle_pair;

typedef struct gn_pickle_text {
    const char *bytes; /* borrowed from the pickle, not terminated */
    size_t size;
} gn_pickle_text;

typedef struct gn_pickle_storage {
    gn_weight_type type;
    gn_pickle_text key; /* names the archive's entry */
    int64_t count;      /* of items; >= 0 */
} gn_pickle_storage;

typedef struct gn_pickle_tensor {
    const gn_pickle_storage *storage;
    int64_t offset; /* of the first item; this and the others are as the pickle claims */
    size_t ndims;
    int64_t dims[GN_WEIGHT_DIMS], strides[GN_WEIGHT_DIMS];
} gn_pickle_tensor;

struct gn_pickle_value {
    gn_pickle_kind kind;
    union {
        int64_t integer;
        gn_pickle_text text;
        struct {
            const gn_pickle_value **items;
            size_t count;
        } tuple;
        struct {
            gn_pickle_pair *first, *last;
            bool holds_tensors; /* among its values */
        } dict;
        const struct gn_pickle_global *global; /* private to pickle.c */
        const gn_pickle_storage *storage;
        const gn_pickle_tensor *tensor;
    } as;
};

/* The value belongs to the arena and borrows from bytes. Failures are GERNE_EDATA without a file
 * name. */
GERNE_CHECKED gerne_status gn_pickle_parse(gerne_ctx *ctx, gn_arena *arena,
                                           const unsigned char *bytes, size_t size,
                                           const gn_pickle_value **out);

bool gn_pickle_is_text(const gn_pickle_value *value, const char *text);

#endif
