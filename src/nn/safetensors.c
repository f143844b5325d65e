/* safetensors: 8 bytes of header length, a JSON header, then the tensors without gaps. A header is
 * believed only where the file's own size and the other tensors agree with it. */
#include "base/json.h"
#include "nn/weight_set.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8 };

typedef struct span {
    size_t begin, end; /* in the data after the header */
    const char *name;
} span;

typedef struct reader {
    gerne_ctx *ctx;
    gn_weights *weights;
    const unsigned char *data;
    size_t data_size;
    span *spans;
    size_t count;
} reader;

static gerne_status bad_entry(reader *r, const char *name, const char *what)
{
    char safe[GN_SAFE_TEXT];
    return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s': %s", gn_safe_text(name, strlen(name), safe),
                   what);
}

static gerne_status read_metadata(reader *r, const json_t *json)
{
    if (!json_is_object(json))
        return gn_fail(r->ctx, GERNE_EDATA, "__metadata__ is not an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (!json_is_string(value)) {
            char safe[GN_SAFE_TEXT];
            return gn_fail(r->ctx, GERNE_EDATA, "the metadata '%s' is not a string",
                           gn_safe_text(key, strlen(key), safe));
        }
        GN_TRY(gn_weights_add_metadata(r->ctx, r->weights, key, json_string_value(value)));
    }
    return GERNE_OK;
}

static gerne_status read_shape(reader *r, const json_t *shape, gn_weight *weight)
{
    if (!json_is_array(shape))
        return bad_entry(r, weight->name, "its shape is not a list");
    weight->ndims = json_array_size(shape);
    if (weight->ndims > GN_WEIGHT_DIMS)
        return bad_entry(r, weight->name, "its shape has more than 8 dimensions");
    for (size_t d = 0; d < weight->ndims; d++) {
        const json_t *dim = json_array_get(shape, d);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return bad_entry(r, weight->name, "its shape holds something other than sizes");
        weight->dims[d] = json_integer_value(dim);
    }
    if (!gn_weight_items(weight->dims, weight->ndims, gn_weight_type_size(weight->type),
                         &weight->count))
        return bad_entry(r, weight->name, "its shape is larger than any memory");
    return GERNE_OK;
}

static gerne_status read_offsets(reader *r, const json_t *offsets, const char *name, span *out)
{
    if (!json_is_array(offsets) || json_array_size(offsets) != 2)
        return bad_entry(r, name, "data_offsets is not a pair");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (!json_is_integer(begin) || !json_is_integer(end) || json_integer_value(begin) < 0 ||
        json_integer_value(end) < json_integer_value(begin))
        return bad_entry(r, name, "data_offsets is not a range");
    *out = (span){.begin = (size_t)json_integer_value(begin),
                  .end = (size_t)json_integer_value(end),
                  .name = name};
    if (out->end > r->data_size)
        return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' ends at byte %zu of %zu bytes of data",
                       name, out->end, r->data_size);
    return GERNE_OK;
}

static gerne_status read_type(reader *r, const json_t *json, gn_weight *weight)
{
    const char *name = json_string_value(json);
    if (!name)
        return bad_entry(r, weight->name, "it has no dtype");
    if (gn_weight_type_parse(name, &weight->type))
        return GERNE_OK;
    char safe[GN_SAFE_TEXT];
    return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' has the dtype '%s', which is not supported",
                   weight->name, gn_safe_text(name, strlen(name), safe));
}

static gerne_status read_tensor(reader *r, const char *name, const json_t *json)
{
    gn_weight *weight;
    GN_TRY(gn_weights_add(r->ctx, r->weights, name, strlen(name), &weight));
    if (!json_is_object(json) || json_object_size(json) != 3)
        return bad_entry(r, name, "its entry is not dtype, shape and data_offsets");
    GN_TRY(read_type(r, json_object_get(json, "dtype"), weight));
    GN_TRY(read_shape(r, json_object_get(json, "shape"), weight));
    span *at = &r->spans[r->count++];
    GN_TRY(read_offsets(r, json_object_get(json, "data_offsets"), weight->name, at));
    size_t need = weight->count * gn_weight_type_size(weight->type);
    if (at->end - at->begin != need) {
        char shape[GN_SHAPE_TEXT];
        return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' has %zu bytes, %s %s needs %zu", name,
                       at->end - at->begin, gn_weight_type_name(weight->type),
                       gn_shape_text(weight->dims, weight->ndims, shape), need);
    }
    weight->bytes = r->data + at->begin;
    gn_weight_set_contiguous(weight);
    return GERNE_OK;
}

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Sorted by place, the tensors must tile the data. */
static gerne_status check_tiling(reader *r)
{
    qsort(r->spans, r->count, sizeof *r->spans, compare_spans);
    size_t end = 0;
    for (size_t i = 0; i < r->count; i++) {
        const span *s = &r->spans[i];
        if (s->begin < end)
            return gn_fail(r->ctx, GERNE_EDATA, "tensors '%s' and '%s' overlap",
                           r->spans[i - 1].name, s->name);
        if (s->begin > end)
            return gn_fail(r->ctx, GERNE_EDATA, "%zu bytes before tensor '%s' belong to no tensor",
                           s->begin - end, s->name);
        end = s->end;
    }
    if (end != r->data_size)
        return gn_fail(r->ctx, GERNE_EDATA, "%zu bytes after the last tensor belong to no tensor",
                       r->data_size - end);
    return GERNE_OK;
}

static gerne_status read_entries(reader *r, const json_t *header)
{
    GN_TRY(
        gn_alloc(r->ctx, json_object_size(header), sizeof *r->spans, "tensor ranges", &r->spans));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)header, key, value)
    {
        if (strcmp(key, "__metadata__") == 0)
            GN_TRY(read_metadata(r, value));
        else
            GN_TRY(read_tensor(r, key, value));
    }
    return check_tiling(r);
}

gerne_status gn_safetensors_read(gerne_ctx *ctx, const unsigned char *bytes, size_t size,
                                 gn_weights *weights)
{
    uint64_t length = 0;
    for (int i = LENGTH_BYTES; i-- > 0;)
        length = length << 8 | bytes[i];
    size_t left = size - LENGTH_BYTES;
    if (length > left)
        return gn_fail(ctx, GERNE_EDATA, "the header claims %llu bytes, the file has %zu left",
                       (unsigned long long)length, left);
    if (length > GN_WEIGHTS_HEADER_MAX)
        return gn_fail(ctx, GERNE_EDATA, "the header has %llu bytes, more than the limit of %d",
                       (unsigned long long)length, GN_WEIGHTS_HEADER_MAX);
    json_t *header;
    GN_TRY(gn_json_parse(ctx, (const char *)bytes + LENGTH_BYTES, (size_t)length, "the header",
                         &header));
    reader r = {.ctx = ctx,
                .weights = weights,
                .data = bytes + LENGTH_BYTES + length,
                .data_size = left - (size_t)length};
    gerne_status status = json_is_object(header)
                              ? read_entries(&r, header)
                              : gn_fail(ctx, GERNE_EDATA, "the header is not a JSON object");
    gn_free(r.spans);
    json_decref(header);
    return status;
}
