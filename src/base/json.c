#include "base/json.h"

#include "base/json_memory.h"

#include <math.h>
#include <stdio.h>

#include "base/file.h"

enum { DIGITS = 15 };

json_t *gn_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *gn_json_interval(gn_interval interval)
{
    if (isnan(interval.lo))
        return json_null();
    return json_pack("[o, o]", gn_json_number(interval.lo), gn_json_number(interval.hi));
}

/* Appends value, which is given away; drops the whole list when it cannot. */
static void append(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) != 0) {
        json_decref(*list);
        *list = NULL;
    }
}

json_t *gn_json_matrix(const double *values, size_t rows, size_t columns)
{
    json_t *matrix = json_array();
    for (size_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < columns; j++)
            append(&row, gn_json_number(values[i * columns + j]));
        append(&matrix, row);
    }
    return matrix;
}

json_t *gn_json_counts(const uint64_t *counts, size_t rows, size_t columns)
{
    json_t *matrix = json_array();
    for (size_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < columns; j++)
            append(&row, json_integer((json_int_t)counts[i * columns + j]));
        append(&matrix, row);
    }
    return matrix;
}

json_t *gn_json_names(const char *const *names, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        append(&list, json_string(names ? names[i] : number));
    }
    return list;
}

bool gn_json_put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
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
    bool written = json && json_dump_callback(json, take, &s, flags) == 0;
    if (gn_json_memory_failed() && s.status == GERNE_OK)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for a JSON document");
    if (s.status != GERNE_OK)
        return s.status;
    if (written)
        return gn_text_add(ctx, out, "\n");
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
    bool no_memory;
    *out = gn_json_load(bytes, size, &error, &no_memory);
    if (no_memory)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to read %s", where);
    if (*out)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA, "%s is not valid JSON (line %d, column %d: %s)", where,
                   error.line, error.column, error.text);
}

gerne_status gn_json_read(gerne_ctx *ctx, const char *path, size_t limit, json_t **out)
{
    GN_LOCAL(gn_text) text = {0};
    *out = NULL;
    GN_TRY(gn_file_read(ctx, path, limit, &text));
    return gn_json_parse(ctx, text.bytes, text.size, path, out);
}

gerne_status gn_json_write(gerne_ctx *ctx, const char *path, const json_t *json)
{
    GN_LOCAL(gn_text) text = {0};
    GN_TRY(gn_json_print(ctx, json, &text));
    return gn_file_write(ctx, path, text.bytes, text.size);
}

const char *gn_json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

double gn_json_real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
