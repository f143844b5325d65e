#include "data/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/arrays.h"
#include "data/corpus.h"

static gerne_status check_preset(gerne_ctx *ctx, const gn_data_options *options)
{
    bool of_texts = options->preset >= GN_PRESET_CIVILCOMMENTS;
    if (options->preset == GN_PRESET_NONE || of_texts == (options->format == GN_DATA_TEXT))
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EUSAGE, "data.preset is one of %s; the format is %s",
                   of_texts ? "texts" : "images", gn_data_format_name(options->format));
}

gerne_status gn_dataset_open(gerne_ctx *ctx, const gn_data_options *options, gn_dataset **out)
{
    typedef gerne_status opener(gerne_ctx *, const gn_data_options *, gn_dataset *);
    static opener *const openers[] = {
        [GN_DATA_SYNTHETIC] = gn_open_synthetic, [GN_DATA_CMNIST] = gn_open_cmnist,
        [GN_DATA_CCIFAR10] = gn_open_ccifar10,   [GN_DATA_IMAGES] = gn_open_images,
        [GN_DATA_FEATURES] = gn_open_features,   [GN_DATA_TEXT] = gn_open_text,
    };
    *out = NULL;
    if (options->format < 0 || (size_t)options->format >= sizeof openers / sizeof openers[0])
        return gn_fail(ctx, GERNE_EUSAGE, "data.format %d does not exist", options->format);
    GN_TRY(check_preset(ctx, options));
    GN_LOCAL(gn_dataset) *dataset = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *dataset, "a dataset", &dataset));
    dataset->format = gn_data_format_name(options->format);
    dataset->augment = (gn_augment)options->augment;
    dataset->skip_bad = options->skip_bad;
    GN_TRY(gn_arena_new(ctx, &dataset->arena));
    GN_TRY(gn_parse_size(ctx, options->memory_limit ? options->memory_limit : "2G",
                         &dataset->memory_limit));
    GN_TRY(options->arrays ? gn_open_arrays(ctx, options, dataset)
                           : openers[options->format](ctx, options, dataset));
    bool made = options->format == GN_DATA_CMNIST || options->format == GN_DATA_CCIFAR10;
    if (!made) /* those hold out before they assign attributes */
        GN_TRY(gn_dataset_hold_out(ctx, options, dataset));
    GN_TRY(gn_dataset_fold(ctx, options, dataset));
    return gn_give(&dataset, out);
}

void gn_dataset_close(gn_dataset *dataset)
{
    if (!dataset || atomic_fetch_sub(&dataset->others, 1) > 0)
        return;
    if (dataset->source)
        dataset->source->close(dataset->source);
    gn_corpus_close(dataset->corpus);
    gn_free(dataset->y);
    gn_free(dataset->a);
    gn_free(dataset->split);
    gn_free(dataset->origin);
    gn_free(dataset->views.places);
    gn_free(dataset->cache);
    gn_free(dataset->rows_owned);
    if (dataset->map) {
        gn_map_close(dataset->map);
        gn_free(dataset->map);
    }
    gn_arena_close(dataset->arena);
    gn_free(dataset);
}

gn_dataset *gn_dataset_share(gn_dataset *dataset)
{
    atomic_fetch_add(&dataset->others, 1);
    return dataset;
}

size_t gn_dataset_row(const gn_dataset *dataset, size_t i)
{
    return dataset->origin ? dataset->origin[i] : i;
}

gn_sample_shape gn_dataset_shape(const gn_dataset *dataset)
{
    if (dataset->field == GN_FEATURES) {
        gn_sample_shape shape = gn_features_shape((int64_t)dataset->dimension);
        if (dataset->halves)
            shape.fields[0].element = GN_ELEMENT_F16;
        return shape;
    }
    if (dataset->field == GN_TOKENS) {
        gn_sample_shape shape = gn_tokens_shape((int64_t)dataset->dimension);
        shape.fields[0].below = (int64_t)gn_corpus_vocabulary(dataset->corpus);
        return shape;
    }
    return gn_pixels_shape(GN_CHANNELS, (int64_t)dataset->height, (int64_t)dataset->width);
}

static size_t row_of_features(const gn_dataset *dataset, size_t i)
{
    return dataset->row_of_sample ? i : gn_dataset_row(dataset, i);
}

const void *gn_dataset_field(const gn_dataset *dataset, size_t i, int field)
{
    switch (dataset->field) {
    case GN_FEATURES:
        if (dataset->halves)
            return dataset->halves + row_of_features(dataset, i) * dataset->dimension;
        return gn_dataset_features(dataset, i);
    case GN_TOKENS:
        return field == 0 ? gn_corpus_tokens(dataset->corpus, gn_dataset_row(dataset, i))
                          : gn_corpus_length(dataset->corpus, gn_dataset_row(dataset, i));
    default:
        return gn_dataset_pixels(dataset, i);
    }
}

bool gn_dataset_in_memory(const gn_dataset *dataset)
{
    return dataset->field != GN_PIXELS || dataset->cache || dataset->lent_pixels;
}

const uint8_t *gn_dataset_pixels(const gn_dataset *dataset, size_t i)
{
    assert(gn_dataset_in_memory(dataset) && i < dataset->n);
    return dataset->lent_pixels
               ? dataset->lent_pixels + gn_dataset_row(dataset, i) * dataset->dimension
               : dataset->cache + i * dataset->dimension;
}

const float *gn_dataset_features(const gn_dataset *dataset, size_t i)
{
    assert(dataset->rows && i < dataset->n);
    return dataset->rows + row_of_features(dataset, i) * dataset->dimension;
}

/* ---- views ---- */

size_t gn_dataset_view_count(const gn_dataset *dataset, size_t i)
{
    return dataset->views.count > 1 && dataset->split[i] == GN_TRAIN ? dataset->views.count : 1;
}

size_t gn_feature_rows(const gn_dataset *dataset)
{
    const gn_views *views = &dataset->views;
    return dataset->n + (views->count > 1 ? (views->count - 1) * views->samples : 0);
}

const void *gn_feature_row(const gn_dataset *dataset, size_t row)
{
    assert(row < gn_feature_rows(dataset));
    if (row < dataset->n)
        return gn_dataset_field(dataset, row, 0);
    if (dataset->halves)
        return dataset->halves + row * dataset->dimension;
    return dataset->rows + row * dataset->dimension;
}

const void *gn_dataset_view(const gn_dataset *dataset, size_t i, size_t view)
{
    const gn_views *views = &dataset->views;
    assert(view < gn_dataset_view_count(dataset, i));
    return gn_feature_row(dataset,
                          view ? dataset->n + (view - 1) * views->samples + views->places[i] : i);
}

bool gn_dataset_has_files(const gn_dataset *dataset)
{
    return dataset->paths || (dataset->source && dataset->source->file);
}

const char *gn_dataset_file(const gn_dataset *dataset, size_t i, char *buffer, size_t size)
{
    if (size)
        buffer[0] = '\0';
    size_t row = gn_dataset_row(dataset, i);
    if (dataset->paths)
        snprintf(buffer, size, "%s", dataset->paths[row]);
    else if (gn_dataset_has_files(dataset))
        dataset->source->file(dataset->source, row, buffer, size);
    return buffer;
}

size_t gn_count_split(const gn_dataset *dataset, gn_split split)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->n; i++)
        count += split == GN_SPLITS || dataset->split[i] == split;
    return count;
}

void gn_dataset_count(const gn_dataset *dataset, gn_split split, uint64_t *counts)
{
    size_t columns = dataset->attributes ? dataset->attributes : 1;
    memset(counts, 0, (dataset->classes ? dataset->classes : 1) * columns * sizeof *counts);
    for (size_t i = 0; i < dataset->n; i++)
        if (dataset->split[i] == split)
            counts[(dataset->y ? (size_t)dataset->y[i] : 0) * columns +
                   (dataset->a ? (size_t)dataset->a[i] : 0)]++;
}

/* ---- fingerprint ---- */

void gn_dataset_settings(gn_dataset *dataset, const char *format, ...)
{
    char text[1024];
    GN_FORMAT(text, format);
    gn_sha256_of(text, strlen(text), dataset->settings_digest);
}

static void add_u64(gn_sha256 *hash, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    gn_sha256_add(hash, bytes, sizeof bytes);
}

static void add_names(gn_sha256 *hash, const char *const *names, uint32_t count)
{
    add_u64(hash, count);
    for (uint32_t i = 0; i < count; i++)
        gn_sha256_add(hash, names[i], strlen(names[i]) + 1);
}

static gerne_status check_prepared(gerne_ctx *ctx, const gn_dataset *dataset)
{
    return dataset->prepared ? GERNE_OK
                             : gn_fail(ctx, GERNE_EINTERNAL,
                                       "a dataset has no fingerprint before it is prepared");
}

gerne_status gn_dataset_add_identity(gerne_ctx *ctx, const gn_dataset *dataset, gn_sha256 *hash)
{
    GN_TRY(check_prepared(ctx, dataset));
    add_u64(hash, dataset->n);
    add_names(hash, dataset->class_names, dataset->classes);
    if (dataset->y)
        gn_sha256_add(hash, dataset->y, dataset->n * sizeof *dataset->y);
    gn_sha256_add(hash, dataset->content_digest, GN_SHA256_SIZE);
    return GERNE_OK;
}

gerne_status gn_dataset_fingerprint(gerne_ctx *ctx, const gn_dataset *dataset,
                                    char hex[GN_SHA256_HEX])
{
    gn_sha256 hash;
    GN_TRY(check_prepared(ctx, dataset));
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, "gerne data 1", 12);
    add_u64(&hash, dataset->field);
    add_u64(&hash, dataset->n);
    add_u64(&hash, dataset->height);
    add_u64(&hash, dataset->width);
    add_u64(&hash, dataset->dimension);
    add_u64(&hash, dataset->augment);
    add_names(&hash, dataset->class_names, dataset->classes);
    add_names(&hash, dataset->attribute_names, dataset->attributes);
    if (dataset->y)
        gn_sha256_add(&hash, dataset->y, dataset->n * sizeof *dataset->y);
    if (dataset->a)
        gn_sha256_add(&hash, dataset->a, dataset->n * sizeof *dataset->a);
    gn_sha256_add(&hash, dataset->split, dataset->n);
    gn_sha256_add(&hash, dataset->scale, sizeof dataset->scale);
    gn_sha256_add(&hash, dataset->shift, sizeof dataset->shift);
    gn_sha256_add(&hash, dataset->settings_digest, GN_SHA256_SIZE);
    gn_sha256_add(&hash, dataset->content_digest, GN_SHA256_SIZE);
    unsigned char digest[GN_SHA256_SIZE];
    gn_sha256_end(&hash, digest);
    gn_sha256_hex(digest, hex);
    return GERNE_OK;
}
