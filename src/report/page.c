#include "report/page.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static void add_bytes(gn_page *page, const char *bytes, size_t size)
{
    if (page->status == GERNE_OK && size)
        page->status = gn_text_add_bytes(page->ctx, &page->text, bytes, size);
}

static void add(gn_page *page, const char *text)
{
    add_bytes(page, text, strlen(text));
}

void gn_page_add(gn_page *page, const char *format, ...)
{
    va_list arguments;
    if (page->status != GERNE_OK)
        return;
    va_start(arguments, format);
    page->status = gn_text_add_list(page->ctx, &page->text, format, arguments);
    va_end(arguments);
}

/* What stands for a byte that means something in markup, or is not for display; NULL for others. */
static const char *entity(unsigned char c)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *found = c ? strchr(special, c) : NULL;
    if (found)
        return names[found - special];
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F ? REPLACEMENT : NULL;
}

/* Bytes of the character that starts here. */
static size_t character_size(const char *text)
{
    size_t size = 1;
    while (((unsigned char)text[size] & 0xC0) == 0x80)
        size++;
    return size;
}

static void add_escaped(gn_page *page, const char *text, size_t characters)
{
    bool valid = gn_is_utf8(text);
    while (*text && characters--) {
        unsigned char c = (unsigned char)*text;
        size_t size = valid && c >= 0x80 ? character_size(text) : 1;
        const char *other = c >= 0x80 && !valid ? REPLACEMENT : entity(c);
        if (other)
            add(page, other);
        else
            add_bytes(page, text, size);
        text += size;
    }
}

void gn_page_text(gn_page *page, const char *text)
{
    if (text)
        add_escaped(page, text, SIZE_MAX);
}

void gn_page_text_cut(gn_page *page, const char *text, size_t characters)
{
    if (!text)
        return;
    bool valid = gn_is_utf8(text);
    size_t length = 0;
    for (const char *at = text; *at && length <= characters; length++)
        at += valid && (unsigned char)*at >= 0x80 ? character_size(at) : 1;
    if (length <= characters) {
        gn_page_text(page, text);
        return;
    }
    add_escaped(page, text, characters ? characters - 1 : 0);
    add(page, GN_ELLIPSIS);
}

/* Appends what the conversion at the beginning of format stands for; returns what follows it. */
static const char *convert(gn_page *page, const char *format, va_list *arguments)
{
    size_t characters = SIZE_MAX;
    const char *kind = format + 1;
    if (strncmp(kind, ".*", 2) == 0) {
        characters = (size_t)va_arg(*arguments, int);
        kind += 2;
    } else if (*kind == '.') {
        char *end;
        characters = strtoul(kind + 1, &end, 10);
        kind = end;
    }
    if (*kind == 's')
        gn_page_text_cut(page, va_arg(*arguments, const char *), characters);
    else
        add_bytes(page, kind, 1); /* %% */
    return kind + 1;
}

void gn_page_fill(gn_page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    while (*format) {
        size_t plain = strcspn(format, "%");
        add_bytes(page, format, plain);
        format += plain;
        if (*format)
            format = convert(page, format, &arguments);
    }
    va_end(arguments);
}

void gn_page_base64(gn_page *page, const void *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = bytes;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i < 3 ? size - i : 3;
        unsigned value = (unsigned)in[i] << 16;
        value |= left > 1 ? (unsigned)in[i + 1] << 8 : 0;
        value |= left > 2 ? (unsigned)in[i + 2] : 0;
        char out[4] = {digits[value >> 18], digits[value >> 12 & 63],
                       left > 1 ? digits[value >> 6 & 63] : '=',
                       left > 2 ? digits[value & 63] : '='};
        add_bytes(page, out, sizeof out);
    }
}

void gn_page_shell(gn_page *page, const char *argument)
{
    bool plain = *argument != '\0';
    for (const char *c = argument; *c && plain; c++)
        plain = isalnum((unsigned char)*c) || strchr("/._-+=:,@%", *c);
    if (plain) {
        gn_page_text(page, argument);
        return;
    }
    add(page, "&#39;");
    for (const char *c = argument; *c;) {
        size_t run = strcspn(c, "'");
        char piece[256];
        size_t size = run < sizeof piece ? run : sizeof piece - 1;
        memcpy(piece, c, size);
        piece[size] = '\0';
        if (size < run) /* the next piece goes on with a whole character */
            gn_mend_end(piece);
        gn_page_text(page, piece);
        c += strlen(piece) ? strlen(piece) : size;
        if (*c == '\'') {
            add(page, "&#39;\\&#39;&#39;");
            c++;
        }
    }
    add(page, "&#39;");
}

void *gn_page_array(gn_page *page, size_t count, size_t size)
{
    void *array = NULL;
    if (page->status == GERNE_OK && !page->arena)
        page->status = gn_arena_new(page->ctx, &page->arena);
    if (page->status == GERNE_OK)
        page->status = gn_arena_alloc(page->ctx, page->arena, count ? count : 1, size, &array);
    return array;
}

void gn_page_forget(gn_page *page)
{
    if (page->arena)
        gn_arena_reset(page->arena);
}

gerne_status gn_page_status(const gn_page *page)
{
    return page->status;
}

void gn_page_free(gn_page *page)
{
    gn_text_free(&page->text);
    gn_arena_close(page->arena);
}

/* ---- numbers ---- */

/* A true minus sign, and no sign before what is rounded to zero. */
static gn_shown with_minus(const char *number, const char *unit)
{
    gn_shown shown;
    bool negative = *number == '-' && strpbrk(number, "123456789");
    number += *number == '-';
    snprintf(shown.text, sizeof shown.text, "%s%s%s", negative ? GN_MINUS : "", number, unit);
    return shown;
}

static gn_shown not_available(void)
{
    return (gn_shown){"n/a"};
}

gn_shown gn_show_percent(double fraction, int decimals)
{
    char number[32];
    if (!isfinite(fraction) || fabs(fraction) > 1e9)
        return not_available();
    snprintf(number, sizeof number, "%.*f", decimals, 100 * fraction);
    return with_minus(number, GN_NARROW_SPACE "%");
}

gn_shown gn_show_points(double fraction, int decimals)
{
    char number[32];
    if (!isfinite(fraction) || fabs(fraction) > 1e9)
        return not_available();
    snprintf(number, sizeof number, "%.*f", decimals, 100 * fraction);
    gn_shown shown = with_minus(number, "");
    if (fraction > 0 && strpbrk(number, "123456789"))
        snprintf(shown.text, sizeof shown.text, "+%s", number);
    return shown;
}

gn_shown gn_show_number(double value)
{
    char number[32];
    if (isinf(value))
        return (gn_shown){"\xE2\x88\x9E"};
    if (isnan(value))
        return not_available();
    bool large = fabs(value) >= 1000 && fabs(value) < 1e7;
    snprintf(number, sizeof number, large ? "%.0f" : "%.4g", value);
    return with_minus(number, "");
}

gn_shown gn_show_whole(double value)
{
    return value >= 0 && value < 1e15 ? gn_show_count((uint64_t)value) : not_available();
}

gn_shown gn_show_count(uint64_t count)
{
    char digits[32];
    gn_shown shown = {""};
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t used = 0;
    for (int i = 0; i < size; i++) {
        bool gap = size > 4 && i > 0 && (size - i) % 3 == 0;
        used += (size_t)snprintf(shown.text + used, sizeof shown.text - used, "%s%c",
                                 gap ? GN_NARROW_SPACE : "", digits[i]);
    }
    return shown;
}
