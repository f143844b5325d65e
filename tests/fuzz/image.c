/* Pictures, JPEG and PNG: the size that is told first is the size of what is decoded, and every
 * byte of that was written. */
#include "target.h"

#include "data/image.h"

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
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
