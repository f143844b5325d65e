/* field.h - what one sample consists of: named arrays that data offer and networks take. */
#ifndef GN_BASE_FIELD_H
#define GN_BASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* what plug-ins may call */

enum { GN_FIELDS_MAX = 2, GN_FIELD_DIMS_MAX = 3 };

typedef enum gn_element {
    GN_ELEMENT_U8,
    GN_ELEMENT_F32,
    GN_ELEMENT_I32,
    GN_ELEMENT_F16, /* see base/half.h */
} gn_element;

typedef struct gn_field {
    const char *name;   /* static: GN_FIELD_PIXELS, ... */
    gn_element element; /* of the sample in memory */
    int ndims;
    /* As networks see it: pixels are [channels][height][width], though bytes lie in memory as
     * [height][width][channels]; features are [width]; tokens are [the most of a sample], though
     * only as many ids as its length says lie in memory. */
    int64_t dims[GN_FIELD_DIMS_MAX];
    int64_t below; /* of integers: all are less, such as the size of a vocabulary; 0: unknown */
} gn_field;

#define GN_FIELD_PIXELS   "pixels"
#define GN_FIELD_FEATURES "features"
#define GN_FIELD_TOKENS   "tokens"
#define GN_FIELD_LENGTH   "length"

typedef struct gn_sample_shape {
    int count;
    gn_field fields[GN_FIELDS_MAX];
} gn_sample_shape;

gn_sample_shape gn_pixels_shape(int64_t channels, int64_t height, int64_t width);
gn_sample_shape gn_features_shape(int64_t width);
/* Texts: up to max_tokens ids, and how many there are. Sets no limit to the ids ("below"). */
gn_sample_shape gn_tokens_shape(int64_t max_tokens);

/* The field of that name, borrowed from the shape, or NULL; its place among the fields, or -1. */
const gn_field *gn_shape_field(const gn_sample_shape *shape, const char *name);
int gn_shape_find(const gn_sample_shape *shape, const char *name);

int64_t gn_field_size(const gn_field *field); /* elements */
bool gn_shapes_equal(const gn_sample_shape *a, const gn_sample_shape *b);
/* Whether samples go into a network of that shape: equal ones, and texts that are no longer. What
 * their tokens are below is another matter. */
bool gn_shape_fits(const gn_sample_shape *network, const gn_sample_shape *samples);

/* "images of 224 x 224 pixels" or "texts of up to 220 tokens", for messages. */
void gn_shape_words(const gn_sample_shape *shape, char *buffer, size_t size);

#pragma GCC visibility pop

#endif
