#include "base/csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* A quote that is never closed must not pull a whole file into memory. */
enum { CELL_LIMIT = 1 << 26, CELLS_MAX = 1 << 20 };

typedef struct column_name {
    const char *name;
    size_t column;
} column_name;

struct gn_csv {
    gerne_ctx *ctx;
    gn_arena *arena; /* the file's name and the names of the columns */
    const char *file;
    gn_map map;    /* empty when the bytes are lent or of the standard input */
    gn_text input; /* of the standard input, which cannot be mapped */
    const unsigned char *at, *end, *body; /* body: the first row */
    size_t line, row_line, body_line;     /* of the cursor, of the row just read, of the body */
    bool ends_cell[256];                  /* separator, line ends, NUL */
    bool row_waits; /* without a header: the first row was read when opening */
    char separator;
    size_t columns;
    const char **names;  /* by column */
    column_name *sorted; /* by name */
    char *row;           /* the cells of the row, each ended by '\0' */
    size_t row_size, row_capacity;
    size_t *cells; /* where each starts in row */
    size_t cell_count, cell_capacity;
};

gerne_status(gn_csv_fail)(gn_csv *csv, gerne_status status, ptrdiff_t column, const char *format,
                          ...)
{
    char sentence[1024];
    GN_FORMAT(sentence, format);
    if (column < 0 || (size_t)column >= csv->columns)
        return gn_fail(csv->ctx, status, "%s, line %zu: %s", csv->file, csv->row_line, sentence);
    return gn_fail(csv->ctx, status, "%s, line %zu, column '%s': %s", csv->file, csv->row_line,
                   csv->names[column], sentence);
}

/* Adds size bytes to the cell that is being built. */
static gerne_status extend(gn_csv *csv, const unsigned char *bytes, size_t size)
{
    size_t start = csv->cells[csv->cell_count - 1];
    if (csv->row_size - start + size > CELL_LIMIT)
        return gn_csv_fail(csv, GERNE_EDATA, -1, "a cell has more than %d bytes", CELL_LIMIT);
    if (csv->row_size + size + 1 > csv->row_capacity)
        GN_TRY(
            gn_grow(csv->ctx, &csv->row, &csv->row_capacity, csv->row_size + size + 1, 1, "a row"));
    memcpy(csv->row + csv->row_size, bytes, size);
    csv->row_size += size;
    return GERNE_OK;
}

/* From behind the opening quote to behind the closing one. */
static gerne_status read_quoted(gn_csv *csv)
{
    size_t opened = csv->line;
    for (;;) {
        const unsigned char *start = csv->at;
        while (csv->at < csv->end && *csv->at != '"' && *csv->at != '\0') {
            bool line_end = *csv->at == '\n' ||
                            (*csv->at == '\r' && csv->at + 1 < csv->end && csv->at[1] != '\n');
            csv->line += line_end;
            csv->at++;
        }
        GN_TRY(extend(csv, start, (size_t)(csv->at - start)));
        if (csv->at == csv->end)
            return gn_csv_fail(csv, GERNE_EDATA, -1,
                               "the quote that opens on line %zu never closes", opened);
        if (*csv->at == '\0')
            return GERNE_OK; /* the caller refuses it */
        csv->at++;
        if (csv->at == csv->end || *csv->at != '"')
            return GERNE_OK;
        GN_TRY(extend(csv, csv->at, 1));
        csv->at++;
    }
}

static gerne_status read_cell(gn_csv *csv)
{
    if (csv->cell_count == CELLS_MAX)
        return gn_csv_fail(csv, GERNE_EDATA, -1, "more than %d cells", CELLS_MAX);
    if (csv->cell_count + 1 > csv->cell_capacity)
        GN_TRY(gn_grow(csv->ctx, &csv->cells, &csv->cell_capacity, csv->cell_count + 1,
                       sizeof *csv->cells, "the cells of a row"));
    csv->cells[csv->cell_count++] = csv->row_size;
    if (csv->at < csv->end && *csv->at == '"') {
        csv->at++;
        GN_TRY(read_quoted(csv));
        if (csv->at < csv->end && !csv->ends_cell[*csv->at])
            return gn_csv_fail(csv, GERNE_EDATA, -1, "text follows the closing quote of cell %zu",
                               csv->cell_count);
    } else {
        const unsigned char *start = csv->at;
        while (csv->at < csv->end && !csv->ends_cell[*csv->at])
            csv->at++;
        GN_TRY(extend(csv, start, (size_t)(csv->at - start)));
    }
    if (csv->at < csv->end && *csv->at == '\0')
        return gn_csv_fail(csv, GERNE_EDATA, -1, "a NUL byte, so this is not a text file");
    csv->row[csv->row_size++] = '\0';
    return GERNE_OK;
}

static bool at_line_end(const gn_csv *csv)
{
    return csv->at == csv->end || *csv->at == '\n' || *csv->at == '\r';
}

static void skip_line_end(gn_csv *csv)
{
    if (csv->at == csv->end)
        return;
    csv->at += *csv->at == '\r' && csv->at + 1 < csv->end && csv->at[1] == '\n' ? 2 : 1;
    csv->line++;
}

/* Passes blank lines. One that stands for an empty cell is left alone. */
static void skip_blank_lines(gn_csv *csv)
{
    const unsigned char *start = csv->at;
    size_t line = csv->line;
    while (csv->at < csv->end && at_line_end(csv))
        skip_line_end(csv);
    if (csv->columns == 1 && csv->at < csv->end) {
        csv->at = start;
        csv->line = line;
    }
}

static gerne_status read_row(gn_csv *csv, bool *more)
{
    skip_blank_lines(csv);
    csv->row_size = csv->cell_count = 0;
    csv->row_line = csv->line;
    *more = csv->at < csv->end;
    if (!*more)
        return GERNE_OK;
    for (;;) {
        GN_TRY(read_cell(csv));
        if (at_line_end(csv))
            break;
        csv->at++; /* the separator */
    }
    skip_line_end(csv);
    return GERNE_OK;
}

gerne_status gn_csv_next(gn_csv *csv, bool *more)
{
    *more = true;
    if (csv->row_waits) {
        csv->row_waits = false;
        return GERNE_OK;
    }
    GN_TRY(read_row(csv, more));
    if (*more && csv->cell_count != csv->columns)
        return gn_csv_fail(csv, GERNE_EDATA, -1, "%zu cell%s, but %zu column%s", csv->cell_count,
                           csv->cell_count == 1 ? "" : "s", csv->columns,
                           csv->columns == 1 ? "" : "s");
    return GERNE_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const column_name *)a)->name, ((const column_name *)b)->name);
}

/* Names the columns after the row just read, or by number. */
static gerne_status take_names(gn_csv *csv, bool by_number)
{
    size_t count = csv->cell_count;
    GN_TRY(gn_arena_alloc(csv->ctx, csv->arena, count, sizeof *csv->names, &csv->names));
    GN_TRY(gn_arena_alloc(csv->ctx, csv->arena, count, sizeof *csv->sorted, &csv->sorted));
    for (size_t i = 0; i < count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        const char *name = by_number ? number : csv->row + csv->cells[i];
        GN_TRY(gn_arena_copy_text(csv->ctx, csv->arena, name, &csv->names[i]));
        csv->sorted[i] = (column_name){csv->names[i], i};
    }
    qsort(csv->sorted, count, sizeof *csv->sorted, compare_names);
    for (size_t i = 1; i < count; i++)
        if (csv->sorted[i].name[0] && strcmp(csv->sorted[i - 1].name, csv->sorted[i].name) == 0)
            return gn_csv_fail(csv, GERNE_EDATA, -1, "two columns are named '%s'",
                               csv->sorted[i].name);
    csv->columns = count;
    return GERNE_OK;
}

static gerne_status skip_byte_order_mark(gn_csv *csv)
{
    size_t size = (size_t)(csv->end - csv->at);
    if (size >= 3 && memcmp(csv->at, "\xef\xbb\xbf", 3) == 0)
        csv->at += 3;
    else if (size >= 2 &&
             (memcmp(csv->at, "\xff\xfe", 2) == 0 || memcmp(csv->at, "\xfe\xff", 2) == 0)) {
        gn_fail(csv->ctx, GERNE_EDATA, "%s is UTF-16 text", csv->file);
        gn_hint(csv->ctx, "save it as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8");
        return GERNE_EDATA;
    }
    return GERNE_OK;
}

/* Behind the quote that closes the one at the cursor, or the end, or a NUL, which no text has: a
 * file of zeros can be larger than any disk. */
static const unsigned char *skip_quoted(const unsigned char *at, const unsigned char *end)
{
    for (at++; at < end && *at != '\0'; at++) {
        if (*at != '"')
            continue;
        if (at + 1 == end || at[1] != '"')
            return at + 1;
        at++; /* a doubled quote stands for one */
    }
    return at;
}

/* What the first row has most of outside of quotes; a comma when it has none. */
static char find_separator(const gn_csv *csv)
{
    static const char candidates[] = {',', '\t', ';'};
    size_t counts[sizeof candidates] = {0}, best = 0;
    const unsigned char *at = csv->at;
    while (at < csv->end && (*at == '\n' || *at == '\r'))
        at++;
    for (bool starts = true; at < csv->end && *at != '\n' && *at != '\r' && *at != '\0';) {
        if (starts && *at == '"') {
            at = skip_quoted(at, csv->end);
            starts = false;
            continue;
        }
        starts = false;
        for (size_t i = 0; i < sizeof candidates; i++)
            if (*at == (unsigned char)candidates[i]) {
                counts[i]++;
                starts = true;
            }
        at++;
    }
    for (size_t i = 1; i < sizeof candidates; i++)
        if (counts[i] > counts[best])
            best = i;
    return candidates[best];
}

static gerne_status start(gn_csv *csv, const gn_csv_options *options)
{
    csv->line = csv->row_line = 1;
    GN_TRY(skip_byte_order_mark(csv));
    csv->separator = options && options->separator ? options->separator : find_separator(csv);
    csv->ends_cell[(unsigned char)csv->separator] = true;
    csv->ends_cell['\n'] = csv->ends_cell['\r'] = csv->ends_cell['\0'] = true;
    bool more, no_header = options && options->no_header;
    csv->body = csv->at;
    GN_TRY(read_row(csv, &more));
    if (!more)
        return gn_fail(csv->ctx, GERNE_EDATA, "%s is empty", csv->file);
    if (!no_header)
        csv->body = csv->at;
    csv->body_line = no_header ? 1 : csv->line;
    GN_TRY(take_names(csv, no_header));
    csv->row_waits = no_header;
    return GERNE_OK;
}

void gn_csv_rewind(gn_csv *csv)
{
    csv->at = csv->body;
    csv->line = csv->body_line;
    csv->row_waits = false;
}

static gerne_status reader_new(gerne_ctx *ctx, const char *name, gn_csv **out)
{
    *out = NULL;
    GN_LOCAL(gn_csv) *csv = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *csv, "a CSV reader", &csv));
    csv->ctx = ctx;
    GN_TRY(gn_arena_new(ctx, &csv->arena));
    GN_TRY(gn_arena_copy_text(ctx, csv->arena, name, &csv->file));
    return gn_give(&csv, out);
}

static gerne_status reader_start(gn_csv *csv, const void *bytes, size_t size,
                                 const gn_csv_options *options, gn_csv **out)
{
    csv->at = bytes ? bytes : (const unsigned char *)"";
    csv->end = csv->at + (bytes ? size : 0);
    gerne_status status = start(csv, options);
    if (status == GERNE_OK)
        *out = csv;
    else
        gn_csv_close(csv);
    return status;
}

gerne_status gn_csv_open_bytes(gerne_ctx *ctx, const char *name, const void *bytes, size_t size,
                               const gn_csv_options *options, gn_csv **out)
{
    *out = NULL;
    gn_csv *csv;
    GN_TRY(reader_new(ctx, name, &csv));
    return reader_start(csv, bytes, size, options, out);
}

static gerne_status read_standard_input(gn_csv *csv)
{
    enum { CHUNK = 1 << 16 };
    gn_text *text = &csv->input;
    for (;;) {
        GN_TRY(gn_grow(csv->ctx, &text->bytes, &text->capacity, text->size + CHUNK, 1, csv->file));
        ssize_t got = read(STDIN_FILENO, text->bytes + text->size, CHUNK);
        if (got < 0 && errno != EINTR)
            return gn_fail_errno(csv->ctx, GERNE_EIO, "cannot read %s", csv->file);
        if (got == 0)
            return GERNE_OK;
        text->size += got > 0 ? (size_t)got : 0;
    }
}

gerne_status gn_csv_open(gerne_ctx *ctx, const char *path, const gn_csv_options *options,
                         gn_csv **out)
{
    *out = NULL;
    gn_csv *csv;
    bool piped = strcmp(path, "-") == 0;
    GN_TRY(reader_new(ctx, piped ? "standard input" : path, &csv));
    gerne_status status = piped ? read_standard_input(csv) : gn_map_open(ctx, path, &csv->map);
    if (status != GERNE_OK) {
        gn_csv_close(csv);
        return status;
    }
    return piped ? reader_start(csv, csv->input.bytes, csv->input.size, options, out)
                 : reader_start(csv, csv->map.bytes, csv->map.size, options, out);
}

void gn_csv_close(gn_csv *csv)
{
    if (!csv)
        return;
    gn_map_close(&csv->map);
    gn_text_free(&csv->input);
    gn_free(csv->row);
    gn_free(csv->cells);
    gn_arena_close(csv->arena);
    gn_free(csv);
}

size_t gn_csv_columns(const gn_csv *csv)
{
    return csv->columns;
}

const char *gn_csv_name(const gn_csv *csv, size_t column)
{
    return csv->names[column];
}

ptrdiff_t gn_csv_column(const gn_csv *csv, const char *name)
{
    const column_name key = {.name = name};
    const column_name *found =
        bsearch(&key, csv->sorted, csv->columns, sizeof *csv->sorted, compare_names);
    return found ? (ptrdiff_t)found->column : -1;
}

gerne_status gn_csv_require(gn_csv *csv, const char *name, size_t *column)
{
    ptrdiff_t found = gn_csv_column(csv, name);
    *column = found < 0 ? 0 : (size_t)found;
    if (found >= 0)
        return GERNE_OK;
    enum { SHOWN = 12 };
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < csv->columns && i < SHOWN && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.32s'", i ? ", " : "",
                                 csv->names[i]);
    gn_fail(csv->ctx, GERNE_EDATA, "%s has no column '%s'", csv->file, name);
    gn_hint(csv->ctx, "its columns are %s%s", list, csv->columns > SHOWN ? ", ..." : "");
    return GERNE_EDATA;
}

gerne_status gn_csv_require_flag(gn_csv *csv, const char *name, const char *flag, size_t *column)
{
    gerne_status status = gn_csv_require(csv, name, column);
    if (status != GERNE_EDATA)
        return status;
    char columns[600];
    snprintf(columns, sizeof columns, "%s", gerne_hint(csv->ctx));
    gn_hint(csv->ctx, "--%s NAME names another; %s", flag, columns);
    return status;
}

const char *gn_csv_cell(const gn_csv *csv, size_t column)
{
    return csv->row + csv->cells[column];
}

size_t gn_csv_line(const gn_csv *csv)
{
    return csv->row_line;
}
