/* corrupt_weather.c - snow, frost, fog, mud, and elastic distortion. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/corrupt.h"

enum { PLANE = GN_SIDE * GN_SIDE };

static double clip(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

void gn_snow(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[][7] = {{0.1, 0.2, 1, 0.6, 8, 3, 0.95},
                                  {0.1, 0.2, 1, 0.5, 10, 4, 0.9},
                                  {0.15, 0.3, 1.75, 0.55, 10, 4, 0.9},
                                  {0.25, 0.3, 2.25, 0.6, 12, 6, 0.85},
                                  {0.3, 0.3, 1.25, 0.65, 14, 12, 0.8}};
    const double *p = c[severity];
    for (size_t i = 0; i < PLANE; i++)
        easel->plane[i] = p[0] + p[1] * gn_noise_normal(noise);
    gn_clipped_zoom(easel->plane, 1, p[2], easel->other);
    for (size_t i = 0; i < PLANE; i++) {
        double flake = easel->other[i] < p[3] ? 0 : easel->other[i];
        easel->plane[i] = (double)(uint8_t)(clip(flake) * 255);
    }
    double angle = gn_noise_between(noise, -135, -45);
    gn_motion_blur(easel->plane, 1, p[4], p[5], angle, easel->other);
    for (size_t i = 0; i < PLANE; i++) {
        double *pixel = easel->value + i * GN_CHANNELS;
        double grey = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
        double snow = (easel->other[i] + easel->other[PLANE - 1 - i]) / 255;
        for (size_t ch = 0; ch < GN_CHANNELS; ch++)
            pixel[ch] = p[6] * pixel[ch] + (1 - p[6]) * fmax(pixel[ch], 1.5 * grey + 0.5) + snow;
    }
}

/* ---- height maps and fog ---- */

/* A quarter of the sum of four neighbours plus noise, for the cells (row0 + k step, column0 + ...);
 * reach is the distance to the neighbours: diagonal ones for squares, straight ones for diamonds.
 */
static void fill_cells(double *map, size_t side, size_t step, size_t row0, size_t column0,
                       bool diagonal, double wibble, gn_noise *noise)
{
    size_t half = step / 2, mask = side - 1;
    for (size_t y = row0; y < side; y += step)
        for (size_t x = column0; x < side; x += step) {
            size_t up = (y - half) & mask, below = (y + half) & mask;
            size_t left = (x - half) & mask, right = (x + half) & mask;
            double sum = diagonal ? map[up * side + left] + map[up * side + right] +
                                        map[below * side + left] + map[below * side + right]
                                  : map[up * side + x] + map[below * side + x] +
                                        map[y * side + left] + map[y * side + right];
            map[y * side + x] = sum / 4 + wibble * gn_noise_between(noise, -wibble, wibble);
        }
}

gerne_status gn_height_map(gerne_ctx *ctx, size_t side, double decay, gn_noise *noise, double *map)
{
    if (side < 2 || side & (side - 1))
        return gn_fail(ctx, GERNE_EINTERNAL, "a height map has a side of %zu, not a power of two",
                       side);
    double wibble = 100, low = INFINITY, high = -INFINITY;
    map[0] = 0;
    for (size_t step = side; step >= 2; step /= 2, wibble /= decay) {
        fill_cells(map, side, step, step / 2, step / 2, true, wibble, noise);
        fill_cells(map, side, step, 0, step / 2, false, wibble, noise);
        fill_cells(map, side, step, step / 2, 0, false, wibble, noise);
    }
    for (size_t i = 0; i < side * side; i++) {
        low = fmin(low, map[i]);
        high = fmax(high, map[i]);
    }
    for (size_t i = 0; i < side * side; i++)
        map[i] = high > low ? (map[i] - low) / (high - low) : 0;
    return GERNE_OK;
}

gerne_status gn_fog(gerne_ctx *ctx, gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[][2] = {{0.2, 3}, {0.5, 3}, {0.75, 2.5}, {1, 2}, {1.5, 1.75}};
    double density = c[severity][0], brightest = 0;
    GN_TRY(gn_height_map(ctx, GN_SIDE, c[severity][1], noise, easel->plane));
    for (size_t i = 0; i < GN_PICTURE; i++)
        brightest = fmax(brightest, easel->value[i]);
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->value[i] = (easel->value[i] + density * easel->plane[i / GN_CHANNELS]) * brightest /
                          (brightest + density);
    return GERNE_OK;
}

/* ---- frost ---- */

enum { REDUCTION = 5, SYNTHETIC_SIDE = 128 };

/* Bilinear reduction to a fifth with half-pixel centres reads exactly the middle of five. */
static gerne_status reduce(gerne_ctx *ctx, const char *path, const gn_image *from, gn_image *out)
{
    out->height = (size_t)nearbyint((double)from->height / REDUCTION);
    out->width = (size_t)nearbyint((double)from->width / REDUCTION);
    if (out->height <= GN_SIDE || out->width <= GN_SIDE)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %zux%zu pixels, too small for a frost texture",
                       path, from->height, from->width);
    GN_TRY(gn_alloc(ctx, out->height * out->width, GN_CHANNELS, "a texture", &out->pixels));
    for (size_t y = 0; y < out->height; y++)
        for (size_t x = 0; x < out->width; x++) {
            size_t row = REDUCTION * y + REDUCTION / 2, column = REDUCTION * x + REDUCTION / 2;
            row = row < from->height ? row : from->height - 1;
            column = column < from->width ? column : from->width - 1;
            memcpy(out->pixels + (y * out->width + x) * GN_CHANNELS,
                   from->pixels + (row * from->width + column) * GN_CHANNELS, GN_CHANNELS);
        }
    return GERNE_OK;
}

static gerne_status read_texture(gerne_ctx *ctx, gn_scratch *scratch, const char *directory,
                                 int index, gn_image *out)
{
    char path[4096];
    GN_LOCAL(gn_text) bytes = {0};
    gn_image image;
    snprintf(path, sizeof path, "%s/frost%d.%s", directory, index + 1, index < 3 ? "png" : "jpg");
    GN_TRY(gn_file_read(ctx, path, (size_t)1 << 28, &bytes));
    GN_TRY(gn_image_decode(ctx, scratch, path, bytes.bytes, bytes.size, &image));
    return reduce(ctx, path, &image, out);
}

/* Bluish white on a rough height map, the same on every machine and for every seed. */
static gerne_status make_texture(gerne_ctx *ctx, int index, gn_image *out)
{
    static const double tint[GN_CHANNELS] = {0.86, 0.94, 1.0};
    size_t area = (size_t)SYNTHETIC_SIDE * SYNTHETIC_SIDE;
    GN_FREED double *map = NULL;
    out->height = out->width = SYNTHETIC_SIDE;
    GN_TRY(gn_alloc(ctx, area, GN_CHANNELS, "a texture", &out->pixels));
    GN_TRY(gn_alloc(ctx, area, sizeof *map, "a texture", &map));
    gn_noise noise = {.stream = gn_stream_at(0xf7057, GN_RNG_DATA, 4, (uint64_t)index)};
    GN_TRY(gn_height_map(ctx, SYNTHETIC_SIDE, 1.6, &noise, map));
    for (size_t i = 0; i < area * GN_CHANNELS; i++) {
        double height = map[i / GN_CHANNELS];
        out->pixels[i] = (uint8_t)(255 * tint[i % GN_CHANNELS] * (0.25 + 0.75 * height * height));
    }
    return GERNE_OK;
}

gerne_status gn_frost_open(gerne_ctx *ctx, const char *directory, gn_frost *out)
{
    *out = (gn_frost){0};
    gn_scratch scratch = {0};
    gerne_status status = GERNE_OK;
    for (int i = 0; status == GERNE_OK && i < GN_FROST_TEXTURES; i++)
        status = directory ? read_texture(ctx, &scratch, directory, i, &out->textures[i])
                           : make_texture(ctx, i, &out->textures[i]);
    gn_scratch_free(&scratch);
    if (status != GERNE_OK)
        gn_frost_close(out);
    return status;
}

void gn_frost_close(gn_frost *frost)
{
    for (int i = 0; i < GN_FROST_TEXTURES; i++)
        gn_free(frost->textures[i].pixels);
    *frost = (gn_frost){0};
}

void gn_frost_blend(const gn_frost *frost, gn_easel *easel, int severity, gn_noise *noise,
                    uint8_t *out)
{
    static const double c[][2] = {{1, 0.2}, {1, 0.3}, {0.9, 0.4}, {0.85, 0.4}, {0.75, 0.45}};
    const gn_image *texture = &frost->textures[gn_noise_below(noise, GN_FROST_TEXTURES)];
    size_t top = gn_noise_below(noise, texture->height - GN_SIDE);
    size_t left = gn_noise_below(noise, texture->width - GN_SIDE);
    for (size_t y = 0; y < GN_SIDE; y++)
        for (size_t i = 0; i < GN_SIDE * GN_CHANNELS; i++) {
            size_t at = y * GN_SIDE * GN_CHANNELS + i;
            uint8_t ice = texture->pixels[((y + top) * texture->width + left) * GN_CHANNELS + i];
            double value = c[severity][0] * easel->bytes[at] + c[severity][1] * ice;
            out[at] = (uint8_t)(value > 255 ? 255 : value);
        }
}

/* ---- mud ---- */

/* Severities 4 and 5 are mud. Water (1 to 3) needs edge maps; gn_open_ccifar10 refuses it. */
void gn_spatter(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[][5] = {{0.65, 0.1, 0.7, 0.69, 0.6}, {0.65, 0.1, 0.5, 0.68, 0.6}};
    static const double mud[GN_CHANNELS] = {63 / 255.0, 42 / 255.0, 20 / 255.0};
    const double *p = c[severity > 3];
    for (size_t i = 0; i < PLANE; i++)
        easel->plane[i] = p[0] + p[1] * gn_noise_normal(noise);
    gn_smooth(easel->plane, easel->spare, 1, p[2], 4, GN_BORDER_EDGE);
    for (size_t i = 0; i < PLANE; i++)
        easel->plane[i] = easel->plane[i] > p[3];
    gn_smooth(easel->plane, easel->spare, 1, p[4], 4, GN_BORDER_EDGE);
    for (size_t i = 0; i < GN_PICTURE; i++) {
        double mask = easel->plane[i / GN_CHANNELS];
        mask = mask < 0.8 ? 0 : mask;
        easel->value[i] = easel->value[i] * (1 - mask) + mask * mud[i % GN_CHANNELS];
    }
}

/* ---- elastic ---- */

/* The affine map that takes three corners to their moved places: out = m (x, y, 1). */
static void affine_from_points(double from[3][2], double to[3][2], double m[2][3])
{
    double ax = from[1][0] - from[0][0], ay = from[1][1] - from[0][1];
    double bx = from[2][0] - from[0][0], by = from[2][1] - from[0][1];
    double determinant = ax * by - ay * bx;
    for (int k = 0; k < 2; k++) {
        double a = to[1][k] - to[0][k], b = to[2][k] - to[0][k];
        m[k][0] = (a * by - b * ay) / determinant;
        m[k][1] = (b * ax - a * bx) / determinant;
        m[k][2] = to[0][k] - m[k][0] * from[0][0] - m[k][1] * from[0][1];
    }
}

static void displacement(double *field, double *spare, double amount, double sigma, gn_noise *noise)
{
    for (size_t i = 0; i < PLANE; i++)
        field[i] = gn_noise_between(noise, -1, 1);
    gn_smooth(field, spare, 1, sigma, 3, GN_BORDER_REFLECT);
    for (size_t i = 0; i < PLANE; i++)
        field[i] *= amount;
}

void gn_elastic(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[][3] = {
        {0, 0, 0.08}, {0.05, 0.2, 0.07}, {0.08, 0.06, 0.06}, {0.1, 0.04, 0.05}, {0.1, 0.03, 0.03}};
    double amount = GN_SIDE * c[severity][0], sigma = GN_SIDE * c[severity][1];
    double reach = GN_SIDE * c[severity][2], m[2][3], moved[3][2];
    double points[3][2] = {{26, 26}, {26, 6}, {6, 6}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            moved[i][k] = points[i][k] + gn_noise_between(noise, -reach, reach);
    affine_from_points(moved, points, m); /* where a pixel of the result comes from */
    for (size_t i = 0; i < GN_PICTURE; i++) {
        double x = (double)(i / GN_CHANNELS % GN_SIDE), y = (double)(i / GN_CHANNELS / GN_SIDE);
        easel->spare[i] = gn_bilinear(easel->value, GN_CHANNELS, i % GN_CHANNELS,
                                      m[1][0] * x + m[1][1] * y + m[1][2],
                                      m[0][0] * x + m[0][1] * y + m[0][2], GN_BORDER_MIRROR);
    }
    displacement(easel->plane, easel->third, amount, sigma, noise);
    displacement(easel->other, easel->third, amount, sigma, noise);
    for (size_t i = 0; i < GN_PICTURE; i++) {
        size_t at = i / GN_CHANNELS;
        easel->value[i] = gn_bilinear(easel->spare, GN_CHANNELS, i % GN_CHANNELS,
                                      (double)(at / GN_SIDE) + easel->other[at],
                                      (double)(at % GN_SIDE) + easel->plane[at], GN_BORDER_REFLECT);
    }
}
