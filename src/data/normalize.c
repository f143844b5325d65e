#include "data/normalize.h"

#include <utf8proc.h>

/* Unicode's property White_Space, which does not change any more. */
static bool is_space(int32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

/* Unassigned characters stay: they are not in the vocabulary, and so make a word unknown. */
static bool is_control(int32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        return false;
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO;
}

/* The blocks that BERT names. It starts the last but two at 2B820; Hugging Face's library, which
 * made the vocabularies' files and reads them, at 2B920. */
static bool is_chinese(int32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* ASCII's symbols, such as $ and ^, count as well. */
static bool is_punctuation(int32_t c)
{
    if (c < 0x80)
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
               (c >= 123 && c <= 126);
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool gn_is_alphanumeric(int32_t character)
{
    utf8proc_category_t category = utf8proc_category(character);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

gn_character_kind gn_character_kind_of(const gn_normalizer *normalizer, int32_t c)
{
    if (normalizer->clean_text && (c == 0 || c == GN_REPLACEMENT || is_control(c)))
        return GN_CHARACTER_REMOVED;
    if (is_space(c))
        return GN_CHARACTER_SPACE;
    return normalizer->chinese_chars && is_chinese(c) ? GN_CHARACTER_CHINESE : GN_CHARACTER_OF_WORD;
}

/* The one character whose lower case is two, whatever is around it: U+0130, I with a dot. */
enum { DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

static gn_normal normal(int32_t c, uint8_t combining)
{
    return (gn_normal){c, combining, is_space(c), is_punctuation(c)};
}

static size_t add_lower(const gn_normalizer *normalizer, int32_t c, uint8_t combining,
                        gn_normal *out)
{
    if (!normalizer->lowercase) {
        out[0] = normal(c, combining);
        return 1;
    }
    if (c == DOTTED_I) {
        out[0] = normal('i', 0);
        out[1] = normal(DOT_ABOVE, 0);
        return 2;
    }
    out[0] = normal(utf8proc_tolower(c), combining);
    return 1;
}

size_t gn_normalize_character(const gn_normalizer *normalizer, int32_t character,
                              gn_normal out[GN_NORMAL_MAX])
{
    utf8proc_int32_t parts[GN_NORMAL_MAX];
    int boundary = 0;
    if (!normalizer->strip_accents)
        return add_lower(normalizer, character, 0, out);
    utf8proc_ssize_t count =
        utf8proc_decompose_char(character, parts, GN_NORMAL_MAX, UTF8PROC_DECOMPOSE, &boundary);
    if (count < 1 || count > GN_NORMAL_MAX - 1) /* no character has so many */
        return add_lower(normalizer, character, 0, out);
    size_t size = 0;
    for (utf8proc_ssize_t i = 0; i < count; i++) {
        const utf8proc_property_t *property = utf8proc_get_property(parts[i]);
        uint8_t combining = (uint8_t)property->combining_class;
        if (property->category == UTF8PROC_CATEGORY_MN)
            out[size++] = (gn_normal){-1, combining, false, false};
        else /* I with a dot is decomposed: what is left has one character as its lower case */
            size += add_lower(normalizer, parts[i], combining, out + size);
    }
    return size;
}

const char *gn_unicode_version(void)
{
    return utf8proc_unicode_version();
}
