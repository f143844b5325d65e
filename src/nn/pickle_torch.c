#include "nn/pickle_torch.h"

#include <string.h>

#include "nn/weight_set.h"

typedef gerne_status call_fn(gerne_ctx *ctx, gn_arena *arena, const gn_pickle_value *arguments,
                             gn_pickle_value *out);

struct gn_pickle_global {
    const char *module, *name;
    call_fn *call; /* NULL for storages, which are only named in persistent ids */
    gn_weight_type type;
};

bool gn_pickle_is_text(const gn_pickle_value *value, const char *text)
{
    return value->kind == GN_PICKLE_TEXT && value->as.text.size == strlen(text) &&
           memcmp(value->as.text.bytes, text, value->as.text.size) == 0;
}

static bool is_tuple(const gn_pickle_value *value, size_t count)
{
    return value->kind == GN_PICKLE_TUPLE && value->as.tuple.count == count;
}

static gerne_status bad_arguments(gerne_ctx *ctx, const char *callee)
{
    return gn_fail(ctx, GERNE_EDATA, "the pickle calls %s in a way that torch.save does not",
                   callee);
}

static gerne_status call_ordered_dict(gerne_ctx *ctx, gn_arena *arena,
                                      const gn_pickle_value *arguments, gn_pickle_value *out)
{
    (void)arena;
    if (!is_tuple(arguments, 0))
        return bad_arguments(ctx, "OrderedDict");
    *out = (gn_pickle_value){.kind = GN_PICKLE_DICT};
    return GERNE_OK;
}

static bool read_integers(const gn_pickle_value *tuple, int64_t *out)
{
    for (size_t i = 0; i < tuple->as.tuple.count; i++) {
        const gn_pickle_value *item = tuple->as.tuple.items[i];
        if (item->kind != GN_PICKLE_INT)
            return false;
        out[i] = item->as.integer;
    }
    return true;
}

/* (storage, offset, size, stride, requires_grad, backward_hooks[, metadata]) */
static gerne_status call_rebuild_tensor(gerne_ctx *ctx, gn_arena *arena,
                                        const gn_pickle_value *arguments, gn_pickle_value *out)
{
    static const char name[] = "_rebuild_tensor_v2";
    if (!is_tuple(arguments, 6) && !is_tuple(arguments, 7))
        return bad_arguments(ctx, name);
    const gn_pickle_value *const *args = arguments->as.tuple.items;
    if (args[0]->kind != GN_PICKLE_STORAGE || args[1]->kind != GN_PICKLE_INT ||
        args[2]->kind != GN_PICKLE_TUPLE || !is_tuple(args[3], args[2]->as.tuple.count))
        return bad_arguments(ctx, name);
    if (args[2]->as.tuple.count > GN_WEIGHT_DIMS)
        return gn_fail(ctx, GERNE_EDATA, "a tensor has %zu dimensions, more than %d",
                       args[2]->as.tuple.count, GN_WEIGHT_DIMS);
    gn_pickle_tensor *tensor;
    GN_TRY(gn_arena_alloc(ctx, arena, 1, sizeof *tensor, &tensor));
    *tensor = (gn_pickle_tensor){.storage = args[0]->as.storage,
                                 .offset = args[1]->as.integer,
                                 .ndims = args[2]->as.tuple.count};
    if (!read_integers(args[2], tensor->dims) || !read_integers(args[3], tensor->strides))
        return bad_arguments(ctx, name);
    *out = (gn_pickle_value){.kind = GN_PICKLE_TENSOR, .as.tensor = tensor};
    return GERNE_OK;
}

/* (tensor, requires_grad, backward_hooks) */
static gerne_status call_rebuild_parameter(gerne_ctx *ctx, gn_arena *arena,
                                           const gn_pickle_value *arguments, gn_pickle_value *out)
{
    (void)arena;
    if (!is_tuple(arguments, 3) || arguments->as.tuple.items[0]->kind != GN_PICKLE_TENSOR)
        return bad_arguments(ctx, "_rebuild_parameter");
    *out = *arguments->as.tuple.items[0];
    return GERNE_OK;
}

static const gn_pickle_global globals[] = {
    {"collections", "OrderedDict", call_ordered_dict, GN_WEIGHT_F32},
    {"torch._utils", "_rebuild_tensor_v2", call_rebuild_tensor, GN_WEIGHT_F32},
    {"torch._utils", "_rebuild_parameter", call_rebuild_parameter, GN_WEIGHT_F32},
    {"torch", "FloatStorage", NULL, GN_WEIGHT_F32},
    {"torch", "HalfStorage", NULL, GN_WEIGHT_F16},
    {"torch", "BFloat16Storage", NULL, GN_WEIGHT_BF16},
    {"torch", "DoubleStorage", NULL, GN_WEIGHT_F64},
    {"torch", "LongStorage", NULL, GN_WEIGHT_I64},
    {"torch", "IntStorage", NULL, GN_WEIGHT_I32},
    {"torch", "ShortStorage", NULL, GN_WEIGHT_I16},
    {"torch", "CharStorage", NULL, GN_WEIGHT_I8},
    {"torch", "ByteStorage", NULL, GN_WEIGHT_U8},
    {"torch", "BoolStorage", NULL, GN_WEIGHT_BOOL},
};

static bool same(gn_pickle_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.bytes, word, text.size) == 0;
}

gerne_status gn_pickle_find_global(gerne_ctx *ctx, gn_pickle_text module, gn_pickle_text name,
                                   const gn_pickle_global **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++) {
        if (same(module, globals[i].module) && same(name, globals[i].name)) {
            *out = &globals[i];
            return GERNE_OK;
        }
    }
    char safe_module[GN_SAFE_TEXT], safe_name[GN_SAFE_TEXT];
    gerne_status status = gn_fail(ctx, GERNE_EDATA, "the pickle asks for '%s.%s', which is refused",
                                  gn_safe_text(module.bytes, module.size, safe_module),
                                  gn_safe_text(name.bytes, name.size, safe_name));
    gn_hint(ctx, "only dictionaries of tensors are read: torch.save(model.state_dict(), FILE)");
    return status;
}

gerne_status gn_pickle_call(gerne_ctx *ctx, gn_arena *arena, const gn_pickle_value *callee,
                            const gn_pickle_value *arguments, gn_pickle_value *out)
{
    if (callee->kind != GN_PICKLE_GLOBAL)
        return gn_fail(ctx, GERNE_EDATA, "the pickle calls something that is not a function");
    if (!callee->as.global->call)
        return gn_fail(ctx, GERNE_EDATA, "the pickle calls '%s.%s', which is refused",
                       callee->as.global->module, callee->as.global->name);
    return callee->as.global->call(ctx, arena, arguments, out);
}

/* ('storage', type, key, location, item count) */
gerne_status gn_pickle_load_storage(gerne_ctx *ctx, gn_arena *arena, const gn_pickle_value *id,
                                    gn_pickle_value *out)
{
    if (!is_tuple(id, 5) || !gn_pickle_is_text(id->as.tuple.items[0], "storage"))
        return gn_fail(ctx, GERNE_EDATA, "the pickle refers to something that is not a storage");
    const gn_pickle_value *const *items = id->as.tuple.items;
    if (items[1]->kind != GN_PICKLE_GLOBAL || items[1]->as.global->call ||
        items[2]->kind != GN_PICKLE_TEXT || items[4]->kind != GN_PICKLE_INT ||
        items[4]->as.integer < 0)
        return gn_fail(ctx, GERNE_EDATA, "the pickle describes a storage wrongly");
    gn_pickle_storage *storage;
    GN_TRY(gn_arena_alloc(ctx, arena, 1, sizeof *storage, &storage));
    *storage = (gn_pickle_storage){
        .type = items[1]->as.global->type, .key = items[2]->as.text, .count = items[4]->as.integer};
    *out = (gn_pickle_value){.kind = GN_PICKLE_STORAGE, .as.storage = storage};
    return GERNE_OK;
}
