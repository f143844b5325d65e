/* NumPy's files. The first byte says what the rest is: one array, [n]py, or an archive of some,
 * np[z].
 */
#include "target.h"

#include <string.h>

#include "data/npy.h"

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

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    if (size)
        (data[0] == 'z' ? fuzz_npz : fuzz_npy)(ctx, data + 1, size - 1);
}
