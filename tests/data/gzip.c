/* gzip.c - compressed files of MNIST: whole, in parts, damaged, lying about their size. */
#include "helpers.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data/gzip.h"
#include "data/idx.h"

enum { COUNT = 300, SIDE = 28, HEADER = 16, SIZE = HEADER + COUNT * SIDE * SIDE };

typedef struct fixture {
    gerne_ctx *ctx;
    char *dir;
    const char *path;
    unsigned char plain[SIZE + 1];
    gn_text file; /* what is tried */
} fixture;

static fixture *setup(void)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->ctx = test_ctx();
    f->dir = test_directory();
    f->path = test_path(f->dir, "images.gz");
    static const unsigned char header[HEADER] = {0, 0, 8, 3,    0, 0, COUNT >> 8, COUNT & 255,
                                                 0, 0, 0, SIDE, 0, 0, 0,          SIDE};
    memcpy(f->plain, header, HEADER);
    for (size_t i = HEADER; i <= SIZE; i++)
        f->plain[i] = i % 5 ? 0 : (unsigned char)(i * i / 7);
    return f;
}

static void teardown(fixture *f)
{
    gn_text_free(&f->file);
    test_remove_directory(f->dir);
    gerne_ctx_close(f->ctx);
    free(f);
}

static void add_member(fixture *f, const void *bytes, size_t size)
{
    enum { GZIP = 15 + 16 };
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)size};
    unsigned char *packed = malloc(size + 1024);
    assert_non_null(packed);
    stream.next_out = packed;
    stream.avail_out = (uInt)size + 1024;
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_ok(f->ctx, gn_text_add_bytes(f->ctx, &f->file, packed, stream.total_out));
    deflateEnd(&stream);
    free(packed);
}

/* The file with one member of so many of the plain bytes. */
static void pack(fixture *f, size_t size)
{
    gn_text_clear(&f->file);
    add_member(f, f->plain, size);
}

static gerne_status read_within(fixture *f, size_t limit, gn_idx *out)
{
    test_write(f->ctx, f->path, f->file.bytes, f->file.size);
    return gn_idx_read(f->ctx, f->path, 3, limit, out);
}

static void expect_images_within(fixture *f, size_t limit)
{
    gn_idx idx;
    assert_ok(f->ctx, read_within(f, limit, &idx));
    assert_int_equal(idx.count, COUNT);
    assert_int_equal(gn_idx_size(&idx), SIZE - HEADER);
    assert_memory_equal(idx.bytes, f->plain + HEADER, SIZE - HEADER);
    gn_idx_free(&idx);
}

static void expect_images(fixture *f)
{
    expect_images_within(f, 1 << 24);
}

static void expect_failure(fixture *f, const char *words)
{
    gn_idx idx;
    assert_fails(f->ctx, GERNE_EDATA, words, read_within(f, 1 << 24, &idx));
    assert_null(idx.bytes);
    assert_null(idx.block);
}

static void flip(fixture *f, size_t from_end)
{
    f->file.bytes[f->file.size - from_end] ^= 1;
}

static void test_whole(void **state)
{
    (void)state;
    fixture *f = setup();
    pack(f, SIZE);
    expect_images(f);
    assert_ok(f->ctx, gn_text_add(f->ctx, &f->file, "garbage")); /* which gzip ignores as well */
    expect_images(f);
    gn_text_clear(&f->file);
    add_member(f, f->plain, 5000);
    add_member(f, f->plain + 5000, SIZE - 5000);
    expect_images(f);
    pack(f, SIZE);
    add_member(f, "", 0);
    expect_images(f);
    gn_text_clear(&f->file);
    assert_ok(f->ctx, gn_text_add_bytes(f->ctx, &f->file, (char *)f->plain, SIZE)); /* not packed */
    expect_images(f);
    teardown(f);
}

/* There is room for the images, and none beside them for the file. */
static void test_limit(void **state)
{
    (void)state;
    fixture *f = setup();
    gn_idx idx;
    pack(f, SIZE);
    expect_images_within(f, SIZE - HEADER);
    expect_images_within(f, SIZE - HEADER + f->file.size);
    assert_fails(f->ctx, GERNE_EUSAGE, "more than data.memory_limit leaves",
                 read_within(f, SIZE - HEADER - 1, &idx));
    teardown(f);
}

static void test_damaged(void **state)
{
    (void)state;
    fixture *f = setup();
    pack(f, SIZE);
    flip(f, 8);
    expect_failure(f, "incorrect data check");
    pack(f, SIZE);
    flip(f, f->file.size / 2);
    expect_failure(f, "cannot be decompressed");
    pack(f, SIZE);
    f->file.size /= 2;
    expect_failure(f, "unexpected end of file");
    pack(f, SIZE);
    f->file.size = 12;
    expect_failure(f, "unexpected end of file");
    f->file.size = 0;
    expect_failure(f, "too short for an IDX file");
    pack(f, SIZE);
    add_member(f, "x", 1);
    expect_failure(f, "more bytes than its header says");
    pack(f, SIZE + 1);
    expect_failure(f, "more bytes than its header says");
    pack(f, SIZE - 1);
    expect_failure(f, "is truncated: it has 235199 of 235200 bytes");
    teardown(f);
}

static void write_size(fixture *f, uint32_t size)
{
    for (size_t i = 0; i < 4; i++)
        f->file.bytes[f->file.size - 4 + i] = (char)(size >> (8 * i));
}

/* What a file says about its size is checked before memory is taken, and not believed after. */
static void test_lies(void **state)
{
    (void)state;
    fixture *f = setup();
    pack(f, SIZE);
    write_size(f, 0x7fffffff);
    expect_failure(f, "incorrect length check");
    f->plain[6]++; /* 256 images more than there are, in the header alone */
    pack(f, SIZE);
    expect_failure(f, "is truncated: it has 235200 of 435904 bytes");
    write_size(f, SIZE + 256 * SIDE * SIDE); /* and in both places */
    expect_failure(f, "incorrect length check");
    teardown(f);
}

static void test_unpack(void **state)
{
    (void)state;
    fixture *f = setup();
    static unsigned char out[SIZE + 1];
    pack(f, SIZE);
    const char *bytes = f->file.bytes;
    size_t size = f->file.size;
    assert_true(gn_gzip_says(bytes, size, SIZE));
    assert_false(gn_gzip_says(bytes, size, SIZE + 1));
    assert_false(gn_gzip_says(bytes, 7, SIZE));
    assert_true(gn_gzip_may_hold(1000, 1032 * 1000));
    assert_false(gn_gzip_may_hold(1000, 1032 * 1001));
    assert_true(gn_gzip_unpack(bytes, size, out, SIZE));
    assert_memory_equal(out, f->plain, SIZE);
    assert_false(gn_gzip_unpack(bytes, size, out, SIZE - 1));
    assert_false(gn_gzip_unpack(bytes, size, out, SIZE + 1));
    assert_false(gn_gzip_unpack(bytes, size - 1, out, SIZE));
    add_member(f, "", 0);
    assert_false(gn_gzip_unpack(f->file.bytes, f->file.size, out, SIZE));
    teardown(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole), cmocka_unit_test(test_limit),  cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_lies),  cmocka_unit_test(test_unpack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
