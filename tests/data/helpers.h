/* helpers.h - what the tests of src/data share. */
#ifndef GN_TESTS_DATA_HELPERS_H
#define GN_TESTS_DATA_HELPERS_H

#include "testing.h"

#include "data/dataset.h"

/* Defaults with this format. */
gn_data_options test_options(gerne_ctx *ctx, gn_data_format format);

/* Opens and prepares on two threads; fails the test when that fails. */
gn_dataset *test_dataset(gerne_ctx *ctx, const gn_data_options *options);

/* directory/name in a buffer that lives for the next seven calls. */
const char *test_path(const char *directory, const char *name);

/* Writes a file and the folders above it. */
void test_write(gerne_ctx *ctx, const char *path, const void *bytes, size_t size);
void test_write_text(gerne_ctx *ctx, const char *path, const char *text);

/* A PNG of one colour with a gradient. */
void test_write_png(gerne_ctx *ctx, const char *path, size_t height, size_t width, int red,
                    int green, int blue);

/* Four IDX files with images of 4 x 4; labels go round the classes. */
void test_write_mnist(gerne_ctx *ctx, const char *directory, size_t train, size_t test);

/* Six CIFAR-10 files with so many records each. */
void test_write_cifar(gerne_ctx *ctx, const char *directory, size_t records);

/* A file of tests/golden/data. */
void test_golden(gerne_ctx *ctx, const char *name, gn_text *out);

#endif
