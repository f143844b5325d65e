#include "data/terms.h"

#include <string.h>

#include "base/file.h"
#include "data/normalize.h"
#include "data/trie.h"

enum { FILE_LIMIT = 1 << 24 };

struct gn_terms {
    gn_arena *arena;
    gn_trie *trie; /* terms with a blank behind; the number is that of the group */
    const char **groups;
    size_t group_count, group_capacity, term_count;
    gn_text words; /* of the text that is looked at */
};

void gn_terms_close(gn_terms *terms)
{
    if (!terms)
        return;
    gn_trie_close(terms->trie);
    gn_free(terms->groups);
    gn_text_free(&terms->words);
    gn_arena_close(terms->arena);
    gn_free(terms);
}

/* The words in lower case and without accents, a blank behind each. */
static gerne_status split_words(gerne_ctx *ctx, const char *bytes, size_t size, gn_text *out)
{
    static const gn_normalizer all = {true, true, true, true};
    bool inside = false;
    gn_text_clear(out);
    for (size_t at = 0, used; at < size; at += used) {
        int32_t character;
        gn_normal normal[GN_NORMAL_MAX];
        (void)gn_utf8_next(bytes + at, size - at, &used, &character);
        size_t count = gn_normalize_character(&all, character, normal);
        for (size_t i = 0; i < count; i++) {
            char utf8[4];
            if (normal[i].character < 0)
                continue;
            bool part = gn_is_alphanumeric(normal[i].character);
            if (part)
                GN_TRY(gn_text_add_bytes(ctx, out, utf8, gn_utf8_put(normal[i].character, utf8)));
            else if (inside)
                GN_TRY(gn_text_add_bytes(ctx, out, " ", 1));
            inside = part;
        }
    }
    return inside ? gn_text_add_bytes(ctx, out, " ", 1) : GERNE_OK;
}

/* ---- reading ---- */

static gerne_status find_group(gerne_ctx *ctx, gn_terms *t, const char *name, size_t size,
                               int32_t *number)
{
    char *copy;
    for (size_t i = 0; i < t->group_count; i++)
        if (strlen(t->groups[i]) == size && memcmp(t->groups[i], name, size) == 0) {
            *number = (int32_t)i;
            return GERNE_OK;
        }
    GN_TRY(gn_arena_alloc(ctx, t->arena, size + 1, 1, &copy));
    memcpy(copy, name, size);
    GN_TRY(gn_grow(ctx, &t->groups, &t->group_capacity, t->group_count + 1, sizeof *t->groups,
                   "groups"));
    t->groups[t->group_count] = copy;
    *number = (int32_t)t->group_count++;
    return GERNE_OK;
}

static gerne_status add_term(gerne_ctx *ctx, gn_terms *t, const char *term, size_t size,
                             int32_t group)
{
    int32_t held;
    GN_TRY(split_words(ctx, term, size, &t->words));
    if (!t->words.size)
        return GERNE_OK; /* behind a last comma */
    GN_TRY(gn_trie_add(ctx, t->trie, t->words.bytes, t->words.size, group, &held));
    t->term_count++;
    if (held == group)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA, "the term '%.*s' is in the groups '%s' and '%s'",
                   (int)(size > 100 ? 100 : size), term, t->groups[held], t->groups[group]);
}

static void trim(const char **text, size_t *size)
{
    for (; *size && strchr(" \t\r", **text) && **text; ++*text)
        --*size;
    while (*size && (*text)[*size - 1] && strchr(" \t\r", (*text)[*size - 1]))
        --*size;
}

static gerne_status add_line(gerne_ctx *ctx, gn_terms *t, const char *line, size_t size)
{
    int32_t group;
    trim(&line, &size);
    if (!size || line[0] == '#')
        return GERNE_OK;
    const char *colon = memchr(line, ':', size), *name = colon ? line : "mentioned";
    size_t name_size = colon ? (size_t)(colon - line) : strlen(name);
    trim(&name, &name_size);
    if (!name_size)
        return gn_fail(ctx, GERNE_EDATA, "there is no name before the colon");
    GN_TRY(find_group(ctx, t, name, name_size, &group));
    if (!colon)
        return add_term(ctx, t, line, size, group);
    for (const char *at = colon + 1, *end = line + size; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t length = (size_t)((comma ? comma : end) - at);
        GN_TRY(add_term(ctx, t, at, length, group));
        at += length + 1;
    }
    return GERNE_OK;
}

static gerne_status add_lines(gerne_ctx *ctx, gn_terms *t, const char *name, const char *bytes,
                              size_t size)
{
    size_t line = 1;
    for (size_t at = 0; at < size; line++) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t length = end ? (size_t)(end - bytes) - at : size - at;
        gerne_status status = add_line(ctx, t, bytes + at, length);
        if (status != GERNE_OK)
            return gn_fail_in(ctx, status, "%s, line %zu", name, line);
        at += length + 1;
    }
    return t->term_count ? GERNE_OK : gn_fail(ctx, GERNE_EDATA, "'%s' has no terms", name);
}

gerne_status gn_terms_parse(gerne_ctx *ctx, const char *name, const char *bytes, size_t size,
                            gn_terms **out)
{
    GN_LOCAL(gn_terms) *t = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *t, "terms", &t));
    GN_TRY(gn_arena_new(ctx, &t->arena));
    GN_TRY(gn_trie_new(ctx, &t->trie));
    GN_TRY(add_lines(ctx, t, name, bytes, size));
    return gn_give(&t, out);
}

gerne_status gn_terms_open(gerne_ctx *ctx, const char *path, gn_terms **out)
{
    GN_LOCAL(gn_text) bytes = {0};
    *out = NULL;
    GN_TRY(gn_file_read(ctx, path, FILE_LIMIT, &bytes));
    return gn_terms_parse(ctx, path, bytes.size ? bytes.bytes : "", bytes.size, out);
}

/* ---- looking ---- */

gerne_status gn_terms_find(gerne_ctx *ctx, gn_terms *t, const char *text, const char **group)
{
    int32_t best = -1;
    *group = NULL;
    GN_TRY(split_words(ctx, text, strlen(text), &t->words));
    for (size_t start = 0; start < t->words.size;) {
        int32_t node = GN_TRIE_ROOT;
        for (size_t at = start; at < t->words.size; at++) {
            node = gn_trie_step(t->trie, node, (unsigned char)t->words.bytes[at]);
            if (node == GN_TRIE_NONE)
                break;
            int32_t found = gn_trie_number(t->trie, node);
            if (found >= 0 && (best < 0 || found < best))
                best = found;
        }
        const char *blank = memchr(t->words.bytes + start, ' ', t->words.size - start);
        start = (size_t)(blank - t->words.bytes) + 1; /* every word has one behind it */
    }
    if (best >= 0)
        *group = t->groups[best];
    return GERNE_OK;
}
