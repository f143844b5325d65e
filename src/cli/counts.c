#include "cli/counts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static gerne_status add_count(gerne_ctx *ctx, const char *key, gn_counts *counts, const char *text,
                              size_t size, uint32_t column)
{
    char item[32];
    while (size > 0 && *text == ' ')
        text++, size--;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    uint32_t row = counts->rows + 1;
    if (size == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "--%s: row %u, item %u is empty", key, row, column);
    snprintf(item, sizeof item, "%.*s", (int)(size < 31 ? size : 31), text);
    int64_t value;
    if (!gn_parse_int(item, &value))
        return gn_fail(ctx, GERNE_EUSAGE,
                       "--%s: row %u, item %u: '%s' is not a whole number up to 9.2e18", key, row,
                       column, item);
    if (value < 0)
        return gn_fail(ctx, GERNE_EUSAGE, "--%s: row %u, item %u: %s is negative", key, row, column,
                       item);
    GN_TRY(gn_grow(ctx, &counts->items, &counts->capacity, counts->count + 1, sizeof *counts->items,
                   "counts"));
    counts->items[counts->count++] = value;
    return GERNE_OK;
}

gerne_status gn_parse_counts(gerne_ctx *ctx, const char *key, const char *text, gn_counts *out)
{
    uint32_t column = 0;
    for (const char *at = text;;) {
        size_t size = strcspn(at, ",;");
        GN_TRY(add_count(ctx, key, out, at, size, ++column));
        at += size;
        if (*at != ',') {
            if (out->rows > 0 && column != out->columns)
                return gn_fail(ctx, GERNE_EUSAGE, "--%s: row %u has %u item%s, row 1 has %u", key,
                               out->rows + 1, column, column == 1 ? "" : "s", out->columns);
            out->columns = column;
            out->rows++;
            column = 0;
        }
        if (!*at)
            return GERNE_OK;
        at++;
    }
}
