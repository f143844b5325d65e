/* json.h - what jansson leaves to its callers: numbers that may be infinite, lists, printing.
 *
 * Functions that return a json_t give a new reference, or NULL without memory; jansson takes a NULL
 * value as a failure. Whoever builds a document need not look: where jansson ran out of memory
 * since the last document of the thread was printed, printing is GERNE_ENOMEM, so that none lacks a
 * part.
 */
#ifndef GN_BASE_JSON_H
#define GN_BASE_JSON_H

#include <jansson.h>

#include "base/statistics.h"
#include "base/text.h"

GN_LOCAL_HANDLE(json_t, json_decref)

/* A number with 15 digits, or null when it is infinite or NaN. */
json_t *gn_json_number(double value);

/* [lo, hi], or null when there is none (NaN). */
json_t *gn_json_interval(gn_interval interval);

/* [rows][columns] arrays of numbers, of whole numbers. */
json_t *gn_json_matrix(const double *values, size_t rows, size_t columns);
json_t *gn_json_counts(const uint64_t *counts, size_t rows, size_t columns);

/* A list of texts; names NULL stands for the numbers from 0. */
json_t *gn_json_names(const char *const *names, size_t count);

/* Sets key to value, which is given away; false without memory. */
bool gn_json_put(json_t *object, const char *key, json_t *value);

/* Appends the document in the one form that we write: indented, keys in order of insertion. */
GERNE_CHECKED gerne_status gn_json_print(gerne_ctx *ctx, const json_t *json, gn_text *out);

/* Appends it on one line. */
GERNE_CHECKED gerne_status gn_json_print_line(gerne_ctx *ctx, const json_t *json, gn_text *out);

/* Parses size bytes; duplicate keys are refused. where names the source in the message. */
GERNE_CHECKED gerne_status gn_json_parse(gerne_ctx *ctx, const char *bytes, size_t size,
                                         const char *where, json_t **out);

/* Reads a file of at most limit bytes; *out is NULL on failure. */
GERNE_CHECKED gerne_status gn_json_read(gerne_ctx *ctx, const char *path, size_t limit,
                                        json_t **out);

/* Writes the document, whole or not at all. */
GERNE_CHECKED gerne_status gn_json_write(gerne_ctx *ctx, const char *path, const json_t *json);

/* A member of an untrusted object: NULL or NaN when it is missing or of another kind. */
const char *gn_json_text(const json_t *object, const char *key);
double gn_json_real(const json_t *object, const char *key);

#endif
