#include "data/idx.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "data/gzip.h"

enum { HEADER_MAX = 16, SIDE_MAX = 4096 };

void gn_idx_free(gn_idx *idx)
{
    gn_free(idx->block);
    *idx = (gn_idx){0};
}

typedef struct idx_header {
    unsigned char bytes[HEADER_MAX];
    size_t size, need; /* of the header, of what follows it */
} idx_header;

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static gerne_status parse_header(gerne_ctx *ctx, const char *name, int dimensions, size_t limit,
                                 idx_header *head, gn_idx *out)
{
    const unsigned char *header = head->bytes;
    if (header[0] || header[1])
        return gn_fail(ctx, GERNE_EDATA, "'%s' is not an IDX file", name);
    if (header[2] != 8)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has IDX type 0x%02x, not unsigned bytes (0x08)",
                       name, header[2]);
    if (header[3] != dimensions)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %d dimensions, not %d: %s", name, header[3],
                       dimensions, dimensions == 1 ? "labels are expected" : "images are expected");
    out->count = big_endian(header + 4);
    out->height = dimensions == 3 ? big_endian(header + 8) : 1;
    out->width = dimensions == 3 ? big_endian(header + 12) : 1;
    if (!out->height || !out->width || out->height > SIDE_MAX || out->width > SIDE_MAX)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has images of %zux%zu, outside 1..%d", name,
                       out->height, out->width, SIDE_MAX);
    if (gn_multiply(out->count, out->height * out->width, &head->need) && head->need <= limit)
        return GERNE_OK;
    gn_fail(
        ctx, GERNE_EUSAGE,
        "the header of '%s' says %zu items of %zux%zu bytes, more than data.memory_limit leaves "
        "(%zu bytes)",
        name, out->count, out->height, out->width, limit);
    gn_hint(ctx, "raise --data.memory_limit if the file is what it should be");
    return GERNE_EUSAGE;
}

/* Bytes from a plain or compressed file, or from memory. */
typedef struct byte_input {
    gzFile file;
    const unsigned char *bytes;
    size_t left;
} byte_input;

static size_t take(byte_input *input, void *to, size_t size)
{
    if (!input->file) {
        size_t got = size < input->left ? size : input->left;
        if (got)
            memcpy(to, input->bytes, got);
        input->bytes += got;
        input->left -= got;
        return got;
    }
    size_t got = 0;
    while (got < size) {
        unsigned chunk = size - got > 1 << 20 ? 1 << 20 : (unsigned)(size - got);
        int read = gzread(input->file, (char *)to + got, chunk);
        if (read <= 0)
            break;
        got += (size_t)read;
    }
    return got;
}

static gerne_status read_header(gerne_ctx *ctx, const char *name, byte_input *input, int dimensions,
                                size_t limit, idx_header *head, gn_idx *out)
{
    *head = (idx_header){.size = 4 + 4 * (size_t)dimensions};
    if (take(input, head->bytes, head->size) != head->size)
        return gn_fail(ctx, GERNE_EDATA, "'%s' is too short for an IDX file", name);
    return parse_header(ctx, name, dimensions, limit, head, out);
}

static gerne_status read_rest(gerne_ctx *ctx, const char *name, byte_input *input, size_t need,
                              gn_idx *out)
{
    /* In steps, so that a false header costs no more than the file is worth. */
    size_t got = 0, capacity = 0;
    while (got < need) {
        size_t want = need - got < 1 << 24 ? need - got : 1 << 24;
        GN_TRY(gn_grow(ctx, &out->block, &capacity, got + want, 1, "images"));
        size_t part = take(input, out->block + got, want);
        got += part;
        if (part < want)
            return gn_fail(ctx, GERNE_EDATA, "'%s' is truncated: it has %zu of %zu bytes", name,
                           got, need);
    }
    out->bytes = out->block;
    char more;
    if (take(input, &more, 1))
        return gn_fail(ctx, GERNE_EDATA, "'%s' has more bytes than its header says (%zu)", name,
                       need);
    return GERNE_OK;
}

gerne_status gn_idx_parse(gerne_ctx *ctx, const char *name, const void *bytes, size_t size,
                          int dimensions, size_t limit, gn_idx *out)
{
    *out = (gn_idx){0};
    byte_input input = {.bytes = bytes, .left = size};
    idx_header head;
    gerne_status status = read_header(ctx, name, &input, dimensions, limit, &head, out);
    if (status == GERNE_OK)
        status = read_rest(ctx, name, &input, head.need, out);
    if (status != GERNE_OK)
        gn_idx_free(out);
    return status;
}

/* A file that is what its header says is unpacked at once, in a third of the time; out->bytes stays
 * NULL for any other. The compressed bytes count too, so that both fit the limit. */
static gerne_status read_at_once(gerne_ctx *ctx, const char *path, size_t size, size_t limit,
                                 const idx_header *head, gn_idx *out)
{
    GN_LOCAL(gn_text) file = {0};
    size_t total = head->size + head->need;
    if (limit - head->need < size || !gn_gzip_may_hold(size, total))
        return GERNE_OK;
    GN_TRY(gn_file_read(ctx, path, size, &file));
    if (!gn_gzip_says(file.bytes, file.size, total))
        return GERNE_OK;
    GN_TRY(gn_alloc_to_fill(ctx, total, 1, "images", &out->block));
    if (gn_gzip_unpack(file.bytes, file.size, out->block, total) &&
        memcmp(out->block, head->bytes, head->size) == 0) {
        out->bytes = out->block + head->size;
        return GERNE_OK;
    }
    gn_free(out->block);
    out->block = NULL;
    return GERNE_OK;
}

/* A file that is unusual or damaged is left to the stream, which has the words for it. */
static gerne_status read_file(gerne_ctx *ctx, const char *path, size_t size, byte_input *input,
                              int dimensions, size_t limit, gn_idx *out)
{
    idx_header head;
    GN_TRY(read_header(ctx, path, input, dimensions, limit, &head, out));
    if (!gzdirect(input->file))
        GN_TRY(read_at_once(ctx, path, size, limit, &head, out));
    return out->bytes ? GERNE_OK : read_rest(ctx, path, input, head.need, out);
}

gerne_status gn_idx_read(gerne_ctx *ctx, const char *path, int dimensions, size_t limit,
                         gn_idx *out)
{
    *out = (gn_idx){0};
    int fd; /* says in words what is wrong with the file itself */
    size_t size;
    GN_TRY(gn_file_open(ctx, path, &fd, &size));
    byte_input input = {.file = gzdopen(fd, "rb")};
    if (!input.file) {
        close(fd);
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to read '%s'", path);
    }
    gzbuffer(input.file, 1 << 16);
    gerne_status status = read_file(ctx, path, size, &input, dimensions, limit, out);
    int error;
    const char *words = gzerror(input.file, &error);
    if (error != Z_OK && error != Z_STREAM_END &&
        status == GERNE_EDATA) /* more to the point than "truncated" */
        status = gn_fail(ctx, GERNE_EDATA, "'%s' cannot be decompressed: %s", path, words);
    gzclose(input.file);
    if (status != GERNE_OK)
        gn_idx_free(out);
    return status;
}

gerne_status gn_idx_find(gerne_ctx *ctx, const char *directory, const char *name, char *path,
                         size_t size)
{
    static const char *const endings[] = {"", ".gz"};
    for (int dotted = 0; dotted < 2; dotted++)
        for (int i = 0; i < 2; i++) {
            int length = snprintf(path, size, "%s/%s%s", directory, name, endings[i]);
            if (length < 0 || (size_t)length >= size)
                return gn_fail(ctx, GERNE_EUSAGE, "the path '%s' is too long", directory);
            char *dash = strstr(path + strlen(directory), "-idx");
            if (dotted && dash)
                *dash = '.';
            if (gn_path_exists(path))
                return GERNE_OK;
        }
    gn_fail(ctx, GERNE_EIO, "'%s' holds neither %s nor %s.gz", directory, name, name);
    gn_hint(ctx, "data.dir must hold the four IDX files of MNIST or Fashion-MNIST; "
                 "'gerne data fetch mnist' gets them");
    return GERNE_EIO;
}
