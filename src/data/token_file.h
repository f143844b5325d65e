/* token_file.h - tokens of many texts in one file: ids of all rows one after the other, then where
 * each row starts and how long it is, then a trailer that tells whether the file is whole. */
#ifndef GN_DATA_TOKEN_FILE_H
#define GN_DATA_TOKEN_FILE_H

#include "data/wordpiece.h"

typedef struct gn_token_counts {
    uint64_t rows, tokens, truncated, malformed; /* the last two: rows */
} gn_token_counts;

typedef struct gn_token_writer gn_token_writer;

GERNE_CHECKED gerne_status gn_token_writer_new(gerne_ctx *ctx, const char *path,
                                               const unsigned char key[GN_SHA256_SIZE],
                                               gn_token_writer **out);
GERNE_CHECKED gerne_status gn_token_writer_add(gn_token_writer *writer,
                                               const gn_encoding *encoding);
GERNE_CHECKED gerne_status gn_token_writer_commit(gn_token_writer **writer); /* frees it */
void gn_token_writer_abort(gn_token_writer *writer);                         /* takes NULL */
GN_LOCAL_HANDLE(gn_token_writer, gn_token_writer_abort)

typedef struct gn_token_file gn_token_file;

/* Maps the file; GERNE_EDATA when it is not whole, or not the file of that key and so many rows. */
GERNE_CHECKED gerne_status gn_token_file_open(gerne_ctx *ctx, const char *path,
                                              const unsigned char key[GN_SHA256_SIZE], size_t rows,
                                              gn_token_file **out);
void gn_token_file_close(gn_token_file *file); /* takes NULL */

const gn_token_counts *gn_token_file_counts(const gn_token_file *file);
const int32_t *gn_token_file_row(const gn_token_file *file, size_t row);
const int32_t *gn_token_file_length(const gn_token_file *file, size_t row);

#endif
