#include "nn/weight_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
#define TYPE_ROW(name, size) [GN_WEIGHT_##name] = {#name, size},
    GN_WEIGHT_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

const char *gn_weight_type_name(gn_weight_type type)
{
    return types[type].name;
}

size_t gn_weight_type_size(gn_weight_type type)
{
    return types[type].size;
}

bool gn_weight_type_parse(const char *name, gn_weight_type *out)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = (gn_weight_type)i;
            return true;
        }
    }
    return false;
}

bool gn_weight_items(const int64_t *dims, size_t ndims, size_t item_size, size_t *count)
{
    size_t items = 1, bytes;
    for (size_t d = 0; d < ndims; d++) {
        if (dims[d] < 0 || !gn_multiply(items, (size_t)dims[d], &items))
            return false;
    }
    *count = items;
    return gn_multiply(items, item_size, &bytes) && bytes <= PTRDIFF_MAX;
}

void gn_weight_set_contiguous(gn_weight *weight)
{
    int64_t stride = 1;
    for (size_t d = weight->ndims; d-- > 0;) {
        weight->strides[d] = stride;
        stride *= weight->count ? weight->dims[d] : 1; /* an empty tensor is never walked */
    }
    weight->contiguous = true;
}

const char *gn_shape_text(const int64_t *dims, size_t ndims, char buffer[GN_SHAPE_TEXT])
{
    size_t used = 1;
    buffer[0] = '[';
    for (size_t d = 0; d < ndims; d++)
        used += (size_t)snprintf(buffer + used, GN_SHAPE_TEXT - used, "%s%lld", d ? ", " : "",
                                 (long long)dims[d]);
    snprintf(buffer + used, GN_SHAPE_TEXT - used, "]");
    return buffer;
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || (unsigned char)c == 0x7f;
}

const char *gn_safe_text(const char *bytes, size_t size, char buffer[GN_SAFE_TEXT])
{
    enum { SHOWN = GN_SAFE_TEXT - 4 };
    size_t used = SHOWN;
    if (size < used)
        used = size;
    for (size_t i = 0; i < used; i++)
        buffer[i] = is_control(bytes[i]) || (bytes[i] & 0x80) ? '?' : bytes[i];
    memcpy(buffer + used, size > SHOWN ? "..." : "", size > SHOWN ? 4 : 1);
    return buffer;
}

static gerne_status check_name(gerne_ctx *ctx, const char *name, size_t size)
{
    char safe[GN_SAFE_TEXT];
    if (size == 0)
        return gn_fail(ctx, GERNE_EDATA, "a tensor has an empty name");
    if (size > GN_WEIGHT_NAME_MAX)
        return gn_fail(ctx, GERNE_EDATA, "the tensor name '%s' has %zu bytes, more than %d",
                       gn_safe_text(name, size, safe), size, GN_WEIGHT_NAME_MAX);
    for (size_t i = 0; i < size; i++) {
        if (is_control(name[i]))
            return gn_fail(ctx, GERNE_EDATA, "the tensor name '%s' has a control character",
                           gn_safe_text(name, size, safe));
    }
    return GERNE_OK;
}

gerne_status gn_weights_add(gerne_ctx *ctx, gn_weights *weights, const char *name, size_t name_size,
                            gn_weight **out)
{
    *out = NULL;
    GN_TRY(check_name(ctx, name, name_size));
    if (weights->count == GN_WEIGHTS_MAX)
        return gn_fail(ctx, GERNE_EDATA, "more than %d tensors", GN_WEIGHTS_MAX);
    GN_TRY(gn_grow(ctx, &weights->list, &weights->capacity, weights->count + 1,
                   sizeof *weights->list, "a list of tensors"));
    char *copy;
    GN_TRY(gn_arena_alloc(ctx, weights->arena, name_size + 1, 1, &copy));
    memcpy(copy, name, name_size);
    *out = &weights->list[weights->count++];
    **out = (gn_weight){.name = copy, .source = weights->source};
    return GERNE_OK;
}

gerne_status gn_weights_add_metadata(gerne_ctx *ctx, gn_weights *weights, const char *key,
                                     const char *value)
{
    GN_TRY(gn_grow(ctx, &weights->metadata, &weights->metadata_capacity,
                   weights->metadata_count + 1, sizeof *weights->metadata, "metadata"));
    gn_metadata pair;
    GN_TRY(gn_arena_copy_text(ctx, weights->arena, key, &pair.key));
    GN_TRY(gn_arena_copy_text(ctx, weights->arena, value, &pair.value));
    weights->metadata[weights->metadata_count++] = pair;
    return GERNE_OK;
}

static int compare_names(const void *a, const void *b, void *user)
{
    const gn_weight *list = user;
    return strcmp(list[*(const size_t *)a].name, list[*(const size_t *)b].name);
}

static gerne_status index_names(gerne_ctx *ctx, gn_weights *weights)
{
    GN_TRY(gn_alloc(ctx, weights->count, sizeof *weights->by_name, "an index of tensors",
                    &weights->by_name));
    for (size_t i = 0; i < weights->count; i++)
        weights->by_name[i] = i;
    qsort_r(weights->by_name, weights->count, sizeof *weights->by_name, compare_names,
            weights->list);
    for (size_t i = 1; i < weights->count; i++) {
        const char *name = weights->list[weights->by_name[i]].name;
        if (strcmp(name, weights->list[weights->by_name[i - 1]].name) == 0)
            return gn_fail(ctx, GERNE_EDATA, "tensor '%s' appears twice", name);
    }
    return GERNE_OK;
}

static gerne_status read_any(gerne_ctx *ctx, const unsigned char *bytes, size_t size,
                             gn_weights *weights)
{
    static const unsigned char zip[] = {'P', 'K', 3, 4};
    enum { PICKLE = 0x80, LENGTH = 8 };
    if (size == 0)
        return gn_fail(ctx, GERNE_EDATA, "the file is empty");
    if (size >= sizeof zip && memcmp(bytes, zip, sizeof zip) == 0)
        return gn_pth_read(ctx, bytes, size, weights);
    if (size > LENGTH && bytes[LENGTH] == '{')
        return gn_safetensors_read(ctx, bytes, size, weights);
    if (bytes[0] == PICKLE) {
        gerne_status status = gn_fail(ctx, GERNE_EDATA, "a bare pickle is not supported");
        gn_hint(ctx, "save it again with PyTorch 1.6 or later: torch.save(torch.load(OLD), NEW)");
        return status;
    }
    gerne_status status =
        gn_fail(ctx, GERNE_EDATA, "neither a safetensors file nor a PyTorch zip file");
    gn_hint(ctx, "weights are read from .safetensors files and from what torch.save writes");
    return status;
}

static gerne_status fill(gerne_ctx *ctx, const unsigned char *bytes, size_t size,
                         const char *source, gn_weights *weights)
{
    GN_TRY(gn_arena_new(ctx, &weights->arena));
    GN_TRY(gn_arena_copy_text(ctx, weights->arena, source, &weights->source));
    gerne_status status = read_any(ctx, bytes, size, weights);
    if (status == GERNE_OK)
        status = index_names(ctx, weights);
    return status == GERNE_EDATA ? gn_fail_in(ctx, status, "'%s'", source) : status;
}

gerne_status gn_weights_parse(gerne_ctx *ctx, const void *bytes, size_t size, const char *source,
                              gn_weights **out)
{
    *out = NULL;
    GN_LOCAL(gn_weights) *weights = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *weights, "weights", &weights));
    GN_TRY(fill(ctx, bytes, size, source, weights));
    return gn_give(&weights, out);
}

gerne_status gn_weights_open(gerne_ctx *ctx, const char *path, gn_weights **out)
{
    *out = NULL;
    GN_LOCAL(gn_map) map = {0};
    GN_TRY(gn_map_open(ctx, path, &map));
    GN_TRY(gn_weights_parse(ctx, map.bytes, map.size, path, out));
    (*out)->map = map;
    map = (gn_map){0};
    return GERNE_OK;
}

void gn_weights_close(gn_weights *weights)
{
    if (!weights)
        return;
    gn_map_close(&weights->map);
    gn_arena_close(weights->arena);
    gn_free(weights->list);
    gn_free(weights->by_name);
    gn_free(weights->metadata);
    gn_free(weights);
}

size_t gn_weights_count(const gn_weights *weights)
{
    return weights->count;
}

const gn_weight *gn_weights_at(const gn_weights *weights, size_t i)
{
    return &weights->list[i];
}

static bool ends_with(const char *text, const char *tail)
{
    size_t size = strlen(text), length = strlen(tail);
    return size >= length && strcmp(text + size - length, tail) == 0 &&
           (size == length || text[size - length - 1] == '.');
}

const gn_weight *gn_weights_find_end(const gn_weights *weights, const char *name)
{
    for (size_t i = 0; i < weights->count; i++)
        if (ends_with(weights->list[i].name, name))
            return &weights->list[i];
    return NULL;
}

const gn_weight *gn_weights_find(const gn_weights *weights, const char *name)
{
    size_t low = 0, high = weights->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const gn_weight *weight = &weights->list[weights->by_name[middle]];
        int order = strcmp(name, weight->name);
        if (order == 0)
            return weight;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *gn_weights_metadata(const gn_weights *weights, const char *key)
{
    for (size_t i = 0; i < weights->metadata_count; i++) {
        if (strcmp(weights->metadata[i].key, key) == 0)
            return weights->metadata[i].value;
    }
    return NULL;
}

size_t gn_weights_metadata_count(const gn_weights *weights)
{
    return weights->metadata_count;
}

const char *gn_weights_metadata_key(const gn_weights *weights, size_t i)
{
    return weights->metadata[i].key;
}
