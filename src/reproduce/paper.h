/* paper.h - the paper's tables, as data that is compiled into the program. */
#ifndef GN_REPRODUCE_PAPER_H
#define GN_REPRODUCE_PAPER_H

#include "base/csv.h"

typedef struct gn_embedded_file {
    const char *name, *bytes;
    size_t size;
} gn_embedded_file;

/* All files of src/reproduce/paper; ends with an empty entry. Generated. */
extern const gn_embedded_file gn_paper_files[];

/* NULL when there is no file of this name. */
const gn_embedded_file *gn_paper_file(const char *name);

/* A reader of an embedded CSV file; the caller closes it. */
GERNE_CHECKED gerne_status gn_paper_open(gerne_ctx *ctx, const char *name, gn_csv **out);

/* What the paper prints in a cell, in percent; NAN where it prints nothing. */
typedef struct gn_paper_figure {
    double mean, sd;
} gn_paper_figure;

/* "77.79 +- 0.90", "63.12" or "". */
bool gn_paper_figure_parse(const char *text, gn_paper_figure *out);

typedef struct gn_paper_row {
    const char *method;  /* our name of it, or the name it will have */
    const char *title;   /* the paper's */
    const char *setting; /* what is known of the attributes */
    gn_paper_figure *figures;
} gn_paper_row;

typedef struct gn_paper_table {
    const char **columns; /* "c-mnist/0.5", "waterbirds" */
    size_t column_count;
    gn_paper_row *rows;
    size_t row_count;
} gn_paper_table;

/* Reads "table1" and its like; everything belongs to the arena. */
GERNE_CHECKED gerne_status gn_paper_table_read(gerne_ctx *ctx, gn_arena *arena, const char *name,
                                               gn_paper_table *out);

#endif
