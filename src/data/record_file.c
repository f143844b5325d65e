#include "data/record_file.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

typedef struct json_column {
    const char *name; /* in the arena */
    const char *text; /* of the present row */
    char number[40];  /* where a number is written out */
} json_column;

struct gn_record_file {
    gerne_ctx *ctx;
    gn_csv *csv; /* or JSON lines, the rest: */
    gn_arena *arena;
    const char *path;
    gn_map map;
    size_t at, line; /* of the next row; of the row just read */
    json_t *row, *first;
    json_column **columns;
    size_t count, capacity;
};

static bool is_json_lines(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0);
}

/* A file of one line must not be pulled into memory. */
enum { LINE_LIMIT = 1 << 26 };

/* The next line that is not blank. */
static gerne_status next_object(gn_record_file *t, json_t **out)
{
    *out = NULL;
    while (t->at < t->map.size) {
        const char *start = (const char *)t->map.bytes + t->at;
        size_t left = t->map.size - t->at, most = left < LINE_LIMIT ? left : LINE_LIMIT;
        const char *end = memchr(start, '\n', most);
        size_t size = end ? (size_t)(end - start) : most, blanks = 0;
        t->at += size + 1;
        t->line++;
        if (!end && most < left)
            return gn_fail(t->ctx, GERNE_EDATA, "%s, line %zu: more than %d bytes", t->path,
                           t->line, LINE_LIMIT);
        while (blanks < size && strchr(" \t\r", start[blanks]) && start[blanks])
            blanks++;
        if (blanks == size)
            continue;
        GN_LOCAL(gn_text) where = {0};
        GN_TRY(gn_text_add(t->ctx, &where, "%s, line %zu", t->path, t->line));
        GN_TRY(gn_json_parse(t->ctx, start, size, where.bytes, out));
        if (json_is_object(*out))
            return GERNE_OK;
        json_decref(*out);
        *out = NULL;
        return gn_fail(t->ctx, GERNE_EDATA, "%s, line %zu: not a JSON object", t->path, t->line);
    }
    return GERNE_OK;
}

static gerne_status open_json(gn_record_file *t, const char *path)
{
    GN_TRY(gn_arena_new(t->ctx, &t->arena));
    GN_TRY(gn_arena_copy_text(t->ctx, t->arena, path, &t->path));
    GN_TRY(gn_map_open(t->ctx, path, &t->map));
    GN_TRY(next_object(t, &t->first));
    if (!t->first)
        return gn_fail(t->ctx, GERNE_EDATA, "'%s' is empty", path);
    return GERNE_OK;
}

gerne_status gn_record_file_open(gerne_ctx *ctx, const char *path, gn_record_file **out)
{
    GN_LOCAL(gn_record_file) *t = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *t, "a file of records", &t));
    t->ctx = ctx;
    GN_TRY(is_json_lines(path) ? open_json(t, path) : gn_csv_open(ctx, path, NULL, &t->csv));
    return gn_give(&t, out);
}

void gn_record_file_close(gn_record_file *t)
{
    if (!t)
        return;
    gn_csv_close(t->csv);
    json_decref(t->first);
    json_decref(t->row);
    gn_map_close(&t->map);
    gn_free(t->columns);
    gn_arena_close(t->arena);
    gn_free(t);
}

/* ---- columns ---- */

gerne_status gn_record_file_column(gn_record_file *t, const char *name, ptrdiff_t *column)
{
    *column = -1;
    if (t->csv) {
        *column = gn_csv_column(t->csv, name);
        return GERNE_OK;
    }
    if (!json_object_get(t->first, name))
        return GERNE_OK;
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->columns[i]->name, name) == 0)
            *column = (ptrdiff_t)i;
    if (*column >= 0)
        return GERNE_OK;
    GN_TRY(gn_grow(t->ctx, &t->columns, &t->capacity, t->count + 1, sizeof *t->columns, "columns"));
    json_column *added;
    GN_TRY(gn_arena_alloc(t->ctx, t->arena, 1, sizeof *added, &added));
    GN_TRY(gn_arena_copy_text(t->ctx, t->arena, name, &added->name));
    t->columns[t->count] = added;
    *column = (ptrdiff_t)t->count++;
    return GERNE_OK;
}

gerne_status gn_record_file_require(gn_record_file *t, const char *name, const char *flag,
                                    ptrdiff_t *column)
{
    GN_TRY(gn_record_file_column(t, name, column));
    if (*column >= 0)
        return GERNE_OK;
    if (t->csv) {
        size_t found;
        return gn_csv_require_flag(t->csv, name, flag, &found);
    }
    gn_fail(t->ctx, GERNE_EDATA, "%s has no key '%s' on its first line", t->path, name);
    gn_hint(t->ctx, "--%s chooses another", flag);
    return GERNE_EDATA;
}

/* ---- rows ---- */

static gerne_status take_values(gn_record_file *t)
{
    for (size_t i = 0; i < t->count; i++) {
        json_column *c = t->columns[i];
        const json_t *value = json_object_get(t->row, c->name);
        c->text = "";
        if (json_is_string(value)) {
            c->text = json_string_value(value);
        } else if (json_is_boolean(value)) {
            c->text = json_is_true(value) ? "1" : "0";
        } else if (json_is_number(value)) {
            if (json_is_integer(value))
                snprintf(c->number, sizeof c->number, "%lld", (long long)json_integer_value(value));
            else
                snprintf(c->number, sizeof c->number, "%.17g", json_real_value(value));
            c->text = c->number;
        } else if (value && !json_is_null(value)) {
            return gn_record_file_fail(t, GERNE_EDATA, (ptrdiff_t)i,
                                       "a list or an object, not a text");
        }
    }
    return GERNE_OK;
}

gerne_status gn_record_file_next(gn_record_file *t, bool *more)
{
    if (t->csv)
        return gn_csv_next(t->csv, more);
    json_decref(t->row);
    t->row = t->first;
    t->first = NULL;
    if (!t->row)
        GN_TRY(next_object(t, &t->row));
    *more = t->row != NULL;
    return *more ? take_values(t) : GERNE_OK;
}

const char *gn_record_file_cell(const gn_record_file *t, ptrdiff_t column)
{
    return t->csv ? gn_csv_cell(t->csv, (size_t)column) : t->columns[column]->text;
}

gerne_status gn_record_file_fail(gn_record_file *t, gerne_status status, ptrdiff_t column,
                                 const char *format, ...)
{
    char sentence[1024];
    GN_FORMAT(sentence, format);
    if (t->csv)
        return gn_csv_fail(t->csv, status, column, "%s", sentence);
    if (column < 0)
        return gn_fail(t->ctx, status, "%s, line %zu: %s", t->path, t->line, sentence);
    return gn_fail(t->ctx, status, "%s, line %zu, '%s': %s", t->path, t->line,
                   t->columns[column]->name, sentence);
}

gerne_status gn_record_file_fail_in(gn_record_file *t, gerne_status status)
{
    gn_saved_failure saved = gn_save_failure(t->ctx);
    gn_record_file_fail(t, status, -1, "%s", saved.message);
    if (saved.hint[0])
        gn_hint(t->ctx, "%s", saved.hint);
    return status;
}
