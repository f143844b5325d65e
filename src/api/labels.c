/* labels.c - gerne_labels: two columns of a CSV file, and audits of labels. */
#include "api/labels.h"

#include "api/api.h"

struct gerne_labels {
    gn_label_table table;
    const char *path;
};

_Static_assert((int)GERNE_MISSING_GROUP == (int)GN_MISSING_GROUP, "the header has our rules");

static gerne_status take_columns(gerne_ctx *ctx, const gerne_label_columns *given,
                                 gn_label_columns *out)
{
    gerne_label_columns columns = {0};
    if (given)
        GN_TRY(gn_take_struct(ctx, "gerne_label_columns", given, &columns, sizeof columns));
    if ((int)columns.missing < 0 || columns.missing > GERNE_MISSING_GROUP)
        return gn_fail(ctx, GERNE_EUSAGE, "missing %d is not GERNE_MISSING_ERROR, _DROP or _GROUP",
                       (int)columns.missing);
    *out = (gn_label_columns){.y = columns.y ? columns.y : "y",
                              .a = columns.a,
                              .split = columns.split,
                              .split_column = columns.split_column,
                              .missing = (int)columns.missing};
    return GERNE_OK;
}

gerne_status gerne_labels_open(gerne_ctx *ctx, const char *path, const gerne_label_columns *columns,
                               gerne_labels **out)
{
    gn_label_columns own;
    gerne_labels *labels;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, path);
    GN_TRY(take_columns(ctx, columns, &own));
    GN_TRY(gn_alloc(ctx, 1, sizeof *labels, "labels", &labels));
    gerne_status status = gn_label_table_read(ctx, path, &own, &labels->table);
    if (status == GERNE_OK)
        status = gn_arena_copy_text(ctx, labels->table.arena, path, &labels->path);
    if (status != GERNE_OK)
        gerne_labels_close(labels);
    else
        *out = labels;
    return status;
}

void gerne_labels_close(gerne_labels *labels)
{
    if (!labels)
        return;
    gn_label_table_free(&labels->table);
    gn_free(labels);
}

const gerne_groups *gerne_labels_groups(const gerne_labels *labels)
{
    return labels ? labels->table.groups : NULL;
}

gerne_status gn_give_label_report(gerne_ctx *ctx, const gn_label_table *table, const char *name,
                                  gerne_form form, char **out)
{
    gn_label_report report;
    GN_TRY(gn_label_report_of(ctx, table, &report));
    if (form == GERNE_JSON) {
        json_t *json;
        GN_TRY(gn_label_report_json(ctx, &report, &json));
        return gn_give_json(ctx, json, out);
    }
    gn_text text = {0};
    gerne_status status = gn_label_report_print(ctx, &report, name, &text);
    if (status == GERNE_OK)
        status = gn_give_text(ctx, &text, out);
    gn_text_free(&text);
    return status;
}

gerne_status gerne_labels_audit(gerne_ctx *ctx, const gerne_labels *labels, gerne_form form,
                                char **out)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, labels);
    GN_TRY(gn_check_form(ctx, form));
    return gn_give_label_report(ctx, &labels->table, labels->path, form, out);
}
