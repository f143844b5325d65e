/* corpus.h - the texts of a file, and their tokens.
 *
 * Opening remembers which columns hold text; the texts themselves stay in the file. Preparing
 * tokenizes them once on several threads into a file under the cache, keyed by the texts, the
 * vocabulary and its rules, and maps it: ids of all rows one after the other. The system holds as
 * much of the map in memory as fits.
 */
#ifndef GN_DATA_CORPUS_H
#define GN_DATA_CORPUS_H

#include "base/sha256.h"
#include "data/options.h"
#include "data/record_file.h"

enum { GN_TEXTS_MAX = 2 }; /* columns: a text, or a pair */

typedef struct gn_corpus gn_corpus;

/* The columns are by name (NULL for the texts of options->arrays, which stay lent); texts of rows
 * are shown to the corpus by gn_corpus_see, in order. */
GERNE_CHECKED gerne_status gn_corpus_new(gerne_ctx *ctx, const gn_data_options *options,
                                         const char *const *columns, size_t count, gn_corpus **out);
void gn_corpus_close(gn_corpus *corpus); /* takes NULL */
GN_LOCAL_HANDLE(gn_corpus, gn_corpus_close)
void gn_corpus_see(gn_corpus *corpus, const char *const *texts);

/* Finds or makes the tokens. GERNE_EUSAGE without a vocabulary or a cache. */
GERNE_CHECKED gerne_status gn_corpus_prepare(gerne_ctx *ctx, gn_corpus *corpus, int threads);

/* After preparing. */
const int32_t *gn_corpus_tokens(const gn_corpus *corpus, size_t row);
const int32_t *gn_corpus_length(const gn_corpus *corpus, size_t row);
size_t gn_corpus_vocabulary(const gn_corpus *corpus); /* ids are below */
const unsigned char *gn_corpus_key(const gn_corpus *corpus);

/* What `data info` tells. */
typedef struct gn_corpus_summary {
    size_t rows, tokens, truncated; /* truncated: rows */
    size_t quantiles[5];            /* of the length in tokens: least, 1/4, 1/2, 3/4, most */
} gn_corpus_summary;
GERNE_CHECKED gerne_status gn_corpus_summarize(gerne_ctx *ctx, const gn_corpus *corpus,
                                               gn_corpus_summary *out);

/* Reads the file again and hands over the texts of some rows, in ascending order; a pair has a line
 * end between its texts. */
typedef gerne_status gn_quote_fn(gerne_ctx *ctx, void *user, size_t row, const char *text);
GERNE_CHECKED gerne_status gn_corpus_quote(gerne_ctx *ctx, const gn_corpus *corpus,
                                           const uint32_t *rows, size_t count, gn_quote_fn *take,
                                           void *user);

#endif
