#include "data/corpus.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/lock.h"
#include "data/source.h"
#include "data/token_file.h"

struct gn_corpus {
    gn_arena *arena;
    const char *path, *vocab, *cache; /* path NULL: the texts are in memory */
    const gerne_arrays *arrays;
    const char *columns[GN_TEXTS_MAX];
    size_t column_count, rows, max_tokens, vocabulary, empty;
    gn_sha256 hash; /* of the texts, as they are seen */
    unsigned char texts[GN_SHA256_SIZE], key[GN_SHA256_SIZE];
    gn_token_file *file;
};

gerne_status gn_corpus_new(gerne_ctx *ctx, const gn_data_options *options,
                           const char *const *columns, size_t count, gn_corpus **out)
{
    GN_LOCAL(gn_corpus) *c = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *c, "texts", &c));
    GN_TRY(gn_arena_new(ctx, &c->arena));
    c->arrays = options->arrays;
    if (!c->arrays)
        GN_TRY(gn_arena_copy_text(ctx, c->arena, options->file, &c->path));
    if (options->vocab)
        GN_TRY(gn_arena_copy_text(ctx, c->arena, options->vocab, &c->vocab));
    if (options->cache)
        GN_TRY(gn_arena_copy_text(ctx, c->arena, options->cache, &c->cache));
    c->column_count = c->arrays ? count : 0;
    for (; c->column_count < count; c->column_count++)
        GN_TRY(gn_arena_copy_text(ctx, c->arena, columns[c->column_count],
                                  &c->columns[c->column_count]));
    c->max_tokens = (size_t)options->max_tokens;
    gn_sha256_start(&c->hash);
    return gn_give(&c, out);
}

void gn_corpus_close(gn_corpus *c)
{
    if (!c)
        return;
    gn_token_file_close(c->file);
    gn_arena_close(c->arena);
    gn_free(c);
}

/* Each text with its end, so that no two lists of texts hash alike. */
static void add_texts(gn_sha256 *hash, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gn_sha256_add(hash, texts[i], strlen(texts[i]) + 1);
}

void gn_corpus_see(gn_corpus *c, const char *const *texts)
{
    bool empty = true;
    for (size_t i = 0; i < c->column_count; i++)
        empty = empty && !texts[i][0];
    c->empty += empty;
    c->rows++;
    add_texts(&c->hash, texts, c->column_count);
}

/* ---- reading the texts again ---- */

/* Row after row, from the file or from memory. */
typedef struct text_rows {
    const gn_corpus *corpus;
    gn_record_file *table; /* NULL for texts in memory */
    ptrdiff_t columns[GN_TEXTS_MAX];
    size_t next;
} text_rows;

static gerne_status open_rows(gerne_ctx *ctx, const gn_corpus *c, text_rows *rows)
{
    *rows = (text_rows){.corpus = c};
    if (c->arrays)
        return GERNE_OK;
    GN_TRY(gn_record_file_open(ctx, c->path, &rows->table));
    gerne_status status = GERNE_OK;
    for (size_t i = 0; status == GERNE_OK && i < c->column_count; i++)
        status = gn_record_file_require(rows->table, c->columns[i], "data.text", &rows->columns[i]);
    if (status != GERNE_OK) {
        gn_record_file_close(rows->table);
        rows->table = NULL;
    }
    return status;
}

static gerne_status next_row(text_rows *rows, const char *texts[GN_TEXTS_MAX], bool *more)
{
    const gn_corpus *c = rows->corpus;
    size_t row = rows->next++;
    if (c->arrays) {
        *more = row < c->rows;
        texts[0] = *more ? c->arrays->texts[row] : NULL;
        texts[1] = *more && c->arrays->pairs ? c->arrays->pairs[row] : NULL;
        return GERNE_OK;
    }
    GN_TRY(gn_record_file_next(rows->table, more));
    for (size_t i = 0; *more && i < c->column_count; i++)
        texts[i] = gn_record_file_cell(rows->table, rows->columns[i]);
    return GERNE_OK;
}

static gerne_status changed(gerne_ctx *ctx, const gn_corpus *c)
{
    if (c->arrays)
        return gn_fail(ctx, GERNE_EDATA, "the texts changed while they were read");
    return gn_fail(ctx, GERNE_EDATA, "'%s' changed while it was read", c->path);
}

/* ---- tokenizing ---- */

enum { CHUNK_ROWS = 8192, CHUNK_TOKENS = 1 << 24, CHUNK_BYTES = 1 << 26, BLOCK = 32 };

typedef struct text_chunk {
    const gn_tokenizer *tokenizer;
    gn_text bytes;  /* texts, each ended by a NUL */
    size_t *starts; /* [capacity * column_count + 1] */
    size_t count, capacity, column_count, max_tokens;
    gn_encoding *encodings; /* [capacity]; their ids have max_tokens places each */
    int32_t *ids;
} text_chunk;

static gerne_status encode_block(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    text_chunk *chunk = user;
    int32_t *work;
    GN_TRY(
        gn_scratch_take(ctx, scratch, GN_SCRATCH_A, 2 * chunk->max_tokens * sizeof *work, &work));
    for (size_t r = index * BLOCK; r < chunk->count && r < (index + 1) * BLOCK; r++) {
        gn_words texts[GN_TEXTS_MAX];
        for (size_t i = 0; i < chunk->column_count; i++) {
            const size_t *start = chunk->starts + r * chunk->column_count + i;
            texts[i] = (gn_words){chunk->bytes.bytes + start[0], start[1] - start[0] - 1};
        }
        gn_encoding *e = &chunk->encodings[r];
        *e = (gn_encoding){.ids = work, .max_tokens = chunk->max_tokens};
        gn_encode(chunk->tokenizer, texts, chunk->column_count, e);
        e->ids = chunk->ids + r * chunk->max_tokens;
        memcpy(e->ids, work, e->count * sizeof *work);
    }
    return GERNE_OK;
}

static gerne_status encode_chunk(gerne_ctx *ctx, text_chunk *chunk, int threads,
                                 gn_token_writer *writer)
{
    GN_TRY(gn_parallel(ctx, threads, (chunk->count + BLOCK - 1) / BLOCK, "tokenize", encode_block,
                       chunk, NULL));
    for (size_t r = 0; r < chunk->count; r++)
        GN_TRY(gn_token_writer_add(writer, &chunk->encodings[r]));
    chunk->count = 0;
    gn_text_clear(&chunk->bytes);
    return GERNE_OK;
}

static gerne_status chunk_new(gerne_ctx *ctx, const gn_corpus *c, text_chunk *chunk)
{
    size_t rows = CHUNK_TOKENS / c->max_tokens;
    chunk->capacity = rows > CHUNK_ROWS ? CHUNK_ROWS : rows;
    chunk->max_tokens = c->max_tokens;
    chunk->column_count = c->column_count;
    GN_TRY(gn_alloc(ctx, chunk->capacity * c->column_count + 1, sizeof *chunk->starts, "texts",
                    &chunk->starts));
    GN_TRY(gn_alloc(ctx, chunk->capacity, sizeof *chunk->encodings, "texts", &chunk->encodings));
    return gn_alloc(ctx, chunk->capacity * c->max_tokens, sizeof *chunk->ids, "tokens",
                    &chunk->ids);
}

static gerne_status add_row(gerne_ctx *ctx, text_chunk *chunk, const char *const *texts)
{
    for (size_t i = 0; i < chunk->column_count; i++) {
        size_t at = chunk->count * chunk->column_count + i;
        chunk->starts[at] = chunk->bytes.size;
        GN_TRY(gn_text_add_bytes(ctx, &chunk->bytes, texts[i], strlen(texts[i]) + 1));
        chunk->starts[at + 1] = chunk->bytes.size;
    }
    chunk->count++;
    return GERNE_OK;
}

static gerne_status tokenize_rows(gerne_ctx *ctx, const gn_corpus *c, text_rows *rows,
                                  text_chunk *chunk, int threads, gn_token_writer *writer)
{
    gn_sha256 hash;
    unsigned char digest[GN_SHA256_SIZE];
    gn_sha256_start(&hash);
    for (;;) {
        bool more;
        const char *texts[GN_TEXTS_MAX] = {0};
        GN_TRY(next_row(rows, texts, &more));
        if (!more)
            break;
        add_texts(&hash, texts, c->column_count);
        GN_TRY(add_row(ctx, chunk, texts));
        if (chunk->count == chunk->capacity || chunk->bytes.size >= CHUNK_BYTES)
            GN_TRY(encode_chunk(ctx, chunk, threads, writer));
    }
    GN_TRY(encode_chunk(ctx, chunk, threads, writer));
    gn_sha256_end(&hash, digest);
    return memcmp(digest, c->texts, sizeof digest) == 0 ? GERNE_OK : changed(ctx, c);
}

static gerne_status tokenize_all(gerne_ctx *ctx, const gn_corpus *c, const gn_tokenizer *tokenizer,
                                 int threads, const char *path)
{
    text_rows rows;
    gn_token_writer *writer = NULL;
    text_chunk chunk = {.tokenizer = tokenizer};
    GN_TRY(open_rows(ctx, c, &rows));
    gn_log(ctx, GERNE_LOG_INFO, "tokenizing %zu texts into '%s'", c->rows, path);
    gerne_status status = chunk_new(ctx, c, &chunk);
    if (status == GERNE_OK)
        status = gn_token_writer_new(ctx, path, c->key, &writer);
    if (status == GERNE_OK)
        status = tokenize_rows(ctx, c, &rows, &chunk, threads, writer);
    if (status == GERNE_OK)
        status = gn_token_writer_commit(&writer);
    gn_token_writer_abort(writer);
    gn_text_free(&chunk.bytes);
    gn_free(chunk.starts);
    gn_free(chunk.encodings);
    gn_free(chunk.ids);
    gn_record_file_close(rows.table);
    return status;
}

/* ---- preparing ---- */

static gerne_status find_or_make_alone(gerne_ctx *ctx, gn_corpus *c, const gn_tokenizer *tokenizer,
                                       int threads, const char *path)
{
    if (gn_path_exists(path)) {
        gerne_status status = gn_token_file_open(ctx, path, c->key, c->rows, &c->file);
        if (status != GERNE_EDATA)
            return status;
        gn_log(ctx, GERNE_LOG_WARNING, "%s; tokenizing again", gerne_message(ctx));
    }
    GN_TRY(tokenize_all(ctx, c, tokenizer, threads, path));
    return gn_token_file_open(ctx, path, c->key, c->rows, &c->file);
}

/* One process tokenizes, the others wait. */
static gerne_status find_or_make(gerne_ctx *ctx, gn_corpus *c, const gn_tokenizer *tokenizer,
                                 int threads)
{
    char hex[GN_SHA256_HEX], name[GN_SHA256_HEX + 8];
    const char *folder, *path, *lock_path;
    int lock = -1;
    gn_sha256_hex(c->key, hex);
    hex[32] = '\0';
    snprintf(name, sizeof name, "%s.tokens", hex);
    GN_TRY(gn_path_join(ctx, c->arena, c->cache, "tokens", &folder));
    GN_TRY(gn_make_directory(ctx, folder));
    GN_TRY(gn_path_join(ctx, c->arena, folder, name, &path));
    snprintf(name, sizeof name, "%s.lock", hex);
    GN_TRY(gn_path_join(ctx, c->arena, folder, name, &lock_path));
    gerne_status status = GERNE_OK;
    if (!gn_path_exists(path))
        status = gn_lock_wait(ctx, lock_path, "tokens",
                              "waiting for another process to tokenize them", &lock);
    if (status == GERNE_OK)
        status = find_or_make_alone(ctx, c, tokenizer, threads, path);
    gn_lock_release(lock_path, lock, true);
    return status;
}

static void compute_key(gn_corpus *c, const gn_vocabulary *vocabulary)
{
    const uint64_t sizes[] = {c->column_count, c->max_tokens, c->rows};
    gn_sha256 seen = c->hash, hash;
    gn_sha256_end(&seen, c->texts);
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, "gerne tokens 1", 15);
    gn_sha256_add(&hash, gn_unicode_version(), strlen(gn_unicode_version()) + 1);
    gn_sha256_add(&hash, sizes, sizeof sizes);
    gn_sha256_add(&hash, c->texts, sizeof c->texts);
    gn_sha256_add(&hash, vocabulary->digest, sizeof vocabulary->digest);
    gn_sha256_end(&hash, c->key);
}

static void warn(gerne_ctx *ctx, const gn_corpus *c)
{
    const gn_token_counts *counts = gn_token_file_counts(c->file);
    if (counts->malformed)
        gn_warn(ctx, "%llu texts are not UTF-8; what is malformed was read as U+FFFD",
                (unsigned long long)counts->malformed);
    if (c->empty)
        gn_warn(ctx, "%zu of %zu texts are empty", c->empty, c->rows);
}

gerne_status gn_corpus_prepare(gerne_ctx *ctx, gn_corpus *c, int threads)
{
    GN_LOCAL(gn_tokenizer) *tokenizer = NULL;
    if (!c->vocab) {
        gn_fail(ctx, GERNE_EUSAGE, "texts need a vocabulary");
        gn_hint(ctx, "--model.vocab FILE, the vocab.txt or tokenizer.json of the network");
        return GERNE_EUSAGE;
    }
    if (!c->cache)
        return gn_fail(ctx, GERNE_EINTERNAL, "texts were opened without a cache directory");
    GN_TRY(gn_tokenizer_open(ctx, c->vocab, &tokenizer));
    const gn_vocabulary *vocabulary = gn_tokenizer_vocabulary(tokenizer);
    c->vocabulary = vocabulary->size;
    compute_key(c, vocabulary);
    GN_TRY(find_or_make(ctx, c, tokenizer, threads));
    warn(ctx, c);
    return GERNE_OK;
}

const int32_t *gn_corpus_tokens(const gn_corpus *c, size_t row)
{
    return gn_token_file_row(c->file, row);
}

const int32_t *gn_corpus_length(const gn_corpus *c, size_t row)
{
    return gn_token_file_length(c->file, row);
}

size_t gn_corpus_vocabulary(const gn_corpus *c)
{
    return c->vocabulary;
}

const unsigned char *gn_corpus_key(const gn_corpus *c)
{
    return c->key;
}

/* ---- for people ---- */

gerne_status gn_corpus_summarize(gerne_ctx *ctx, const gn_corpus *c, gn_corpus_summary *out)
{
    const gn_token_counts *counts = gn_token_file_counts(c->file);
    GN_FREED size_t *lengths = NULL; /* how many texts have each */
    *out = (gn_corpus_summary){
        .rows = c->rows, .tokens = (size_t)counts->tokens, .truncated = (size_t)counts->truncated};
    GN_TRY(gn_alloc(ctx, c->max_tokens + 1, sizeof *lengths, "lengths", &lengths));
    for (size_t r = 0; r < c->rows; r++)
        lengths[*gn_corpus_length(c, r)]++;
    size_t length = 0, below = lengths[0]; /* texts of at most that length */
    for (size_t q = 0; q < 5 && c->rows; q++) {
        size_t rank = q * (c->rows - 1) / 4;
        while (below <= rank)
            below += lengths[++length];
        out->quantiles[q] = length;
    }
    return GERNE_OK;
}

static gerne_status quote_rows(gerne_ctx *ctx, const gn_corpus *c, text_rows *all,
                               const uint32_t *rows, size_t count, gn_quote_fn *take, void *user)
{
    GN_LOCAL(gn_text) text = {0};
    for (size_t row = 0, next = 0; next < count; row++) {
        bool more;
        const char *texts[GN_TEXTS_MAX] = {0};
        GN_TRY(next_row(all, texts, &more));
        if (!more)
            return changed(ctx, c);
        if (row != rows[next])
            continue;
        gn_text_clear(&text);
        for (size_t i = 0; i < c->column_count; i++)
            GN_TRY(gn_text_add(ctx, &text, "%s%s", i ? "\n" : "", texts[i]));
        for (; next < count && rows[next] == row; next++)
            GN_TRY(take(ctx, user, row, text.bytes));
    }
    return GERNE_OK;
}

gerne_status gn_corpus_quote(gerne_ctx *ctx, const gn_corpus *c, const uint32_t *rows, size_t count,
                             gn_quote_fn *take, void *user)
{
    text_rows all;
    GN_TRY(open_rows(ctx, c, &all));
    gerne_status status = quote_rows(ctx, c, &all, rows, count, take, user);
    gn_record_file_close(all.table);
    return status;
}
