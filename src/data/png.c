/* png.c - libpng behind gn_png_decode and gn_png_encode. */
#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "data/image.h"

typedef struct png_task {
    gerne_ctx *ctx;
    gn_scratch *scratch;
    const char *name;
    const unsigned char *at; /* reading */
    size_t left;
    gn_text *text; /* writing */
    gerne_status status;
    png_bytep *rows;
} png_task;

static void fail_and_escape(png_structp png, png_const_charp words)
{
    png_task *task = png_get_error_ptr(png);
    if (task->status == GERNE_OK)
        task->status =
            gn_fail(task->ctx, GERNE_EDATA, "'%s' is not a valid PNG: %s", task->name, words);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

static void read_bytes(png_structp png, png_bytep to, png_size_t size)
{
    png_task *task = png_get_io_ptr(png);
    if (size > task->left)
        png_error(png, "the file is truncated");
    memcpy(to, task->at, size);
    task->at += size;
    task->left -= size;
}

/* Whatever it is becomes 8-bit RGB. */
static void ask_for_rgb(png_structp png, png_infop info)
{
    png_byte type = png_get_color_type(png, info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    if (type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA)
        png_set_gray_to_rgb(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static gerne_status decode(png_structp png, png_infop info, png_task *task, bool header_only,
                           gn_image *out)
{
    png_read_info(png, info);
    out->height = png_get_image_height(png, info);
    out->width = png_get_image_width(png, info);
    GN_TRY(gn_image_check_size(task->ctx, task->name, out->height, out->width));
    if (header_only)
        return GERNE_OK;
    ask_for_rgb(png, info);
    size_t stride = out->width * GN_CHANNELS;
    if (png_get_rowbytes(png, info) != stride)
        return gn_fail(task->ctx, GERNE_EDATA, "'%s' has an unsupported pixel format", task->name);
    GN_TRY(gn_scratch_take(task->ctx, task->scratch, GN_SCRATCH_IMAGE, out->height * stride,
                           &out->pixels));
    GN_TRY(gn_scratch_take(task->ctx, task->scratch, GN_SCRATCH_RESIZE,
                           out->height * sizeof *task->rows, &task->rows));
    for (size_t y = 0; y < out->height; y++)
        task->rows[y] = out->pixels + y * stride;
    png_read_image(png, task->rows);
    png_read_end(png, NULL);
    return GERNE_OK;
}

gerne_status gn_png_decode(gerne_ctx *ctx, gn_scratch *scratch, const char *name, const void *bytes,
                           size_t size, bool header_only, gn_image *out)
{
    *out = (gn_image){0};
    png_task task = {.ctx = ctx, .scratch = scratch, .name = name, .at = bytes, .left = size};
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &task, fail_and_escape, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to read '%s'", name);
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return task.status;
    }
    png_set_user_limits(png, GN_IMAGE_SIDE_MAX, GN_IMAGE_SIDE_MAX);
    png_set_chunk_cache_max(png, 64);
    png_set_chunk_malloc_max(png, 1 << 22);
    png_set_read_fn(png, &task, read_bytes);
    gerne_status status = decode(png, info, &task, header_only, out);
    png_destroy_read_struct(&png, &info, NULL);
    return status;
}

/* ---- encoding ---- */

static void write_bytes(png_structp png, png_bytep from, png_size_t size)
{
    png_task *task = png_get_io_ptr(png);
    gerne_status status = gn_text_add_bytes(task->ctx, task->text, from, size);
    if (status != GERNE_OK) {
        task->status = status;
        png_error(png, "no memory");
    }
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

gerne_status gn_png_encode(gerne_ctx *ctx, const gn_image *image, gn_text *out)
{
    png_task task = {.ctx = ctx, .name = "a new PNG", .text = out};
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &task, fail_and_escape, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to write a PNG");
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return task.status;
    }
    png_set_write_fn(png, &task, write_bytes, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (size_t y = 0; y < image->height; y++)
        png_write_row(png, image->pixels + y * image->width * GN_CHANNELS);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return GERNE_OK;
}
