#include "data/token_file.h"

#include <string.h>

#include "base/file.h"

enum { MAGIC_SIZE = 16, HEADER = 64 };
static const char magic[MAGIC_SIZE] = "gerne tokens  1";

typedef struct trailer {
    char magic[MAGIC_SIZE];
    unsigned char key[GN_SHA256_SIZE];
    gn_token_counts counts;
    unsigned char digest[GN_SHA256_SIZE]; /* of everything between header and trailer */
} trailer;

/* ---- writing ---- */

struct gn_token_writer {
    gerne_ctx *ctx;
    gn_writer *file;
    gn_sha256 hash;
    trailer end;
    uint64_t *starts;
    int32_t *lengths;
    size_t start_capacity, length_capacity;
};

gerne_status gn_token_writer_new(gerne_ctx *ctx, const char *path,
                                 const unsigned char key[GN_SHA256_SIZE], gn_token_writer **out)
{
    GN_LOCAL(gn_token_writer) *w = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *w, "tokens", &w));
    w->ctx = ctx;
    memcpy(w->end.magic, magic, sizeof magic);
    memcpy(w->end.key, key, GN_SHA256_SIZE);
    gn_sha256_start(&w->hash);
    char header[HEADER] = {0};
    memcpy(header, magic, sizeof magic);
    GN_TRY(gn_write_open(ctx, path, &w->file));
    GN_TRY(gn_write(w->file, header, sizeof header));
    return gn_give(&w, out);
}

void gn_token_writer_abort(gn_token_writer *w)
{
    if (!w)
        return;
    gn_write_abort(w->file);
    gn_free(w->starts);
    gn_free(w->lengths);
    gn_free(w);
}

static gerne_status put(gn_token_writer *w, const void *bytes, size_t size)
{
    gn_sha256_add(&w->hash, bytes, size);
    return gn_write(w->file, bytes, size);
}

gerne_status gn_token_writer_add(gn_token_writer *w, const gn_encoding *encoding)
{
    gn_token_counts *counts = &w->end.counts;
    size_t row = (size_t)counts->rows;
    GN_TRY(gn_grow(w->ctx, &w->starts, &w->start_capacity, row + 1, sizeof *w->starts, "tokens"));
    GN_TRY(
        gn_grow(w->ctx, &w->lengths, &w->length_capacity, row + 1, sizeof *w->lengths, "tokens"));
    w->starts[row] = counts->tokens;
    w->lengths[row] = (int32_t)encoding->count;
    counts->rows++;
    counts->tokens += encoding->count;
    counts->truncated += encoding->truncated;
    counts->malformed += encoding->malformed > 0;
    return put(w, encoding->ids, encoding->count * sizeof *encoding->ids);
}

gerne_status gn_token_writer_commit(gn_token_writer **writer)
{
    gn_token_writer *w = *writer;
    size_t rows = (size_t)w->end.counts.rows;
    static const char zeros[sizeof(uint64_t)];
    if (w->end.counts.tokens % 2) /* the starts are aligned */
        GN_TRY(put(w, zeros, sizeof(int32_t)));
    GN_TRY(put(w, w->starts, rows * sizeof *w->starts));
    GN_TRY(put(w, w->lengths, rows * sizeof *w->lengths));
    if (rows % 2)
        GN_TRY(put(w, zeros, sizeof(int32_t)));
    gn_sha256_end(&w->hash, w->end.digest);
    GN_TRY(gn_write(w->file, &w->end, sizeof w->end));
    GN_TRY(gn_write_commit(&w->file));
    gn_token_writer_abort(w);
    *writer = NULL;
    return GERNE_OK;
}

/* ---- reading ---- */

struct gn_token_file {
    gn_map map;
    trailer end;
    const int32_t *ids, *lengths;
    const uint64_t *starts;
};

void gn_token_file_close(gn_token_file *file)
{
    if (!file)
        return;
    gn_map_close(&file->map);
    gn_free(file);
}

/* The size of the part between header and trailer; numbers that cannot be are 0. */
static size_t body_size(const gn_token_counts *counts)
{
    const uint64_t limit = (uint64_t)1 << 48;
    if (counts->rows > limit || counts->tokens > limit)
        return 0;
    return (size_t)((counts->tokens + 1) / 2 * 8 + counts->rows * 8 + (counts->rows + 1) / 2 * 8);
}

static bool is_whole(gn_token_file *f, const unsigned char *key, size_t rows)
{
    if (f->map.size < HEADER + sizeof f->end)
        return false;
    size_t body = f->map.size - HEADER - sizeof f->end;
    const unsigned char *bytes = f->map.bytes + HEADER;
    memcpy(&f->end, bytes + body, sizeof f->end);
    unsigned char digest[GN_SHA256_SIZE];
    if (memcmp(f->end.magic, magic, sizeof magic) != 0 ||
        memcmp(f->end.key, key, GN_SHA256_SIZE) != 0 || f->end.counts.rows != rows ||
        body_size(&f->end.counts) != body)
        return false;
    gn_sha256_of(bytes, body, digest);
    return memcmp(digest, f->end.digest, sizeof digest) == 0;
}

gerne_status gn_token_file_open(gerne_ctx *ctx, const char *path,
                                const unsigned char key[GN_SHA256_SIZE], size_t rows,
                                gn_token_file **out)
{
    gn_token_file *f;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *f, "tokens", &f));
    gerne_status status = gn_map_open(ctx, path, &f->map);
    if (status == GERNE_OK && !is_whole(f, key, rows))
        status = gn_fail(ctx, GERNE_EDATA, "'%s' is not a complete file of these tokens", path);
    if (status != GERNE_OK) {
        gn_token_file_close(f);
        return status;
    }
    const unsigned char *bytes = f->map.bytes + HEADER;
    f->ids = (const int32_t *)(const void *)bytes;
    bytes += (f->end.counts.tokens + 1) / 2 * 8;
    f->starts = (const uint64_t *)(const void *)bytes;
    f->lengths = (const int32_t *)(const void *)(bytes + rows * 8);
    *out = f;
    return GERNE_OK;
}

const gn_token_counts *gn_token_file_counts(const gn_token_file *file)
{
    return &file->end.counts;
}

const int32_t *gn_token_file_row(const gn_token_file *file, size_t row)
{
    return file->ids + file->starts[row];
}

const int32_t *gn_token_file_length(const gn_token_file *file, size_t row)
{
    return file->lengths + row;
}
