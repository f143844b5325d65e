#include "data/vocabulary.h"

#include <string.h>

#include "base/file.h"

enum { FILE_LIMIT = 1 << 28 };

void gn_vocabulary_close(gn_vocabulary *vocabulary)
{
    if (!vocabulary)
        return;
    gn_trie_close(vocabulary->trie);
    gn_free(vocabulary->tokens);
    gn_free(vocabulary->specials);
    gn_arena_close(vocabulary->arena);
    gn_free(vocabulary);
}

/* ---- tokens ---- */

gerne_status gn_vocabulary_add(gerne_ctx *ctx, gn_vocabulary *v, const char *token, int64_t id)
{
    int32_t held = (int32_t)id;
    if (id < 0 || id >= GN_VOCABULARY_MAX)
        return gn_fail(ctx, GERNE_EDATA, "the id %lld of '%.100s' is outside [0, %d)",
                       (long long)id, token, GN_VOCABULARY_MAX);
    if (!gn_is_utf8(token))
        return gn_fail(ctx, GERNE_EDATA, "the token of id %lld is not UTF-8", (long long)id);
    if ((size_t)id < v->size && v->tokens[id])
        return gn_fail(ctx, GERNE_EDATA, "'%.100s' and '%.100s' have the same id %lld",
                       v->tokens[id], token, (long long)id);
    if (token[0]) /* an empty line takes an id, and no text has it */
        GN_TRY(gn_trie_add(ctx, v->trie, token, strlen(token), (int32_t)id, &held));
    if (held != id)
        return gn_fail(ctx, GERNE_EDATA, "the token '%.100s' has two ids, %d and %lld", token,
                       (int)held, (long long)id);
    GN_TRY(gn_grow(ctx, &v->tokens, &v->capacity, (size_t)id + 1, sizeof *v->tokens, "tokens"));
    while (v->size <= (size_t)id)
        v->tokens[v->size++] = NULL;
    return gn_arena_copy_text(ctx, v->arena, token, &v->tokens[id]);
}

gerne_status gn_vocabulary_add_special(gerne_ctx *ctx, gn_vocabulary *v, const char *token,
                                       int64_t id)
{
    int32_t held = gn_trie_find(v->trie, token, strlen(token));
    if (held >= 0 && held != id)
        return gn_fail(ctx, GERNE_EDATA, "the token '%.100s' has two ids, %d and %lld", token,
                       (int)held, (long long)id);
    if (held < 0)
        GN_TRY(gn_vocabulary_add(ctx, v, token, id));
    GN_TRY(gn_grow(ctx, &v->specials, &v->special_capacity, v->special_count + 1,
                   sizeof *v->specials, "tokens"));
    v->specials[v->special_count++] =
        (gn_special){v->tokens[id], strlen(v->tokens[id]), (int32_t)id};
    return GERNE_OK;
}

/* ---- vocab.txt ---- */

static bool has_capital(const char *token)
{
    for (; *token; token++)
        if (*token >= 'A' && *token <= 'Z')
            return true;
    return false;
}

/* The file does not say whether its texts are in lower case; its tokens do. */
static void guess_case(gn_vocabulary *v)
{
    bool cased = false;
    for (size_t i = 0; i < v->size; i++)
        cased = cased || (v->tokens[i] && v->tokens[i][0] != '[' && has_capital(v->tokens[i]));
    v->normalizer.lowercase = v->normalizer.strip_accents = !cased;
}

static gerne_status add_line(gerne_ctx *ctx, gn_vocabulary *v, const char *name, const char *token,
                             size_t line)
{
    int32_t held = gn_trie_find(v->trie, token, strlen(token));
    if (held >= 0)
        return gn_fail(ctx, GERNE_EDATA, "%s, line %zu: the token '%.100s' is also on line %d",
                       name, line, token, (int)held + 1);
    gerne_status status = gn_vocabulary_add(ctx, v, token, (int64_t)line - 1);
    return status == GERNE_EDATA ? gn_fail_in(ctx, status, "%s, line %zu", name, line) : status;
}

static gerne_status read_lines(gerne_ctx *ctx, const char *name, const char *bytes, size_t size,
                               gn_vocabulary *v)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    GN_LOCAL(gn_text) token = {0};
    size_t line = 0;
    for (size_t at = 0; at < size; line++) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t length = end ? (size_t)(end - bytes) - at : size - at, next = at + length + 1;
        if (length && bytes[at + length - 1] == '\r')
            length--;
        if (memchr(bytes + at, '\0', length))
            return gn_fail(ctx, GERNE_EDATA,
                           "%s, line %zu: a NUL byte, so this is not a list of tokens", name,
                           line + 1);
        gn_text_clear(&token);
        GN_TRY(gn_text_add_bytes(ctx, &token, bytes + at, length));
        GN_TRY(add_line(ctx, v, name, token.bytes, line + 1));
        at = next;
    }
    guess_case(v);
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        int32_t id = gn_trie_find(v->trie, specials[i], strlen(specials[i]));
        if (id >= 0)
            GN_TRY(gn_vocabulary_add_special(ctx, v, specials[i], id));
    }
    return GERNE_OK;
}

/* ---- opening ---- */

static gerne_status require(gerne_ctx *ctx, const gn_vocabulary *v, const char *name,
                            const char *token, int32_t *id)
{
    *id = gn_trie_find(v->trie, token, strlen(token));
    if (*id >= 0)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EDATA, "'%s' has no token '%s'", name, token);
    gn_hint(ctx, "--model.vocab takes BERT's vocab.txt or tokenizer.json");
    return GERNE_EDATA;
}

static void add_number(gn_sha256 *hash, int64_t value)
{
    gn_sha256_add(hash, &value, sizeof value);
}

/* Of what decides over the ids of a text, whichever form it was read from. */
static void compute_digest(gn_vocabulary *v)
{
    gn_sha256 hash;
    const gn_normalizer *n = &v->normalizer;
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, "wordpiece 1", 12);
    add_number(&hash,
               n->clean_text | n->chinese_chars << 1 | n->strip_accents << 2 | n->lowercase << 3);
    add_number(&hash, (int64_t)v->word_max);
    add_number(&hash, v->unknown);
    gn_sha256_add(&hash, v->prefix, strlen(v->prefix) + 1);
    add_number(&hash, (int64_t)v->special_count);
    for (size_t i = 0; i < v->special_count; i++)
        gn_sha256_add(&hash, v->specials[i].text, v->specials[i].size + 1);
    for (size_t i = 0; i < v->size; i++) {
        const char *token = v->tokens[i] ? v->tokens[i] : "";
        gn_sha256_add(&hash, token, strlen(token) + 1);
    }
    gn_sha256_end(&hash, v->digest);
}

/* White space in front is passed. */
static size_t skip_blanks(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && bytes[at] && strchr(" \t\r\n", bytes[at]))
        at++;
    return at;
}

/* An object with a key; a list of tokens does not start with a brace and a quote. */
static bool is_json(const char *bytes, size_t size)
{
    size_t key = bytes[0] == '{' ? 1 + skip_blanks(bytes + 1, size - 1) : size;
    return key < size && (bytes[key] == '"' || bytes[key] == '}');
}

static gerne_status fill(gerne_ctx *ctx, const char *name, const char *bytes, size_t size,
                         gn_vocabulary *v)
{
    const char *unknown = "[UNK]";
    size_t first = skip_blanks(bytes, size);
    if (first == size)
        return gn_fail(ctx, GERNE_EDATA, "'%s' is empty", name);
    v->normalizer = (gn_normalizer){true, true, true, true};
    v->prefix = "##";
    v->word_max = 100;
    GN_TRY(gn_arena_new(ctx, &v->arena));
    GN_TRY(gn_trie_new(ctx, &v->trie));
    if (is_json(bytes + first, size - first))
        GN_TRY(gn_vocabulary_read_json(ctx, name, bytes, size, v, &unknown));
    else
        GN_TRY(read_lines(ctx, name, bytes, size, v));
    GN_TRY(require(ctx, v, name, unknown, &v->unknown));
    GN_TRY(require(ctx, v, name, "[CLS]", &v->start));
    GN_TRY(require(ctx, v, name, "[SEP]", &v->end));
    compute_digest(v);
    return GERNE_OK;
}

gerne_status gn_vocabulary_parse(gerne_ctx *ctx, const char *name, const char *bytes, size_t size,
                                 gn_vocabulary **out)
{
    GN_LOCAL(gn_vocabulary) *vocabulary = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *vocabulary, "a vocabulary", &vocabulary));
    GN_TRY(fill(ctx, name, bytes, size, vocabulary));
    return gn_give(&vocabulary, out);
}

gerne_status gn_vocabulary_open(gerne_ctx *ctx, const char *path, gn_vocabulary **out)
{
    GN_LOCAL(gn_text) bytes = {0};
    *out = NULL;
    GN_TRY(gn_file_read(ctx, path, FILE_LIMIT, &bytes));
    return gn_vocabulary_parse(ctx, path, bytes.size ? bytes.bytes : "", bytes.size, out);
}
