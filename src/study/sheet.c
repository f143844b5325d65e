#include "study/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

gerne_status gn_sheet_new(gerne_ctx *ctx, gn_arena *arena, const char *title,
                          const char *const *columns, size_t column_count, gn_sheet **out)
{
    GN_TRY(gn_arena_alloc(ctx, arena, 1, sizeof **out, out));
    **out = (gn_sheet){
        .title = title, .columns = columns, .column_count = column_count, .arena = arena};
    return GERNE_OK;
}

static gerne_status add_cell(gerne_ctx *ctx, gn_sheet *sheet, const char *text, double number)
{
    if (sheet->count == sheet->capacity) {
        size_t capacity = sheet->capacity ? 2 * sheet->capacity : 16 * sheet->column_count;
        gn_sheet_cell *cells;
        GN_TRY(gn_arena_alloc(ctx, sheet->arena, capacity, sizeof *cells, &cells));
        if (sheet->count)
            memcpy(cells, sheet->cells, sheet->count * sizeof *cells);
        sheet->cells = cells;
        sheet->capacity = capacity;
    }
    gn_sheet_cell *cell = &sheet->cells[sheet->count];
    GN_TRY(gn_arena_copy_text(ctx, sheet->arena, text, &cell->text));
    cell->number = number;
    sheet->count++;
    return GERNE_OK;
}

gerne_status gn_sheet_add(gerne_ctx *ctx, gn_sheet *sheet, const char *text)
{
    return add_cell(ctx, sheet, text, NAN);
}

static gerne_status add_formatted(gerne_ctx *ctx, gn_sheet *sheet, const char *format, int decimals,
                                  double value)
{
    char text[64];
    if (isnan(value))
        return add_cell(ctx, sheet, "-", NAN);
    snprintf(text, sizeof text, format[0] == '+' ? "%+.*f" : "%.*f", decimals, value);
    return add_cell(ctx, sheet, text, value);
}

gerne_status gn_sheet_add_number(gerne_ctx *ctx, gn_sheet *sheet, double value, int decimals)
{
    return add_formatted(ctx, sheet, "", decimals, value);
}

gerne_status gn_sheet_add_signed(gerne_ctx *ctx, gn_sheet *sheet, double value, int decimals)
{
    return add_formatted(ctx, sheet, "+", decimals, value);
}

gerne_status gn_sheet_add_spread(gerne_ctx *ctx, gn_sheet *sheet, double mean, double sd)
{
    char text[64];
    if (isnan(mean) || isnan(sd))
        return gn_sheet_add_number(ctx, sheet, mean, 2);
    snprintf(text, sizeof text, "%.2f +- %.2f", mean, sd);
    return add_cell(ctx, sheet, text, NAN);
}

size_t gn_sheet_rows(const gn_sheet *sheet)
{
    return sheet->column_count ? sheet->count / sheet->column_count : 0;
}

static const gn_sheet_cell *cell_at(const gn_sheet *sheet, size_t row, size_t column)
{
    return &sheet->cells[row * sheet->column_count + column];
}

/* Texts that begin like numbers stand at the right. */
static bool is_figure(const gn_sheet_cell *cell)
{
    const char *text = cell->text + (cell->text[0] == '-' || cell->text[0] == '+');
    return !isnan(cell->number) || (*text >= '0' && *text <= '9') || strcmp(cell->text, "-") == 0;
}

static bool column_at_right(const gn_sheet *sheet, size_t column)
{
    bool any = false;
    for (size_t row = 0; row < gn_sheet_rows(sheet); row++) {
        const gn_sheet_cell *cell = cell_at(sheet, row, column);
        if (!is_figure(cell))
            return false;
        any = any || strcmp(cell->text, "-") != 0;
    }
    return any;
}

/* ---- plain text ---- */

static gerne_status pad(gerne_ctx *ctx, gn_text *out, const char *text, int width, bool right,
                        bool last)
{
    if (last && !right)
        return gn_text_add(ctx, out, "%s\n", text);
    return gn_text_add(ctx, out, right ? "%*s%s" : "%-*s%s", width, text, last ? "\n" : "  ");
}

gerne_status gn_sheet_print(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "%s\n\n", sheet->title));
    for (size_t row = 0; row <= gn_sheet_rows(sheet); row++) {
        GN_TRY(gn_text_add(ctx, out, "  "));
        for (size_t c = 0; c < sheet->column_count; c++) {
            size_t width = strlen(sheet->columns[c]);
            for (size_t r = 0; r < gn_sheet_rows(sheet); r++) {
                size_t length = strlen(cell_at(sheet, r, c)->text);
                width = length > width ? length : width;
            }
            const char *text = row ? cell_at(sheet, row - 1, c)->text : sheet->columns[c];
            GN_TRY(pad(ctx, out, text, (int)width, column_at_right(sheet, c),
                       c + 1 == sheet->column_count));
        }
    }
    return sheet->note ? gn_text_add(ctx, out, "\n%s\n", sheet->note) : GERNE_OK;
}

/* ---- Markdown and LaTeX ---- */

typedef struct escape {
    char what;
    const char *with;
} escape;

static const escape markdown_escapes[] = {
    {'|', "\\|"}, {'*', "\\*"}, {'_', "\\_"}, {'`', "\\`"},   {'<', "&lt;"},  {'>', "&gt;"},
    {'[', "\\["}, {']', "\\]"}, {'\n', " "},  {'\\', "\\\\"}, {'&', "&amp;"}, {'\0', NULL},
};

static const escape latex_escapes[] = {
    {'&', "\\&"},
    {'%', "\\%"},
    {'$', "\\$"},
    {'#', "\\#"},
    {'_', "\\_"},
    {'{', "\\{"},
    {'}', "\\}"},
    {'~', "\\textasciitilde{}"},
    {'^', "\\textasciicircum{}"},
    {'\\', "\\textbackslash{}"},
    {'<', "\\textless{}"},
    {'>', "\\textgreater{}"},
    {'\n', " "},
    {'\0', NULL},
};

static gerne_status add_escaped(gerne_ctx *ctx, gn_text *out, const char *text,
                                const escape *escapes, const char *plus_minus)
{
    for (const char *c = text; *c; c++) {
        if (strncmp(c, "+-", 2) == 0) {
            GN_TRY(gn_text_add(ctx, out, "%s", plus_minus));
            c++;
            continue;
        }
        const escape *e = escapes;
        while (e->with && e->what != *c)
            e++;
        if (e->with)
            GN_TRY(gn_text_add(ctx, out, "%s", e->with));
        else
            GN_TRY(gn_text_add_bytes(ctx, out, c, 1));
    }
    return GERNE_OK;
}

static gerne_status add_markdown(gerne_ctx *ctx, gn_text *out, const char *text)
{
    return add_escaped(ctx, out, text, markdown_escapes, "\xc2\xb1");
}

static gerne_status add_latex(gerne_ctx *ctx, gn_text *out, const char *text)
{
    return add_escaped(ctx, out, text, latex_escapes, "$\\pm$");
}

gerne_status gn_sheet_markdown(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "## "));
    GN_TRY(add_markdown(ctx, out, sheet->title));
    GN_TRY(gn_text_add(ctx, out, "\n\n"));
    for (size_t row = 0; row <= gn_sheet_rows(sheet); row++) {
        for (size_t c = 0; c < sheet->column_count; c++) {
            GN_TRY(gn_text_add(ctx, out, "| "));
            GN_TRY(
                add_markdown(ctx, out, row ? cell_at(sheet, row - 1, c)->text : sheet->columns[c]));
            GN_TRY(gn_text_add(ctx, out, " "));
        }
        GN_TRY(gn_text_add(ctx, out, "|\n"));
        for (size_t c = 0; row == 0 && c < sheet->column_count; c++)
            GN_TRY(gn_text_add(ctx, out, column_at_right(sheet, c) ? "|---:" : "|---"));
        if (row == 0)
            GN_TRY(gn_text_add(ctx, out, "|\n"));
    }
    if (!sheet->note)
        return GERNE_OK;
    GN_TRY(gn_text_add(ctx, out, "\n"));
    GN_TRY(add_markdown(ctx, out, sheet->note));
    return gn_text_add(ctx, out, "\n");
}

gerne_status gn_sheet_latex(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out,
                       "%% needs \\usepackage{booktabs}\n"
                       "\\begin{table}\n\\centering\n\\begin{tabular}{"));
    for (size_t c = 0; c < sheet->column_count; c++)
        GN_TRY(gn_text_add(ctx, out, column_at_right(sheet, c) ? "r" : "l"));
    GN_TRY(gn_text_add(ctx, out, "}\n\\toprule\n"));
    for (size_t row = 0; row <= gn_sheet_rows(sheet); row++) {
        for (size_t c = 0; c < sheet->column_count; c++) {
            GN_TRY(gn_text_add(ctx, out, c ? " & " : ""));
            GN_TRY(add_latex(ctx, out, row ? cell_at(sheet, row - 1, c)->text : sheet->columns[c]));
        }
        GN_TRY(gn_text_add(ctx, out, row ? " \\\\\n" : " \\\\\n\\midrule\n"));
    }
    GN_TRY(gn_text_add(ctx, out, "\\bottomrule\n\\end{tabular}\n\\caption{"));
    GN_TRY(add_latex(ctx, out, sheet->title));
    GN_TRY(gn_text_add(ctx, out, ". "));
    if (sheet->note)
        GN_TRY(add_latex(ctx, out, sheet->note));
    return gn_text_add(ctx, out, "}\n\\end{table}\n");
}

/* ---- JSON ---- */

/* With the sign that people write; NULL stays NULL. */
static json_t *text_json(const char *text)
{
    const char *sign = text ? strstr(text, " +- ") : NULL;
    if (!sign)
        return text ? json_string(text) : NULL;
    return json_sprintf("%.*s \xc2\xb1 %s", (int)(sign - text), text, sign + 4);
}

json_t *gn_sheet_json(const gn_sheet *sheet)
{
    json_t *columns = gn_json_names(sheet->columns, sheet->column_count), *rows = json_array();
    for (size_t r = 0; r < gn_sheet_rows(sheet); r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < sheet->column_count; c++) {
            const gn_sheet_cell *cell = cell_at(sheet, r, c);
            json_array_append_new(row, isnan(cell->number) ? text_json(cell->text)
                                                           : gn_json_number(cell->number));
        }
        json_array_append_new(rows, row);
    }
    return json_pack("{s:s,s:o,s:o,s:o?}", "title", sheet->title, "columns", columns, "rows", rows,
                     "note", text_json(sheet->note));
}
