/* wordpiece.h - BERT's tokenizer: texts to ids, as Hugging Face's library makes them.
 *
 *     gn_tokenizer *tokenizer;
 *     GN_TRY(gn_tokenizer_open(ctx, "vocab.txt", &tokenizer));
 *     gn_encoding encoding = {.ids = ids, .max_tokens = 220};      // ids has room for twice that
 *     gn_encode(tokenizer, texts, 1, &encoding);                   // [CLS] ... [SEP]
 *     gn_tokenizer_close(tokenizer);
 *
 * After opening it is only read: any thread may use it.
 */
#ifndef GN_DATA_WORDPIECE_H
#define GN_DATA_WORDPIECE_H

#include "data/vocabulary.h"

typedef struct gn_tokenizer gn_tokenizer;

GERNE_CHECKED gerne_status gn_tokenizer_open(gerne_ctx *ctx, const char *path, gn_tokenizer **out);
/* Takes the vocabulary over, also when it fails. */
GERNE_CHECKED gerne_status gn_tokenizer_new(gerne_ctx *ctx, gn_vocabulary *vocabulary,
                                            gn_tokenizer **out);
void gn_tokenizer_close(gn_tokenizer *tokenizer); /* takes NULL */
GN_LOCAL_HANDLE(gn_tokenizer, gn_tokenizer_close)

const gn_vocabulary *gn_tokenizer_vocabulary(const gn_tokenizer *tokenizer); /* borrowed */

/* UTF-8 of any contents, NUL bytes included. Malformed parts are taken as U+FFFD, which clean_text
 * removes. */
typedef struct gn_words {
    const char *bytes;
    size_t size;
} gn_words;

/* Pieces of one text, without special tokens around them. */
typedef struct gn_pieces {
    int32_t *ids;
    size_t count, capacity;
    bool more;        /* the text has further ones; reading stopped */
    size_t malformed; /* places that are not UTF-8, as far as the text was read */
} gn_pieces;

/* Appends to what is there. */
void gn_tokenize(const gn_tokenizer *tokenizer, gn_words text, gn_pieces *pieces);

enum { GN_TOKENS_MIN = 5 }; /* of max_tokens: a pair has three special ones, and two of its own */

typedef struct gn_encoding {
    int32_t *ids;      /* [2 * max_tokens]; the first count are the result */
    size_t max_tokens; /* at least GN_TOKENS_MIN */
    size_t count;
    bool truncated;
    size_t malformed;
} gn_encoding;

/* [CLS] text [SEP], or [CLS] text [SEP] other [SEP]; too long a pair loses the ends of its longer
 * text first. count is 1 or 2. */
void gn_encode(const gn_tokenizer *tokenizer, const gn_words *texts, size_t count,
               gn_encoding *encoding);

#endif
