/* image.h - pictures: JPEG and PNG to 8-bit RGB and back, resizing as Pillow does it, cropping. */
#ifndef GN_DATA_IMAGE_H
#define GN_DATA_IMAGE_H

#include "data/source.h"

/* RGB, row by row without gaps. */
typedef struct gn_image {
    size_t height, width;
    uint8_t *pixels;
} gn_image;

/* Decodes a JPEG or PNG. Grey, palette, alpha (dropped), CMYK and 16 bits become 8-bit RGB; the
 * orientation that EXIF asks for is applied. The pixels are in scratch (GN_SCRATCH_IMAGE) until the
 * next picture; name stands for the file in messages. */
GERNE_CHECKED gerne_status gn_image_decode(gerne_ctx *ctx, gn_scratch *scratch, const char *name,
                                           const void *bytes, size_t size, gn_image *out);

/* Only the size, from the header. */
GERNE_CHECKED gerne_status gn_image_size(gerne_ctx *ctx, const char *name, const void *bytes,
                                         size_t size, size_t *height, size_t *width);

/* One of the two, by a file's first bytes. */
GERNE_CHECKED gerne_status gn_jpeg_decode(gerne_ctx *ctx, gn_scratch *scratch, const char *name,
                                          const void *bytes, size_t size, bool header_only,
                                          gn_image *out);
GERNE_CHECKED gerne_status gn_png_decode(gerne_ctx *ctx, gn_scratch *scratch, const char *name,
                                         const void *bytes, size_t size, bool header_only,
                                         gn_image *out);

/* A false header must not cost gigabytes. */
enum { GN_IMAGE_SIDE_MAX = 32768, GN_IMAGE_PIXELS_MAX = 1 << 28 };
GERNE_CHECKED gerne_status gn_image_check_size(gerne_ctx *ctx, const char *name, size_t height,
                                               size_t width);

/* Appends a PNG to out. */
GERNE_CHECKED gerne_status gn_png_encode(gerne_ctx *ctx, const gn_image *image, gn_text *out);

/* A baseline JPEG (4:2:0) into out, which is emptied first. */
GERNE_CHECKED gerne_status gn_jpeg_encode(gerne_ctx *ctx, const gn_image *image, int quality,
                                          gn_text *out);

/* What happens to a picture before it is a sample. Zero sizes: not at all. */
typedef struct gn_transform {
    size_t resize_height, resize_width, crop_height, crop_width;
    bool crop_first;
} gn_transform;

/* The size after the transform of a picture of this size. */
void gn_transform_size(const gn_transform *transform, size_t height, size_t width,
                       size_t *out_height, size_t *out_width);

/* Writes the transformed picture, whose size gn_transform_size tells, to pixels. A picture that
 * already has the target size is only copied. */
GERNE_CHECKED gerne_status gn_transform_apply(gerne_ctx *ctx, gn_scratch *scratch,
                                              const gn_transform *transform, const char *name,
                                              const gn_image *image, uint8_t *pixels);

/* Resizes a window of the picture (top, left, height, width) to out_height x out_width with the
 * antialiased triangle filter, and writes only the part of the result that starts at (out_top,
 * out_left) with part_height x part_width. */
typedef struct gn_resize {
    size_t top, left, height, width;
    size_t out_height, out_width;
    size_t out_top, out_left, part_height, part_width;
    bool box; /* means of the pixels covered, in place of the triangle */
} gn_resize;

GERNE_CHECKED gerne_status gn_image_resize(gerne_ctx *ctx, gn_scratch *scratch,
                                           const gn_image *image, const gn_resize *resize,
                                           uint8_t *pixels);

#endif
