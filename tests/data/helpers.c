#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/image.h"

gn_data_options test_options(gerne_ctx *ctx, gn_data_format format)
{
    gn_data_options options = {0};
    assert_ok(ctx, gn_data_options_default(ctx, &options));
    options.format = (int)format;
    return options;
}

gn_dataset *test_dataset(gerne_ctx *ctx, const gn_data_options *options)
{
    gn_dataset *dataset;
    assert_ok(ctx, gn_dataset_open(ctx, options, &dataset));
    assert_ok(ctx, gn_dataset_prepare(ctx, dataset, 2));
    return dataset;
}

const char *test_path(const char *directory, const char *name)
{
    static char buffers[8][8400];
    static int next;
    next = (next + 1) % 8;
    snprintf(buffers[next], sizeof buffers[next], "%s/%s", directory, name);
    return buffers[next];
}

void test_write(gerne_ctx *ctx, const char *path, const void *bytes, size_t size)
{
    char folder[8400];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_ok(ctx, gn_make_directory(ctx, folder));
    assert_ok(ctx, gn_file_write(ctx, path, bytes, size));
}

void test_write_text(gerne_ctx *ctx, const char *path, const char *text)
{
    test_write(ctx, path, text, strlen(text));
}

void test_write_png(gerne_ctx *ctx, const char *path, size_t height, size_t width, int red,
                    int green, int blue)
{
    uint8_t *pixels = malloc(height * width * 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < height * width; i++) {
        pixels[3 * i] = (uint8_t)red;
        pixels[3 * i + 1] = (uint8_t)(green + (int)(i % width));
        pixels[3 * i + 2] = (uint8_t)(blue + (int)(i / width));
    }
    gn_text bytes = {0};
    gn_image image = {height, width, pixels};
    assert_ok(ctx, gn_png_encode(ctx, &image, &bytes));
    test_write(ctx, path, bytes.bytes, bytes.size);
    gn_text_free(&bytes);
    free(pixels);
}

enum { SMALL = 4 };

static void write_idx(gerne_ctx *ctx, const char *directory, const char *part, size_t count)
{
    char name[64];
    size_t size = 16 + count * SMALL * SMALL;
    unsigned char *bytes = calloc(size, 1);
    assert_non_null(bytes);
    unsigned char high = (unsigned char)(count >> 8), low = (unsigned char)count;
    unsigned char labels_head[8] = {0, 0, 8, 1, 0, 0, high, low};
    unsigned char images_head[16] = {0, 0, 8, 3, 0, 0, high, low, 0, 0, 0, SMALL, 0, 0, 0, SMALL};
    memcpy(bytes, images_head, sizeof images_head);
    for (size_t i = 0; i < count * SMALL * SMALL; i++)
        bytes[16 + i] = (unsigned char)(i * 7);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    test_write(ctx, test_path(directory, name), bytes, size);
    memcpy(bytes, labels_head, sizeof labels_head);
    for (size_t i = 0; i < count; i++)
        bytes[8 + i] = (unsigned char)(i % 10);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    test_write(ctx, test_path(directory, name), bytes, 8 + count);
    free(bytes);
}

void test_write_mnist(gerne_ctx *ctx, const char *directory, size_t train, size_t test)
{
    write_idx(ctx, directory, "train", train);
    write_idx(ctx, directory, "t10k", test);
}

void test_write_cifar(gerne_ctx *ctx, const char *directory, size_t records)
{
    enum { RECORD = 3073 };
    unsigned char *bytes = malloc(records * RECORD);
    assert_non_null(bytes);
    for (size_t i = 0; i < records * RECORD; i++)
        bytes[i] = i % RECORD ? (unsigned char)(i * 31 / 7) : (unsigned char)(i / RECORD % 10);
    static const char *const names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    for (int file = 0; file < 6; file++)
        test_write(ctx, test_path(directory, names[file]), bytes, records * RECORD);
    free(bytes);
}

void test_golden(gerne_ctx *ctx, const char *name, gn_text *out)
{
    assert_ok(ctx, gn_file_read(ctx, test_path(GERNE_SOURCE_DIR "/tests/golden/data", name),
                                (size_t)1 << 24, out));
}
