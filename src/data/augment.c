#include "data/augment.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CHANNELS = 3, PADDING = 4 };

typedef struct picture {
    size_t height, width;
    uint8_t *bytes;
} picture;

typedef struct original {
    size_t height, width;
    const uint8_t *bytes;
} original;

/* ---- by whole pixels ---- */

/* Moves the picture by (dx, dy) and mirrors it. */
static void shift_and_flip(const original *from, int dx, int dy, bool flip, picture *to)
{
    int height = (int)from->height, width = (int)from->width;
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++) {
            int x = (flip ? width - 1 - column : column) + dx, y = row + dy;
            uint8_t *out = to->bytes + ((size_t)row * to->width + (size_t)column) * CHANNELS;
            if (x < 0 || y < 0 || x >= width || y >= height)
                memset(out, 0, CHANNELS);
            else
                memcpy(out, from->bytes + ((size_t)y * from->width + (size_t)x) * CHANNELS,
                       CHANNELS);
        }
}

static void crop_and_flip(gn_augment kind, gn_stream *stream, const original *from, picture *to)
{
    int dx = 0, dy = 0;
    bool flip = false;
    if (kind == GN_AUGMENT_CROP || kind == GN_AUGMENT_CROP_FLIP) {
        dy = (int)gn_random_below(stream, 2 * PADDING + 1) - PADDING;
        dx = (int)gn_random_below(stream, 2 * PADDING + 1) - PADDING;
    }
    if (kind == GN_AUGMENT_FLIP || kind == GN_AUGMENT_CROP_FLIP)
        flip = gn_random_below(stream, 2);
    shift_and_flip(from, dx, dy, flip, to);
}

/* ---- geometry ---- */

/* Where a place of the result comes from: [x', y'] = m [x, y] + t, around the centre. */
typedef struct affine {
    double m[2][2], t[2];
    bool inside; /* places beyond the border take its pixels, and black ones otherwise */
} affine;

static double uniform(gn_stream *stream, double low, double high)
{
    return low + (high - low) * gn_random_uniform(stream);
}

static affine rotate_and_scale(double degrees, double scale)
{
    double angle = degrees * 0.017453292519943295, c = cos(angle) / scale, s = sin(angle) / scale;
    return (affine){.m = {{c, s}, {-s, c}}};
}

/* Mean of the four pixels around a place, by their distance. */
static void sample(const original *from, double x, double y, uint8_t *out)
{
    double left = floor(x), top = floor(y), dx = x - left, dy = y - top;
    double sums[CHANNELS] = {0};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            double column = left + i, row = top + j;
            double weight = (i ? dx : 1 - dx) * (j ? dy : 1 - dy);
            if (column < 0 || row < 0 || column >= (double)from->width ||
                row >= (double)from->height)
                continue;
            const uint8_t *pixel =
                from->bytes + ((size_t)row * from->width + (size_t)column) * CHANNELS;
            for (int c = 0; c < CHANNELS; c++)
                sums[c] += weight * pixel[c];
        }
    for (int c = 0; c < CHANNELS; c++)
        out[c] = (uint8_t)(sums[c] + 0.5);
}

static void warp(const original *from, const affine *a, picture *to)
{
    double cx = ((double)from->width - 1) / 2, cy = ((double)from->height - 1) / 2;
    uint8_t *out = to->bytes;
    for (size_t row = 0; row < to->height; row++)
        for (size_t column = 0; column < to->width; column++, out += CHANNELS) {
            double x = (double)column - cx, y = (double)row - cy;
            double from_x = cx + a->m[0][0] * x + a->m[0][1] * y + a->t[0];
            double from_y = cy + a->m[1][0] * x + a->m[1][1] * y + a->t[1];
            if (a->inside) {
                from_x = fmin(fmax(from_x, 0), 2 * cx);
                from_y = fmin(fmax(from_y, 0), 2 * cy);
            }
            sample(from, from_x, from_y, out);
        }
}

static void turn(gn_stream *stream, const original *from, picture *to)
{
    double degrees = uniform(stream, -30, 30), scale = uniform(stream, 0.8, 1.1);
    affine a = rotate_and_scale(degrees, scale);
    a.t[0] = uniform(stream, -0.15, 0.15) * (double)from->width;
    a.t[1] = uniform(stream, -0.15, 0.15) * (double)from->height;
    warp(from, &a, to);
}

/* A part of the picture: a share of its area and a ratio of its sides, all of it where ten draws
 * do not fit. As shares of the sides. */
static void draw_part(gn_stream *stream, const original *from, double *width, double *height)
{
    enum { TRIES = 10 };
    double sides = (double)from->width / (double)from->height;
    for (int i = 0; i < TRIES; i++) {
        double area = uniform(stream, 0.7, 1),
               ratio = exp(uniform(stream, log(3.0 / 4), log(4.0 / 3)));
        *width = sqrt(area * ratio / sides);
        *height = sqrt(area * sides / ratio);
        if (*width <= 1 && *height <= 1)
            return;
    }
    *width = *height = 1;
}

/* What most work on pretrained networks trains with: such a part at full size, mirrored or not. */
static void resized_crop(gn_stream *stream, const original *from, picture *to)
{
    double width, height;
    draw_part(stream, from, &width, &height);
    double left = uniform(stream, 0, 1 - width), top = uniform(stream, 0, 1 - height);
    bool flip = gn_random_below(stream, 2);
    const affine a = {.m = {{flip ? -width : width, 0}, {0, height}},
                      .t = {(left + width / 2 - 0.5) * (double)from->width,
                            (top + height / 2 - 0.5) * (double)from->height},
                      .inside = true};
    warp(from, &a, to);
}

/* ---- colour ---- */

static double grey(const uint8_t *pixel)
{
    return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
}

static uint8_t byte_of(double value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

/* What a factor below 1 moves colours towards, and one above 1 away from. */
typedef enum anchor { BLACK, MEAN_GREY, OWN_GREY } anchor;

static void blend(picture *p, anchor towards, double factor)
{
    size_t pixels = p->height * p->width;
    double level = 0;
    for (size_t i = 0; towards == MEAN_GREY && i < pixels; i++)
        level += grey(p->bytes + i * CHANNELS) / (double)pixels;
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *pixel = p->bytes + i * CHANNELS;
        if (towards == OWN_GREY)
            level = grey(pixel);
        for (int c = 0; c < CHANNELS; c++)
            pixel[c] = byte_of(level + factor * (pixel[c] - level));
    }
}

static void copy(const original *from, picture *to)
{
    memcpy(to->bytes, from->bytes, from->height * from->width * CHANNELS);
}

static void jitter(gn_stream *stream, const original *from, picture *to)
{
    static const anchor all[] = {BLACK, MEAN_GREY, OWN_GREY};
    copy(from, to);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        blend(to, all[i], uniform(stream, 0.6, 1.4));
}

/* ---- one of several ---- */

static affine shear(double x, double y)
{
    return (affine){.m = {{1, x}, {y, 1}}};
}

/* One operation with a strength up to the largest that RandAugment uses, so that no number has to
 * be tuned. The picture is read and written once. */
static void change_once(gn_stream *stream, const original *from, picture *to)
{
    enum {
        ROTATE,
        SHEAR_X,
        SHEAR_Y,
        SHIFT_X,
        SHIFT_Y,
        SCALE,
        BRIGHT,
        CONTRAST,
        COLOR,
        NOTHING,
        ALL
    };
    unsigned operation = (unsigned)gn_random_below(stream, ALL);
    double strength = uniform(stream, -1, 1);
    affine a = shear(0, 0);
    if (operation == ROTATE)
        a = rotate_and_scale(30 * strength, 1);
    else if (operation == SHEAR_X || operation == SHEAR_Y)
        a = shear(operation == SHEAR_X ? 0.3 * strength : 0,
                  operation == SHEAR_Y ? 0.3 * strength : 0);
    else if (operation == SHIFT_X)
        a.t[0] = 0.3 * strength * (double)from->width;
    else if (operation == SHIFT_Y)
        a.t[1] = 0.3 * strength * (double)from->height;
    else if (operation == SCALE)
        a = rotate_and_scale(0, 1 + 0.3 * strength);
    if (operation <= SCALE) {
        warp(from, &a, to);
        return;
    }
    copy(from, to);
    if (operation != NOTHING)
        blend(to, (anchor)(operation - BRIGHT), 1 + 0.9 * strength);
}

void gn_augment_picture(gn_augment kind, gn_stream *stream, size_t height, size_t width,
                        const uint8_t *from, uint8_t *to)
{
    const original before = {height, width, from};
    picture after = {height, width, to};
    if (kind == GN_AUGMENT_AFFINE)
        turn(stream, &before, &after);
    else if (kind == GN_AUGMENT_COLOR)
        jitter(stream, &before, &after);
    else if (kind == GN_AUGMENT_RANDOM)
        change_once(stream, &before, &after);
    else if (kind == GN_AUGMENT_RESIZED_CROP)
        resized_crop(stream, &before, &after);
    else
        crop_and_flip(kind, stream, &before, &after);
}
