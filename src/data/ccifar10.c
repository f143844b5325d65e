/* ccifar10.c - CIFAR-10 with a corruption as the spurious attribute. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/assign.h"
#include "data/corrupt.h"

enum {
    STEP_CORRUPT = 13,
    DEFAULT_SEVERITY = 5,
    GENERATOR_VERSION = 1,
    RECORD = GN_PICTURE + 1, /* a label, then red, green and blue planes */
    TRAIN_FILES = 5,
    FILES = 6,
};

static const char *const file_names[FILES] = {"data_batch_1.bin", "data_batch_2.bin",
                                              "data_batch_3.bin", "data_batch_4.bin",
                                              "data_batch_5.bin", "test_batch.bin"};
static const char *const class_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                          "dog",      "frog",       "horse", "ship", "truck"};

static const struct {
    const char *name;
    gn_corruption list[GN_MADE_CLASSES];
} presets[] = {
    {"type0",
     {GN_SNOW, GN_FROST, GN_FOG, GN_BRIGHTNESS, GN_CONTRAST, GN_SPATTER, GN_ELASTIC, GN_JPEG,
      GN_PIXELATE, GN_SATURATE}},
    {"type1",
     {GN_GAUSSIAN_NOISE, GN_SHOT_NOISE, GN_IMPULSE_NOISE, GN_SPECKLE_NOISE, GN_GAUSSIAN_BLUR,
      GN_DEFOCUS_BLUR, GN_GLASS_BLUR, GN_MOTION_BLUR, GN_ZOOM_BLUR, GN_ORIGINAL}},
    {"dfa",
     {GN_BRIGHTNESS, GN_CONTRAST, GN_GAUSSIAN_NOISE, GN_FROST, GN_ELASTIC, GN_GAUSSIAN_BLUR,
      GN_DEFOCUS_BLUR, GN_IMPULSE_NOISE, GN_SATURATE, GN_PIXELATE}},
};

typedef struct ccifar10 {
    gn_source source;
    gn_map files[FILES];
    size_t first[FILES + 1]; /* rows before each file */
    uint8_t *attributes;     /* of every row */
    gn_corruption corruptions[GN_MADE_CLASSES];
    gn_frost frost;
    uint64_t seed;
    int severity;
} ccifar10;

/* ---- samples ---- */

static const uint8_t *record_of(const ccifar10 *self, size_t row)
{
    int file = 0;
    while (row >= self->first[file + 1])
        file++;
    return self->files[file].bytes + (row - self->first[file]) * RECORD;
}

static gerne_status load(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch, size_t row,
                         uint8_t *pixels, unsigned char *digest)
{
    (void)digest;
    const ccifar10 *self = (const ccifar10 *)source;
    const uint8_t *planes = record_of(self, row) + 1;
    uint8_t *clean;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_B, GN_PICTURE, &clean));
    for (size_t i = 0; i < GN_PICTURE; i++)
        clean[i] = planes[i % GN_CHANNELS * GN_SIDE * GN_SIDE + i / GN_CHANNELS];
    gn_noise noise = {.stream = gn_stream_at(self->seed, GN_RNG_DATA, STEP_CORRUPT, row)};
    return gn_corrupt(ctx, scratch, self->corruptions[self->attributes[row]], self->severity,
                      &noise, &self->frost, clean, pixels);
}

static void close_ccifar10(gn_source *source)
{
    ccifar10 *self = (ccifar10 *)source;
    for (int i = 0; i < FILES; i++)
        gn_map_close(&self->files[i]);
    gn_frost_close(&self->frost);
    gn_free(self->attributes);
    gn_free(self);
}

/* ---- corruptions by name ---- */

static gerne_status parse_list(gerne_ctx *ctx, const char *text, gn_corruption *list)
{
    char words[1024], *save = NULL;
    size_t count = 0;
    snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok_r(words, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
        if (count < GN_MADE_CLASSES)
            GN_TRY(gn_corruption_find(ctx, word, &list[count]));
        count++;
    }
    if (count != GN_MADE_CLASSES)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "data.corruptions has %zu names, not one for each of the "
                       "%d classes",
                       count, GN_MADE_CLASSES);
    for (size_t i = 0; i < GN_MADE_CLASSES; i++)
        for (size_t k = 0; k < i; k++)
            if (list[i] == list[k])
                return gn_fail(ctx, GERNE_EUSAGE, "data.corruptions names '%s' twice",
                               gn_corruption_name(list[i]));
    return GERNE_OK;
}

static gerne_status choose_corruptions(gerne_ctx *ctx, const char *text, ccifar10 *self)
{
    bool found = false;
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(text, presets[i].name) == 0) {
            memcpy(self->corruptions, presets[i].list, sizeof self->corruptions);
            found = true;
        }
    if (!found)
        GN_TRY(parse_list(ctx, text, self->corruptions));
    for (size_t i = 0; i < GN_MADE_CLASSES; i++)
        if (self->corruptions[i] == GN_SPATTER && self->severity < 4) {
            gn_fail(ctx, GERNE_EUSAGE, "spatter exists for severity 4 and 5 only, not %d",
                    self->severity);
            gn_hint(ctx, "--data.severity 5 is what published runs use");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

/* ---- opening ---- */

static gerne_status open_file(gerne_ctx *ctx, const char *directory, int file, ccifar10 *self)
{
    char path[4096];
    static const char *const inner[] = {"", "cifar-10-batches-bin/"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s%s", directory, inner[i], file_names[file]);
        if (gn_path_exists(path))
            break;
    }
    if (!gn_path_exists(path)) {
        gn_fail(ctx, GERNE_EIO, "'%s' does not hold %s", directory, file_names[file]);
        gn_hint(ctx,
                "data.dir must hold the binary version of CIFAR-10; 'gerne data fetch cifar10' "
                "gets it");
        return GERNE_EIO;
    }
    gn_map *map = &self->files[file];
    GN_TRY(gn_map_open(ctx, path, map));
    if (map->size == 0 || map->size % RECORD != 0)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %zu bytes, not a whole number of records of %d",
                       path, map->size, RECORD);
    size_t count = map->size / RECORD;
    self->first[file + 1] = self->first[file] + count;
    for (size_t i = 0; i < count; i++)
        if (map->bytes[i * RECORD] >= GN_MADE_CLASSES)
            return gn_fail(ctx, GERNE_EDATA, "'%s', record %zu: label %d is outside 0..9", path, i,
                           map->bytes[i * RECORD]);
    return GERNE_OK;
}

static void digest_files(const gn_source *source, unsigned char digest[GN_SHA256_SIZE])
{
    const ccifar10 *self = (const ccifar10 *)source;
    gn_sha256 hash;
    gn_sha256_start(&hash);
    for (int i = 0; i < FILES; i++)
        gn_sha256_add(&hash, self->files[i].bytes, self->files[i].size);
    for (int i = 0; i < GN_FROST_TEXTURES; i++) {
        const gn_image *texture = &self->frost.textures[i];
        gn_sha256_add(&hash, texture->pixels, texture->height * texture->width * GN_CHANNELS);
    }
    gn_sha256_end(&hash, digest);
}

static gerne_status assign(gerne_ctx *ctx, const gn_data_options *options, ccifar10 *self,
                           gn_dataset *dataset)
{
    size_t train = self->first[TRAIN_FILES], total = self->first[FILES];
    const char *attribute_names[GN_MADE_CLASSES];
    GN_FREED uint8_t *labels = NULL;
    for (int i = 0; i < GN_MADE_CLASSES; i++)
        attribute_names[i] = gn_corruption_name(self->corruptions[i]);
    GN_TRY(gn_dataset_allocate(ctx, dataset, total, GN_MADE_CLASSES, GN_MADE_CLASSES, class_names,
                               attribute_names));
    GN_TRY(gn_alloc(ctx, total, 1, "attributes", &self->attributes));
    GN_TRY(gn_alloc(ctx, total, 1, "labels", &labels));
    for (size_t i = 0; i < total; i++)
        labels[i] = record_of(self, i)[0];
    gn_base base = {labels, labels + train, train, total - train};
    GN_TRY(gn_assign(ctx, options, &base, dataset));
    for (size_t i = 0; i < total; i++)
        self->attributes[i] = (uint8_t)dataset->a[i];
    return GERNE_OK;
}

gerne_status gn_open_ccifar10(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    if (!options->dir) {
        gn_fail(ctx, GERNE_EUSAGE, "data.dir is not given");
        gn_hint(ctx, "c-cifar10 is made from CIFAR-10: --data.dir FOLDER with its .bin files; "
                     "'gerne data fetch cifar10' gets them");
        return GERNE_EUSAGE;
    }
    ccifar10 *self;
    GN_TRY(gn_alloc(ctx, 1, sizeof *self, "a dataset", &self));
    dataset->source = &self->source;
    self->source.load = load;
    self->source.contents = digest_files;
    self->source.close = close_ccifar10;
    self->seed = (uint64_t)options->seed;
    self->severity = options->severity ? (int)options->severity : DEFAULT_SEVERITY;
    GN_TRY(choose_corruptions(ctx, options->corruptions ? options->corruptions : "dfa", self));
    for (int file = 0; file < FILES; file++)
        GN_TRY(open_file(ctx, options->dir, file, self));
    GN_TRY(gn_frost_open(ctx, options->frost, &self->frost));
    GN_TRY(assign(ctx, options, self, dataset));
    dataset->field = GN_PIXELS;
    dataset->height = dataset->width = GN_SIDE;
    dataset->dimension = GN_PICTURE;
    gn_dataset_normalize(dataset, options->normalize, GN_NORMALIZE_CIFAR);
    gn_dataset_settings(dataset, "c-cifar10 %d seed %lld severity %d", GENERATOR_VERSION,
                        (long long)options->seed, self->severity);
    return GERNE_OK;
}
