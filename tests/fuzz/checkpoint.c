/* last.ckpt: the bytes are its head (JSON) and, after a NUL, its blocks. Size and checksum are made
 * to fit, or nothing would ever get past them; an input that starts with '#' is a whole file. */
#include "target.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/checksum.h"
#include "base/text.h"
#include "train/checkpoint.h"

static gerne_status wrap(gerne_ctx *ctx, const uint8_t *data, size_t size, gn_text *file)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t head = nul ? (size_t)(nul - data) : size;
    unsigned char length[8], digest[GN_CHECKSUM_SIZE];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)head >> (8 * i));
    GN_TRY(gn_text_add_bytes(ctx, file, "GERNECK2", 8));
    GN_TRY(gn_text_add_bytes(ctx, file, length, sizeof length));
    GN_TRY(gn_text_add_bytes(ctx, file, data, head));
    if (nul)
        GN_TRY(gn_text_add_bytes(ctx, file, nul + 1, size - head - 1));
    gn_checksum_of(file->bytes, file->size, digest);
    return gn_text_add_bytes(ctx, file, digest, sizeof digest);
}

static void open_file(gerne_ctx *ctx, int file)
{
    char path[64], small[16];
    gn_checkpoint *checkpoint;
    bool found;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (!fuzz_accepted(ctx, gn_checkpoint_open(ctx, path, &checkpoint), GERNE_EDATA))
        return;
    fuzz_check(gn_checkpoint_head(checkpoint) != NULL);
    fuzz_accepted(ctx, gn_checkpoint_take(checkpoint, "position", small, sizeof small, &found),
                  GERNE_EDATA);
    fuzz_accepted(ctx, gn_checkpoint_take(checkpoint, "b", small, 4, &found), GERNE_EDATA);
    gn_checkpoint_close(checkpoint);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_text bytes = {0};
    bool whole = size && data[0] == '#';
    int file = memfd_create("checkpoint", MFD_CLOEXEC);
    gerne_status status =
        whole ? gn_text_add_bytes(ctx, &bytes, data + 1, size - 1) : wrap(ctx, data, size, &bytes);
    if (file >= 0 && status == GERNE_OK &&
        write(file, bytes.bytes, bytes.size) == (ssize_t)bytes.size)
        open_file(ctx, file);
    if (file >= 0)
        close(file);
    gn_text_free(&bytes);
}
