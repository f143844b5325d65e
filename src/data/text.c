/* text.c - datasets of texts: a CSV, TSV or JSON lines file with text, class, attribute and split,
 * and the published ones that name or make these columns in their own way. */
#include <string.h>

#include "data/corpus.h"
#include "data/source.h"
#include "data/terms.h"

/* The identities of Civil Comments, in WILDS' order. */
enum { MALE, FEMALE, LGBTQ, CHRISTIAN, MUSLIM, OTHER_RELIGIONS, BLACK, WHITE, IDENTITIES };
static const char *const identity_names[IDENTITIES] = {
    "male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white"};
#define ANY_IDENTITY "identity"
#define NO_IDENTITY  "no identity"
#define NOT_BLACK    "not black"
static const char *const toxic_names[] = {"non-toxic", "toxic"};

typedef struct text_reader {
    gerne_ctx *ctx;
    const gn_data_options *options;
    gn_preset preset;
    gn_record_file *table;
    gn_corpus *corpus;
    gn_rows rows;
    uint32_t *origin; /* sample -> row of the file */
    size_t origin_capacity, row, text_count;
    ptrdiff_t texts[GN_TEXTS_MAX], y, a, split, identities[IDENTITIES];
    const char *y_name, *a_name; /* NULL: the label is made of something else */
    gn_terms *terms;             /* make the attribute; or NULL */
    bool on_second;              /* of a pair, alone */
} text_reader;

/* ---- columns ---- */

/* The named column, or the first of the usual names that is there (NULL ends them). */
static gerne_status find_column(text_reader *r, const char *named, const char *const *usual,
                                const char *flag, ptrdiff_t *out, const char **name)
{
    *out = -1;
    *name = named;
    if (named)
        return gn_record_file_require(r->table, named, flag, out);
    for (; *usual && *out < 0; usual++) {
        GN_TRY(gn_record_file_column(r->table, *usual, out));
        *name = *out >= 0 ? *usual : NULL;
    }
    return GERNE_OK;
}

static bool is_civil(gn_preset preset)
{
    return preset == GN_PRESET_CIVILCOMMENTS || preset == GN_PRESET_CIVILCOMMENTS_COARSE ||
           preset == GN_PRESET_CIVILCOMMENTS_WILDS;
}

static gerne_status find_texts(text_reader *r)
{
    static const char *const pair[] = {"sentence1", "sentence2"};
    static const char *const usual[] = {"text", "comment_text", "comment", "sentence"};
    const char *const *names = r->options->text.items;
    size_t count = r->options->text.count;
    if (count > GN_TEXTS_MAX)
        return gn_fail(r->ctx, GERNE_EUSAGE, "data.text names %zu columns; a sample has one or two",
                       count);
    if (!count && r->preset == GN_PRESET_MULTINLI) {
        names = pair;
        count = 2;
    }
    if (!count) {
        ptrdiff_t found = -1;
        names = usual;
        for (size_t i = 0; i < sizeof usual / sizeof usual[0] && found < 0; i++) {
            GN_TRY(gn_record_file_column(r->table, usual[i], &found));
            if (found >= 0)
                names = &usual[i];
        }
        count = 1;
    }
    r->text_count = count;
    for (size_t i = 0; i < count; i++)
        GN_TRY(gn_record_file_require(r->table, names[i], "data.text", &r->texts[i]));
    return gn_corpus_new(r->ctx, r->options, names, count, &r->corpus);
}

static gerne_status find_identities(text_reader *r)
{
    GN_TRY(gn_record_file_require(r->table, "toxicity", "data.preset", &r->y));
    for (int i = 0; i < IDENTITIES; i++)
        GN_TRY(
            gn_record_file_require(r->table, identity_names[i], "data.preset", &r->identities[i]));
    return GERNE_OK;
}

static const char negations[] = "1: nobody, no, never, nothing\n";

static gerne_status find_attribute(text_reader *r)
{
    static const char *const usual[] = {"a", NULL};
    static const char *const negated[] = {"negation", "sentence2_has_negation", NULL};
    const gn_data_options *o = r->options;
    bool nli = r->preset == GN_PRESET_MULTINLI;
    if (o->a_words && o->a) {
        gn_fail(r->ctx, GERNE_EUSAGE, "data.a and data.a_words both make the attribute");
        return GERNE_EUSAGE;
    }
    if (o->a_words)
        return gn_terms_open(r->ctx, o->a_words, &r->terms);
    if (gn_is_none(o->a))
        return GERNE_OK;
    GN_TRY(find_column(r, o->a, nli ? negated : usual, "data.a", &r->a, &r->a_name));
    if (r->a >= 0 || !nli)
        return GERNE_OK;
    r->on_second = true;
    return gn_terms_parse(r->ctx, "negations", negations, sizeof negations - 1, &r->terms);
}

static gerne_status find_columns(text_reader *r)
{
    static const char *const splits[] = {"split", NULL};
    const gn_data_options *o = r->options;
    r->y = r->a = r->split = -1;
    GN_TRY(find_texts(r));
    const char *split_name;
    GN_TRY(find_column(r, o->split, splits, "data.split", &r->split, &split_name));
    if (is_civil(r->preset))
        return find_identities(r);
    r->y_name = o->y ? o->y : r->preset == GN_PRESET_MULTINLI ? "gold_label" : "y";
    if (!gn_is_none(o->y))
        GN_TRY(gn_record_file_require(r->table, r->y_name, "data.y", &r->y));
    return find_attribute(r);
}

/* ---- rows ---- */

static gerne_status add_sample(text_reader *r, const char *y, const char *a, gn_split split)
{
    GN_TRY(gn_grow(r->ctx, &r->origin, &r->origin_capacity, r->rows.n + 1, sizeof *r->origin,
                   "samples"));
    r->origin[r->rows.n] = (uint32_t)r->row;
    gerne_status status = gn_rows_add(r->ctx, &r->rows, y, a, split);
    return status == GERNE_EDATA ? gn_record_file_fail_in(r->table, status) : status;
}

/* A share of annotators: an identity is mentioned, a comment is toxic, from one half on. */
static gerne_status read_share(text_reader *r, ptrdiff_t column, bool *out)
{
    const char *cell = gn_record_file_cell(r->table, column);
    double value = 0;
    bool missing = !cell[0] && column != r->y; /* an identity that nobody was asked about */
    if (!missing && !gn_parse_double(cell, &value))
        return gn_record_file_fail(r->table, GERNE_EDATA, column, "'%s' is not a number", cell);
    *out = value >= 0.5;
    return GERNE_OK;
}

/* What a comment's attribute is where it counts once: in the training split of two of the forms. */
static const char *single_attribute(gn_preset preset, const bool active[IDENTITIES])
{
    bool any = false;
    for (int i = 0; i < IDENTITIES; i++)
        any = any || active[i];
    if (preset == GN_PRESET_CIVILCOMMENTS_WILDS)
        return active[BLACK] ? identity_names[BLACK] : NOT_BLACK;
    return any ? ANY_IDENTITY : NO_IDENTITY;
}

static gerne_status add_comment(text_reader *r, gn_split split)
{
    bool toxic = false, active[IDENTITIES] = {false};
    GN_TRY(read_share(r, r->y, &toxic));
    for (int i = 0; i < IDENTITIES; i++)
        GN_TRY(read_share(r, r->identities[i], &active[i]));
    const char *y = toxic_names[toxic];
    if (split == GN_TRAIN && r->preset != GN_PRESET_CIVILCOMMENTS)
        return add_sample(r, y, single_attribute(r->preset, active), split);
    for (int i = 0; i < IDENTITIES; i++)
        if (active[i])
            GN_TRY(add_sample(r, y, identity_names[i], split));
    return GERNE_OK;
}

/* The attribute that the terms in the texts make. */
static gerne_status mention(text_reader *r, const char *const *texts, const char **out)
{
    const char *best = NULL, *found;
    for (size_t i = r->on_second ? r->text_count - 1 : 0; i < r->text_count && !best; i++) {
        GN_TRY(gn_terms_find(r->ctx, r->terms, texts[i], &found));
        best = found;
    }
    *out = best ? best : r->on_second ? "0" : "none";
    return GERNE_OK;
}

static gerne_status add_row(text_reader *r, const char *const *texts, gn_split split)
{
    const char *y = r->y >= 0 ? gn_record_file_cell(r->table, r->y) : NULL;
    const char *a = r->a >= 0 ? gn_record_file_cell(r->table, r->a) : NULL;
    if (r->preset == GN_PRESET_MULTINLI && y && strcmp(y, "-") == 0)
        return GERNE_OK; /* its annotators did not agree */
    if (r->terms)
        GN_TRY(mention(r, texts, &a));
    return add_sample(r, y, a, split);
}

static gerne_status read_split(text_reader *r, gn_split *out)
{
    bool only_predicted = r->y < 0 && r->split < 0;
    *out = only_predicted ? GN_TEST : GN_TRAIN;
    const char *word = r->split >= 0 ? gn_record_file_cell(r->table, r->split) : NULL;
    if (!word || gn_parse_split(word, out))
        return GERNE_OK;
    gn_record_file_fail(r->table, GERNE_EDATA, r->split, GN_NOT_A_SPLIT, word);
    gn_hint(r->ctx, GN_OTHER_SPLITS);
    return GERNE_EDATA;
}

static gerne_status read_rows(text_reader *r)
{
    for (;; r->row++) {
        bool more;
        const char *texts[GN_TEXTS_MAX] = {0};
        gn_split split;
        GN_TRY(gn_record_file_next(r->table, &more));
        if (!more)
            return GERNE_OK;
        for (size_t i = 0; i < r->text_count; i++)
            texts[i] = gn_record_file_cell(r->table, r->texts[i]);
        gn_corpus_see(r->corpus, texts);
        GN_TRY(read_split(r, &split));
        GN_TRY(is_civil(r->preset) ? add_comment(r, split) : add_row(r, texts, split));
    }
}

/* ---- opening ---- */

/* Classes and attributes of Civil Comments keep WILDS' order, whatever the file holds. */
static gerne_status name_groups(text_reader *r)
{
    uint32_t number;
    r->rows.in_order = true;
    for (int i = 0; i < 2; i++)
        GN_TRY(gn_labels_add(r->ctx, r->rows.y, toxic_names[i], &number));
    for (int i = 0; i < IDENTITIES; i++)
        GN_TRY(gn_labels_add(r->ctx, r->rows.a, identity_names[i], &number));
    if (r->preset == GN_PRESET_CIVILCOMMENTS_WILDS)
        return gn_labels_add(r->ctx, r->rows.a, NOT_BLACK, &number);
    if (r->preset == GN_PRESET_CIVILCOMMENTS_COARSE) {
        GN_TRY(gn_labels_add(r->ctx, r->rows.a, ANY_IDENTITY, &number));
        GN_TRY(gn_labels_add(r->ctx, r->rows.a, NO_IDENTITY, &number));
    }
    return GERNE_OK;
}

static gerne_status read_all(text_reader *r, gn_dataset *dataset)
{
    bool civil = is_civil(r->preset);
    GN_TRY(gn_record_file_open(r->ctx, r->options->file, &r->table));
    GN_TRY(find_columns(r));
    GN_TRY(gn_rows_open(r->ctx, r->options, r->y >= 0, civil || r->a >= 0 || r->terms, &r->rows));
    r->rows.y_name = r->y_name;
    r->rows.a_name = r->a_name;
    if (civil)
        GN_TRY(name_groups(r));
    GN_TRY(read_rows(r));
    dataset->origin = r->origin;
    r->origin = NULL;
    GN_TRY(gn_rows_finish(r->ctx, &r->rows, dataset));
    dataset->field = GN_TOKENS;
    dataset->dimension = (size_t)r->options->max_tokens;
    dataset->corpus = r->corpus;
    r->corpus = NULL;
    return GERNE_OK;
}

static gerne_status check_options(gerne_ctx *ctx, const gn_data_options *options)
{
    if (!options->file) {
        gn_fail(ctx, GERNE_EUSAGE, "data.file is not given");
        gn_hint(ctx, "--data.format text needs --data.file FILE (.csv, .tsv or .jsonl)");
        return GERNE_EUSAGE;
    }
    if (is_civil((gn_preset)options->preset) && (options->a || options->y || options->a_words))
        return gn_fail(ctx, GERNE_EUSAGE,
                       "data.y, data.a and data.a_words do not go with data.preset civilcomments, "
                       "which has its own");
    return GERNE_OK;
}

gerne_status gn_open_text(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    text_reader r = {.ctx = ctx, .options = options, .preset = (gn_preset)options->preset};
    GN_TRY(check_options(ctx, options));
    gerne_status status = read_all(&r, dataset);
    gn_record_file_close(r.table);
    gn_corpus_close(r.corpus);
    gn_terms_close(r.terms);
    gn_free(r.origin);
    gn_rows_close(&r.rows);
    return status;
}
