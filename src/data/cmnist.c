/* cmnist.c - coloured MNIST, by the construction of LfF and by that of DFA's release. */
#include "data/cmnist.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/vector.h"
#include "data/assign.h"
#include "data/idx.h"

enum { STEP_COLOUR = 12, DEFAULT_SEVERITY = 4, GENERATOR_VERSION = 1, BLOCK = sizeof(uint64_t) };

/* The mean colours of LfF's release. */
static const double means[GN_MADE_CLASSES][GN_CHANNELS] = {
    {0.98368233, 0.31251901, 0.16857535}, {0.99052966, 0.91560525, 0.35151219},
    {0.67296398, 0.46107048, 0.57980818}, {0.78325194, 0.83155590, 0.60132939},
    {0.08801579, 0.77796334, 0.98180777}, {0.32139337, 0.96105456, 0.44644988},
    {0.02461588, 0.23565048, 0.75866628}, {0.55524695, 0.10158014, 0.76176316},
    {0.20772320, 0.39294851, 0.01870239}, {0.83365762, 0.20240927, 0.26694310},
};
static const double sigmas[] = {0.05, 0.02, 0.01, 0.005, 0.002};
static const char *const digit_names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
static const char *const colour_names[] = {"color0", "color1", "color2", "color3", "color4",
                                           "color5", "color6", "color7", "color8", "color9"};

typedef struct cmnist {
    gn_source source;
    gn_idx train, test, train_labels, test_labels;
    uint8_t *attributes; /* of every row */
    uint64_t seed;
    int severity;
} cmnist;

static inline __attribute__((always_inline)) void
colour_pixels(const uint8_t *grey, size_t size, const double colour[GN_CHANNELS], uint8_t *pixels)
{
    int32_t values[GN_CHANNELS][BLOCK];
    for (int c = 0; c < GN_CHANNELS; c++)
        for (size_t i = 0; i < size; i++)
            values[c][i] = (int32_t)(colour[c] * grey[i]);
    for (size_t i = 0; i < size; i++)
        for (int c = 0; c < GN_CHANNELS; c++)
            *pixels++ = (uint8_t)values[c][i];
}

/* Most of a digit's image is background. */
GN_WIDE static void colour_blocks(const uint8_t *grey, size_t size,
                                  const double colour[GN_CHANNELS], uint8_t *pixels)
{
    size_t i = 0;
    for (; i + BLOCK <= size; i += BLOCK, pixels += BLOCK * GN_CHANNELS) {
        uint64_t block;
        memcpy(&block, grey + i, sizeof block);
        if (block)
            colour_pixels(grey + i, BLOCK, colour, pixels);
        else
            memset(pixels, 0, BLOCK * GN_CHANNELS);
    }
    colour_pixels(grey + i, size - i, colour, pixels);
}

void gn_cmnist_colour(const uint8_t *grey, size_t size, uint32_t attribute, int severity,
                      const double noise[GN_CHANNELS], uint8_t *pixels)
{
    double colour[GN_CHANNELS];
    for (int c = 0; c < GN_CHANNELS; c++) {
        double value = means[attribute][c] + sigmas[severity - 1] * noise[c];
        colour[c] = fmin(fmax(value, 0), 1);
    }
    colour_blocks(grey, size, colour, pixels);
}

static gerne_status load(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch, size_t row,
                         uint8_t *pixels, unsigned char *digest)
{
    (void)ctx;
    (void)scratch;
    (void)digest;
    const cmnist *self = (const cmnist *)source;
    const gn_idx *images = row < self->train.count ? &self->train : &self->test;
    size_t index = row < self->train.count ? row : row - self->train.count;
    size_t size = images->height * images->width;
    double noise[GN_CHANNELS];
    gn_stream stream = gn_stream_at(self->seed, GN_RNG_DATA, STEP_COLOUR, row);
    for (int c = 0; c < GN_CHANNELS; c++)
        noise[c] = gn_random_normal(&stream);
    gn_cmnist_colour(images->bytes + index * size, size, self->attributes[row], self->severity,
                     noise, pixels);
    return GERNE_OK;
}

static void close_cmnist(gn_source *source)
{
    cmnist *self = (cmnist *)source;
    gn_idx_free(&self->train);
    gn_idx_free(&self->test);
    gn_idx_free(&self->train_labels);
    gn_idx_free(&self->test_labels);
    gn_free(self->attributes);
    gn_free(self);
}

/* limit: what is left of data.memory_limit, before and after. */
static gerne_status read_file(gerne_ctx *ctx, const char *directory, const char *name,
                              int dimensions, size_t *limit, gn_idx *out)
{
    char path[4096];
    GN_TRY(gn_idx_find(ctx, directory, name, path, sizeof path));
    GN_TRY(gn_idx_read(ctx, path, dimensions, *limit, out));
    *limit -= gn_idx_size(out);
    return GERNE_OK;
}

static gerne_status check(gerne_ctx *ctx, const char *part, const gn_idx *images,
                          const gn_idx *labels)
{
    if (images->count == 0)
        return gn_fail(ctx, GERNE_EDATA, "there are no %s images", part);
    if (images->count != labels->count)
        return gn_fail(ctx, GERNE_EDATA, "there are %zu %s images but %zu labels", images->count,
                       part, labels->count);
    for (size_t i = 0; i < labels->count; i++)
        if (labels->bytes[i] >= GN_MADE_CLASSES)
            return gn_fail(ctx, GERNE_EDATA, "the %s label %zu is %d, outside 0..9", part, i,
                           labels->bytes[i]);
    return GERNE_OK;
}

static gerne_status read_mnist(gerne_ctx *ctx, const char *dir, size_t limit, cmnist *self)
{
    GN_TRY(read_file(ctx, dir, "train-images-idx3-ubyte", 3, &limit, &self->train));
    GN_TRY(read_file(ctx, dir, "train-labels-idx1-ubyte", 1, &limit, &self->train_labels));
    GN_TRY(read_file(ctx, dir, "t10k-images-idx3-ubyte", 3, &limit, &self->test));
    GN_TRY(read_file(ctx, dir, "t10k-labels-idx1-ubyte", 1, &limit, &self->test_labels));
    GN_TRY(check(ctx, "training", &self->train, &self->train_labels));
    GN_TRY(check(ctx, "test", &self->test, &self->test_labels));
    if (self->train.height != self->test.height || self->train.width != self->test.width)
        return gn_fail(ctx, GERNE_EDATA, "training images have %zux%zu pixels, test images %zux%zu",
                       self->train.height, self->train.width, self->test.height, self->test.width);
    return GERNE_OK;
}

static void digest_images(const gn_source *source, unsigned char digest[GN_SHA256_SIZE])
{
    const cmnist *self = (const cmnist *)source;
    gn_sha256 hash;
    size_t size = self->train.height * self->train.width;
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, self->train.bytes, self->train.count * size);
    gn_sha256_add(&hash, self->test.bytes, self->test.count * size);
    gn_sha256_end(&hash, digest);
}

gerne_status gn_open_cmnist(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    if (!options->dir) {
        gn_fail(ctx, GERNE_EUSAGE, "data.dir is not given");
        gn_hint(ctx, "c-mnist is made from MNIST: --data.dir FOLDER with its four IDX files; "
                     "'gerne data fetch mnist' gets them");
        return GERNE_EUSAGE;
    }
    cmnist *self;
    GN_TRY(gn_alloc(ctx, 1, sizeof *self, "a dataset", &self));
    dataset->source = &self->source;
    self->source.load = load;
    self->source.contents = digest_images;
    self->source.close = close_cmnist;
    self->seed = (uint64_t)options->seed;
    self->severity = options->severity ? (int)options->severity : DEFAULT_SEVERITY;
    GN_TRY(read_mnist(ctx, options->dir, dataset->memory_limit, self));
    gn_base base = {self->train_labels.bytes, self->test_labels.bytes, self->train.count,
                    self->test.count};
    GN_TRY(gn_dataset_allocate(ctx, dataset, base.train + base.test, GN_MADE_CLASSES,
                               GN_MADE_CLASSES, digit_names, colour_names));
    GN_TRY(gn_assign(ctx, options, &base, dataset));
    GN_TRY(gn_alloc(ctx, dataset->n, 1, "attributes", &self->attributes));
    for (size_t i = 0; i < dataset->n; i++)
        self->attributes[i] = (uint8_t)dataset->a[i];
    dataset->field = GN_PIXELS;
    dataset->height = self->train.height;
    dataset->width = self->train.width;
    dataset->dimension = dataset->height * dataset->width * GN_CHANNELS;
    gn_dataset_normalize(dataset, options->normalize, GN_NORMALIZE_NONE);
    gn_dataset_settings(dataset, "c-mnist %d seed %lld severity %d", GENERATOR_VERSION,
                        (long long)options->seed, self->severity);
    return GERNE_OK;
}
