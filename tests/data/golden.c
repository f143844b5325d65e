/* golden.c - colours, corruptions, decoding and resizing against NumPy, SciPy and Pillow. */
#include "helpers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/cmnist.h"
#include "data/corrupt.h"

/* All values within most levels, and all but a share of them equal. */
static void compare(const char *what, const uint8_t *got, const uint8_t *wanted, size_t size,
                    int most, double unequal)
{
    size_t differ = 0;
    for (size_t i = 0; i < size; i++) {
        int gap = abs(got[i] - wanted[i]);
        if (gap > most)
            fail_msg("%s, value %zu: %d, expected %d", what, i, got[i], wanted[i]);
        differ += gap > 0;
    }
    if ((double)differ > unequal * (double)size)
        fail_msg("%s: %zu of %zu values differ", what, differ, size);
}

static void test_colours(void **state)
{
    (void)state;
    enum { IMAGES = 100, AREA = 100 };
    gerne_ctx *ctx = test_ctx();
    gn_text golden = {0};
    test_golden(ctx, "cmnist.bin", &golden);
    assert_int_equal(golden.size, IMAGES * (AREA + 24 + 3 * AREA));
    const uint8_t *grey = (const uint8_t *)golden.bytes;
    const char *noise = golden.bytes + IMAGES * AREA;
    const uint8_t *wanted = (const uint8_t *)noise + IMAGES * 24;
    for (size_t i = 0; i < IMAGES; i++) {
        double draws[3];
        uint8_t pixels[3 * AREA];
        memcpy(draws, noise + i * 24, sizeof draws);
        gn_cmnist_colour(grey + i * AREA, AREA, (uint32_t)(i % 10), 1 + (int)(i / 10 % 5), draws,
                         pixels);
        assert_memory_equal(pixels, wanted + i * 3 * AREA, sizeof pixels);
    }
    gn_text_free(&golden);
    gerne_ctx_close(ctx);
}

/* Background is written too, and an image need not consist of whole blocks of pixels. */
static void test_colours_of_background(void **state)
{
    (void)state;
    enum { AREA = 43, FIRST = 17, LAST = 34 };
    static const double draws[3] = {0.5, -1, 2};
    uint8_t grey[AREA] = {0}, pixels[3 * AREA + 1], alone[3];
    for (size_t i = FIRST; i <= LAST; i++)
        grey[i] = (uint8_t)(7 * i);
    for (size_t size = 0; size <= AREA; size++) {
        memset(pixels, 0xff, sizeof pixels);
        gn_cmnist_colour(grey, size, 3, 4, draws, pixels);
        for (size_t i = 0; i < size; i++) {
            gn_cmnist_colour(grey + i, 1, 3, 4, draws, alone);
            assert_memory_equal(pixels + 3 * i, alone, sizeof alone);
        }
        assert_int_equal(pixels[3 * size], 0xff);
    }
}

enum { UNIFORMS = 6200, NORMALS = 3100, FROST_HEIGHT = 40, FROST_WIDTH = 44 };

static void widen(const char *bytes, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, bytes + 4 * i, sizeof value);
        out[i] = (double)value;
    }
}

static void test_corruptions(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_text golden = {0};
    gn_scratch scratch = {0};
    gn_frost frost;
    static double uniforms[UNIFORMS], normals[NORMALS];
    test_golden(ctx, "corruptions.bin", &golden);
    widen(golden.bytes, UNIFORMS, uniforms);
    widen(golden.bytes + 4 * UNIFORMS, NORMALS, normals);
    uint8_t *picture = (uint8_t *)golden.bytes + 4 * (UNIFORMS + NORMALS);
    size_t texture = FROST_HEIGHT * FROST_WIDTH * 3;
    for (size_t i = 0; i < GN_FROST_TEXTURES; i++)
        frost.textures[i] =
            (gn_image){FROST_HEIGHT, FROST_WIDTH, picture + GN_PICTURE + i * texture};
    const uint8_t *wanted = picture + GN_PICTURE + GN_FROST_TEXTURES * texture;
    for (int kind = 0; kind < GN_ORIGINAL; kind++)
        for (int severity = kind == GN_SPATTER ? 4 : 1; severity <= 5; severity++) {
            char what[64];
            uint8_t out[GN_PICTURE];
            gn_noise noise = {.uniforms = uniforms, .normals = normals};
            assert_ok(ctx, gn_corrupt(ctx, &scratch, (gn_corruption)kind, severity, &noise, &frost,
                                      picture, out));
            assert_true(noise.uniform_at <= UNIFORMS && noise.normal_at <= NORMALS);
            snprintf(what, sizeof what, "%s %d", gn_corruption_name((gn_corruption)kind), severity);
            /* A sum that should be whole may fall on either side of the cut to bytes. */
            compare(what, out, wanted, GN_PICTURE, 1, 0.03);
            assert_true((const char *)wanted + GN_PICTURE <= golden.bytes + golden.size);
            wanted += GN_PICTURE;
        }
    assert_ptr_equal(wanted, golden.bytes + golden.size);
    gn_scratch_free(&scratch);
    gn_text_free(&golden);
    gerne_ctx_close(ctx);
}

static void check_picture(gerne_ctx *ctx, gn_scratch *scratch, const char *name)
{
    const char *folder = GERNE_SOURCE_DIR "/tests/golden/data/pictures";
    char rgb[300];
    gn_text file = {0}, wanted = {0};
    gn_image image;
    snprintf(rgb, sizeof rgb, "%s.rgb", name);
    assert_ok(ctx, gn_file_read(ctx, test_path(folder, name), 1 << 20, &file));
    assert_ok(ctx, gn_file_read(ctx, test_path(folder, rgb), 1 << 20, &wanted));
    assert_ok(ctx, gn_image_decode(ctx, scratch, name, file.bytes, file.size, &image));
    uint16_t size[2];
    memcpy(size, wanted.bytes, sizeof size);
    assert_int_equal(image.height, size[0]);
    assert_int_equal(image.width, size[1]);
    compare(name, image.pixels, (const uint8_t *)wanted.bytes + 4, wanted.size - 4, 1, 0.01);
    size_t height, width;
    assert_ok(ctx, gn_image_size(ctx, name, file.bytes, file.size, &height, &width));
    assert_int_equal(height, image.height);
    assert_int_equal(width, image.width);
    /* Whatever is missing at the end is noticed. (A JPEG's last two bytes only say that it ends.)
     */
    for (size_t keep = 0; keep + 3 < file.size; keep += file.size / 40 + 1)
        assert_int_equal(gn_image_decode(ctx, scratch, name, file.bytes, keep, &image),
                         GERNE_EDATA);
    gn_text_free(&file);
    gn_text_free(&wanted);
}

static void test_pictures_of_many_kinds(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_scratch scratch = {0};
    DIR *directory = opendir(GERNE_SOURCE_DIR "/tests/golden/data/pictures");
    assert_non_null(directory);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (strcmp(dot, ".png") != 0 && strcmp(dot, ".jpg") != 0)
            continue;
        check_picture(ctx, &scratch, entry->d_name);
        found++;
    }
    closedir(directory);
    assert_int_equal(found, 19);
    gn_scratch_free(&scratch);
    gerne_ctx_close(ctx);
}

static void test_resizing(void **state)
{
    (void)state;
    enum { HEIGHT = 47, WIDTH = 61 };
    static const size_t sizes[][2] = {{20, 30}, {47, 30}, {20, 61}, {64, 64},
                                      {90, 40}, {7, 5},   {1, 1},   {48, 60}};
    gerne_ctx *ctx = test_ctx();
    gn_text golden = {0};
    gn_scratch scratch = {0};
    static uint8_t out[90 * 90 * 3];
    test_golden(ctx, "resize.bin", &golden);
    gn_image image = {HEIGHT, WIDTH, (uint8_t *)golden.bytes};
    const uint8_t *wanted = (const uint8_t *)golden.bytes + HEIGHT * WIDTH * 3;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        gn_transform t = {.resize_height = sizes[i][0], .resize_width = sizes[i][1]};
        assert_ok(ctx, gn_transform_apply(ctx, &scratch, &t, "it", &image, out));
        compare("resize", out, wanted, sizes[i][0] * sizes[i][1] * 3, 0, 0);
        wanted += sizes[i][0] * sizes[i][1] * 3;
    }
    gn_transform crop_last = {32, 40, 21, 24, false}, crop_first = {40, 40, 30, 33, true};
    assert_ok(ctx, gn_transform_apply(ctx, &scratch, &crop_last, "it", &image, out));
    compare("resize and crop", out, wanted, 21 * 24 * 3, 0, 0);
    wanted += 21 * 24 * 3;
    assert_ok(ctx, gn_transform_apply(ctx, &scratch, &crop_first, "it", &image, out));
    compare("crop and resize", out, wanted, 40 * 40 * 3, 0, 0);
    assert_ptr_equal(wanted + 40 * 40 * 3, golden.bytes + golden.size);
    gn_transform large = {.crop_height = 48, .crop_width = 20};
    assert_fails(ctx, GERNE_EDATA, "less than data.crop 48x20",
                 gn_transform_apply(ctx, &scratch, &large, "it", &image, out));
    gn_scratch_free(&scratch);
    gn_text_free(&golden);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),     cmocka_unit_test(test_colours_of_background),
        cmocka_unit_test(test_corruptions), cmocka_unit_test(test_pictures_of_many_kinds),
        cmocka_unit_test(test_resizing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
