#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

gerne_status gn_text_add_bytes(gerne_ctx *ctx, gn_text *text, const void *bytes, size_t size)
{
    GN_TRY(gn_grow(ctx, &text->bytes, &text->capacity, text->size + size + 1, 1, "text"));
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return GERNE_OK;
}

gerne_status gn_text_add_list(gerne_ctx *ctx, gn_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int need = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (need < 0)
        return gn_fail(ctx, GERNE_EINTERNAL, "a text could not be formatted");
    size_t size = (size_t)need;
    GN_TRY(gn_grow(ctx, &text->bytes, &text->capacity, text->size + size + 1, 1, "text"));
    vsnprintf(text->bytes + text->size, size + 1, format, arguments);
    text->size += size;
    return GERNE_OK;
}

gerne_status gn_text_add(gerne_ctx *ctx, gn_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gerne_status status = gn_text_add_list(ctx, text, format, arguments);
    va_end(arguments);
    return status;
}

void gn_text_clear(gn_text *text)
{
    text->size = 0;
    if (text->bytes)
        text->bytes[0] = '\0';
}

void gn_text_free(gn_text *text)
{
    gn_free(text->bytes);
    *text = (gn_text){0};
}

bool gn_parse_int(const char *text, int64_t *out)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '+')
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *out = value;
    return true;
}

bool gn_parse_double(const char *text, double *out)
{
    if (isspace((unsigned char)text[0]) || strpbrk(text, "xX"))
        return false;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool overflow = errno == ERANGE && fabs(value) > 1.0;
    if (overflow || end == text || *end || isnan(value))
        return false;
    *out = value;
    return true;
}

bool gn_parse_bool(const char *text, bool *out)
{
    static const char *const words[2][4] = {{"false", "no", "off", "0"},
                                            {"true", "yes", "on", "1"}};
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 4; i++)
            if (strcmp(text, words[value][i]) == 0) {
                *out = value;
                return true;
            }
    return false;
}

enum { NAME_MAX_BYTES = 64 };

/* Edit distance in which two neighbours may also change places. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n >= NAME_MAX_BYTES || m >= NAME_MAX_BYTES)
        return NAME_MAX_BYTES;
    size_t rows[3][NAME_MAX_BYTES];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

const char *gn_nearest(const char *text, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t limit = strlen(text) / 3 + 1, best_distance = limit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(text, names[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best;
}

bool gn_utf8_next(const char *text, size_t size, size_t *used, int32_t *character)
{
    static const struct {
        unsigned char first, last; /* of the leading byte */
        unsigned char low, high;   /* of the second byte */
        unsigned char bits;        /* of the leading byte that belong to the character */
        size_t size;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 0x7f, 1},       {0xc2, 0xdf, 0x80, 0xbf, 0x1f, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 0x0f, 3}, {0xe1, 0xec, 0x80, 0xbf, 0x0f, 3},
        {0xed, 0xed, 0x80, 0x9f, 0x0f, 3}, {0xee, 0xef, 0x80, 0xbf, 0x0f, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 0x07, 4}, {0xf1, 0xf3, 0x80, 0xbf, 0x07, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 0x07, 4},
    };
    const unsigned char *at = (const unsigned char *)text;
    *used = 1;
    *character = GN_REPLACEMENT;
    size_t i = 0, count = sizeof forms / sizeof forms[0];
    while (i < count && (at[0] < forms[i].first || at[0] > forms[i].last))
        i++;
    if (i == count)
        return false;
    int32_t value = at[0] & forms[i].bits;
    for (; *used < forms[i].size; ++*used) {
        unsigned char low = *used == 1 ? forms[i].low : 0x80;
        unsigned char high = *used == 1 ? forms[i].high : 0xbf;
        if (*used == size || at[*used] < low || at[*used] > high)
            return false;
        value = value << 6 | (at[*used] & 0x3f);
    }
    *character = value;
    return true;
}

size_t gn_utf8_put(int32_t character, char bytes[4])
{
    if (character < 0x80) {
        bytes[0] = (char)character;
        return 1;
    }
    size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i; i--, character >>= 6)
        bytes[i] = (char)(0x80 | (character & 0x3f));
    bytes[0] = (char)((0xf00 >> size & 0xff) | character);
    return size;
}

bool gn_is_identifier(const char *text)
{
    enum { LONGEST = 32 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    if (!text || text[0] < 'a' || text[0] > 'z')
        return false;
    size_t length = strspn(text, letters);
    return length <= LONGEST && text[length] == '\0';
}

bool gn_is_utf8(const char *text)
{
    size_t size = strlen(text), used;
    int32_t character;
    for (; size; text += used, size -= used)
        if (!gn_utf8_next(text, size, &used, &character))
            return false;
    return true;
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

uint64_t gn_text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

int gn_text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += starts_character(*text);
    return width;
}

gerne_status gn_text_add_cell(gerne_ctx *ctx, gn_text *text, const char *words, int width)
{
    int room = width < 0 ? -width : width, have = gn_text_width(words);
    bool cut = have > room && room > 2;
    int shown = cut ? room - 2 : have, blanks = have < room ? room - have : 0;
    const char *end = words;
    for (int seen = 0; *end; end++) {
        seen += starts_character(*end);
        if (seen > shown)
            break;
    }
    return gn_text_add(ctx, text, "%*s%.*s%s%*s", width < 0 ? blanks : 0, "", (int)(end - words),
                       words, cut ? ".." : "", width < 0 ? 0 : blanks, "");
}

/* Those that reverse what is read, and those that hide in it. */
static bool steers_a_terminal(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c ||
           c == 0x2028 || c == 0x2029;
}

gerne_status gn_text_add_visible(gerne_ctx *ctx, gn_text *text, const char *bytes, size_t size,
                                 bool lines)
{
    size_t plain = 0; /* bytes that are fine as they are, not yet appended */
    for (size_t at = 0, used; at < size; at += used) {
        int32_t character;
        bool formed = gn_utf8_next(bytes + at, size - at, &used, &character);
        if (formed &&
            (!steers_a_terminal(character) || character == '\t' || (lines && character == '\n'))) {
            plain += used;
            continue;
        }
        GN_TRY(gn_text_add_bytes(ctx, text, bytes + at - plain, plain));
        plain = 0;
        if (formed && character >= 0x80)
            GN_TRY(gn_text_add(ctx, text, "\\u{%04x}", (unsigned)character));
        for (size_t i = 0; i < used && !(formed && character >= 0x80); i++)
            GN_TRY(gn_text_add(ctx, text, "\\x%02x", (unsigned)(unsigned char)bytes[at + i]));
    }
    return gn_text_add_bytes(ctx, text, bytes + size - plain, plain);
}

void gn_mend_end(char *text)
{
    size_t size = strlen(text), start = size;
    while (start > 0 && size - start < 4 && (text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0 && (text[start - 1] & 0x80))
        start--;
    if (start < size && !gn_is_utf8(text + start))
        text[start] = '\0';
}

gerne_status gn_first_difference(gerne_ctx *ctx, gn_arena *arena, const char *before,
                                 const char *now, const char **out)
{
    *out = NULL;
    while (*now) {
        size_t size = strcspn(now, "\n");
        char *line;
        GN_TRY(gn_arena_alloc(ctx, arena, size + 2, 1, &line));
        memcpy(line, now, size);
        line[size] = '\n';
        const char *at = strstr(before, line);
        while (at && at != before && at[-1] != '\n')
            at = strstr(at + 1, line);
        if (!at) {
            line[size] = '\0';
            *out = line + strspn(line, " ");
            return GERNE_OK;
        }
        now += size + (now[size] == '\n');
    }
    return GERNE_OK;
}

gerne_status gn_number_names(gerne_ctx *ctx, gn_arena *arena, size_t count, const char *const **out)
{
    enum { DIGITS = 24 };
    const char **names;
    char *texts;
    GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *names, &names));
    GN_TRY(gn_arena_alloc(ctx, arena, count, DIGITS, &texts));
    for (size_t i = 0; i < count; i++) {
        names[i] = texts + i * DIGITS;
        snprintf(texts + i * DIGITS, DIGITS, "%zu", i);
    }
    *out = names;
    return GERNE_OK;
}
