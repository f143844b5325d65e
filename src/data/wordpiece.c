#include "data/wordpiece.h"

#include <string.h>

enum { ASCII = 128 };

/* What a byte below 128 does, settled once. */
typedef enum ascii_rule { RULE_WORD, RULE_REMOVED, RULE_SPACE, RULE_PUNCTUATION } ascii_rule;

struct gn_tokenizer {
    gn_vocabulary *vocabulary;
    int32_t continuing; /* the node of the trie behind the prefix of tokens inside words */
    uint8_t rules[ASCII];
    uint8_t lower[ASCII];
    bool starts_special[256]; /* the first bytes of special tokens */
};

void gn_tokenizer_close(gn_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    gn_vocabulary_close(tokenizer->vocabulary);
    gn_free(tokenizer);
}

static void settle_ascii(gn_tokenizer *t)
{
    const gn_normalizer *normalizer = &t->vocabulary->normalizer;
    for (int32_t c = 0; c < ASCII; c++) {
        gn_normal normal[GN_NORMAL_MAX];
        gn_character_kind kind = gn_character_kind_of(normalizer, c);
        gn_normalize_character(normalizer, c, normal); /* one, for ASCII */
        t->lower[c] = (uint8_t)normal[0].character;
        t->rules[c] = kind == GN_CHARACTER_REMOVED ? RULE_REMOVED
                      : kind == GN_CHARACTER_SPACE ? RULE_SPACE
                      : normal[0].punctuation      ? RULE_PUNCTUATION
                                                   : RULE_WORD;
    }
}

gerne_status gn_tokenizer_new(gerne_ctx *ctx, gn_vocabulary *vocabulary, gn_tokenizer **out)
{
    gn_tokenizer *t;
    *out = NULL;
    gerne_status status = gn_alloc(ctx, 1, sizeof *t, "a tokenizer", &t);
    if (status != GERNE_OK) {
        gn_vocabulary_close(vocabulary);
        return status;
    }
    t->vocabulary = vocabulary;
    t->continuing = gn_trie_walk(vocabulary->trie, GN_TRIE_ROOT, vocabulary->prefix,
                                 strlen(vocabulary->prefix));
    for (size_t i = 0; i < vocabulary->special_count; i++)
        t->starts_special[(unsigned char)vocabulary->specials[i].text[0]] = true;
    settle_ascii(t);
    *out = t;
    return GERNE_OK;
}

gerne_status gn_tokenizer_open(gerne_ctx *ctx, const char *path, gn_tokenizer **out)
{
    gn_vocabulary *vocabulary;
    *out = NULL;
    GN_TRY(gn_vocabulary_open(ctx, path, &vocabulary));
    return gn_tokenizer_new(ctx, vocabulary, out);
}

const gn_vocabulary *gn_tokenizer_vocabulary(const gn_tokenizer *tokenizer)
{
    return tokenizer->vocabulary;
}

/* ---- pieces ---- */

/* The word that is being read. Beyond the longest word only the count goes on. */
typedef struct open_word {
    int32_t characters[GN_WORD_MAX];
    uint8_t combining[GN_WORD_MAX];
    size_t count;
    size_t movable; /* characters from here on may change places: canonical order */
} open_word;

static void emit(gn_pieces *pieces, int32_t id)
{
    if (pieces->count < pieces->capacity)
        pieces->ids[pieces->count++] = id;
    else
        pieces->more = true;
}

/* The longest token from here on; its bytes are in *used, 0 when there is none. */
static int32_t longest(const gn_trie *trie, int32_t node, const char *bytes, size_t size,
                       size_t *used)
{
    int32_t id = -1;
    *used = 0;
    for (size_t i = 0; i < size; i++) {
        node = gn_trie_step(trie, node, (unsigned char)bytes[i]);
        if (node == GN_TRIE_NONE)
            break;
        int32_t number = gn_trie_number(trie, node);
        if (number >= 0) {
            id = number;
            *used = i + 1;
        }
    }
    return id;
}

/* A word is cut greedily from its start, or is unknown as a whole. */
static void emit_word(const gn_tokenizer *t, const char *bytes, size_t size, gn_pieces *pieces)
{
    const gn_vocabulary *v = t->vocabulary;
    int32_t ids[GN_WORD_MAX];
    size_t count = 0, used = 0;
    for (size_t at = 0; at < size; at += used) {
        int32_t from = at ? t->continuing : GN_TRIE_ROOT;
        int32_t id =
            from == GN_TRIE_NONE ? -1 : longest(v->trie, from, bytes + at, size - at, &used);
        if (id < 0) {
            emit(pieces, v->unknown);
            return;
        }
        ids[count++] = id;
    }
    for (size_t i = 0; i < count && !pieces->more; i++)
        emit(pieces, ids[i]);
}

static void close_word(const gn_tokenizer *t, open_word *word, gn_pieces *pieces)
{
    char bytes[4 * GN_WORD_MAX];
    size_t size = 0;
    if (word->count > t->vocabulary->word_max) {
        emit(pieces, t->vocabulary->unknown);
    } else if (word->count) {
        for (size_t i = 0; i < word->count; i++)
            size += gn_utf8_put(word->characters[i], bytes + size);
        emit_word(t, bytes, size, pieces);
    }
    word->count = word->movable = 0;
}

/* Marks that stay are brought into canonical order, as decomposition demands. */
static void extend_word(open_word *word, int32_t character, uint8_t combining)
{
    size_t at = word->count++;
    if (at >= GN_WORD_MAX)
        return; /* longer than any word may be */
    if (!combining)
        word->movable = word->count;
    for (; combining && at > word->movable && word->combining[at - 1] > combining; at--) {
        word->characters[at] = word->characters[at - 1];
        word->combining[at] = word->combining[at - 1];
    }
    word->characters[at] = character;
    word->combining[at] = combining;
}

static void take_normal(const gn_tokenizer *t, const gn_normal *normal, open_word *word,
                        gn_pieces *pieces)
{
    if (normal->character < 0) { /* removed, yet marks do not move across it if it starts anew */
        if (!normal->combining)
            word->movable = word->count;
        return;
    }
    bool ends = normal->space || normal->punctuation;
    if (ends)
        close_word(t, word, pieces);
    if (!normal->space)
        extend_word(word, normal->character, normal->combining);
    if (ends)
        close_word(t, word, pieces);
}

static void take_character(const gn_tokenizer *t, int32_t character, open_word *word,
                           gn_pieces *pieces)
{
    const gn_normalizer *normalizer = &t->vocabulary->normalizer;
    gn_character_kind kind = gn_character_kind_of(normalizer, character);
    if (kind == GN_CHARACTER_REMOVED)
        return;
    if (kind != GN_CHARACTER_OF_WORD)
        close_word(t, word, pieces);
    if (kind == GN_CHARACTER_SPACE)
        return;
    gn_normal normal[GN_NORMAL_MAX];
    size_t count = gn_normalize_character(normalizer, character, normal);
    for (size_t i = 0; i < count; i++)
        take_normal(t, &normal[i], word, pieces);
    if (kind == GN_CHARACTER_CHINESE)
        close_word(t, word, pieces);
}

static void take_ascii(const gn_tokenizer *t, unsigned char byte, open_word *word,
                       gn_pieces *pieces)
{
    uint8_t rule = t->rules[byte];
    if (rule == RULE_REMOVED)
        return;
    if (rule != RULE_WORD)
        close_word(t, word, pieces);
    if (rule == RULE_SPACE)
        return;
    extend_word(word, t->lower[byte], 0);
    if (rule == RULE_PUNCTUATION)
        close_word(t, word, pieces);
}

/* The longest special token that stands here, or NULL. */
static const gn_special *find_special(const gn_vocabulary *v, const char *bytes, size_t size)
{
    const gn_special *best = NULL;
    for (size_t i = 0; i < v->special_count; i++) {
        const gn_special *s = &v->specials[i];
        if (s->size <= size && (!best || s->size > best->size) &&
            memcmp(s->text, bytes, s->size) == 0)
            best = s;
    }
    return best;
}

void gn_tokenize(const gn_tokenizer *t, gn_words text, gn_pieces *pieces)
{
    open_word word;
    word.count = word.movable = 0;
    for (size_t at = 0, used; at < text.size && !pieces->more; at += used) {
        unsigned char byte = (unsigned char)text.bytes[at];
        const gn_special *special =
            t->starts_special[byte] ? find_special(t->vocabulary, text.bytes + at, text.size - at)
                                    : NULL;
        used = 1;
        if (special) {
            close_word(t, &word, pieces);
            emit(pieces, special->id);
            used = special->size;
        } else if (byte < ASCII) {
            take_ascii(t, byte, &word, pieces);
        } else {
            int32_t character;
            pieces->malformed += !gn_utf8_next(text.bytes + at, text.size - at, &used, &character);
            take_character(t, character, &word, pieces);
        }
    }
    close_word(t, &word, pieces);
}

/* ---- with special tokens ---- */

/* How much of two texts fits: the longer one is cut, then both to halves. */
static void share(size_t room, size_t *first, size_t *second)
{
    size_t *shorter = *first > *second ? second : first;
    size_t *longer = shorter == first ? second : first;
    if (*shorter + *longer <= room)
        return;
    if (*shorter <= room / 2) {
        *longer = room - *shorter;
    } else {
        *shorter = room / 2;
        *longer = room - room / 2;
    }
}

void gn_encode(const gn_tokenizer *t, const gn_words *texts, size_t count, gn_encoding *e)
{
    const gn_vocabulary *v = t->vocabulary;
    count = count < 2 ? count : 2;
    size_t room = e->max_tokens - 1 - count, sizes[2] = {0}, cut[2] = {0};
    gn_pieces pieces[2] = {{.ids = e->ids + 1, .capacity = room},
                           {.ids = e->ids + e->max_tokens, .capacity = room}};
    e->count = e->malformed = 0;
    e->truncated = false;
    for (size_t i = 0; i < count; i++) {
        gn_tokenize(t, texts[i], &pieces[i]);
        sizes[i] = cut[i] = pieces[i].count;
        e->malformed += pieces[i].malformed;
        e->truncated = e->truncated || pieces[i].more;
    }
    if (count == 2)
        share(room, &cut[0], &cut[1]);
    e->ids[e->count++] = v->start;
    for (size_t i = 0; i < count; i++) {
        if (i)
            memmove(e->ids + e->count, pieces[i].ids, cut[i] * sizeof *e->ids);
        e->truncated = e->truncated || cut[i] < sizes[i];
        e->count += cut[i];
        e->ids[e->count++] = v->end;
    }
}
