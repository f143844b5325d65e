/* synthetic.c - the embedded dataset: shapes on coloured ground, made from the seed alone.
 *
 * The class is the shape, a little moved, lighter or darker than the ground by chance, so that no
 * single pixel tells it; the attribute is the colour of the ground, which a linear model sees at
 * once. In the training split the colour follows the class except for a share `ratio` of the
 * samples; validation and test have every colour equally often.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "data/source.h"

enum { GRID = 5, NAMED = 10, KINDS_MAX = 100, NAME_MAX = 24 };

/* Bumped when the same options give other pixels. */
enum { GENERATOR_VERSION = 1 };

/* The draws of one seed: step 0 assigns attributes, step 1 folds, step 2 paints. */
enum { STEP_ASSIGN = 0, STEP_PAINT = 2 };

/* How an image is painted, in units of the full brightness and of the image's side. These make
 * colour easy and shape hard: with 1 % of minority samples an MLP (two hidden layers of 100, SGD,
 * 1,000 batches of 128) trained by ERM reaches a group-balanced test accuracy near 0.3, from
 * balanced batches 0.97 and more, for three seeds out of three. */
static const double contrast = 0.26, jitter = 0.05, smallest = 0.66, largest = 0.78;
static const double noise_common = 0.07, noise_channel = 0.04;
static const double darkest = 0.5, brightest = 0.8;

typedef struct shape {
    const char *name;
    const char *rows; /* GRID * GRID cells */
} shape;

static const shape shapes[NAMED] = {
    {"disc", "0111011111111111111101110"},     {"cross", "0010000100111110010000100"},
    {"ring", "0111010001100011000101110"},     {"saltire", "1000101010001000101010001"},
    {"bars", "1111100000111110000011111"},     {"columns", "1010110101101011010110101"},
    {"triangle", "0010000100011100111011111"}, {"arrow", "0010001110111110010000100"},
    {"zed", "1111100010001000100011111"},      {"checks", "1010101010101010101010101"},
};

typedef struct colour {
    const char *name;
    double rgb[GN_CHANNELS];
} colour;

static const colour colours[NAMED] = {
    {"red", {0.86, 0.24, 0.20}},    {"green", {0.24, 0.67, 0.29}},  {"blue", {0.00, 0.43, 0.78}},
    {"yellow", {0.94, 0.75, 0.16}}, {"purple", {0.57, 0.24, 0.71}}, {"cyan", {0.27, 0.78, 0.86}},
    {"orange", {0.94, 0.51, 0.16}}, {"pink", {0.90, 0.39, 0.75}},   {"brown", {0.55, 0.39, 0.24}},
    {"grey", {0.50, 0.50, 0.50}},
};

typedef struct synthetic {
    gn_source source;
    uint16_t *y, *a; /* of every row, also of rows that were dropped */
    uint64_t seed;
    size_t size;
    double cells[KINDS_MAX][GRID][GRID];
    double ground[KINDS_MAX][GN_CHANNELS];
} synthetic;

/* Shapes beyond the named ones: about half of the cells of a mirrored pattern. */
static void draw_shape(size_t k, double cells[GRID][GRID])
{
    gn_stream stream = gn_stream_at(0x5a17, GN_RNG_DATA, 3, k);
    for (size_t row = 0; row < GRID; row++)
        for (size_t column = 0; column < GRID; column++) {
            if (k < NAMED)
                cells[row][column] = shapes[k].rows[row * GRID + column] - '0';
            else if (column <= GRID / 2)
                cells[row][column] = (double)gn_random_below(&stream, 2);
            else
                cells[row][column] = cells[row][GRID - 1 - column];
        }
}

/* Hues beyond the named ones go round the circle by the golden section. */
static void choose_ground(size_t a, double ground[GN_CHANNELS])
{
    for (int c = 0; c < GN_CHANNELS; c++) {
        double hue = 0.618033988749895 * (double)a + (double)c / 3.0;
        ground[c] = a < NAMED ? colours[a].rgb[c] : 0.5 + 0.4 * cos(6.283185307179586 * hue);
    }
}

/* The value of the pattern at (u, v) in cells, 0 outside, bilinear between the centres. */
static double pattern_at(double cells[GRID][GRID], double u, double v)
{
    double left = floor(u - 0.5), top = floor(v - 0.5), sum = 0;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++) {
            double x = left + dx, y = top + dy;
            if (x < 0 || y < 0 || x >= GRID || y >= GRID)
                continue;
            sum += cells[(int)y][(int)x] * (1 - fabs(u - 0.5 - x)) * (1 - fabs(v - 0.5 - y));
        }
    return sum;
}

static double between(gn_stream *stream, double low, double high)
{
    return low + (high - low) * gn_random_uniform(stream);
}

static gerne_status paint(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch, size_t row,
                          uint8_t *pixels, unsigned char *digest)
{
    (void)ctx;
    (void)scratch;
    (void)digest;
    synthetic *self = (synthetic *)source;
    gn_stream stream = gn_stream_at(self->seed, GN_RNG_DATA, STEP_PAINT, row);
    double side = (double)self->size, cell = between(&stream, smallest, largest) * side / GRID;
    double x0 = side * (0.5 + between(&stream, -jitter, jitter)) - cell * GRID / 2;
    double y0 = side * (0.5 + between(&stream, -jitter, jitter)) - cell * GRID / 2;
    double light = between(&stream, darkest, brightest);
    double sign = gn_random_below(&stream, 2) ? 1 : -1;
    const double *ground = self->ground[self->a[row]];
    for (size_t i = 0; i < self->size * self->size; i++) {
        double u = ((double)(i % self->size) + 0.5 - x0) / cell;
        double v = ((double)(i / self->size) + 0.5 - y0) / cell;
        double level = sign * contrast * pattern_at(self->cells[self->y[row]], u, v) +
                       noise_common * gn_random_normal(&stream);
        for (size_t c = 0; c < GN_CHANNELS; c++) {
            double value = light * ground[c] + level + noise_channel * gn_random_normal(&stream);
            pixels[i * GN_CHANNELS + c] = (uint8_t)(255 * fmin(fmax(value, 0), 1));
        }
    }
    return GERNE_OK;
}

static void close_synthetic(gn_source *source)
{
    gn_free(((synthetic *)source)->y);
    gn_free(((synthetic *)source)->a);
    gn_free(source);
}

/* Training samples go round the classes; within a class a keyed permutation says which of them
 * leave the class's own attribute, and these go round the other attributes. */
static void assign(gn_dataset *dataset, size_t train, double ratio, uint64_t seed)
{
    size_t classes = dataset->classes, attributes = dataset->attributes;
    for (size_t y = 0; y < classes; y++) {
        size_t count = train / classes + (y < train % classes);
        if (!count)
            continue;
        size_t minority = (size_t)nearbyint(ratio * (double)count), own = y % attributes;
        gn_permutation order = gn_permutation_at(count, seed, GN_RNG_DATA, STEP_ASSIGN, y);
        for (size_t k = 0; k < count; k++) {
            size_t i = k * classes + y, place = (size_t)gn_permute(&order, k);
            size_t other = 1 + (place + y) % (attributes - 1);
            dataset->y[i] = (int32_t)y;
            dataset->a[i] = (int32_t)(place < minority ? (own + other) % attributes : own);
            dataset->split[i] = GN_TRAIN;
        }
    }
    for (size_t i = train; i < dataset->n; i++) {
        assert(classes > 0);
        size_t held = (dataset->n - train) / 2, k = (i - train) % held;
        dataset->y[i] = (int32_t)(k % classes);
        dataset->a[i] = (int32_t)(k / classes % attributes);
        dataset->split[i] = i - train < held ? GN_VAL : GN_TEST;
    }
}

static gerne_status allocate(gerne_ctx *ctx, gn_dataset *dataset, size_t n, size_t classes,
                             size_t attributes)
{
    char class_texts[KINDS_MAX][NAME_MAX], attribute_texts[KINDS_MAX][NAME_MAX];
    const char *class_names[KINDS_MAX], *attribute_names[KINDS_MAX];
    for (size_t i = 0; i < KINDS_MAX; i++) {
        snprintf(class_texts[i], NAME_MAX, "shape-%02zu", i);
        snprintf(attribute_texts[i], NAME_MAX, "hue-%02zu", i);
        class_names[i] = i < NAMED ? shapes[i].name : class_texts[i];
        attribute_names[i] = i < NAMED ? colours[i].name : attribute_texts[i];
    }
    return gn_dataset_allocate(ctx, dataset, n, (uint32_t)classes, (uint32_t)attributes,
                               class_names, attribute_names);
}

gerne_status gn_open_synthetic(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    size_t train = (size_t)options->n, classes = (size_t)options->classes;
    size_t attributes = (size_t)options->attributes, size = (size_t)options->size;
    size_t held = train / 4 ? train / 4 : 1;
    GN_TRY(allocate(ctx, dataset, train + 2 * held, classes, attributes));
    assign(dataset, train, options->ratio, (uint64_t)options->seed);
    dataset->field = GN_PIXELS;
    dataset->height = dataset->width = size;
    dataset->dimension = size * size * GN_CHANNELS;
    gn_dataset_normalize(dataset, options->normalize, GN_NORMALIZE_NONE);
    gn_dataset_settings(dataset, "synthetic %d seed %lld", GENERATOR_VERSION,
                        (long long)options->seed);
    synthetic *self;
    GN_TRY(gn_alloc(ctx, 1, sizeof *self, "a dataset", &self));
    dataset->source = &self->source;
    self->source.load = paint;
    self->source.close = close_synthetic;
    self->seed = (uint64_t)options->seed;
    self->size = size;
    for (size_t k = 0; k < KINDS_MAX; k++) {
        draw_shape(k, self->cells[k]);
        choose_ground(k, self->ground[k]);
    }
    GN_TRY(gn_alloc(ctx, dataset->n, sizeof *self->y, "labels", &self->y));
    GN_TRY(gn_alloc(ctx, dataset->n, sizeof *self->a, "attributes", &self->a));
    for (size_t i = 0; i < dataset->n; i++) {
        self->y[i] = (uint16_t)dataset->y[i];
        self->a[i] = (uint16_t)dataset->a[i];
    }
    return GERNE_OK;
}
