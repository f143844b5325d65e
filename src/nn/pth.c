/* What torch.save writes since 1.6: a zip archive NAME/ with data.pkl (a pickle that describes the
 * tensors) and data/KEY (the storages, raw). */
#include "nn/pickle.h"
#include "nn/weight_set.h"
#include "nn/zip.h"

#include <string.h>

typedef struct reader {
    gerne_ctx *ctx;
    gn_weights *weights;
    gn_zip zip;
    const char *root; /* "NAME/", not terminated */
    size_t root_size;
} reader;

static const gn_zip_entry *find(const reader *r, const char *name)
{
    return gn_zip_find(&r->zip, r->root, r->root_size, name, strlen(name));
}

/* The root is whatever stands before data.pkl in the first directory. */
static gerne_status find_root(reader *r)
{
    static const char wanted[] = "/data.pkl";
    size_t size = sizeof wanted - 1;
    for (size_t i = 0; i < r->zip.count && !r->root; i++) {
        const gn_zip_entry *entry = &r->zip.entries[i];
        const char *slash = memchr(entry->name, '/', entry->name_size);
        if (slash && (size_t)(entry->name + entry->name_size - slash) == size &&
            memcmp(slash, wanted, size) == 0) {
            r->root = entry->name;
            r->root_size = (size_t)(slash - entry->name) + 1;
        }
    }
    if (!r->root)
        return gn_fail(r->ctx, GERNE_EDATA,
                       "the zip archive has no data.pkl: torch.save did not "
                       "write it");
    if (find(r, "constants.pkl")) {
        gerne_status status =
            gn_fail(r->ctx, GERNE_EDATA, "a TorchScript archive is a program, which is refused");
        gn_hint(r->ctx, "save its tensors: torch.save(torch.jit.load(OLD).state_dict(), NEW)");
        return status;
    }
    const gn_zip_entry *order = find(r, "byteorder");
    if (order)
        GN_TRY(gn_zip_check_stored(r->ctx, order));
    if (order && (order->size != 6 || memcmp(order->bytes, "little", 6) != 0))
        return gn_fail(r->ctx, GERNE_EDATA, "the tensors are not little endian");
    return GERNE_OK;
}

static bool is_contiguous(const gn_weight *weight)
{
    int64_t expected = 1;
    for (size_t d = weight->ndims; d-- > 0;) {
        if (weight->dims[d] != 1 && weight->strides[d] != expected)
            return false;
        expected *= weight->dims[d];
    }
    return true;
}

/* Every item must lie in the storage, and a storage is not repeated to make a tensor larger. */
static gerne_status place(const reader *r, const gn_pickle_tensor *tensor, gn_weight *weight)
{
    size_t item_size = gn_weight_type_size(weight->type);
    char shape[GN_SHAPE_TEXT];
    gn_shape_text(tensor->dims, tensor->ndims, shape);
    if (!gn_weight_items(weight->dims, weight->ndims, item_size, &weight->count) ||
        tensor->offset < 0)
        return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' has the impossible shape %s", weight->name,
                       shape);
    if (weight->count == 0) {
        gn_weight_set_contiguous(weight);
        return GERNE_OK;
    }
    int64_t last = tensor->offset; /* the farthest item */
    for (size_t d = 0; d < tensor->ndims; d++) {
        int64_t reach;
        if (tensor->strides[d] < 0 ||
            __builtin_mul_overflow(tensor->dims[d] - 1, tensor->strides[d], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' has impossible strides", weight->name);
    }
    if (weight->count > (size_t)tensor->storage->count && last < tensor->storage->count) {
        gerne_status status = gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' of shape %s repeats items",
                                      weight->name, shape);
        gn_hint(r->ctx, "save it after expanding it in memory: tensor.contiguous()");
        return status;
    }
    if (last >= tensor->storage->count)
        return gn_fail(r->ctx, GERNE_EDATA,
                       "tensor '%s' of shape %s reaches beyond its storage of %lld items",
                       weight->name, shape, (long long)tensor->storage->count);
    weight->bytes += (size_t)tensor->offset * item_size;
    weight->contiguous = is_contiguous(weight);
    return GERNE_OK;
}

static gerne_status find_storage(const reader *r, const gn_pickle_storage *storage,
                                 const char *tensor, const gn_zip_entry **out)
{
    enum { KEY_MAX = 64 };
    *out = NULL;
    if (storage->key.size <= KEY_MAX) {
        char name[KEY_MAX + 5] = "data/";
        memcpy(name + 5, storage->key.bytes, storage->key.size);
        *out = gn_zip_find(&r->zip, r->root, r->root_size, name, 5 + storage->key.size);
    }
    if (!*out) {
        char safe[GN_SAFE_TEXT];
        return gn_fail(r->ctx, GERNE_EDATA, "tensor '%s' needs the storage '%s', which is missing",
                       tensor, gn_safe_text(storage->key.bytes, storage->key.size, safe));
    }
    GN_TRY(gn_zip_check_stored(r->ctx, *out));
    size_t need;
    if (!gn_multiply((size_t)storage->count, gn_weight_type_size(storage->type), &need) ||
        need != (*out)->size)
        return gn_fail(r->ctx, GERNE_EDATA,
                       "the storage of tensor '%s' has %zu bytes, not %lld items of %s", tensor,
                       (*out)->size, (long long)storage->count, gn_weight_type_name(storage->type));
    return GERNE_OK;
}

static gerne_status add_tensor(reader *r, const gn_pickle_text *name,
                               const gn_pickle_tensor *tensor)
{
    gn_weight *weight;
    const gn_zip_entry *entry;
    GN_TRY(gn_weights_add(r->ctx, r->weights, name->bytes, name->size, &weight));
    GN_TRY(find_storage(r, tensor->storage, weight->name, &entry));
    weight->type = tensor->storage->type;
    weight->bytes = entry->bytes;
    weight->ndims = tensor->ndims;
    memcpy(weight->dims, tensor->dims, sizeof weight->dims);
    memcpy(weight->strides, tensor->strides, sizeof weight->strides);
    return place(r, tensor, weight);
}

static bool holds_tensors(const gn_pickle_value *value)
{
    return value->kind == GN_PICKLE_DICT && value->as.dict.holds_tensors;
}

static const gn_pickle_value *well_known(const gn_pickle_value *top)
{
    static const char *const keys[] = {"state_dict", "model_state_dict", "model"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        for (const gn_pickle_pair *p = top->as.dict.first; p; p = p->next) {
            if (gn_pickle_is_text(p->key, keys[k]) && holds_tensors(p->value))
                return p->value;
        }
    }
    return NULL;
}

/* A checkpoint keeps the state dict beside other things: under a usual key, or else as the only
 * dictionary of tensors. */
static gerne_status find_state(const reader *r, const gn_pickle_value *top,
                               const gn_pickle_value **out)
{
    *out = NULL;
    if (top->kind == GN_PICKLE_TENSOR)
        return gn_fail(r->ctx, GERNE_EDATA, "a single tensor without a name");
    if (top->kind != GN_PICKLE_DICT)
        return gn_fail(r->ctx, GERNE_EDATA, "the pickle is not a dictionary");
    *out = well_known(top);
    if (*out)
        return GERNE_OK;
    if (holds_tensors(top)) {
        *out = top;
        return GERNE_OK;
    }
    for (const gn_pickle_pair *p = top->as.dict.first; p; p = p->next) {
        if (!holds_tensors(p->value) || p->value == *out)
            continue;
        if (*out) {
            gerne_status status =
                gn_fail(r->ctx, GERNE_EDATA, "there is more than one dictionary of tensors");
            gn_hint(r->ctx, "save the wanted one alone: torch.save(model.state_dict(), FILE)");
            return status;
        }
        *out = p->value;
    }
    return *out ? GERNE_OK : gn_fail(r->ctx, GERNE_EDATA, "it has no tensors");
}

static gerne_status read_tensors(reader *r, gn_arena *scratch)
{
    GN_TRY(find_root(r));
    const gn_zip_entry *pickle = find(r, "data.pkl");
    const gn_pickle_value *top, *state;
    GN_TRY(gn_zip_check_stored(r->ctx, pickle));
    GN_TRY(gn_pickle_parse(r->ctx, scratch, pickle->bytes, pickle->size, &top));
    GN_TRY(find_state(r, top, &state));
    for (const gn_pickle_pair *p = state->as.dict.first; p; p = p->next) {
        if (p->value->kind != GN_PICKLE_TENSOR)
            continue;
        if (p->key->kind != GN_PICKLE_TEXT)
            return gn_fail(r->ctx, GERNE_EDATA, "the name of a tensor is not a string");
        GN_TRY(add_tensor(r, &p->key->as.text, p->value->as.tensor));
    }
    return GERNE_OK;
}

gerne_status gn_pth_read(gerne_ctx *ctx, const unsigned char *bytes, size_t size,
                         gn_weights *weights)
{
    reader r = {.ctx = ctx, .weights = weights};
    gn_arena *scratch;
    GN_TRY(gn_arena_new(ctx, &scratch));
    gerne_status status = gn_zip_open(ctx, bytes, size, &r.zip);
    if (status == GERNE_OK)
        status = read_tensors(&r, scratch);
    gn_zip_close(&r.zip);
    gn_arena_close(scratch);
    return status;
}
