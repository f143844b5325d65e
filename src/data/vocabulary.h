/* vocabulary.h - the tokens of a network and their ids, read from vocab.txt or tokenizer.json,
 * with the rules that such a file states. */
#ifndef GN_DATA_VOCABULARY_H
#define GN_DATA_VOCABULARY_H

#include "base/sha256.h"
#include "data/normalize.h"
#include "data/trie.h"

enum {
    GN_WORD_MAX = 1000, /* what max_input_chars_per_word can be */
    GN_VOCABULARY_MAX = 1 << 22,
};

/* A token that is found in the text as it stands, before anything else: [SEP], for example. */
typedef struct gn_special {
    const char *text;
    size_t size;
    int32_t id;
} gn_special;

typedef struct gn_vocabulary {
    gn_arena *arena;
    gn_trie *trie;
    const char **tokens; /* by id; NULL where an id has no token */
    size_t size;         /* ids are below */
    size_t capacity;
    gn_normalizer normalizer;
    const char *prefix; /* of tokens that go on inside a word: "##" */
    size_t word_max;    /* a longer word is unknown as a whole */
    gn_special *specials;
    size_t special_count, special_capacity;
    int32_t unknown, start, end; /* ids of [UNK], [CLS], [SEP] */
    unsigned char digest[GN_SHA256_SIZE];
} gn_vocabulary;

/* Reads vocab.txt (a token a line) or, by its first character, tokenizer.json. GERNE_EDATA for
 * files that are neither, have two ids for a token, or lack a token that texts need. */
GERNE_CHECKED gerne_status gn_vocabulary_open(gerne_ctx *ctx, const char *path,
                                              gn_vocabulary **out);
/* The same from memory; name stands for the file in messages. */
GERNE_CHECKED gerne_status gn_vocabulary_parse(gerne_ctx *ctx, const char *name, const char *bytes,
                                               size_t size, gn_vocabulary **out);
void gn_vocabulary_close(gn_vocabulary *vocabulary); /* takes NULL */
GN_LOCAL_HANDLE(gn_vocabulary, gn_vocabulary_close)

/* For the readers of the two forms. */
GERNE_CHECKED gerne_status gn_vocabulary_add(gerne_ctx *ctx, gn_vocabulary *vocabulary,
                                             const char *token, int64_t id);
GERNE_CHECKED gerne_status gn_vocabulary_add_special(gerne_ctx *ctx, gn_vocabulary *vocabulary,
                                                     const char *token, int64_t id);
GERNE_CHECKED gerne_status gn_vocabulary_read_json(gerne_ctx *ctx, const char *name,
                                                   const char *bytes, size_t size,
                                                   gn_vocabulary *vocabulary, const char **unknown);

#endif
