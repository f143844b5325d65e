/* metrics_output.c - the figures as JSON for programs and as a table for people. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"

static json_t *group_json(const gn_metrics *m, size_t g)
{
    const gn_group_metrics *group = &m->groups[g];
    size_t attributes = (size_t)m->attributes;
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "y", (json_int_t)(g / attributes), "a",
                     (json_int_t)(g % attributes), "n", (json_int_t)group->n, "correct",
                     (json_int_t)group->correct, "acc", gn_json_number(group->acc), "ci95",
                     gn_json_interval(group->ci95));
}

static json_t *worst_group_json(const gn_metrics *m)
{
    if (m->worst_group < 0)
        return json_null();
    return json_pack("{s:i, s:i}", "y", (int)(m->worst_group / m->attributes), "a",
                     (int)(m->worst_group % m->attributes));
}

void gn_metrics_add_cells(const gn_metrics *metrics, json_t *object)
{
    const struct {
        const char *name;
        double value;
    } list[] = {{"inferred_wga", metrics->inferred.wga},
                {"inferred_gba", metrics->inferred.gba},
                {"bias_wga", metrics->bias.wga},
                {"bias_gba", metrics->bias.gba}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (!isnan(list[i].value))
            json_object_set_new(object, list[i].name, gn_json_number(list[i].value));
}

json_t *gn_metrics_json(const gn_metrics *metrics)
{
    json_t *groups = json_array();
    for (size_t g = 0; g < (size_t)metrics->classes * (size_t)metrics->attributes; g++)
        json_array_append_new(groups, group_json(metrics, g));
    json_t *object = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "n",
        (json_int_t)metrics->n, "acc_avg", gn_json_number(metrics->acc_avg), "gba",
        gn_json_number(metrics->gba), "gba_ci95", gn_json_interval(metrics->gba_ci95), "wga",
        gn_json_number(metrics->wga), "wga_ci95", gn_json_interval(metrics->wga_ci95),
        "worst_group", worst_group_json(metrics), "worst_class",
        gn_json_number(metrics->worst_class), "balanced_acc", gn_json_number(metrics->balanced_acc),
        "minority_acc", gn_json_number(metrics->minority_acc), "adj_acc_avg",
        gn_json_number(metrics->adj_acc_avg), "auroc", gn_json_number(metrics->auroc), "ece",
        gn_json_number(metrics->ece), "groups", groups);
    if (object)
        gn_metrics_add_cells(metrics, object);
    return object;
}

enum { NAME_WIDTH_MAX = 24, ROWS_MAX = 40 };

static int name_column(const char *heading, const char *const *names, int32_t count)
{
    int width = gn_text_width(heading);
    for (int32_t i = 0; i < count; i++) {
        int one = gn_text_width(names[i]);
        width = one > width ? one : width;
    }
    return width < NAME_WIDTH_MAX ? width : NAME_WIDTH_MAX;
}

typedef struct table {
    gerne_ctx *ctx;
    const gn_metrics *metrics;
    const gn_group_names *names;
    int class_width, attribute_width;
    gn_text *out;
} table;

static gerne_status print_row(const table *t, size_t g)
{
    const gn_group_metrics *group = &t->metrics->groups[g];
    size_t attributes = (size_t)t->metrics->attributes;
    GN_TRY(gn_text_add(t->ctx, t->out, "  "));
    GN_TRY(gn_text_add_cell(t->ctx, t->out, t->names->classes[g / attributes], t->class_width));
    GN_TRY(gn_text_add(t->ctx, t->out, "  "));
    GN_TRY(
        gn_text_add_cell(t->ctx, t->out, t->names->attributes[g % attributes], t->attribute_width));
    GN_TRY(gn_text_add(t->ctx, t->out, "  %8llu", (unsigned long long)group->n));
    if (group->n == 0)
        return gn_text_add(t->ctx, t->out, "         -        -  empty\n");
    return gn_text_add(t->ctx, t->out, "  %8llu  %6.2f%%  %6.2f to %6.2f%s\n",
                       (unsigned long long)group->correct, 100 * group->acc, 100 * group->ci95.lo,
                       100 * group->ci95.hi, g == (size_t)t->metrics->worst_group ? "  worst" : "");
}

static int worse(const void *left, const void *right)
{
    const gn_ranked_group *a = left, *b = right;
    if (a->acc != b->acc)
        return a->acc < b->acc ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

void gn_sort_groups(gn_ranked_group *groups, size_t count)
{
    if (count)
        qsort(groups, count, sizeof *groups, worse);
}

/* Of very many groups only the worst are shown. */
static gerne_status print_worst_rows(const table *t, size_t groups)
{
    GN_FREED gn_ranked_group *order = NULL;
    GN_TRY(gn_alloc(t->ctx, groups, sizeof *order, "groups", &order));
    size_t count = 0;
    for (size_t g = 0; g < groups; g++)
        if (t->metrics->groups[g].n > 0)
            order[count++] = (gn_ranked_group){g, t->metrics->groups[g].acc};
    gn_sort_groups(order, count);
    size_t shown = count < ROWS_MAX ? count : ROWS_MAX;
    for (size_t i = 0; i < shown; i++)
        GN_TRY(print_row(t, order[i].id));
    return gn_text_add(t->ctx, t->out, "  (the %zu worst of %zu groups with samples, %zu empty)\n",
                       shown, count, groups - count);
}

static gerne_status print_groups(const table *t)
{
    size_t groups = (size_t)t->metrics->classes * (size_t)t->metrics->attributes;
    GN_TRY(gn_text_add(t->ctx, t->out, "  %-*s  %-*s  %8s  %8s  %7s  %s\n", t->class_width, "class",
                       t->attribute_width, "attribute", "n", "correct", "acc", "95% interval"));
    if (groups > ROWS_MAX)
        return print_worst_rows(t, groups);
    for (size_t g = 0; g < groups; g++)
        GN_TRY(print_row(t, g));
    return GERNE_OK;
}

static gerne_status print_figure(const table *t, const char *name, double value,
                                 const gn_interval *interval, const char *meaning)
{
    if (isnan(value))
        return GERNE_OK;
    GN_TRY(gn_text_add(t->ctx, t->out, "  %-12s  %6.2f%%", name, 100 * value));
    if (interval)
        GN_TRY(gn_text_add(t->ctx, t->out, "  %6.2f to %6.2f", 100 * interval->lo,
                           100 * interval->hi));
    else
        GN_TRY(gn_text_add(t->ctx, t->out, "  %16s", ""));
    return gn_text_add(t->ctx, t->out, "  %s\n", meaning);
}

static gerne_status print_figures(const table *t)
{
    const gn_metrics *m = t->metrics;
    GN_TRY(print_figure(t, "WGA", m->wga, &m->wga_ci95, "worst group"));
    GN_TRY(print_figure(t, "GBA", m->gba, &m->gba_ci95, "mean of the groups"));
    GN_TRY(print_figure(t, "acc_avg", m->acc_avg, NULL, "all samples"));
    GN_TRY(print_figure(t, "adj_acc_avg", m->adj_acc_avg, NULL,
                        "groups weighted by their size in training"));
    GN_TRY(print_figure(t, "worst_class", m->worst_class, NULL, "lowest recall of a class"));
    GN_TRY(print_figure(t, "balanced_acc", m->balanced_acc, NULL, "mean recall of the classes"));
    GN_TRY(print_figure(t, "minority_acc", m->minority_acc, NULL,
                        m->minority_by_training
                            ? "groups rare in training (below 1/A of their class)"
                            : "groups rare among these samples (below 1/A of their class)"));
    if (!isnan(m->auroc))
        GN_TRY(gn_text_add(t->ctx, t->out, "  %-12s  %7.4f  %16s  area under the ROC curve\n",
                           "auroc", m->auroc, ""));
    if (!isnan(m->ece))
        GN_TRY(gn_text_add(t->ctx, t->out, "  %-12s  %7.4f  %16s  expected calibration error\n",
                           "ece", m->ece, ""));
    return GERNE_OK;
}

gerne_status gn_metrics_print(gerne_ctx *ctx, const gn_metrics *metrics,
                              const gn_group_names *names, gn_text *out)
{
    table t = {
        .ctx = ctx,
        .metrics = metrics,
        .names = names,
        .class_width = name_column("class", names->classes, metrics->classes),
        .attribute_width = name_column("attribute", names->attributes, metrics->attributes),
        .out = out,
    };
    GN_TRY(print_groups(&t));
    GN_TRY(gn_text_add(ctx, out, "\n"));
    return print_figures(&t);
}
