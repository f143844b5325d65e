#include "data/derive.h"

#include <string.h>

#include "data/source.h"

static gerne_status copy_samples(gerne_ctx *ctx, const gn_dataset *like, gn_dataset *dataset)
{
    size_t n = like->n;
    GN_TRY(gn_dataset_allocate(ctx, dataset, n, like->y ? like->classes : 0,
                               like->a ? like->attributes : 0, like->class_names,
                               like->attribute_names));
    if (like->y)
        memcpy(dataset->y, like->y, n * sizeof *like->y);
    if (like->a)
        memcpy(dataset->a, like->a, n * sizeof *like->a);
    memcpy(dataset->split, like->split, n);
    if (!like->origin)
        return GERNE_OK;
    GN_TRY(gn_alloc(ctx, n, sizeof *dataset->origin, "rows", &dataset->origin));
    memcpy(dataset->origin, like->origin, n * sizeof *like->origin);
    return GERNE_OK;
}

/* The files are not open any more when the features are used; only their paths are kept. */
static gerne_status copy_paths(gerne_ctx *ctx, const gn_dataset *like, gn_dataset *dataset)
{
    char path[4096];
    const char **paths;
    size_t rows = 0;
    for (size_t i = 0; i < like->n; i++)
        if (gn_dataset_row(like, i) >= rows)
            rows = gn_dataset_row(like, i) + 1;
    GN_TRY(gn_arena_alloc(ctx, dataset->arena, rows, sizeof *paths, &paths));
    for (size_t i = 0; i < like->n; i++)
        GN_TRY(gn_arena_copy_text(ctx, dataset->arena, gn_dataset_file(like, i, path, sizeof path),
                                  &paths[gn_dataset_row(like, i)]));
    dataset->paths = paths;
    return GERNE_OK;
}

static gerne_status fill(gerne_ctx *ctx, const gn_dataset *like, gn_dataset *dataset)
{
    dataset->format = gn_data_format_name(GN_DATA_FEATURES);
    dataset->field = GN_FEATURES;
    dataset->memory_limit = like->memory_limit;
    dataset->skipped = like->skipped;
    dataset->row_of_sample = true;
    GN_TRY(gn_arena_new(ctx, &dataset->arena));
    GN_TRY(copy_samples(ctx, like, dataset));
    return gn_dataset_has_files(like) ? copy_paths(ctx, like, dataset) : GERNE_OK;
}

/* Views follow the samples that train, in their order. */
static gerne_status place_views(gerne_ctx *ctx, size_t count, gn_dataset *dataset)
{
    gn_views *views = &dataset->views;
    if (count <= 1)
        return GERNE_OK;
    views->count = count;
    GN_TRY(gn_alloc(ctx, dataset->n, sizeof *views->places, "views", &views->places));
    for (size_t i = 0; i < dataset->n; i++)
        if (dataset->split[i] == GN_TRAIN)
            views->places[i] = (uint32_t)views->samples++;
    return GERNE_OK;
}

bool gn_kept_size(const gn_dataset *like, const gn_kept_features *features, size_t *rows,
                  size_t *bytes)
{
    size_t others = features->views > 1 ? features->views - 1 : 0;
    if (!gn_multiply(others, gn_count_split(like, GN_TRAIN), &others) ||
        others > SIZE_MAX - like->n)
        return false;
    *rows = like->n + others;
    return gn_multiply(*rows, features->dimension, bytes) &&
           gn_multiply(*bytes, features->halves ? sizeof(uint16_t) : sizeof(float), bytes);
}

gerne_status gn_dataset_derive(gerne_ctx *ctx, const gn_dataset *like, gn_map map,
                               const gn_kept_features *features, gn_dataset **out)
{
    *out = NULL;
    size_t rows = like->n, bytes;
    if (!gn_kept_size(like, features, &rows, &bytes) || features->offset > map.size ||
        map.size - features->offset < bytes || features->offset % sizeof(float) != 0)
        return gn_fail(ctx, GERNE_EDATA, "a map of %zu bytes cannot hold %zu x %zu features",
                       map.size, rows, features->dimension);
    GN_LOCAL(gn_dataset) *dataset = NULL;
    gn_map *kept = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *dataset, "a dataset", &dataset));
    GN_TRY(fill(ctx, like, dataset));
    GN_TRY(place_views(ctx, features->views, dataset));
    GN_TRY(gn_alloc(ctx, 1, sizeof *kept, "a map", &kept));
    *kept = map;
    dataset->map = kept;
    const void *first = map.bytes + features->offset;
    if (features->halves)
        dataset->halves = first;
    else
        dataset->rows = first;
    dataset->computed = true;
    dataset->dimension = features->dimension;
    gn_dataset_settings(dataset, "%s", features->settings);
    return gn_give(&dataset, out);
}

/* ---- the digest of prepare.c, as a stream ---- */

void gn_feature_digest_start(gn_feature_digest *digest)
{
    gn_checksum_start(&digest->block);
    gn_sha256_start(&digest->whole);
    digest->filled = 0;
}

static void close_block(gn_feature_digest *digest)
{
    unsigned char bytes[GN_SHA256_SIZE];
    gn_checksum_end(&digest->block, bytes);
    gn_sha256_add(&digest->whole, bytes, sizeof bytes);
    gn_checksum_start(&digest->block);
    digest->filled = 0;
}

void gn_feature_digest_add(gn_feature_digest *digest, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size) {
        size_t room = GN_FEATURE_BLOCK - digest->filled, take = size < room ? size : room;
        gn_checksum_add(&digest->block, at, take);
        at += take;
        size -= take;
        digest->filled += take;
        if (digest->filled == GN_FEATURE_BLOCK)
            close_block(digest);
    }
}

void gn_feature_digest_end(gn_feature_digest *digest, unsigned char out[GN_SHA256_SIZE])
{
    if (digest->filled)
        close_block(digest);
    gn_sha256_end(&digest->whole, out);
}
