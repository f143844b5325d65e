#include "data/label_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "data/source.h"
#include "debias/groups.h"
#include "debias/tally.h"

/* More different values than this are measurements or names, not labels. */
enum { LABEL_LIMIT = 10000 };

typedef struct reader {
    gerne_ctx *ctx;
    const char *path;
    const gn_label_columns *columns;
    gn_csv *csv;
    size_t y;
    ptrdiff_t a, split; /* -1: none */
    gn_split wanted;    /* rows of this split are taken, when by_split */
    bool by_split, by_text;
    gn_label_table *out;
} reader;

/* ---- rows ---- */

static bool is_taken(const reader *r)
{
    if (!r->by_split && !r->by_text)
        return true;
    const char *text = gn_csv_cell(r->csv, (size_t)r->split);
    gn_split split;
    if (r->by_text)
        return strcmp(text, r->columns->split) == 0;
    return gn_parse_split(text, &split) && split == r->wanted;
}

/* Whether every value of the column is a word for a split, and the wanted one occurs. */
static gerne_status scan_splits(reader *r, bool *words, bool *occurs)
{
    *words = true;
    *occurs = false;
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(r->csv, &more));
        if (!more)
            return GERNE_OK;
        gn_split split;
        bool word = gn_parse_split(gn_csv_cell(r->csv, (size_t)r->split), &split);
        *words = *words && word;
        *occurs = *occurs || (word && split == r->wanted);
    }
}

static gerne_status choose_rows(reader *r)
{
    const char *asked = r->columns->split;
    size_t column;
    if (asked && strcmp(asked, "all") == 0)
        return GERNE_OK;
    if (asked)
        GN_TRY(gn_csv_require(r->csv, "split", &column));
    r->split = gn_csv_column(r->csv, "split");
    if (r->split < 0)
        return GERNE_OK;
    bool words, occurs;
    r->wanted = GN_TRAIN;
    bool known = !asked || gn_parse_split(asked, &r->wanted);
    GN_TRY(scan_splits(r, &words, &occurs));
    r->by_split = known && words && occurs;
    r->by_text = asked && !r->by_split;
    r->out->split = r->by_split ? gn_split_name(r->wanted) : r->by_text ? asked : NULL;
    return GERNE_OK;
}

/* ---- counting ---- */

static gerne_status add_label(reader *r, size_t column, const char *text, gn_labels *labels,
                              uint32_t *number)
{
    gerne_status status = gn_labels_add(r->ctx, labels, text, number);
    if (status == GERNE_EDATA)
        gn_csv_fail(r->csv, status, (ptrdiff_t)column, "%s", gerne_message(r->ctx));
    return status;
}

static gerne_status check_classes(reader *r, const gn_tally *tally)
{
    uint32_t classes = gn_labels_count(tally->y);
    if (classes == 0 && r->out->split)
        return gn_fail(r->ctx, GERNE_EDATA, "%s has no rows with split '%s'", r->path,
                       r->out->split);
    if (classes == 0)
        return gn_fail(r->ctx, GERNE_EDATA, "%s has no rows after its header", r->path);
    if (classes > 1)
        return GERNE_OK;
    gn_fail(r->ctx, GERNE_EDATA, "%s, column '%s': all rows have the same class", r->path,
            r->out->y);
    gn_hint(r->ctx, "bias is a class that can be guessed from an attribute; it takes two classes");
    return GERNE_EDATA;
}

/* Counts class and attribute of the rows that were chosen, or of all. */
static gerne_status count_rows(reader *r, bool all, gn_missing *missing, gn_tally *tally)
{
    size_t column = (size_t)r->a;
    gn_csv_rewind(r->csv);
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(r->csv, &more));
        if (!more)
            break;
        const char *y = gn_csv_cell(r->csv, r->y), *a = gn_csv_cell(r->csv, column);
        uint32_t y_number, a_number;
        if ((!all && !is_taken(r)) || !gn_missing_take(missing, y, &a))
            continue;
        GN_TRY(add_label(r, r->y, y, tally->y, &y_number));
        GN_TRY(add_label(r, column, a, tally->a, &a_number));
        GN_TRY(gn_tally_count(r->ctx, tally, y_number, a_number));
    }
    return GERNE_OK;
}

static gerne_status find_groups(reader *r, bool all, gerne_groups **out)
{
    GN_LOCAL(gn_tally) tally = {0};
    gn_missing missing = {.rule = r->columns->missing};
    if (!r->columns->a && missing.rule == GN_MISSING_ERROR)
        missing.rule = GN_MISSING_GROUP; /* nobody named the column: what it lacks is a finding */
    GN_TRY(gn_tally_start(r->ctx, LABEL_LIMIT, &tally));
    GN_TRY(count_rows(r, all, &missing, &tally));
    if (!all)
        GN_TRY(gn_missing_check(r->ctx, &missing, r->path, r->out->y, r->out->a, "missing"));
    GN_TRY(check_classes(r, &tally));
    return gn_tally_finish(r->ctx, &tally, out);
}

/* ---- which column? ---- */

typedef struct candidate {
    size_t column;
    gn_tally tally;
    bool many; /* values; no candidate any more */
} candidate;

/* A missing value is a value here: that it is missing may give the class away. */
static gerne_status count_candidate(reader *r, candidate *c)
{
    const char *text = gn_csv_cell(r->csv, c->column);
    uint32_t y, a;
    GN_TRY(gn_labels_add(r->ctx, c->tally.y, gn_csv_cell(r->csv, r->y), &y));
    gerne_status status = gn_labels_add(r->ctx, c->tally.a, text[0] ? text : GN_MISSING_NAME, &a);
    c->many = status == GERNE_EDATA || gn_labels_count(c->tally.a) > GN_FEW_VALUES;
    if (c->many) {
        gn_tally_free(&c->tally);
        return GERNE_OK;
    }
    return status == GERNE_OK ? gn_tally_count(r->ctx, &c->tally, y, a) : status;
}

static gerne_status count_candidates(reader *r, candidate *list, size_t count)
{
    gn_csv_rewind(r->csv);
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(r->csv, &more));
        if (!more)
            return GERNE_OK;
        if (!is_taken(r) || !gn_csv_cell(r->csv, r->y)[0])
            continue;
        for (size_t i = 0; i < count; i++)
            if (!list[i].many)
                GN_TRY(count_candidate(r, &list[i]));
    }
}

static gerne_status rank_candidate(reader *r, candidate *c)
{
    GN_LOCAL(gerne_groups) *groups = NULL;
    if (c->many || gn_labels_count(c->tally.a) < 2 || gn_labels_count(c->tally.y) < 2)
        return GERNE_OK;
    GN_TRY(gn_tally_finish(r->ctx, &c->tally, &groups));
    gn_ranked_column *next = &r->out->ranking[r->out->ranked];
    GN_TRY(gn_association_of(r->ctx, groups->counts, groups->classes, groups->attributes,
                             &next->association));
    next->values = groups->attributes;
    GN_TRY(gn_arena_copy_text(r->ctx, r->out->arena, gn_csv_name(r->csv, c->column), &next->name));
    r->out->ranked++;
    return GERNE_OK;
}

static int by_association(const void *left, const void *right)
{
    const gn_ranked_column *a = left, *b = right;
    double v = a->association.cramers_v_unbiased, w = b->association.cramers_v_unbiased;
    return v != w ? (v > w ? -1 : 1) : strcmp(a->name, b->name);
}

static gerne_status rank_all(reader *r, candidate *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        GN_TRY(gn_tally_start(r->ctx, 0, &list[i].tally));
    GN_TRY(count_candidates(r, list, count));
    for (size_t i = 0; i < count; i++)
        GN_TRY(rank_candidate(r, &list[i]));
    if (r->out->ranked)
        qsort(r->out->ranking, r->out->ranked, sizeof *r->out->ranking, by_association);
    return GERNE_OK;
}

static gerne_status rank_columns(reader *r)
{
    size_t columns = gn_csv_columns(r->csv), count = 0;
    candidate *list;
    GN_TRY(
        gn_arena_alloc(r->ctx, r->out->arena, columns, sizeof *r->out->ranking, &r->out->ranking));
    GN_TRY(gn_alloc(r->ctx, columns, sizeof *list, "columns", &list));
    for (size_t i = 0; i < columns; i++)
        if (i != r->y && (ptrdiff_t)i != gn_csv_column(r->csv, "split") &&
            gn_csv_name(r->csv, i)[0])
            list[count++].column = i;
    gerne_status status = rank_all(r, list, count);
    for (size_t i = 0; i < count; i++)
        gn_tally_free(&list[i].tally);
    gn_free(list);
    return status;
}

/* The attribute that was named, or column "a", or the best of the ranking. */
static gerne_status choose_attribute(reader *r)
{
    const char *named = r->columns->a;
    size_t column;
    if (!named)
        GN_TRY(rank_columns(r));
    r->a = gn_csv_column(r->csv, named ? named : "a");
    if (r->a < 0 && r->out->ranked)
        r->a = gn_csv_column(r->csv, r->out->ranking[0].name);
    if (r->a < 0)
        GN_TRY(gn_csv_require_flag(r->csv, named ? named : "a", "a", &column));
    return gn_arena_copy_text(r->ctx, r->out->arena, gn_csv_name(r->csv, (size_t)r->a), &r->out->a);
}

static gerne_status read_table(reader *r)
{
    GN_TRY(gn_csv_require_flag(r->csv, r->columns->y, "y", &r->y));
    r->out->y = r->columns->y;
    GN_TRY(choose_rows(r));
    GN_TRY(choose_attribute(r));
    GN_TRY(find_groups(r, false, &r->out->groups));
    return r->out->split ? find_groups(r, true, &r->out->all) : GERNE_OK;
}

gerne_status gn_label_table_read(gerne_ctx *ctx, const char *path, const gn_label_columns *columns,
                                 gn_label_table *out)
{
    *out = (gn_label_table){0};
    if (columns->a && strcmp(columns->y, columns->a) == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "class and attribute are the same column '%s'",
                       columns->y);
    reader r = {.ctx = ctx, .path = path, .columns = columns, .split = -1, .out = out};
    GN_TRY(gn_arena_new(ctx, &out->arena));
    GN_TRY(gn_csv_open(ctx, path, NULL, &r.csv));
    gerne_status status = read_table(&r);
    gn_csv_close(r.csv);
    return status;
}

void gn_label_table_free(gn_label_table *table)
{
    gerne_groups_close(table->groups);
    gerne_groups_close(table->all);
    gn_arena_close(table->arena);
    *table = (gn_label_table){0};
}
