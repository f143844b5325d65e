#include "base/file.h"
#include "base/json.h"
#include "base/json_memory.h"
#include "nn/weight_set.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_ALIGNMENT = 8 };

static gerne_status no_json(gerne_ctx *ctx)
{
    return gn_fail(ctx, GERNE_ENOMEM, "no memory for a safetensors header");
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(const gn_metadata *const *)a)->key, (*(const gn_metadata *const *)b)->key);
}

static gerne_status add_metadata(gerne_ctx *ctx, json_t *header, const gn_metadata *metadata,
                                 size_t count)
{
    if (count == 0)
        return GERNE_OK;
    json_t *object = json_object();
    if (!object || json_object_set_new(header, "__metadata__", object) != 0)
        return no_json(ctx);
    GN_FREED const gn_metadata **sorted = NULL;
    GN_TRY(gn_alloc(ctx, count, sizeof(void *), "metadata", &sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &metadata[i];
    qsort(sorted, count, sizeof(void *), compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (json_object_get(object, sorted[i]->key))
            return gn_fail(ctx, GERNE_EUSAGE, "the metadata '%s' is given twice", sorted[i]->key);
        else if (json_object_set_new(object, sorted[i]->key, json_string(sorted[i]->value)) != 0)
            return gn_fail(ctx, GERNE_EUSAGE, "the metadata '%s' is not UTF-8", sorted[i]->key);
    }
    return GERNE_OK;
}

static gerne_status add_tensor(gerne_ctx *ctx, json_t *header, gn_weight_type type,
                               const gn_weight_out *tensor, size_t *offset)
{
    size_t items, begin = *offset;
    if (tensor->ndims > GN_WEIGHT_DIMS ||
        !gn_weight_items(tensor->dims, tensor->ndims, gn_weight_type_size(type), &items) ||
        __builtin_add_overflow(begin, items * gn_weight_type_size(type), offset) ||
        *offset > INT64_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "tensor '%s' has an impossible shape", tensor->name);
    if (strcmp(tensor->name, "__metadata__") == 0 || json_object_get(header, tensor->name))
        return gn_fail(ctx, GERNE_EUSAGE, "the tensor name '%s' is used twice", tensor->name);
    json_t *shape = json_array();
    for (size_t d = 0; d < tensor->ndims; d++) {
        if (json_array_append_new(shape, json_integer(tensor->dims[d])) != 0) {
            json_decref(shape);
            return no_json(ctx);
        }
    }
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", gn_weight_type_name(type), "shape",
                              shape, "data_offsets", (json_int_t)begin, (json_int_t)*offset);
    if (!entry)
        return no_json(ctx);
    if (json_object_set_new(header, tensor->name, entry) != 0)
        return gn_fail(ctx, GERNE_EUSAGE, "the tensor name '%s' is not UTF-8", tensor->name);
    return GERNE_OK;
}

static gerne_status print_header(gerne_ctx *ctx, const json_t *header, gn_text *out)
{
    GN_TRY(gn_json_print_line(ctx, header, out));
    out->size--; /* the line end */
    while (out->size % HEADER_ALIGNMENT != 0)
        GN_TRY(gn_text_add_bytes(ctx, out, " ", 1));
    if (out->size > GN_WEIGHTS_HEADER_MAX) /* we would not read it back */
        return gn_fail(ctx, GERNE_EUSAGE, "a safetensors header of %zu bytes is above %d",
                       out->size, GN_WEIGHTS_HEADER_MAX);
    return GERNE_OK;
}

static gerne_status make_header(gerne_ctx *ctx, gn_weight_type type, const gn_weight_out *tensors,
                                size_t count, const gn_metadata *metadata, size_t metadata_count,
                                gn_text *out)
{
    GN_LOCAL(json_t) *header = json_object();
    if (!header)
        return no_json(ctx);
    size_t offset = 0;
    gerne_status status = add_metadata(ctx, header, metadata, metadata_count);
    for (size_t i = 0; i < count && status == GERNE_OK; i++)
        status = add_tensor(ctx, header, type, &tensors[i], &offset);
    if (status == GERNE_OK)
        return print_header(ctx, header, out);
    return gn_json_memory_failed() ? no_json(ctx) : status; /* whatever it looked like */
}

static gerne_status write_tensor(gerne_ctx *ctx, gn_writer *writer, gn_weight_type type,
                                 const gn_weight_out *tensor)
{
    GN_FREED float *made = NULL;
    const float *data = tensor->data;
    size_t items = 1;
    for (size_t d = 0; d < tensor->ndims; d++)
        items *= (size_t)tensor->dims[d];
    if (!data) {
        GN_TRY(gn_alloc(ctx, items, sizeof *made, "a tensor", &made));
        GN_TRY(tensor->get(ctx, tensor, made));
        data = made;
    }
    GN_TRY(gn_weight_check_range(ctx, tensor->name, type, data, items));
    return gn_weight_write(writer, type, data, items);
}

static gerne_status write_all(gerne_ctx *ctx, gn_writer *writer, gn_weight_type type,
                              const gn_text *header, const gn_weight_out *tensors, size_t count)
{
    unsigned char length[8];
    gn_weight_store(length, header->size, sizeof length);
    GN_TRY(gn_write(writer, length, sizeof length));
    GN_TRY(gn_write(writer, header->bytes, header->size));
    for (size_t i = 0; i < count; i++)
        GN_TRY(write_tensor(ctx, writer, type, &tensors[i]));
    return GERNE_OK;
}

gerne_status gn_safetensors_write(gerne_ctx *ctx, const char *path, gn_weight_type type,
                                  const gn_weight_out *tensors, size_t count,
                                  const gn_metadata *metadata, size_t metadata_count)
{
    if (type != GN_WEIGHT_F32 && type != GN_WEIGHT_F16 && type != GN_WEIGHT_BF16)
        return gn_fail(ctx, GERNE_EUSAGE, "weights are written as F32, F16 or BF16, not as %s",
                       gn_weight_type_name(type));
    GN_LOCAL(gn_text) header = {0};
    GN_LOCAL(gn_writer) *writer = NULL;
    GN_TRY(make_header(ctx, type, tensors, count, metadata, metadata_count, &header));
    GN_TRY(gn_write_open(ctx, path, &writer));
    GN_TRY(write_all(ctx, writer, type, &header, tensors, count));
    return gn_write_commit(&writer);
}
