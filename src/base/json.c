#include "base/json.h"

#include <math.h>

enum { DIGITS = 15 };

json_t *gn_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *gn_json_matrix(const double *values, size_t rows, size_t columns)
{
    json_t *matrix = json_array();
    for (size_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < columns; j++)
            json_array_append_new(row, gn_json_number(values[i * columns + j]));
        json_array_append_new(matrix, row);
    }
    return matrix;
}

typedef struct sink {
    gerne_ctx *ctx;
    gn_text *text;
    gerne_status status;
} sink;

static int take(const char *bytes, size_t size, void *user)
{
    sink *s = user;
    if (s->status != GERNE_OK)
        return -1; /* jansson does not stop at every failure */
    s->status = gn_text_add_bytes(s->ctx, s->text, bytes, size);
    return s->status == GERNE_OK ? 0 : -1;
}

static gerne_status print(gerne_ctx *ctx, const json_t *json, size_t flags, gn_text *out)
{
    sink s = {.ctx = ctx, .text = out};
    flags |= JSON_REAL_PRECISION(DIGITS) | JSON_ENCODE_ANY;
    if (json && json_dump_callback(json, take, &s, flags) == 0 && s.status == GERNE_OK)
        return gn_text_add(ctx, out, "\n");
    if (s.status != GERNE_OK)
        return s.status;
    return gn_fail(ctx, GERNE_EINTERNAL, "a JSON document could not be written");
}

gerne_status gn_json_print(gerne_ctx *ctx, const json_t *json, gn_text *out)
{
    return print(ctx, json, JSON_INDENT(2), out);
}

gerne_status gn_json_print_line(gerne_ctx *ctx, const json_t *json, gn_text *out)
{
    return print(ctx, json, JSON_COMPACT, out);
}

gerne_status gn_json_parse(gerne_ctx *ctx, const char *bytes, size_t size, const char *where,
                           json_t **out)
{
    json_error_t error;
    *out = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (*out)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA, "%s is not valid JSON (line %d, column %d: %s)", where,
                   error.line, error.column, error.text);
}
