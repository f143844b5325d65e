#include "nn/network_weights.h"

#include <string.h>

/* The tensors of a file, by the store's index; constants are not among them. */
static size_t saved_parameters(const gn_store *store, int *indices)
{
    size_t count = 0;
    for (int i = 0; i < gn_store_count(store); i++)
        if (gn_store_parameter(store, i)->role != GN_FIXED)
            indices[count++] = i;
    return count;
}

/* Converts everything before anything is set, so that a bad file changes nothing. */
static gerne_status convert(gerne_ctx *ctx, const gn_weight *const *found, size_t count,
                            gn_arena *arena, float **values)
{
    for (size_t i = 0; i < count; i++) {
        if (!found[i])
            continue;
        GN_TRY(gn_arena_alloc(ctx, arena, found[i]->count, sizeof(float), &values[i]));
        GN_TRY(gn_weight_to_f32(ctx, found[i], GN_WEIGHT_FINITE, values[i]));
    }
    return GERNE_OK;
}

/* A file of one body goes into every copy of it; files of the field may use other names. */
static gerne_status name_in_file(gerne_ctx *ctx, const gn_weights *weights,
                                 const gn_architecture *a, gn_arena *arena, const char *name,
                                 const char **out)
{
    *out = name;
    if (gn_weights_find(weights, name))
        return GERNE_OK;
    const char *dot = strchr(name, '.');
    if (strncmp(name, GN_COPY_PREFIX, strlen(GN_COPY_PREFIX)) == 0 && dot)
        *out = dot + 1;
    char other[GN_NAME_MAX];
    for (int i = 0; a->alias && a->alias(*out, i, other, sizeof other); i++)
        if (gn_weights_find(weights, other))
            return gn_arena_copy_text(ctx, arena, other, out);
    return GERNE_OK;
}

static gerne_status load(gerne_ctx *ctx, gn_network *network, const gn_weights *weights,
                         gn_arena *arena, gn_match *match)
{
    gn_store *store = gn_network_store(network);
    size_t total = (size_t)gn_store_count(store);
    int *indices;
    gn_wanted *wanted;
    const gn_weight **found;
    float **values;
    GN_TRY(gn_arena_alloc(ctx, arena, total, sizeof *indices, &indices));
    GN_TRY(gn_arena_alloc(ctx, arena, total, sizeof *wanted, &wanted));
    GN_TRY(gn_arena_alloc(ctx, arena, total, sizeof *found, &found));
    GN_TRY(gn_arena_alloc(ctx, arena, total, sizeof *values, &values));
    size_t count = saved_parameters(store, indices);
    const gn_architecture *architecture = gn_network_architecture(network);
    for (size_t i = 0; i < count; i++) {
        const gn_parameter *p = gn_store_parameter(store, indices[i]);
        wanted[i] = (gn_wanted){.ndims = (size_t)p->ndims,
                                .is_head = p->graph == GN_HEAD,
                                .optional = architecture->settle != NULL};
        GN_TRY(name_in_file(ctx, weights, architecture, arena, p->name, &wanted[i].name));
        memcpy(wanted[i].dims, p->dims, sizeof p->dims);
    }
    GN_TRY(gn_weights_match(ctx, weights, wanted, count, architecture->unused, found, match));
    GN_TRY(convert(ctx, found, count, arena, values));
    for (size_t i = 0; i < count; i++)
        if (found[i])
            GN_TRY(gn_store_set(ctx, store, indices[i], values[i]));
    if (match)
        match->head = NULL, match->theirs = NULL; /* they point into what is freed now */
    return GERNE_OK;
}

gerne_status gn_network_load(gerne_ctx *ctx, gn_network *network, const char *path, gn_match *match)
{
    GN_LOCAL(gn_weights) *weights = NULL;
    GN_LOCAL(gn_arena) *arena = NULL;
    GN_TRY(gn_weights_open(ctx, path, &weights));
    GN_TRY(gn_arena_new(ctx, &arena));
    return load(ctx, network, weights, arena, match);
}

gerne_status gn_network_start(gerne_ctx *ctx, gn_network *network, const char *path, uint64_t seed,
                              gn_match *match)
{
    *match = (gn_match){0};
    if (!path)
        return gn_network_initialize(ctx, network, seed);
    GN_TRY(gn_network_initialize_head(ctx, network, seed)); /* and the seed of its masks */
    return gn_network_load(ctx, network, path, match);
}

static gerne_status get(gerne_ctx *ctx, const gn_weight_out *tensor, float *out)
{
    return gn_store_get(ctx, tensor->from, tensor->index, out);
}

static gerne_status collect(gerne_ctx *ctx, const gn_store *store, gn_arena *arena,
                            gn_weight_out **out, size_t *count)
{
    size_t total = (size_t)gn_store_count(store);
    int *indices;
    GN_TRY(gn_arena_alloc(ctx, arena, total, sizeof *indices, &indices));
    GN_TRY(gn_arena_alloc(ctx, arena, total, sizeof **out, out));
    *count = saved_parameters(store, indices);
    for (size_t i = 0; i < *count; i++) {
        const gn_parameter *p = gn_store_parameter(store, indices[i]);
        (*out)[i] = (gn_weight_out){.name = p->name,
                                    .ndims = (size_t)p->ndims,
                                    .get = get,
                                    .from = store,
                                    .index = indices[i]};
        memcpy((*out)[i].dims, p->dims, sizeof p->dims);
    }
    return GERNE_OK;
}

gerne_status gn_network_save(gerne_ctx *ctx, gn_network *network, const char *path,
                             gn_weight_type type, const gn_metadata *metadata,
                             size_t metadata_count)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    gn_weight_out *tensors;
    size_t count;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(collect(ctx, gn_network_store(network), arena, &tensors, &count));
    return gn_safetensors_write(ctx, path, type, tensors, count, metadata, metadata_count);
}
