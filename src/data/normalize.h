/* normalize.h - what BERT does to the characters of a text before it looks for words.
 *
 * The rules are those of Hugging Face's BertNormalizer and BertPreTokenizer, one character at a
 * time: gn_character_kind says what becomes of one, gn_normalize_character what it turns into.
 * Unicode's tables are utf8proc's.
 */
#ifndef GN_DATA_NORMALIZE_H
#define GN_DATA_NORMALIZE_H

#include "base/text.h"

typedef struct gn_normalizer {
    bool clean_text;    /* control characters are removed, white space is a blank */
    bool chinese_chars; /* every CJK ideograph is a word */
    bool strip_accents; /* canonical decomposition, without nonspacing marks */
    bool lowercase;
} gn_normalizer;

typedef enum gn_character_kind {
    GN_CHARACTER_OF_WORD,
    GN_CHARACTER_REMOVED,
    GN_CHARACTER_SPACE,   /* between words */
    GN_CHARACTER_CHINESE, /* a word of its own, before it is normalised */
} gn_character_kind;

gn_character_kind gn_character_kind_of(const gn_normalizer *normalizer, int32_t character);

/* A normalised character. */
typedef struct gn_normal {
    int32_t character; /* -1: an accent that was removed */
    uint8_t combining; /* class; 0 for a starter, and when nothing is decomposed */
    bool space, punctuation;
} gn_normal;

enum { GN_NORMAL_MAX = 8 }; /* characters that one can turn into */

size_t gn_normalize_character(const gn_normalizer *normalizer, int32_t character,
                              gn_normal out[GN_NORMAL_MAX]);

/* For words of other kinds: lower case without accents; whether it is a letter, mark or digit. */
bool gn_is_alphanumeric(int32_t character);

/* Unicode's version in utf8proc's tables, such as "15.0.0"; static. */
const char *gn_unicode_version(void);

#endif
