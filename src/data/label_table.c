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
    ptrdiff_t a, split;       /* -1: none */
    gn_split wanted;          /* GN_SPLITS: columns->split is no word for one */
    bool by_split;            /* rows of the wanted split are taken */
    bool by_text;             /* rows with the text columns->split, or of the wanted split */
    size_t columns_with_gaps; /* of the ranking: columns with empty cells, */
    uint64_t most_gaps;       /* the most in one of them, */
    const char *widest;       /* and its name */
    gn_label_table *out;
} reader;

/* ---- rows ---- */

static bool is_taken(const reader *r)
{
    if (!r->by_split && !r->by_text)
        return true;
    const char *text = gn_csv_cell(r->csv, (size_t)r->split);
    gn_split split;
    if (r->by_text && strcmp(text, r->columns->split) == 0)
        return true;
    return gn_parse_split(text, &split) && split == r->wanted;
}

/* The first value of the column that is no word for a split (NULL: there is none), and whether the
 * wanted split occurs. */
static gerne_status scan_splits(reader *r, const char **other, bool *occurs)
{
    *other = NULL;
    *occurs = false;
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(r->csv, &more));
        if (!more)
            return GERNE_OK;
        gn_split split;
        const char *text = gn_csv_cell(r->csv, (size_t)r->split);
        bool word = gn_parse_split(text, &split);
        if (!word && !*other)
            GN_TRY(gn_arena_copy_text(r->ctx, r->out->arena, text, other));
        *occurs = *occurs || (word && split == r->wanted);
    }
}

/* No training rows were found and no others asked for: a column that the user named has to make
 * sense, one that is only called "split" may mean something else. */
static gerne_status take_all_rows(reader *r, const char *other)
{
    const char *column = gn_csv_name(r->csv, (size_t)r->split);
    if (other && r->columns->split_column) {
        gn_fail(r->ctx, GERNE_EDATA, "%s, column '%s': " GN_NOT_A_SPLIT, r->path, column, other);
        gn_hint(r->ctx, "--split VALUE audits the rows with one value, --split all every row");
        return GERNE_EDATA;
    }
    if (other)
        gn_log(r->ctx, GERNE_LOG_WARNING,
               "column '%s' is ignored and all rows are audited together: '%s' is not a split "
               "(0/1/2 or train/val/test); --split VALUE selects rows, --split-column another "
               "column",
               column, other);
    else
        gn_log(r->ctx, GERNE_LOG_INFO,
               "column '%s' has no training rows: all rows are audited together; --split VALUE "
               "selects some",
               column);
    return GERNE_OK;
}

static gerne_status choose_rows(reader *r)
{
    const char *asked = r->columns->split, *named = r->columns->split_column;
    bool all = asked && strcmp(asked, "all") == 0, occurs;
    const char *other;
    size_t column;
    if (named || (asked && !all))
        GN_TRY(gn_csv_require_flag(r->csv, named ? named : "split", "split-column", &column));
    r->split = gn_csv_column(r->csv, named ? named : "split");
    if (r->split < 0 || all)
        return GERNE_OK;
    r->wanted = GN_TRAIN;
    if (asked && !gn_parse_split(asked, &r->wanted))
        r->wanted = GN_SPLITS;
    GN_TRY(scan_splits(r, &other, &occurs));
    r->by_split = !other && occurs;
    r->by_text = asked && !r->by_split;
    r->out->split = r->by_split ? gn_split_name(r->wanted) : asked;
    return r->out->split ? GERNE_OK : take_all_rows(r, other);
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

/* A failure says where the name of the column comes from, if not from the user. */
static gerne_status check_missing(const reader *r, const gn_missing *missing)
{
    gerne_status status =
        gn_missing_check(r->ctx, missing, r->path, r->out->y, r->out->a, "missing");
    bool by_ranking = !r->columns->a && gn_csv_column(r->csv, "a") < 0;
    if (status == GERNE_OK || !by_ranking || !missing->without_a)
        return status;
    return gn_fail_in(r->ctx, status, "column '%s' ranks first", r->out->a);
}

static gerne_status find_groups(reader *r, bool all, gerne_groups **out)
{
    GN_LOCAL(gn_tally) tally = {0};
    gn_missing missing = {.rule = r->columns->missing};
    GN_TRY(gn_tally_start(r->ctx, LABEL_LIMIT, &tally));
    GN_TRY(count_rows(r, all, &missing, &tally));
    if (!all)
        GN_TRY(check_missing(r, &missing));
    GN_TRY(check_classes(r, &tally));
    return gn_tally_finish(r->ctx, &tally, out);
}

/* ---- which column? ---- */

typedef struct candidate {
    size_t column;
    gn_tally tally;
    uint64_t ignored; /* rows without a value */
    bool many;        /* values; no candidate any more */
} candidate;

/* Only --missing group makes a value of what is missing: the ranking and the audit below it count
 * the same rows. */
static gerne_status count_candidate(reader *r, candidate *c)
{
    const char *text = gn_csv_cell(r->csv, c->column);
    uint32_t y, a;
    if (!text[0] && r->columns->missing != GN_MISSING_GROUP) {
        c->ignored++;
        return GERNE_OK;
    }
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
    r->columns_with_gaps += c->ignored > 0;
    if (c->ignored > r->most_gaps) {
        r->most_gaps = c->ignored;
        r->widest = next->name;
    }
    return GERNE_OK;
}

static void log_gaps(const reader *r)
{
    if (r->columns_with_gaps)
        gn_log(
            r->ctx, GERNE_LOG_INFO,
            "the ranking ignores rows in which a column is empty, for that column: %zu column%s, "
            "most rows in '%s' (%llu)",
            r->columns_with_gaps, r->columns_with_gaps == 1 ? "" : "s", r->widest,
            (unsigned long long)r->most_gaps);
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
    log_gaps(r);
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
        if (i != r->y && (ptrdiff_t)i != r->split && gn_csv_name(r->csv, i)[0])
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
