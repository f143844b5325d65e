/* The files of datasets: IDX, NumPy arrays alone and in archives, JPEG and PNG. The first byte says
 * which parser, so that one corpus holds all. */
#include "target.h"

#include <string.h>

#include "data/idx.h"
#include "data/image.h"
#include "data/npy.h"

static void fuzz_idx(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    enum { LIMIT = 1 << 22 };
    gn_idx idx;
    for (int dimensions = 1; dimensions <= 3; dimensions += 2) {
        gerne_status status = gn_idx_parse(ctx, "input", data, size, dimensions, LIMIT, &idx);
        if (status == GERNE_EUSAGE) /* more than the limit */
            continue;
        if (fuzz_accepted(ctx, status, GERNE_EDATA)) {
            fuzz_check(gn_idx_size(&idx) <= size);
            gn_idx_free(&idx);
        }
    }
}

static void fuzz_npy(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_npy array;
    if (!fuzz_accepted(ctx, gn_npy_parse(ctx, "input", data, size, &array), GERNE_EDATA))
        return;
    fuzz_check(array.offset <= size);
    if (array.size != size - array.offset || array.size == 0)
        return;
    gn_text text = {0};
    if (array.dimensions == 1 && gn_npy_text(ctx, &array, "input", data + array.offset,
                                             array.shape[0] - 1, &text) != GERNE_OK)
        fuzz_check(gerne_message(ctx)[0] != '\0');
    gn_text_free(&text);
    if (strchr("fiub", array.kind))
        (void)gn_npy_number(&array, data + array.offset, array.shape[0] - 1, array.shape[1] - 1);
}

static void fuzz_npz(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    enum { LIMIT = 1 << 22 };
    gn_npz_member members[] = {{.name = "x"}, {.name = "y"}};
    gerne_status status = gn_npz_parse(ctx, "input", data, size, LIMIT, members, 2);
    if (status == GERNE_EUSAGE) /* more than the limit */
        return;
    if (!fuzz_accepted(ctx, status, GERNE_EDATA))
        return;
    for (int i = 0; i < 2; i++)
        fuzz_check(!members[i].found || members[i].array.size <= LIMIT);
    gn_npz_free(members, 2);
}

static void fuzz_image(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_scratch scratch = {0};
    gn_image image;
    size_t height, width;
    gerne_status status = gn_image_size(ctx, "input", data, size, &height, &width);
    /* Pictures that are merely large are not interesting. */
    if (fuzz_accepted(ctx, status, GERNE_EDATA) && height * width <= 1 << 20 &&
        fuzz_accepted(ctx, gn_image_decode(ctx, &scratch, "input", data, size, &image),
                      GERNE_EDATA)) {
        unsigned sum = 0;
        fuzz_check(image.height == height && image.width == width);
        for (size_t i = 0; i < height * width * GN_CHANNELS; i++)
            sum += image.pixels[i]; /* a sanitizer sees what was not written */
        fuzz_check(sum <= 255u * GN_CHANNELS * height * width);
    }
    gn_scratch_free(&scratch);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    switch (data[0]) {
    case 'i':
        fuzz_idx(ctx, data + 1, size - 1);
        break;
    case 'n':
        fuzz_npy(ctx, data + 1, size - 1);
        break;
    case 'z':
        fuzz_npz(ctx, data + 1, size - 1);
        break;
    default:
        fuzz_image(ctx, data + 1, size - 1);
    }
}
