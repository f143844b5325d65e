#include "data/label_report.h"

#include <string.h>

#include "debias/groups.h"

/* ---- the groups of a dataset ---- */

static gerne_status check_dataset(gerne_ctx *ctx, const gn_dataset *dataset)
{
    if (dataset->classes < 2)
        return gn_fail(ctx, GERNE_EDATA, "the data have %u classes; bias takes two",
                       dataset->classes);
    if (dataset->attributes)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the data have no attribute that could be audited");
    gn_hint(ctx, "name its column with --data.a");
    return GERNE_EUSAGE;
}

/* The samples of a split: its labels, from which the groups are made, in order. */
static gerne_status labels_of(gerne_ctx *ctx, gn_arena *arena, const gn_dataset *dataset,
                              gn_split split, const int32_t *from, int32_t **out)
{
    size_t count = 0;
    GN_TRY(gn_arena_alloc(ctx, arena, dataset->n, sizeof **out, out));
    for (size_t i = 0; i < dataset->n; i++)
        if (split == GN_SPLITS || dataset->split[i] == split)
            (*out)[count++] = from[i];
    return GERNE_OK;
}

static gerne_status make_groups(gerne_ctx *ctx, gn_arena *arena, const gn_dataset *dataset,
                                gn_split split, gerne_groups **out)
{
    int32_t *y, *a = NULL;
    size_t n = 0;
    for (size_t i = 0; i < dataset->n; i++)
        n += split == GN_SPLITS || dataset->split[i] == split;
    if (n == 0)
        return gn_fail(ctx, GERNE_EDATA, "the data have no samples in split '%s'",
                       gn_split_name(split));
    GN_TRY(labels_of(ctx, arena, dataset, split, dataset->y, &y));
    if (dataset->a)
        GN_TRY(labels_of(ctx, arena, dataset, split, dataset->a, &a));
    GN_TRY(gerne_groups_from_labels(ctx, y, a, n, dataset->classes,
                                    dataset->a ? dataset->attributes : 1, out));
    return gerne_groups_set_names(ctx, *out, dataset->class_names,
                                  dataset->a ? dataset->attribute_names : NULL);
}

gerne_status gn_dataset_groups(gerne_ctx *ctx, const gn_dataset *dataset, gn_split split,
                               gerne_groups **out)
{
    gn_arena *arena;
    *out = NULL;
    if (!dataset->y)
        return gn_fail(ctx, GERNE_EUSAGE, "the data has no labels, so it has no groups");
    GN_TRY(gn_arena_new(ctx, &arena));
    gerne_status status = make_groups(ctx, arena, dataset, split, out);
    gn_arena_close(arena);
    if (status != GERNE_OK) {
        gerne_groups_close(*out);
        *out = NULL;
    }
    return status;
}

gerne_status gn_label_table_of(gerne_ctx *ctx, const gn_dataset *dataset, gn_split split,
                               gn_label_table *out)
{
    *out = (gn_label_table){.y = dataset->y_column, .a = dataset->a_column};
    GN_TRY(check_dataset(ctx, dataset));
    GN_TRY(gn_dataset_groups(ctx, dataset, split, &out->groups));
    if (gerne_groups_total(out->groups) == dataset->n)
        return GERNE_OK;
    out->split = gn_split_name(split);
    return gn_dataset_groups(ctx, dataset, GN_SPLITS, &out->all);
}

/* ---- what is said about them ---- */

gerne_status gn_label_report_of(gerne_ctx *ctx, const gn_label_table *table, gn_label_report *out)
{
    *out = (gn_label_report){.table = table};
    GN_TRY(gn_audit_of(ctx, table->groups, &out->audit));
    return table->all ? gn_audit_of(ctx, table->all, &out->all) : GERNE_OK;
}

static json_t *ranking_json(const gn_label_table *table)
{
    json_t *list = json_array();
    for (size_t i = 0; i < table->ranked; i++) {
        const gn_ranked_column *c = &table->ranking[i];
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:o, s:o, s:o, s:s}", "column", c->name, "values",
                            (json_int_t)c->values, "cramers_v_unbiased",
                            gn_json_number(c->association.cramers_v_unbiased), "cramers_v",
                            gn_json_number(c->association.cramers_v), "attribute_only_accuracy",
                            gn_json_number(c->association.attribute_only), "verdict",
                            gn_verdict_text(gn_verdict_of(&c->association))));
    }
    return list;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

gerne_status gn_label_report_json(gerne_ctx *ctx, const gn_label_report *report, json_t **out)
{
    const gn_label_table *table = report->table;
    GN_TRY(gn_audit_json(ctx, &report->audit, out));
    json_t *json = *out;
    json_object_set_new(json, "class_column", text_or_null(table->y));
    json_object_set_new(json, "attribute_column", text_or_null(table->a));
    json_object_set_new(json, "split", text_or_null(table->split));
    if (table->all)
        json_object_set_new(json, "all_splits",
                            json_pack("{s:I, s:s, s:o}", "n", (json_int_t)report->all.groups->total,
                                      "verdict", gn_verdict_text(report->all.verdict), "cramers_v",
                                      gn_json_number(report->all.association.cramers_v)));
    if (table->ranking)
        json_object_set_new(json, "columns", ranking_json(table));
    return GERNE_OK;
}

/* Column "a" was audited because of its name; another may be the shortcut. */
static gerne_status print_stronger(gerne_ctx *ctx, const gn_label_report *report, gn_text *out)
{
    const gn_ranked_column *first = report->table->ranking;
    double audited = report->audit.association.cramers_v_unbiased;
    if (!report->table->ranked || first->association.cramers_v_unbiased <= audited)
        return GERNE_OK;
    return gn_text_add(
        ctx, out,
        "Column '%s' predicts the class better (Cramer's V less chance: %.3f against "
        "%.3f); --a '%s' audits it.\n",
        first->name, first->association.cramers_v_unbiased, audited, first->name);
}

static gerne_status print_ranking(gerne_ctx *ctx, const gn_label_table *table, gn_text *out)
{
    enum { SHOWN = 20, NAME = 28 };
    GN_TRY(gn_text_add(ctx, out,
                       "Which column is the shortcut? By Cramer's V with '%s', corrected for "
                       "chance\n",
                       table->y));
    for (size_t i = 0; i < table->ranked && i < SHOWN; i++) {
        const gn_ranked_column *c = &table->ranking[i];
        GN_TRY(gn_text_add(ctx, out, "  %2zu  ", i + 1));
        GN_TRY(gn_text_add_cell(ctx, out, c->name, NAME));
        GN_TRY(gn_text_add(ctx, out, "  %6.3f  %3u value%s%s\n", c->association.cramers_v_unbiased,
                           c->values, c->values == 1 ? "" : "s",
                           strcmp(c->name, table->a) == 0 ? "  audited below" : ""));
    }
    if (table->ranked > SHOWN)
        GN_TRY(gn_text_add(ctx, out, "  and %zu more; --json has them\n", table->ranked - SHOWN));
    return gn_text_add(ctx, out, "  --a COLUMN audits another one.\n\n");
}

gerne_status gn_label_report_print(gerne_ctx *ctx, const gn_label_report *report, const char *name,
                                   gn_text *out)
{
    const gn_label_table *table = report->table;
    GN_LOCAL(gn_text) title = {0};
    if (table->ranked > 1)
        GN_TRY(print_ranking(ctx, table, out));
    GN_TRY(gn_text_add(ctx, &title, "%s%s%s", name, table->split ? ", split " : "",
                       table->split ? table->split : ""));
    GN_TRY(gn_audit_print(ctx, &report->audit, title.bytes, table->y, table->a, out));
    GN_TRY(print_stronger(ctx, report, out));
    if (!table->all)
        return GERNE_OK;
    return gn_text_add(ctx, out,
                       "All splits together: %llu samples, Cramer's V %.3f, %s; --split all audits "
                       "them.\n",
                       (unsigned long long)report->all.groups->total,
                       report->all.association.cramers_v, gn_verdict_text(report->all.verdict));
}
