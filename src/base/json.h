/* json.h - what jansson leaves to its callers: numbers that may be infinite, errors, printing. */
#ifndef GN_BASE_JSON_H
#define GN_BASE_JSON_H

#include <jansson.h>

#include "base/text.h"

/* A number with 15 digits, or null when it is infinite or NaN. New reference. */
json_t *gn_json_number(double value);

/* A [rows][columns] array of numbers. New reference, or NULL without memory. */
json_t *gn_json_matrix(const double *values, size_t rows, size_t columns);

/* Appends the document in the one form that we write: indented, keys in order of insertion. */
GERNE_CHECKED gerne_status gn_json_print(gerne_ctx *ctx, const json_t *json, gn_text *out);

/* Appends it on one line. */
GERNE_CHECKED gerne_status gn_json_print_line(gerne_ctx *ctx, const json_t *json, gn_text *out);

/* Parses size bytes; duplicate keys are refused. where names the source in the message. */
GERNE_CHECKED gerne_status gn_json_parse(gerne_ctx *ctx, const char *bytes, size_t size,
                                         const char *where, json_t **out);

#endif
