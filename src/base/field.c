#include "base/field.h"

#include <stdio.h>
#include <string.h>

gn_sample_shape gn_pixels_shape(int64_t channels, int64_t height, int64_t width)
{
    return (gn_sample_shape){
        .count = 1, .fields = {{GN_FIELD_PIXELS, GN_ELEMENT_U8, 3, {channels, height, width}, 0}}};
}

gn_sample_shape gn_features_shape(int64_t width)
{
    return (gn_sample_shape){.count = 1,
                             .fields = {{GN_FIELD_FEATURES, GN_ELEMENT_F32, 1, {width}, 0}}};
}

gn_sample_shape gn_tokens_shape(int64_t max_tokens)
{
    return (gn_sample_shape){.count = 2,
                             .fields = {{GN_FIELD_TOKENS, GN_ELEMENT_I32, 1, {max_tokens}, 0},
                                        {GN_FIELD_LENGTH, GN_ELEMENT_I32, 1, {1}, 0}}};
}

int gn_shape_find(const gn_sample_shape *shape, const char *name)
{
    for (int i = 0; i < shape->count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return i;
    return -1;
}

const gn_field *gn_shape_field(const gn_sample_shape *shape, const char *name)
{
    int i = gn_shape_find(shape, name);
    return i < 0 ? NULL : &shape->fields[i];
}

int64_t gn_field_size(const gn_field *field)
{
    int64_t size = 1;
    for (int i = 0; i < field->ndims; i++)
        size *= field->dims[i];
    return size;
}

bool gn_shapes_equal(const gn_sample_shape *a, const gn_sample_shape *b)
{
    bool equal = a->count == b->count;
    for (int i = 0; equal && i < a->count; i++) {
        const gn_field *f = &a->fields[i], *g = &b->fields[i];
        equal = strcmp(f->name, g->name) == 0 && f->element == g->element && f->ndims == g->ndims &&
                memcmp(f->dims, g->dims, (size_t)f->ndims * sizeof f->dims[0]) == 0;
    }
    return equal;
}

bool gn_shape_fits(const gn_sample_shape *network, const gn_sample_shape *samples)
{
    int ours = gn_shape_find(network, GN_FIELD_TOKENS);
    int theirs = gn_shape_find(samples, GN_FIELD_TOKENS);
    if (ours >= 0 && theirs >= 0)
        return samples->fields[theirs].dims[0] <= network->fields[ours].dims[0];
    return gn_shapes_equal(network, samples);
}

void gn_shape_words(const gn_sample_shape *shape, char *buffer, size_t size)
{
    const gn_field *pixels = gn_shape_field(shape, GN_FIELD_PIXELS);
    const gn_field *features = gn_shape_field(shape, GN_FIELD_FEATURES);
    const gn_field *tokens = gn_shape_field(shape, GN_FIELD_TOKENS);
    if (tokens)
        snprintf(buffer, size, "texts of up to %lld tokens", (long long)tokens->dims[0]);
    else if (pixels)
        snprintf(buffer, size, "images of %lld x %lld pixels", (long long)pixels->dims[1],
                 (long long)pixels->dims[2]);
    else
        snprintf(buffer, size, "rows of %lld features",
                 features ? (long long)features->dims[0] : 0);
}
