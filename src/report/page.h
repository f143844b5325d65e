/* page.h - an HTML page that grows: text that is escaped, numbers for people, embedded files.
 *
 * A page remembers its first failure and ignores everything after it, so that what writes one reads
 * like the page itself; gn_page_status tells at the end.
 */
#ifndef GN_REPORT_PAGE_H
#define GN_REPORT_PAGE_H

#include "base/text.h"

typedef struct gn_page {
    gerne_ctx *ctx;
    gn_text text;
    gn_arena *arena; /* of gn_page_array */
    gerne_status status;
    unsigned last_id; /* of elements that need one */
} gn_page;

/* Appends markup as it stands. */
void gn_page_add(gn_page *page, const char *format, ...) GN_PRINTF(2, 3);

/* Appends markup in which every %s stands for a text that may contain anything, as in gn_page_text,
 * and %.40s for one cut to 40 characters, as in gn_page_text_cut. There are no other conversions.
 */
void gn_page_fill(gn_page *page, const char *format, ...) GN_PRINTF(2, 3);

/* Appends a text that may contain anything: markup characters are escaped, bytes that are not
 * UTF-8 and control characters become U+FFFD. NULL is an empty text. */
void gn_page_text(gn_page *page, const char *text);

/* The same, cut to so many characters with an ellipsis when it is longer. */
void gn_page_text_cut(gn_page *page, const char *text, size_t characters);

/* Appends bytes as base64. */
void gn_page_base64(gn_page *page, const void *bytes, size_t size);

/* Appends an argument of a command line, quoted for a shell where it has to be, and escaped. */
void gn_page_shell(gn_page *page, const char *argument);

/* Room for what a section counts or draws, zeroed; NULL after a failure. It lasts until
 * gn_page_forget, or as long as the page. */
void *gn_page_array(gn_page *page, size_t count, size_t size);
void gn_page_forget(gn_page *page);

GERNE_CHECKED gerne_status gn_page_status(const gn_page *page);
void gn_page_free(gn_page *page);
GN_LOCAL_STRUCT(gn_page, gn_page_free)

/* ---- numbers for people; "n/a" for what is not a number ---- */

typedef struct gn_shown {
    char text[48];
} gn_shown;

gn_shown gn_show_percent(double fraction, int decimals); /* 0.8602 -> 86.02 % */
gn_shown gn_show_points(double fraction, int decimals);  /* 0.0102 -> +1.02 */
gn_shown gn_show_number(double value);  /* four significant digits, and whole thousands */
gn_shown gn_show_whole(double value);   /* a count that came as a number */
gn_shown gn_show_count(uint64_t count); /* 12345 -> 12 345 */

#define GN_NARROW_SPACE "\xE2\x80\xAF" /* U+202F, does not break */
#define GN_MINUS        "\xE2\x88\x92"
#define GN_DOT          "\xC2\xB7"
#define GN_ELLIPSIS     "\xE2\x80\xA6"

#endif
