#include "data/arrays.h"

#include <string.h>

#include "data/corpus.h"

enum { LABEL_MAX = 100000, SIDE_MAX = 1 << 14, DIMENSION_MAX = 1 << 24 };

/* ---- which samples there are ---- */

gerne_status gn_arrays_format(gerne_ctx *ctx, const gerne_arrays *arrays, gn_data_format *format)
{
    bool features = arrays->features || (arrays->fetch && arrays->dimension);
    bool pixels = arrays->pixels || (arrays->fetch && (arrays->height || arrays->width));
    bool texts = arrays->texts != NULL;
    bool twice = arrays->fetch && (arrays->features || arrays->pixels || texts);
    int kinds = features + pixels + texts;
    if (kinds != 1 || twice) {
        gn_fail(ctx, GERNE_EUSAGE, "samples are features, pixels or texts, and %s given",
                kinds ? "more than one of them is" : "none of them is");
        gn_hint(ctx, "a fetch function stands for features (with dimension) or pixels (with "
                     "height and width)");
        return GERNE_EUSAGE;
    }
    *format = features ? GN_DATA_FEATURES : pixels ? GN_DATA_IMAGES : GN_DATA_TEXT;
    return GERNE_OK;
}

static gerne_status check_sizes(gerne_ctx *ctx, const gerne_arrays *arrays, gn_data_format format)
{
    if (arrays->n == 0)
        return gn_fail(ctx, GERNE_EDATA, "there are no samples");
    if (arrays->n >= UINT32_MAX)
        return gn_fail(ctx, GERNE_EDATA, "there are more than %u samples", UINT32_MAX - 1);
    if (format == GN_DATA_FEATURES && (arrays->dimension < 1 || arrays->dimension > DIMENSION_MAX))
        return gn_fail(ctx, GERNE_EUSAGE, "features have %zu columns, outside 1..%d",
                       arrays->dimension, DIMENSION_MAX);
    if (format == GN_DATA_IMAGES && (arrays->height < 1 || arrays->height > SIDE_MAX ||
                                     arrays->width < 1 || arrays->width > SIDE_MAX))
        return gn_fail(ctx, GERNE_EUSAGE, "images are %zu x %zu pixels, outside 1..%d",
                       arrays->height, arrays->width, SIDE_MAX);
    for (size_t i = 0; format == GN_DATA_TEXT && i < arrays->n; i++)
        if (!arrays->texts[i] || (arrays->pairs && !arrays->pairs[i]))
            return gn_fail(ctx, GERNE_EDATA, "sample %zu has no text", i);
    if (arrays->pairs && !arrays->texts)
        return gn_fail(ctx, GERNE_EUSAGE, "there are second texts, but no first ones");
    return GERNE_OK;
}

/* Keys about files and their contents have no meaning here. */
static gerne_status check_options(gerne_ctx *ctx, const gn_data_options *o)
{
    const struct {
        const char *key;
        bool given;
    } keys[] = {
        {"data.dir", o->dir},
        {"data.file", o->file},
        {"data.labels", o->labels},
        {"data.x", o->x.count},
        {"data.text", o->text.count},
        {"data.y", o->y},
        {"data.a", o->a},
        {"data.a_words", o->a_words},
        {"data.split", o->split},
        {"data.filename_column", o->filename_column},
        {"data.preset", o->preset != GN_PRESET_NONE},
        {"data.layout", o->layout != GN_LAYOUT_AUTO},
        {"data.resize", o->resize.count},
        {"data.crop", o->crop.count},
        {"data.crop_first", o->crop_first},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].given) {
            gn_fail(ctx, GERNE_EUSAGE, "%s does not apply to samples in memory", keys[i].key);
            gn_hint(ctx, "it is about files; remove the key");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

/* ---- labels ---- */

typedef struct label_kind {
    const char *word, *words;
    const int32_t *values; /* NULL: none */
    uint32_t count;        /* as given; 0: the largest plus one */
    const char *const *names;
} label_kind;

static gerne_status check_labels(gerne_ctx *ctx, const label_kind *labels, size_t n,
                                 uint32_t *count)
{
    *count = 0;
    if (!labels->values) {
        if (labels->names || labels->count)
            return gn_fail(ctx, GERNE_EUSAGE, "%s are named or counted, but no sample has one",
                           labels->words);
        return GERNE_OK;
    }
    uint32_t limit = labels->count ? labels->count : LABEL_MAX;
    if (limit > LABEL_MAX || (labels->names && !labels->count))
        return gn_fail(ctx, GERNE_EUSAGE, "there are %u %s, outside 1..%d", labels->count,
                       labels->words, LABEL_MAX);
    for (size_t i = 0; i < n; i++) {
        if (labels->values[i] < 0 || (uint32_t)labels->values[i] >= limit)
            return gn_fail(ctx, GERNE_EUSAGE, "sample %zu has %s %d, outside 0..%u", i,
                           labels->word, labels->values[i], limit - 1);
        if ((uint32_t)labels->values[i] >= *count)
            *count = (uint32_t)labels->values[i] + 1;
    }
    if (labels->count)
        *count = labels->count;
    for (uint32_t i = 0; labels->names && i < *count; i++)
        if (!labels->names[i] || !gn_is_utf8(labels->names[i]))
            return gn_fail(ctx, GERNE_EUSAGE, "%s %u has no name in UTF-8", labels->word, i);
    return GERNE_OK;
}

static gerne_status take_splits(gerne_ctx *ctx, const gerne_arrays *arrays, gn_dataset *dataset)
{
    memset(dataset->split, arrays->y ? GN_TRAIN : GN_TEST, arrays->n);
    for (size_t i = 0; arrays->split && i < arrays->n; i++) {
        if (arrays->split[i] >= GN_SPLITS)
            return gn_fail(ctx, GERNE_EDATA,
                           "sample %zu: '%u' is not a split (0, 1 or 2 for train, val, test)", i,
                           arrays->split[i]);
        dataset->split[i] = arrays->split[i];
    }
    return GERNE_OK;
}

static gerne_status take_labels(gerne_ctx *ctx, const gerne_arrays *arrays, gn_dataset *dataset)
{
    const label_kind classes = {"class", "classes", arrays->y, arrays->classes,
                                arrays->class_names};
    const label_kind attributes = {"attribute", "attributes", arrays->a, arrays->attributes,
                                   arrays->attribute_names};
    const char *const *class_names = classes.names;
    const char *const *attribute_names = attributes.names;
    uint32_t k, a;
    GN_TRY(check_labels(ctx, &classes, arrays->n, &k));
    GN_TRY(check_labels(ctx, &attributes, arrays->n, &a));
    if (!class_names)
        GN_TRY(gn_number_names(ctx, dataset->arena, k, &class_names));
    if (!attribute_names)
        GN_TRY(gn_number_names(ctx, dataset->arena, a, &attribute_names));
    GN_TRY(gn_dataset_allocate(ctx, dataset, arrays->n, k, a, class_names, attribute_names));
    if (k)
        memcpy(dataset->y, arrays->y, arrays->n * sizeof *dataset->y);
    if (a)
        memcpy(dataset->a, arrays->a, arrays->n * sizeof *dataset->a);
    return take_splits(ctx, arrays, dataset);
}

/* ---- pixels ---- */

typedef struct array_source {
    gn_source source;
    gerne_arrays arrays;
    size_t bytes; /* of a sample */
} array_source;

static gerne_status fetch_one(gerne_ctx *ctx, const gerne_arrays *arrays, size_t row, void *sample)
{
    int code = arrays->fetch(arrays->user, row, sample);
    return code == 0
               ? GERNE_OK
               : gn_fail(ctx, GERNE_EDATA, "sample %zu cannot be fetched (code %d)", row, code);
}

static gerne_status load_pixels(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch,
                                size_t row, uint8_t *pixels, unsigned char *digest)
{
    const array_source *self = (const array_source *)source;
    (void)scratch;
    if (self->arrays.fetch)
        GN_TRY(fetch_one(ctx, &self->arrays, row, pixels));
    else
        memcpy(pixels, self->arrays.pixels + row * self->bytes, self->bytes);
    if (digest)
        gn_sha256_of(pixels, self->bytes, digest);
    return GERNE_OK;
}

static gerne_status digest_pixels(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch,
                                  size_t row, unsigned char *digest)
{
    uint8_t *pixels;
    const array_source *self = (const array_source *)source;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_D, self->bytes, &pixels));
    return load_pixels(ctx, source, scratch, row, pixels, digest);
}

static void close_pixels(gn_source *source)
{
    gn_free(source);
}

static gerne_status open_pixels(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    const gerne_arrays *arrays = options->arrays;
    array_source *self;
    dataset->field = GN_PIXELS;
    dataset->height = arrays->height;
    dataset->width = arrays->width;
    dataset->dimension = arrays->height * arrays->width * GN_CHANNELS;
    dataset->lent_pixels = arrays->pixels;
    gn_dataset_normalize(dataset, options->normalize, GN_NORMALIZE_IMAGENET);
    gn_dataset_settings(dataset, "pixels %zu x %zu", arrays->height, arrays->width);
    GN_TRY(gn_alloc(ctx, 1, sizeof *self, "a dataset", &self));
    *self = (array_source){
        .source = {.load = load_pixels, .digest = digest_pixels, .close = close_pixels},
        .arrays = *arrays,
        .bytes = dataset->dimension};
    dataset->source = &self->source;
    return GERNE_OK;
}

/* ---- features and texts ---- */

static gerne_status open_features(const gn_data_options *options, gn_dataset *dataset)
{
    dataset->field = GN_FEATURES;
    dataset->dimension = options->arrays->dimension;
    dataset->rows = options->arrays->features;
    dataset->fetched = options->arrays->fetch ? options->arrays : NULL;
    gn_features_settings(dataset, options);
    return GERNE_OK;
}

static gerne_status fetch_row(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    const gn_dataset *dataset = user;
    (void)scratch;
    return fetch_one(ctx, dataset->fetched, index,
                     (float *)dataset->rows_owned + index * dataset->dimension);
}

gerne_status gn_arrays_fetch(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    size_t n = dataset->fetched->n;
    if (dataset->rows)
        return GERNE_OK;
    GN_TRY(gn_features_fit(ctx, dataset, n, dataset->dimension));
    GN_TRY(gn_alloc(ctx, n * dataset->dimension, sizeof *dataset->rows, "features",
                    &dataset->rows_owned));
    GN_TRY(gn_parallel(ctx, threads, n, "fetch features", fetch_row, dataset, NULL));
    dataset->rows = dataset->rows_owned;
    return GERNE_OK;
}

static gerne_status open_texts(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    const gerne_arrays *arrays = options->arrays;
    GN_TRY(gn_alloc(ctx, arrays->n, sizeof *dataset->origin, "samples", &dataset->origin));
    for (size_t i = 0; i < arrays->n; i++)
        dataset->origin[i] = (uint32_t)i;
    dataset->field = GN_TOKENS;
    dataset->dimension = (size_t)options->max_tokens;
    GN_TRY(gn_corpus_new(ctx, options, NULL, arrays->pairs ? 2 : 1, &dataset->corpus));
    for (size_t i = 0; i < arrays->n; i++) {
        const char *const texts[GN_TEXTS_MAX] = {arrays->texts[i],
                                                 arrays->pairs ? arrays->pairs[i] : NULL};
        gn_corpus_see(dataset->corpus, texts);
    }
    return GERNE_OK;
}

gerne_status gn_open_arrays(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    gn_data_format format;
    GN_TRY(gn_arrays_format(ctx, options->arrays, &format));
    if ((int)format != options->format)
        return gn_fail(ctx, GERNE_EUSAGE, "data.format is %s, but the arrays hold %s",
                       gn_data_format_name(options->format), gn_data_format_name((int)format));
    GN_TRY(check_sizes(ctx, options->arrays, format));
    GN_TRY(check_options(ctx, options));
    GN_TRY(take_labels(ctx, options->arrays, dataset));
    switch (format) {
    case GN_DATA_FEATURES:
        return open_features(options, dataset);
    case GN_DATA_IMAGES:
        return open_pixels(ctx, options, dataset);
    default:
        return open_texts(ctx, options, dataset);
    }
}
