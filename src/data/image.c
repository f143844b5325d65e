#include "data/image.h"

#include <math.h>
#include <string.h>

gerne_status gn_image_check_size(gerne_ctx *ctx, const char *name, size_t height, size_t width)
{
    if (height && width && height <= GN_IMAGE_SIDE_MAX && width <= GN_IMAGE_SIDE_MAX &&
        height * width <= GN_IMAGE_PIXELS_MAX)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA,
                   "'%s' has %zux%zu pixels, more than is allowed (side %d, %d "
                   "in all)",
                   name, height, width, GN_IMAGE_SIDE_MAX, GN_IMAGE_PIXELS_MAX);
}

typedef gerne_status decoder(gerne_ctx *, gn_scratch *, const char *, const void *, size_t, bool,
                             gn_image *);

/* NULL with a failure recorded when the bytes are neither. */
static decoder *decoder_for(gerne_ctx *ctx, const char *name, const void *bytes, size_t size)
{
    if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return gn_jpeg_decode;
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return gn_png_decode;
    gn_fail(ctx, GERNE_EDATA, size ? "'%s' is neither JPEG nor PNG" : "'%s' is empty", name);
    return NULL;
}

gerne_status gn_image_decode(gerne_ctx *ctx, gn_scratch *scratch, const char *name,
                             const void *bytes, size_t size, gn_image *out)
{
    *out = (gn_image){0};
    decoder *decode = decoder_for(ctx, name, bytes, size);
    return decode ? decode(ctx, scratch, name, bytes, size, false, out) : GERNE_EDATA;
}

gerne_status gn_image_size(gerne_ctx *ctx, const char *name, const void *bytes, size_t size,
                           size_t *height, size_t *width)
{
    gn_image image = {0};
    gn_scratch scratch = {0};
    decoder *decode = decoder_for(ctx, name, bytes, size);
    gerne_status status = GERNE_EDATA;
    if (decode)
        status = decode(ctx, &scratch, name, bytes, size, true, &image);
    gn_scratch_free(&scratch);
    *height = image.height;
    *width = image.width;
    return status;
}

/* ---- resizing ---- */

/* Weights are whole numbers of this many bits, and both passes round to bytes, as Pillow does. */
enum { WEIGHT_BITS = 22 };

/* The weights of one direction: out pixel i reads count[i] pixels from first[i] on. */
typedef struct weights {
    size_t window; /* the most pixels that one output reads */
    size_t *first, *count;
    int32_t *values; /* window per output */
} weights;

static size_t weights_bytes(size_t in, size_t out, size_t part, size_t *window)
{
    double scale = (double)in / (double)out;
    *window = (size_t)ceil(scale < 1 ? 1 : scale) * 2 + 1;
    return part * (2 * sizeof(size_t) + *window * sizeof(int32_t));
}

/* The triangle of radius 1, or the box of radius 1/2. */
static double filter(double x, bool box)
{
    if (box)
        return x > -0.5 && x <= 0.5;
    return fmax(0, 1 - fabs(x));
}

/* The filter, stretched by the factor of a reduction. */
static void one_weight_row(size_t in, double centre, double stretch, bool box, size_t *first,
                           size_t *count, int32_t *values)
{
    double reach = box ? 0.5 * stretch : stretch, sum = 0;
    double low = centre - reach + 0.5, high = centre + reach + 0.5;
    size_t start = low < 0 ? 0 : (size_t)low;
    size_t end = high > (double)in ? in : (size_t)high;
    for (size_t x = start; x < end; x++)
        sum += filter(((double)x - centre + 0.5) / stretch, box);
    for (size_t x = start; x < end; x++) {
        double weight = filter(((double)x - centre + 0.5) / stretch, box) / sum;
        values[x - start] = (int32_t)(weight * (1 << WEIGHT_BITS) + 0.5);
    }
    *first = start;
    *count = end - start;
}

static void fill_weights(size_t in, size_t out, size_t skip, size_t part, bool box, void *memory,
                         weights *w)
{
    double scale = (double)in / (double)out, stretch = scale < 1 ? 1 : scale;
    w->first = memory;
    w->count = w->first + part;
    w->values = (int32_t *)(w->count + part);
    for (size_t i = 0; i < part; i++)
        one_weight_row(in, ((double)(i + skip) + 0.5) * scale, stretch, box, &w->first[i],
                       &w->count[i], w->values + i * w->window);
}

static uint8_t to_byte(int32_t sum)
{
    int32_t value = sum >> WEIGHT_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* One row of the picture becomes part pixels. */
static void shrink_row(const uint8_t *row, const weights *w, size_t part, uint8_t *out)
{
    for (size_t i = 0; i < part; i++, out += GN_CHANNELS) {
        const uint8_t *from = row + w->first[i] * GN_CHANNELS;
        const int32_t *values = w->values + i * w->window;
        int32_t r = 1 << (WEIGHT_BITS - 1), g = r, b = r;
        for (size_t k = 0; k < w->count[i]; k++, from += GN_CHANNELS) {
            r += values[k] * from[0];
            g += values[k] * from[1];
            b += values[k] * from[2];
        }
        out[0] = to_byte(r);
        out[1] = to_byte(g);
        out[2] = to_byte(b);
    }
}

/* Several rows become one. The sums of a whole row stay in cache, so the loop over it is long and
 * simple. */
static void blend_rows(const uint8_t *rows, size_t stride, const int32_t *values, size_t count,
                       int32_t *sums, uint8_t *out)
{
    for (size_t i = 0; i < stride; i++)
        sums[i] = 1 << (WEIGHT_BITS - 1);
    for (size_t k = 0; k < count; k++) {
        const uint8_t *row = rows + k * stride;
        int32_t value = values[k];
        for (size_t i = 0; i < stride; i++)
            sums[i] += value * row[i];
    }
    for (size_t i = 0; i < stride; i++)
        out[i] = to_byte(sums[i]);
}

gerne_status gn_image_resize(gerne_ctx *ctx, gn_scratch *scratch, const gn_image *image,
                             const gn_resize *r, uint8_t *pixels)
{
    weights across = {0}, down = {0};
    size_t across_bytes = weights_bytes(r->width, r->out_width, r->part_width, &across.window);
    size_t down_bytes = weights_bytes(r->height, r->out_height, r->part_height, &down.window);
    size_t stride = r->part_width * GN_CHANNELS;
    across_bytes = (across_bytes + 7) & ~(size_t)7;
    down_bytes = (down_bytes + 7) & ~(size_t)7;
    unsigned char *memory;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_COEFFICIENTS,
                           across_bytes + down_bytes + stride * sizeof(int32_t), &memory));
    fill_weights(r->width, r->out_width, r->out_left, r->part_width, r->box, memory, &across);
    fill_weights(r->height, r->out_height, r->out_top, r->part_height, r->box,
                 memory + across_bytes, &down);
    int32_t *sums = (int32_t *)(void *)(memory + across_bytes + down_bytes);
    /* Only the rows that the result reads. */
    size_t last = r->part_height - 1, start = down.first[0];
    size_t rows = down.first[last] + down.count[last] - start;
    uint8_t *narrow;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_RESIZE, rows * stride, &narrow));
    bool same_width = r->width == r->out_width;
    for (size_t y = 0; y < rows; y++) {
        const uint8_t *row =
            image->pixels + ((r->top + start + y) * image->width + r->left) * GN_CHANNELS;
        if (same_width)
            memcpy(narrow + y * stride, row + r->out_left * GN_CHANNELS, stride);
        else
            shrink_row(row, &across, r->part_width, narrow + y * stride);
    }
    for (size_t y = 0; y < r->part_height; y++)
        blend_rows(narrow + (down.first[y] - start) * stride, stride, down.values + y * down.window,
                   down.count[y], sums, pixels + y * stride);
    return GERNE_OK;
}

/* ---- the transform ---- */

void gn_transform_size(const gn_transform *t, size_t height, size_t width, size_t *out_height,
                       size_t *out_width)
{
    bool crop_last = t->crop_height && !(t->crop_first && t->resize_height);
    *out_height = crop_last ? t->crop_height : t->resize_height ? t->resize_height : height;
    *out_width = crop_last ? t->crop_width : t->resize_width ? t->resize_width : width;
}

/* Where a centred part starts; torchvision rounds halves to even. */
static size_t centred(size_t whole, size_t part)
{
    return (size_t)nearbyint((double)(whole - part) / 2);
}

static gerne_status check_crop(gerne_ctx *ctx, const gn_transform *t, const char *name,
                               size_t height, size_t width)
{
    if (t->crop_height <= height && t->crop_width <= width)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EDATA, "'%s' has %zux%zu pixels, less than data.crop %zux%zu", name, height,
            width, t->crop_height, t->crop_width);
    gn_hint(ctx, "resize first: --data.resize N");
    return GERNE_EDATA;
}

gerne_status gn_transform_apply(gerne_ctx *ctx, gn_scratch *scratch, const gn_transform *t,
                                const char *name, const gn_image *image, uint8_t *pixels)
{
    size_t height, width;
    gn_transform_size(t, image->height, image->width, &height, &width);
    if (height == image->height && width == image->width) {
        memcpy(pixels, image->pixels, height * width * GN_CHANNELS);
        return GERNE_OK;
    }
    gn_resize r = {.height = image->height, .width = image->width};
    bool crops_first = t->crop_height && (t->crop_first || !t->resize_height);
    if (crops_first) {
        GN_TRY(check_crop(ctx, t, name, image->height, image->width));
        r.top = centred(image->height, t->crop_height);
        r.left = centred(image->width, t->crop_width);
        r.height = t->crop_height;
        r.width = t->crop_width;
    }
    r.out_height = t->resize_height ? t->resize_height : r.height;
    r.out_width = t->resize_width ? t->resize_width : r.width;
    r.part_height = r.out_height;
    r.part_width = r.out_width;
    if (t->crop_height && !crops_first) {
        GN_TRY(check_crop(ctx, t, name, r.out_height, r.out_width));
        r.out_top = centred(r.out_height, t->crop_height);
        r.out_left = centred(r.out_width, t->crop_width);
        r.part_height = t->crop_height;
        r.part_width = t->crop_width;
    }
    return gn_image_resize(ctx, scratch, image, &r, pixels);
}
