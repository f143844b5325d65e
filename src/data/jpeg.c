/* jpeg.c - libjpeg-turbo behind gn_jpeg_decode and gn_jpeg_encode. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "data/image.h"

typedef struct jpeg_failure {
    struct jpeg_error_mgr base;
    jmp_buf escape;
    gerne_ctx *ctx;
    const char *name;
    gerne_status status;
} jpeg_failure;

static void fail_and_escape(j_common_ptr info)
{
    jpeg_failure *failure = (jpeg_failure *)info->err;
    char words[JMSG_LENGTH_MAX];
    info->err->format_message(info, words);
    failure->status =
        gn_fail(failure->ctx, GERNE_EDATA, "'%s' is not a valid JPEG: %s", failure->name, words);
    longjmp(failure->escape, 1);
}

/* libjpeg fills what is missing with grey and goes on; a cut file is a failure here. Other
 * complaints (stray bytes between markers) leave the picture whole. */
static void judge_warning(j_common_ptr info, int level)
{
    int code = info->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
        fail_and_escape(info);
}

/* Every scan of a progressive picture goes over all of it, and a scan can be a few bytes. Encoders
 * write about ten. */
enum { SCANS_MAX = 100 };

static void count_scans(j_common_ptr info)
{
    if (((j_decompress_ptr)info)->input_scan_number <= SCANS_MAX)
        return;
    jpeg_failure *failure = (jpeg_failure *)info->err;
    failure->status = gn_fail(failure->ctx, GERNE_EDATA, "'%s' is a JPEG of more than %d scans",
                              failure->name, SCANS_MAX);
    longjmp(failure->escape, 1);
}

/* ---- EXIF orientation ---- */

static unsigned number(const unsigned char *at, int bytes, bool little)
{
    unsigned value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[little ? bytes - 1 - i : i];
    return value;
}

/* 1..8 as EXIF numbers them; 1 when there is none. */
static int orientation_of(const struct jpeg_marker_struct *marker)
{
    enum { HEADER = 14, ENTRY = 12, ORIENTATION = 0x0112 };
    for (; marker; marker = marker->next) {
        const unsigned char *data = marker->data;
        size_t size = marker->data_length;
        if (marker->marker != JPEG_APP0 + 1 || size < HEADER || memcmp(data, "Exif\0\0", 6) != 0)
            continue;
        const unsigned char *tiff = data + 6;
        size -= 6;
        bool little = tiff[0] == 'I';
        size_t directory = number(tiff + 4, 4, little);
        if (directory > size || size - directory < 2)
            return 1;
        size_t entries = number(tiff + directory, 2, little), at = directory + 2;
        for (size_t i = 0; i < entries && size - at >= ENTRY; i++, at += ENTRY) {
            if (number(tiff + at, 2, little) != ORIENTATION)
                continue;
            unsigned value = number(tiff + at + 8, 2, little);
            return value >= 1 && value <= 8 ? (int)value : 1;
        }
    }
    return 1;
}

/* Values 5..8 swap height and width. */
static void orient(const uint8_t *from, size_t height, size_t width, int orientation, uint8_t *to)
{
    bool swap = orientation >= 5;
    size_t out_height = swap ? width : height, out_width = swap ? height : width;
    bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    for (size_t y = 0; y < out_height; y++)
        for (size_t x = 0; x < out_width; x++) {
            size_t u = swap ? y : x, v = swap ? x : y; /* column and row of the source */
            if (mirror_x)
                u = width - 1 - u;
            if (mirror_y)
                v = height - 1 - v;
            memcpy(to + (y * out_width + x) * GN_CHANNELS, from + (v * width + u) * GN_CHANNELS,
                   GN_CHANNELS);
        }
}

/* ---- decoding ---- */

/* Ink to light. Adobe's files hold inverted values. */
static void from_cmyk(const uint8_t *ink, size_t count, bool inverted, uint8_t *rgb)
{
    for (size_t i = 0; i < count; i++, ink += 4)
        for (int c = 0; c < GN_CHANNELS; c++) {
            unsigned colour = inverted ? 255u - ink[c] : ink[c];
            unsigned light = inverted ? ink[3] : 255u - ink[3];
            unsigned product = colour * light + 128;
            *rgb++ = (uint8_t)(light - ((product + (product >> 8)) >> 8));
        }
}

static gerne_status read_rows(gerne_ctx *ctx, gn_scratch *scratch,
                              struct jpeg_decompress_struct *info, uint8_t *pixels)
{
    size_t width = info->output_width;
    uint8_t *ink = NULL;
    bool cmyk = info->out_color_space == JCS_CMYK;
    if (cmyk)
        GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_RESIZE, width * 4, &ink));
    while (info->output_scanline < info->output_height) {
        uint8_t *row = pixels + (size_t)info->output_scanline * width * GN_CHANNELS;
        JSAMPROW target = cmyk ? ink : row;
        jpeg_read_scanlines(info, &target, 1);
        if (cmyk)
            from_cmyk(ink, width, info->saw_Adobe_marker, row);
    }
    return GERNE_OK;
}

static gerne_status decode(gerne_ctx *ctx, gn_scratch *scratch, struct jpeg_decompress_struct *info,
                           const char *name, bool header_only, gn_image *out)
{
    jpeg_save_markers(info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(info, TRUE);
    size_t height = info->image_height, width = info->image_width;
    GN_TRY(gn_image_check_size(ctx, name, height, width));
    int orientation = orientation_of(info->marker_list);
    out->height = orientation >= 5 ? width : height;
    out->width = orientation >= 5 ? height : width;
    if (header_only)
        return GERNE_OK;
    bool cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    uint8_t *pixels;
    size_t size = height * width * GN_CHANNELS;
    GN_TRY(
        gn_scratch_take(ctx, scratch, GN_SCRATCH_IMAGE, (orientation > 1 ? 2 : 1) * size, &pixels));
    jpeg_start_decompress(info);
    GN_TRY(read_rows(ctx, scratch, info, pixels));
    jpeg_finish_decompress(info);
    out->pixels = pixels;
    if (orientation > 1) {
        orient(pixels, height, width, orientation, pixels + size);
        out->pixels = pixels + size;
    }
    return GERNE_OK;
}

gerne_status gn_jpeg_decode(gerne_ctx *ctx, gn_scratch *scratch, const char *name,
                            const void *bytes, size_t size, bool header_only, gn_image *out)
{
    struct jpeg_decompress_struct info = {0};
    jpeg_failure failure = {.ctx = ctx, .name = name};
    info.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = fail_and_escape;
    failure.base.emit_message = judge_warning;
    *out = (gn_image){0};
    if (setjmp(failure.escape)) {
        jpeg_destroy_decompress(&info);
        return failure.status;
    }
    jpeg_create_decompress(&info);
    struct jpeg_progress_mgr progress = {.progress_monitor = count_scans};
    info.progress = &progress;
    info.mem->max_memory_to_use = 1L << 30;
    jpeg_mem_src(&info, bytes, size);
    gerne_status status = decode(ctx, scratch, &info, name, header_only, out);
    jpeg_destroy_decompress(&info);
    return status;
}

/* ---- encoding ---- */

gerne_status gn_jpeg_encode(gerne_ctx *ctx, const gn_image *image, int quality, gn_text *out)
{
    struct jpeg_compress_struct info = {0};
    jpeg_failure failure = {.ctx = ctx, .name = "a new JPEG"};
    unsigned char *volatile bytes = NULL;
    unsigned char *buffer = NULL;
    unsigned long size = 0;
    info.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = fail_and_escape;
    if (setjmp(failure.escape)) {
        jpeg_destroy_compress(&info);
        free(bytes);
        return failure.status;
    }
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &buffer, &size);
    info.image_width = (JDIMENSION)image->width;
    info.image_height = (JDIMENSION)image->height;
    info.input_components = GN_CHANNELS;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
        JSAMPROW row = image->pixels + (size_t)info.next_scanline * image->width * GN_CHANNELS;
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    bytes = buffer;
    gn_text_clear(out);
    gerne_status status = gn_text_add_bytes(ctx, out, buffer, size);
    free(buffer); /* libjpeg took it from malloc */
    return status;
}
