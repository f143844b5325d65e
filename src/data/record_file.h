/* record_file.h - rows of named cells, from CSV and TSV files or from JSON lines (.jsonl, .ndjson).
 *
 * Cells of JSON are texts as well: numbers and true or false are written out, null and missing
 * keys are empty. Lists and objects are not cells.
 */
#ifndef GN_DATA_RECORD_FILE_H
#define GN_DATA_RECORD_FILE_H

#include "base/csv.h"

typedef struct gn_record_file gn_record_file;

/* The context is lent. */
GERNE_CHECKED gerne_status gn_record_file_open(gerne_ctx *ctx, const char *path,
                                               gn_record_file **out);
void gn_record_file_close(gn_record_file *table); /* takes NULL */
GN_LOCAL_HANDLE(gn_record_file, gn_record_file_close)

/* The column of that name (JSON lines: a key of the first row), or -1. Ask before the first row. */
GERNE_CHECKED gerne_status gn_record_file_column(gn_record_file *table, const char *name,
                                                 ptrdiff_t *column);

/* The same; a missing column is GERNE_EDATA, and the hint names the flag that chooses another. */
GERNE_CHECKED gerne_status gn_record_file_require(gn_record_file *table, const char *name,
                                                  const char *flag, ptrdiff_t *column);

GERNE_CHECKED gerne_status gn_record_file_next(gn_record_file *table, bool *more);

/* A cell of the row just read; borrowed until the next one. */
const char *gn_record_file_cell(const gn_record_file *table, ptrdiff_t column);

/* Fails with "FILE, line 7, column 'y': ..."; a negative column is not named. */
gerne_status gn_record_file_fail(gn_record_file *table, gerne_status status, ptrdiff_t column,
                                 const char *format, ...) GN_PRINTF(4, 5);

/* Puts the file and line before the sentence just recorded. */
gerne_status gn_record_file_fail_in(gn_record_file *table, gerne_status status);

#endif
