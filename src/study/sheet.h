/* sheet.h - a table of texts and numbers, written as plain text, Markdown, LaTeX and JSON.
 *
 *     GN_TRY(gn_sheet_new(ctx, arena, "Table 1", columns, 3, &sheet));
 *     GN_TRY(gn_sheet_add(ctx, sheet, "GERNE"));
 *     GN_TRY(gn_sheet_add_number(ctx, sheet, 77.8, 2));
 *     GN_TRY(gn_sheet_add_spread(ctx, sheet, 77.79, 0.90));      a full row; the next one begins
 */
#ifndef GN_STUDY_SHEET_H
#define GN_STUDY_SHEET_H

#include "base/json.h"

typedef struct gn_sheet_cell {
    const char *text;
    double number; /* NAN for a text */
} gn_sheet_cell;

typedef struct gn_sheet {
    const char *title;
    const char *note; /* may be NULL; set by the caller */
    const char *const *columns;
    size_t column_count;
    gn_sheet_cell *cells; /* row by row */
    size_t count, capacity;
    gn_arena *arena;
} gn_sheet;

/* Title and columns are lent; the rest belongs to the arena. */
GERNE_CHECKED gerne_status gn_sheet_new(gerne_ctx *ctx, gn_arena *arena, const char *title,
                                        const char *const *columns, size_t column_count,
                                        gn_sheet **out);

/* The next cell: a text (copied), a number with so many decimals ("-" for NAN), or a mean with its
 * deviation: "77.79 +- 0.90". */
GERNE_CHECKED gerne_status gn_sheet_add(gerne_ctx *ctx, gn_sheet *sheet, const char *text);
GERNE_CHECKED gerne_status gn_sheet_add_number(gerne_ctx *ctx, gn_sheet *sheet, double value,
                                               int decimals);
GERNE_CHECKED gerne_status gn_sheet_add_spread(gerne_ctx *ctx, gn_sheet *sheet, double mean,
                                               double sd);
/* The same with a sign: differences. */
GERNE_CHECKED gerne_status gn_sheet_add_signed(gerne_ctx *ctx, gn_sheet *sheet, double value,
                                               int decimals);

size_t gn_sheet_rows(const gn_sheet *sheet);

/* Appends the whole table; what would mean something in the format is escaped. */
GERNE_CHECKED gerne_status gn_sheet_print(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out);
GERNE_CHECKED gerne_status gn_sheet_markdown(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out);
GERNE_CHECKED gerne_status gn_sheet_latex(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out);

/* {"title", "columns", "rows", "note"}, as study.json has it. New reference. */
json_t *gn_sheet_json(const gn_sheet *sheet);

#endif
