/* predictions_read.c - predictions of any model, from CSV. */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "debias/groups.h"
#include "metrics/predictions_csv.h"

enum { LABELS_MAX = 1 << 16 };

static const char prefix[] = "prob_";
static const double slack = 1e-6;     /* rounding of single precision around 0 and 1 */
static const double sum_slack = 0.05; /* rounding of many classes to few digits */
static const double tie_slack = 1e-8; /* two probabilities that differ only by printing */

typedef struct reader {
    gerne_ctx *ctx;
    gn_csv *csv;
    const char *path;
    const gn_prediction_columns *columns;
    gn_prediction_file *out;
    size_t y;
    ptrdiff_t a, pred, score, index, split; /* -1: there is none */
    size_t *probability_columns;            /* by class; NULL when there are none */
    double *row;
    double *scores; /* by row, with column score */
    size_t score_capacity;
    uint32_t closed;    /* the number of classes when they are known beforehand, else 0 */
    size_t *pred_lines; /* by class: where it first stood in column pred */
    bool *is_label;     /* by class: it stood in column y */
    size_t line_capacity, label_capacity;
    uint64_t first_split; /* hash of the first row's split */
} reader;

static bool is_probability(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && name[sizeof prefix - 1];
}

/* Puts the names into the dictionary in their final order, so that number and index agree. */
static gerne_status add_sorted(reader *r, const gn_labels *sorted)
{
    for (uint32_t i = 0; i < gn_labels_count(sorted); i++) {
        uint32_t number;
        GN_TRY(gn_labels_add(r->ctx, r->out->classes, gn_labels_names(sorted)[i], &number));
    }
    r->closed = gn_labels_count(sorted);
    return GERNE_OK;
}

/* The classes that were given, or else those of the prob_ columns; none when there are neither. */
static gerne_status gather_classes(reader *r, gn_labels *labels)
{
    uint32_t number;
    for (size_t i = 0; i < r->columns->class_count; i++) {
        gerne_status status = gn_labels_add(r->ctx, labels, r->columns->classes[i], &number);
        if (status != GERNE_OK)
            return gn_fail_in(r->ctx, status == GERNE_EDATA ? GERNE_EUSAGE : status, "the classes");
    }
    bool in_columns = r->columns->class_count == 0 && r->score < 0;
    for (size_t c = 0; in_columns && c < gn_csv_columns(r->csv); c++)
        if (is_probability(gn_csv_name(r->csv, c))) {
            const char *class = gn_csv_name(r->csv, c) + sizeof prefix - 1;
            gerne_status status = gn_labels_add(r->ctx, labels, class, &number);
            if (status != GERNE_OK)
                return gn_fail_in(r->ctx, status, "%s, column '%s'", r->path,
                                  gn_csv_name(r->csv, c));
        }
    return r->columns->in_order ? gn_labels_finish_in_order(r->ctx, labels)
                                : gn_labels_finish(r->ctx, labels);
}

/* *column is -1 when the class has none. */
static gerne_status probability_column(reader *r, const char *class, ptrdiff_t *column)
{
    gn_text name = {0};
    GN_TRY(gn_text_add(r->ctx, &name, "%s%s", prefix, class));
    *column = gn_csv_column(r->csv, name.bytes);
    gn_text_free(&name);
    return GERNE_OK;
}

/* Finds the column of every class. Given classes may lack theirs when there is a column pred: the
 * probabilities are ignored then. */
static gerne_status find_probabilities(reader *r, const gn_labels *classes)
{
    size_t found = 0;
    GN_TRY(gn_alloc(r->ctx, r->closed, sizeof *r->probability_columns, "columns",
                    &r->probability_columns));
    const char *missing = NULL;
    for (uint32_t k = 0; k < r->closed; k++) {
        const char *name = gn_labels_names(classes)[k];
        ptrdiff_t column;
        GN_TRY(probability_column(r, name, &column));
        if (column < 0) {
            missing = missing ? missing : name;
            continue;
        }
        r->probability_columns[k] = (size_t)column;
        found++;
    }
    if (!missing)
        return gn_alloc(r->ctx, r->closed, sizeof *r->row, "a row", &r->row);
    gn_free(r->probability_columns);
    r->probability_columns = NULL;
    if (r->pred < 0)
        return gn_fail(r->ctx, GERNE_EDATA, "%s: class '%s' has no column '%s%s'", r->path, missing,
                       prefix, missing);
    if (found > 0)
        gn_log(r->ctx, GERNE_LOG_WARNING,
               "%s: class '%s' has no column '%s%s', the probabilities are ignored", r->path,
               missing, prefix, missing);
    return GERNE_OK;
}

static gerne_status find_classes(reader *r)
{
    GN_LOCAL(gn_labels) *labels = NULL;
    GN_TRY(gn_labels_new(r->ctx, LABELS_MAX, &labels));
    GN_TRY(gather_classes(r, labels));
    if (gn_labels_count(labels) > 0)
        GN_TRY(add_sorted(r, labels));
    bool wanted = r->score < 0 && !(r->columns->decisions_only && r->pred >= 0);
    if (r->closed && wanted)
        GN_TRY(find_probabilities(r, labels));
    return GERNE_OK;
}

static gerne_status find_columns(reader *r)
{
    size_t column;
    r->a = r->score = -1;
    GN_TRY(gn_csv_require_flag(r->csv, r->columns->y, "y", &r->y));
    if (r->columns->a) {
        GN_TRY(gn_csv_require_flag(r->csv, r->columns->a, "a", &column));
        r->a = (ptrdiff_t)column;
    }
    if (r->columns->score) {
        GN_TRY(gn_csv_require_flag(r->csv, r->columns->score, "score", &column));
        r->score = (ptrdiff_t)column;
    }
    r->pred = gn_csv_column(r->csv, r->columns->pred);
    r->index = gn_csv_column(r->csv, "index");
    r->split = gn_csv_column(r->csv, "split");
    if (r->columns->split && r->split < 0)
        return gn_fail(r->ctx, GERNE_EDATA, "%s: no column 'split' to choose '%s' from", r->path,
                       r->columns->split);
    bool any = r->score >= 0;
    for (size_t c = 0; c < gn_csv_columns(r->csv); c++)
        any = any || is_probability(gn_csv_name(r->csv, c));
    if (r->pred < 0 && !any) {
        gn_fail(r->ctx, GERNE_EDATA, "%s: no column '%s' and no columns 'prob_<class>'", r->path,
                r->columns->pred);
        gn_hint(r->ctx, "--pred NAME names the column of the predicted class; of two classes, "
                        "--score NAME that of the second one's probability");
        return GERNE_EDATA;
    }
    return find_classes(r);
}

static gerne_status unknown_class(reader *r, size_t column, const char *text)
{
    gn_csv_fail(r->csv, GERNE_EDATA, (ptrdiff_t)column, "'%s' is not a class", text);
    if (r->columns->class_count > 0)
        gn_hint(r->ctx, "the classes are those named with --classes");
    else
        gn_hint(r->ctx,
                "the classes are those of the 'prob_<class>' columns; with a column '%s', "
                "--classes A,B,... names them instead",
                r->columns->pred);
    return GERNE_EDATA;
}

static gerne_status take_class(reader *r, size_t column, uint32_t *number)
{
    const char *text = gn_csv_cell(r->csv, column);
    if (!text[0])
        return gn_csv_fail(r->csv, GERNE_EDATA, (ptrdiff_t)column, "the cell is empty");
    gerne_status status = gn_labels_add(r->ctx, r->out->classes, text, number);
    if (status != GERNE_OK)
        return gn_fail_in(r->ctx, status, "%s, line %zu, column '%s'", r->path, gn_csv_line(r->csv),
                          gn_csv_name(r->csv, column));
    if (r->closed && *number >= r->closed)
        return unknown_class(r, column, text);
    return GERNE_OK;
}

static gerne_status take_attribute(reader *r, const char *text, uint32_t *number)
{
    gerne_status status = gn_labels_add(r->ctx, r->out->attributes, text, number);
    if (status != GERNE_OK)
        return gn_fail_in(r->ctx, status, "%s, line %zu, column '%s'", r->path, gn_csv_line(r->csv),
                          r->columns->a);
    size_t given = r->columns->attribute_count;
    if (given && *number >= given)
        return gn_csv_fail(r->csv, GERNE_EDATA, r->a, "'%s' is not an attribute", text);
    return GERNE_OK;
}

/* While the classes are still being found: remembers whether a class is a label at all. */
static gerne_status note_class(reader *r, uint32_t number, bool in_y)
{
    if (r->closed)
        return GERNE_OK;
    size_t had = r->line_capacity;
    GN_TRY(gn_grow(r->ctx, &r->pred_lines, &r->line_capacity, (size_t)number + 1,
                   sizeof *r->pred_lines, "classes"));
    memset(r->pred_lines + had, 0, (r->line_capacity - had) * sizeof *r->pred_lines);
    had = r->label_capacity;
    GN_TRY(gn_grow(r->ctx, &r->is_label, &r->label_capacity, (size_t)number + 1,
                   sizeof *r->is_label, "classes"));
    memset(r->is_label + had, 0, (r->label_capacity - had) * sizeof *r->is_label);
    if (in_y)
        r->is_label[number] = true;
    else if (!r->pred_lines[number])
        r->pred_lines[number] = gn_csv_line(r->csv);
    return GERNE_OK;
}

static gerne_status take_probability(reader *r, size_t column, double *out)
{
    const char *text = gn_csv_cell(r->csv, column);
    double value;
    if (!gn_parse_double(text, &value) || value < -slack || value > 1 + slack)
        return gn_csv_fail(r->csv, GERNE_EDATA, (ptrdiff_t)column,
                           "'%s' is not a probability in [0, 1]", text);
    *out = fmin(1, fmax(0, value));
    return GERNE_OK;
}

static gerne_status take_probabilities(reader *r)
{
    double sum = 0;
    for (uint32_t k = 0; k < r->closed; k++) {
        GN_TRY(take_probability(r, r->probability_columns[k], &r->row[k]));
        sum += r->row[k];
    }
    if (fabs(sum - 1) <= sum_slack)
        return GERNE_OK;
    gn_csv_fail(r->csv, GERNE_EDATA, -1, "the probabilities sum to %.6g, not to 1", sum);
    gn_hint(r->ctx, "every column 'prob_...' counts as a class; --classes A,B,... names the "
                    "classes");
    return GERNE_EDATA;
}

static gerne_status take_score(reader *r)
{
    size_t at = r->out->predictions.count;
    GN_TRY(gn_grow(r->ctx, &r->scores, &r->score_capacity, at + 1, sizeof *r->scores, "scores"));
    return take_probability(r, (size_t)r->score, &r->scores[at]);
}

static gerne_status take_id(reader *r)
{
    if (r->index < 0)
        return GERNE_OK;
    size_t at = r->out->predictions.count;
    GN_TRY(gn_grow(r->ctx, &r->out->ids, &r->out->id_capacity, at + 1, sizeof *r->out->ids,
                   "the index"));
    r->out->ids[at] = gn_text_hash(gn_csv_cell(r->csv, (size_t)r->index));
    return GERNE_OK;
}

/* false when the row belongs to another split. */
static bool is_wanted(reader *r)
{
    if (r->split < 0)
        return true;
    const char *split = gn_csv_cell(r->csv, (size_t)r->split);
    if (r->columns->split)
        return strcmp(split, r->columns->split) == 0;
    uint64_t hash = gn_text_hash(split);
    if (r->out->predictions.count == 0)
        r->first_split = hash;
    r->out->splits_mixed = r->out->splits_mixed || hash != r->first_split;
    return true;
}

static gerne_status take_row(reader *r)
{
    if (!is_wanted(r))
        return GERNE_OK;
    const char *attribute = r->a < 0 ? GN_ALL_SAMPLES : gn_csv_cell(r->csv, (size_t)r->a);
    if (!gn_missing_take(&r->out->missing, gn_csv_cell(r->csv, r->y), &attribute))
        return GERNE_OK;
    uint32_t y, a, pred;
    GN_TRY(take_class(r, r->y, &y));
    GN_TRY(note_class(r, y, true));
    GN_TRY(take_attribute(r, attribute, &a));
    if (r->probability_columns)
        GN_TRY(take_probabilities(r));
    if (r->score >= 0)
        GN_TRY(take_score(r));
    if (r->pred >= 0) {
        GN_TRY(take_class(r, (size_t)r->pred, &pred));
        GN_TRY(note_class(r, pred, false));
    } else
        pred = r->probability_columns ? (uint32_t)gn_argmax(r->row, r->closed) : y;
    if (r->probability_columns) {
        double most = r->row[gn_argmax(r->row, r->closed)];
        r->out->disagreements += r->row[pred] < most - tie_slack;
    }
    GN_TRY(take_id(r));
    return gn_predictions_add(r->ctx, &r->out->predictions, (int32_t)y, (int32_t)a, (int32_t)pred,
                              r->row);
}

/* A class that occurs only in column pred is more likely a slip than a class. */
static gerne_status check_predicted(reader *r)
{
    uint32_t count = r->closed ? 0 : gn_labels_count(r->out->classes);
    for (uint32_t k = 0; k < count; k++) {
        if (r->is_label[k])
            continue;
        const char *name = gn_labels_names(r->out->classes)[gn_labels_ranks(r->out->classes)[k]];
        gn_fail(r->ctx, GERNE_EDATA, "%s, line %zu, column '%s': '%s' never occurs in column '%s'",
                r->path, r->pred_lines[k], r->columns->pred, name, r->columns->y);
        gn_hint(r->ctx, "if it is a class without samples, name all classes: --classes A,B,...");
        return GERNE_EDATA;
    }
    return GERNE_OK;
}

/* The second class is known when all rows are read. */
static gerne_status apply_scores(reader *r)
{
    gn_predictions *p = &r->out->predictions;
    if (r->score < 0)
        return GERNE_OK;
    if (p->classes != 2) {
        gn_fail(r->ctx, GERNE_EUSAGE, "--score tells two classes apart, and column '%s' has %d",
                r->columns->y, (int)p->classes);
        gn_hint(r->ctx, "--classes A,B names both; more classes need columns 'prob_<class>'");
        return GERNE_EUSAGE;
    }
    p->with_probabilities = true;
    GN_TRY(gn_alloc(r->ctx, p->count, 2 * sizeof *p->probabilities, "probabilities",
                    &p->probabilities));
    p->capacity[3] = p->count;
    for (size_t i = 0; i < p->count; i++) {
        double *row = p->probabilities + 2 * i;
        row[0] = 1 - r->scores[i];
        row[1] = r->scores[i];
        size_t likelier = gn_argmax(row, 2);
        if (r->pred < 0)
            p->pred[i] = (int32_t)likelier;
        r->out->disagreements += row[p->pred[i]] < row[likelier] - tie_slack;
    }
    return GERNE_OK;
}

/* From numbers in order of appearance to indices in order of the labels. */
static gerne_status finish(reader *r)
{
    gn_predictions *p = &r->out->predictions;
    GN_TRY(gn_missing_check(r->ctx, &r->out->missing, r->path, r->columns->y, r->columns->a,
                            "missing"));
    if (p->count == 0)
        return r->columns->split ? gn_fail(r->ctx, GERNE_EDATA, "%s: no row of split '%s'", r->path,
                                           r->columns->split)
                                 : gn_fail(r->ctx, GERNE_EDATA, "%s: no rows", r->path);
    GN_TRY(r->closed ? gn_labels_finish_in_order(r->ctx, r->out->classes)
                     : gn_labels_finish(r->ctx, r->out->classes));
    GN_TRY(r->columns->attribute_count ? gn_labels_finish_in_order(r->ctx, r->out->attributes)
                                       : gn_labels_finish(r->ctx, r->out->attributes));
    GN_TRY(check_predicted(r));
    const uint32_t *classes = gn_labels_ranks(r->out->classes);
    const uint32_t *attributes = gn_labels_ranks(r->out->attributes);
    p->classes = (int32_t)gn_labels_count(r->out->classes);
    p->attributes = (int32_t)gn_labels_count(r->out->attributes);
    GN_TRY(gn_check_group_count(r->ctx, (size_t)p->classes, (size_t)p->attributes));
    for (size_t i = 0; i < p->count; i++) {
        p->y[i] = (int32_t)classes[p->y[i]];
        p->a[i] = (int32_t)attributes[p->a[i]];
        p->pred[i] = (int32_t)classes[p->pred[i]];
    }
    return apply_scores(r);
}

static gerne_status read_rows(reader *r)
{
    GN_TRY(gn_labels_new(r->ctx, LABELS_MAX, &r->out->classes));
    GN_TRY(gn_labels_new(r->ctx, LABELS_MAX, &r->out->attributes));
    GN_TRY(find_columns(r));
    for (size_t i = 0; i < r->columns->attribute_count; i++) {
        uint32_t number;
        GN_TRY(gn_labels_add(r->ctx, r->out->attributes, r->columns->attributes[i], &number));
    }
    /* Until the end any index up to the limit may come. */
    gn_predictions_init(&r->out->predictions, r->closed ? (int32_t)r->closed : LABELS_MAX,
                        LABELS_MAX, r->probability_columns != NULL);
    for (bool more = true;;) {
        GN_TRY(gn_csv_next(r->csv, &more));
        if (!more)
            return finish(r);
        GN_TRY(take_row(r));
    }
}

gerne_status gn_predictions_read(gerne_ctx *ctx, const char *path,
                                 const gn_prediction_columns *columns, gn_prediction_file *out)
{
    *out = (gn_prediction_file){.missing = {.rule = columns->missing}};
    reader r = {.ctx = ctx, .path = path, .columns = columns, .out = out};
    GN_TRY(gn_csv_open(ctx, path, NULL, &r.csv));
    gerne_status status = read_rows(&r);
    gn_csv_close(r.csv);
    gn_free(r.probability_columns);
    gn_free(r.row);
    gn_free(r.scores);
    gn_free(r.pred_lines);
    gn_free(r.is_label);
    return status;
}

void gn_prediction_file_free(gn_prediction_file *file)
{
    gn_predictions_free(&file->predictions);
    gn_labels_close(file->classes);
    gn_labels_close(file->attributes);
    gn_free(file->ids);
    *file = (gn_prediction_file){0};
}
