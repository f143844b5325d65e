/* A CSV file: every row that is taken has all its cells, and what was read survives being written
 * with all its cells quoted and read again. */
#include "target.h"

#include <string.h>

#include "base/csv.h"

static gerne_status quote(gerne_ctx *ctx, const char *cell, const char *end, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "\""));
    for (; *cell; cell++)
        GN_TRY(gn_text_add(ctx, out, *cell == '"' ? "\"\"" : "%c", *cell));
    return gn_text_add(ctx, out, "\"%s", end);
}

/* Reads all rows and writes them quoted; counts the rows. */
static gerne_status rewrite(gerne_ctx *ctx, const void *bytes, size_t size,
                            const gn_csv_options *options, gn_text *out, size_t *rows)
{
    gn_csv *csv;
    *rows = 0;
    GN_TRY(gn_csv_open_bytes(ctx, "fuzz.csv", bytes, size, options, &csv));
    size_t columns = gn_csv_columns(csv), line = 0;
    gerne_status status = GERNE_OK;
    fuzz_check(columns > 0);
    for (size_t i = 0; i < columns && status == GERNE_OK && !options->no_header; i++)
        status = quote(ctx, gn_csv_name(csv, i), i + 1 < columns ? "," : "\n", out);
    while (status == GERNE_OK) {
        bool more;
        status = gn_csv_next(csv, &more);
        if (status != GERNE_OK || !more)
            break;
        fuzz_check(gn_csv_line(csv) > line);
        line = gn_csv_line(csv);
        ++*rows;
        for (size_t i = 0; i < columns && status == GERNE_OK; i++)
            status = quote(ctx, gn_csv_cell(csv, i), i + 1 < columns ? "," : "\n", out);
    }
    gn_csv_close(csv);
    return status;
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    static const char separators[] = {',', ';', 0, '\t'}; /* 0: found in the first row */
    const gn_csv_options typed = {.no_header = data[0] & 1,
                                  .separator = separators[data[0] / 2 % 4]};
    const gn_csv_options plain = {.no_header = typed.no_header};
    gn_text first = {0}, second = {0};
    size_t rows, again;
    gerne_status status = rewrite(ctx, data + 1, size - 1, &typed, &first, &rows);
    if (fuzz_accepted(ctx, status, GERNE_EDATA)) {
        fuzz_check(rewrite(ctx, first.bytes, first.size, &plain, &second, &again) == GERNE_OK);
        fuzz_check(rows == again && first.size == second.size);
        fuzz_check(!first.bytes || memcmp(first.bytes, second.bytes, first.size) == 0);
    }
    gn_text_free(&first);
    gn_text_free(&second);
}
