/* predictions_write.c - the one form in which we write predictions. */
#include <string.h>

#include "base/decimal.h"
#include "metrics/predictions_csv.h"

/* A cell, quoted where a reader would take it apart otherwise. */
static gerne_status add_cell(gerne_ctx *ctx, const char *before, const char *text, gn_text *out)
{
    if (!strpbrk(text, ",;\t\"\r\n"))
        return gn_text_add(ctx, out, "%s%s", before, text);
    GN_TRY(gn_text_add(ctx, out, "\"%s", before));
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        GN_TRY(gn_text_add_bytes(ctx, out, text, (size_t)(quote - text)));
        GN_TRY(gn_text_add(ctx, out, "\"\""));
    }
    return gn_text_add(ctx, out, "%s\"", text);
}

gerne_status gn_predictions_add_header(gerne_ctx *ctx, const char *const *classes, int32_t count,
                                       bool files, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "index,y,a,split,pred"));
    for (int32_t k = 0; k < count; k++) {
        GN_TRY(gn_text_add(ctx, out, ","));
        GN_TRY(add_cell(ctx, "prob_", classes[k], out));
    }
    return gn_text_add(ctx, out, files ? ",file\n" : "\n");
}

gerne_status gn_predictions_add_line(gerne_ctx *ctx, const gn_prediction_line *line,
                                     int32_t classes, gn_text *out)
{
    const char *const cells[] = {line->y, line->a, line->split, line->pred};
    GN_TRY(gn_text_add(ctx, out, "%llu", (unsigned long long)line->index));
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        GN_TRY(gn_text_add(ctx, out, ","));
        GN_TRY(add_cell(ctx, "", cells[i], out));
    }
    for (int32_t k = 0; k < classes; k++) {
        char number[1 + GN_DECIMAL_SIZE] = ",";
        size_t size = gn_decimal(line->probabilities[k], number + 1);
        GN_TRY(gn_text_add_bytes(ctx, out, number, 1 + size));
    }
    if (line->file) {
        GN_TRY(gn_text_add(ctx, out, ","));
        GN_TRY(add_cell(ctx, "", line->file, out));
    }
    return gn_text_add(ctx, out, "\n");
}
