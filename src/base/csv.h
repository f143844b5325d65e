/* csv.h - a streaming reader of CSV files (RFC 4180), one row in memory at a time.
 *
 * Cells are separated by commas, tabs or semicolons: whichever the first row has most of. Quoted
 * cells, doubled quotes, line ends inside quotes, CRLF, a lone CR and a UTF-8 byte order
 * mark are understood; blank lines are skipped, except that in a file with a single column a blank
 * line before other rows is an empty cell. Whatever does not fit is refused with file and line.
 *
 *     gn_csv *csv;
 *     GN_TRY(gn_csv_open(ctx, path, NULL, &csv));
 *     size_t y;
 *     gerne_status status = gn_csv_require(csv, "y", &y);
 *     for (bool more = true; status == GERNE_OK; ) {
 *         status = gn_csv_next(csv, &more);
 *         if (status != GERNE_OK || !more)
 *             break;
 *         use(gn_csv_cell(csv, y));
 *     }
 *     gn_csv_close(csv);
 */
#ifndef GN_BASE_CSV_H
#define GN_BASE_CSV_H

#include "base/text.h"

typedef struct gn_csv gn_csv;

typedef struct gn_csv_options {
    bool no_header; /* the first row is data; the columns are called "1", "2", ... */
    char separator; /* 0: found in the first row */
} gn_csv_options;

/* Opens the file ("-" is the standard input) and reads its header; options may be NULL. The context
 * is lent to the reader. */
GERNE_CHECKED gerne_status gn_csv_open(gerne_ctx *ctx, const char *path,
                                       const gn_csv_options *options, gn_csv **out);

/* The same from memory, which is lent; name stands for the file in messages. */
GERNE_CHECKED gerne_status gn_csv_open_bytes(gerne_ctx *ctx, const char *name, const void *bytes,
                                             size_t size, const gn_csv_options *options,
                                             gn_csv **out);
void gn_csv_close(gn_csv *csv); /* takes NULL */
GN_LOCAL_HANDLE(gn_csv, gn_csv_close)

size_t gn_csv_columns(const gn_csv *csv);
const char *gn_csv_name(const gn_csv *csv, size_t column); /* borrowed from the reader */

/* The index of the column with this name, or -1. */
ptrdiff_t gn_csv_column(const gn_csv *csv, const char *name);

/* The same; a missing column is GERNE_EDATA and a hint tells which there are. */
GERNE_CHECKED gerne_status gn_csv_require(gn_csv *csv, const char *name, size_t *column);

/* The same, and the hint also names the flag that chooses another column. */
GERNE_CHECKED gerne_status gn_csv_require_flag(gn_csv *csv, const char *name, const char *flag,
                                               size_t *column);

/* Back to before the first row. */
void gn_csv_rewind(gn_csv *csv);

/* Reads the next row; *more is false after the last one. */
GERNE_CHECKED gerne_status gn_csv_next(gn_csv *csv, bool *more);

/* A cell of the row just read: borrowed, valid until the next call of gn_csv_next. */
const char *gn_csv_cell(const gn_csv *csv, size_t column);

/* The line on which the row just read starts, counted from 1. */
size_t gn_csv_line(const gn_csv *csv);

/* Fails with "FILE.csv, line 7, column 'y': ..."; a negative column is not named. */
gerne_status gn_csv_fail(gn_csv *csv, gerne_status status, ptrdiff_t column, const char *format,
                         ...) GN_PRINTF(4, 5);
#define gn_csv_fail(csv, status, ...) /* as in base/status.h */                                    \
    gn_failed_((gn_csv_fail)(csv, status, __VA_ARGS__), status)

#endif
