/* Files of MNIST, plain and compressed. The first byte says what the rest is: [p]lain bytes, which
 * are also compressed here and must give the same through a file; or a [g]zip file as it is. */
#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data/idx.h"

enum { LIMIT = 1 << 22, LABELS = 1, IMAGES = 3 };

static bool accepted(gerne_ctx *ctx, gerne_status status, const gn_idx *idx)
{
    if (status == GERNE_EUSAGE) /* more than the limit */
        status = GERNE_EDATA;
    bool fine = fuzz_accepted(ctx, status, GERNE_EDATA);
    fuzz_check(fine || !idx->block);
    return fine;
}

static const char *compress_to_file(const uint8_t *data, size_t size)
{
    enum { GZIP = 15 + 16, SPACE = 1024 };
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)data, .avail_in = (uInt)size};
    size_t room = size + size / 8 + SPACE;
    uint8_t *packed = malloc(room);
    fuzz_check(packed != NULL);
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    fuzz_check(deflateInit2(&stream, 1, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    fuzz_check(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    const char *path = fuzz_put("idx.gz", packed, stream.total_out);
    deflateEnd(&stream);
    free(packed);
    return path;
}

static void fuzz_plain(gerne_ctx *ctx, const uint8_t *data, size_t size, int dimensions)
{
    gn_idx idx, unpacked;
    gerne_status status = gn_idx_parse(ctx, "input", data, size, dimensions, LIMIT, &idx);
    bool fine = accepted(ctx, status, &idx);
    const char *path = compress_to_file(data, size);
    status = gn_idx_read(ctx, path, dimensions, LIMIT, &unpacked);
    fuzz_check(accepted(ctx, status, &unpacked) == fine);
    if (fine) {
        size_t bytes = gn_idx_size(&idx);
        fuzz_check(bytes <= size && bytes == gn_idx_size(&unpacked));
        fuzz_check(bytes == 0 || memcmp(idx.bytes, unpacked.bytes, bytes) == 0);
    }
    gn_idx_free(&idx);
    gn_idx_free(&unpacked);
}

static void fuzz_gzip(gerne_ctx *ctx, const uint8_t *data, size_t size, int dimensions)
{
    gn_idx idx;
    const char *path = fuzz_put("idx.gz", data, size);
    if (accepted(ctx, gn_idx_read(ctx, path, dimensions, LIMIT, &idx), &idx))
        fuzz_check(gn_idx_size(&idx) <= LIMIT);
    gn_idx_free(&idx);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    for (int dimensions = LABELS; dimensions <= IMAGES; dimensions += IMAGES - LABELS)
        (data[0] == 'g' ? fuzz_gzip : fuzz_plain)(ctx, data + 1, size - 1, dimensions);
}
