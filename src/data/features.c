/* features.c - the format "features": a matrix of floats with y, a and split. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/columns.h"
#include "data/npy.h"

enum { DIMENSION_MAX = 1 << 24 };
static const size_t ROWS_UNKNOWN = SIZE_MAX; /* of a file that does not tell */

gerne_status gn_features_fit(gerne_ctx *ctx, const gn_dataset *dataset, size_t rows, size_t columns)
{
    size_t bytes;
    if (!gn_multiply(rows, columns, &bytes) || !gn_multiply(bytes, sizeof(float), &bytes) ||
        bytes > dataset->memory_limit) {
        gn_fail(ctx, GERNE_EUSAGE, "%zu x %zu features do not fit data.memory_limit (%zu bytes)",
                rows, columns, dataset->memory_limit);
        gn_hint(ctx, "raise --data.memory_limit, or save them as a float32 .npy file, which is "
                     "mapped and needs no memory");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

/* ---- labels ---- */

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

static const char *const attribute_names[] = {"a", NULL};

static gerne_status read_label_rows(gerne_ctx *ctx, gn_csv *csv, const gn_data_options *options,
                                    gn_rows *rows)
{
    gn_csv_labels columns;
    GN_TRY(gn_csv_labels_find(csv, options, attribute_names, &columns));
    GN_TRY(gn_rows_open(ctx, options, columns.y >= 0, columns.a >= 0, rows));
    for (;;) {
        bool more;
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        GN_TRY(gn_csv_labels_add(ctx, csv, options->labels, &columns, rows));
    }
}

/* data.labels, for matrices that carry none. */
static gerne_status read_labels(gerne_ctx *ctx, const gn_data_options *options, gn_rows *rows)
{
    if (!options->labels) {
        gn_fail(ctx, GERNE_EUSAGE, "'%s' has no labels, and data.labels is not given",
                options->file);
        gn_hint(ctx,
                "%s--data.labels FILE.csv with the columns y, a and split, a row for each row of "
                "features; or --data.y none, to predict",
                ends_in(options->file, ".npz") ? "--data.y NAME, the array of the classes; or "
                                               : "");
        return GERNE_EUSAGE;
    }
    GN_LOCAL(gn_csv) *csv = NULL;
    GN_TRY(gn_csv_open(ctx, options->labels, NULL, &csv));
    return read_label_rows(ctx, csv, options, rows);
}

/* ---- CSV ---- */

typedef struct csv_features {
    gn_rows rows;
    size_t *columns; /* those that hold features */
    float *values;
    size_t column_count, count, capacity;
} csv_features;

/* Labels that are there but not wanted are not features either. */
static bool is_label(const gn_csv *csv, const gn_data_options *options, const gn_csv_labels *labels,
                     ptrdiff_t column)
{
    return column == labels->y || column == labels->a || column == labels->split ||
           (gn_is_none(options->y) && column == gn_csv_column(csv, "y")) ||
           (gn_is_none(options->a) && column == gn_csv_column(csv, "a"));
}

/* A column's own name is no pattern: "w[0]" is not "w0". */
static bool is_named(const gn_csv *csv, const char *pattern, size_t column)
{
    ptrdiff_t exactly = gn_csv_column(csv, pattern);
    return exactly >= 0 ? exactly == (ptrdiff_t)column
                        : fnmatch(pattern, gn_csv_name(csv, column), 0) == 0;
}

/* A name or pattern of data.x that fits no column is most likely mistyped. */
static gerne_status check_patterns(gn_csv *csv, const gn_texts *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        size_t column = 0;
        while (column < gn_csv_columns(csv) && !is_named(csv, patterns->items[i], column))
            column++;
        if (column == gn_csv_columns(csv))
            GN_TRY(gn_csv_require_flag(csv, patterns->items[i], "data.x", &column));
    }
    return GERNE_OK;
}

static gerne_status find_features(gerne_ctx *ctx, gn_csv *csv, const gn_data_options *options,
                                  const gn_csv_labels *labels, csv_features *out)
{
    GN_TRY(check_patterns(csv, &options->x));
    GN_TRY(gn_alloc(ctx, gn_csv_columns(csv), sizeof *out->columns, "columns", &out->columns));
    for (size_t column = 0; column < gn_csv_columns(csv); column++) {
        bool wanted = options->x.count == 0;
        for (size_t i = 0; i < options->x.count; i++)
            wanted = wanted || is_named(csv, options->x.items[i], column);
        if (wanted && !is_label(csv, options, labels, (ptrdiff_t)column))
            out->columns[out->column_count++] = column;
    }
    if (out->column_count)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA, "%s has no column of features", options->file);
}

static gerne_status read_values(gerne_ctx *ctx, gn_csv *csv, csv_features *out)
{
    GN_TRY(gn_grow(ctx, &out->values, &out->capacity, out->count + out->column_count,
                   sizeof *out->values, "features"));
    for (size_t i = 0; i < out->column_count; i++) {
        size_t column = out->columns[i];
        double value;
        if (!gn_parse_double(gn_csv_cell(csv, column), &value) || isinf(value)) {
            gn_csv_fail(csv, GERNE_EDATA, (ptrdiff_t)column, "'%s' is not a number",
                        gn_csv_cell(csv, column));
            gn_hint(ctx, "name the columns that are features with --data.x, such as 'emb_*'");
            return GERNE_EDATA;
        }
        out->values[out->count++] = (float)value;
    }
    return GERNE_OK;
}

static gerne_status read_csv_rows(gerne_ctx *ctx, gn_csv *csv, const gn_data_options *options,
                                  gn_dataset *dataset, csv_features *out)
{
    gn_csv_labels labels;
    GN_TRY(gn_csv_labels_find(csv, options, attribute_names, &labels));
    GN_TRY(find_features(ctx, csv, options, &labels, out));
    GN_TRY(gn_rows_open(ctx, options, labels.y >= 0, labels.a >= 0, &out->rows));
    for (;;) {
        bool more;
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            break;
        GN_TRY(gn_features_fit(ctx, dataset, out->rows.n + 1, out->column_count));
        GN_TRY(gn_csv_labels_add(ctx, csv, options->file, &labels, &out->rows));
        GN_TRY(read_values(ctx, csv, out));
    }
    GN_TRY(gn_rows_finish(ctx, &out->rows, dataset));
    dataset->rows = dataset->rows_owned = out->values;
    dataset->dimension = out->column_count;
    out->values = NULL;
    return GERNE_OK;
}

static gerne_status open_csv(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    gn_csv *csv;
    csv_features features = {0};
    GN_TRY(gn_csv_open(ctx, options->file, NULL, &csv));
    gerne_status status = read_csv_rows(ctx, csv, options, dataset, &features);
    gn_rows_close(&features.rows);
    gn_free(features.columns);
    gn_free(features.values);
    gn_csv_close(csv);
    return status;
}

/* ---- .npy and raw ---- */

/* Samples that are only to be predicted. */
static gerne_status unlabelled(gerne_ctx *ctx, size_t rows, gn_dataset *dataset)
{
    GN_TRY(gn_dataset_allocate(ctx, dataset, rows, 0, 0, NULL, NULL));
    memset(dataset->split, GN_TEST, rows);
    return GERNE_OK;
}

/* rows_there may be ROWS_UNKNOWN. */
static gerne_status labels_for(gerne_ctx *ctx, const gn_data_options *options, size_t rows_there,
                               gn_dataset *dataset)
{
    GN_LOCAL(gn_rows) rows = {0};
    bool known = rows_there != ROWS_UNKNOWN;
    if (gn_is_none(options->y) && !options->labels && known)
        return unlabelled(ctx, rows_there, dataset);
    GN_TRY(read_labels(ctx, options, &rows));
    if (known && rows.n != rows_there)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %zu rows, '%s' has %zu", options->file,
                       rows_there, options->labels, rows.n);
    gerne_status status = gn_rows_finish(ctx, &rows, dataset);
    return status == GERNE_OK ? status : gn_fail_in(ctx, status, "'%s'", options->labels);
}

static gerne_status check_matrix(gerne_ctx *ctx, const char *name, const gn_npy *array)
{
    bool fine = array->kind == 'f' || (array->kind == 'u' && array->item == 1);
    if (!fine)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has type %c%zu; features are f2, f4, f8 or u1", name,
                       array->kind, array->item);
    if (array->dimensions != 2 || array->shape[1] == 0 || array->shape[1] > DIMENSION_MAX)
        return gn_fail(ctx, GERNE_EDATA, "'%s' is not a matrix of N x D features", name);
    if (array->shape[0] == 0)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has no rows", name);
    return GERNE_OK;
}

/* Takes float32 items where they are; other types and orders are converted. */
static gerne_status take_matrix(gerne_ctx *ctx, gn_dataset *dataset, const gn_npy *array,
                                const unsigned char *items)
{
    dataset->dimension = array->shape[1];
    bool as_it_is = array->kind == 'f' && array->item == sizeof(float) && !array->fortran &&
                    (uintptr_t)items % sizeof(float) == 0;
    if (as_it_is) {
        dataset->rows = (const float *)(const void *)items;
        return GERNE_OK;
    }
    float *values;
    GN_TRY(gn_features_fit(ctx, dataset, array->shape[0], array->shape[1]));
    GN_TRY(gn_alloc(ctx, array->shape[0] * array->shape[1], sizeof *values, "features", &values));
    gn_npy_floats(array, items, values);
    dataset->rows = dataset->rows_owned = values;
    return GERNE_OK;
}

static gerne_status map_file(gerne_ctx *ctx, const char *path, gn_dataset *dataset,
                             const gn_map **out)
{
    gn_map *map;
    GN_TRY(gn_alloc(ctx, 1, sizeof *map, "a map", &map));
    dataset->map = map;
    *out = map;
    return gn_map_open(ctx, path, map);
}

static gerne_status open_npy(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    const gn_map *map;
    gn_npy array;
    GN_TRY(map_file(ctx, options->file, dataset, &map));
    GN_TRY(gn_npy_parse(ctx, options->file, map->bytes, map->size, &array));
    GN_TRY(check_matrix(ctx, options->file, &array));
    if (map->size - array.offset != array.size)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %zu bytes of items, its shape needs %zu",
                       options->file, map->size - array.offset, array.size);
    GN_TRY(labels_for(ctx, options, array.shape[0], dataset));
    return take_matrix(ctx, dataset, &array, map->bytes + array.offset);
}

/* Raw float32, row after row: the labels tell how many rows there are. */
static gerne_status open_raw(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    const gn_map *map;
    GN_TRY(map_file(ctx, options->file, dataset, &map));
    GN_TRY(labels_for(ctx, options, ROWS_UNKNOWN, dataset));
    size_t row = dataset->n * sizeof(float);
    if (map->size == 0 || map->size % row != 0)
        return gn_fail(ctx, GERNE_EDATA,
                       "'%s' has %zu bytes, not a multiple of %zu rows of float32", options->file,
                       map->size, dataset->n);
    dataset->dimension = map->size / row;
    dataset->rows = (const float *)(const void *)map->bytes;
    return GERNE_OK;
}

/* ---- .npz ---- */

enum { X, Y, A, SPLIT, MEMBERS };

/* The arrays to read. One that was named has to be there; so has x. */
static gerne_status name_members(gerne_ctx *ctx, const gn_data_options *options,
                                 gn_npz_member members[MEMBERS])
{
    static const char *const keys[] = {"data.x", "data.y", "data.a", "data.split"};
    const char *const named[] = {options->x.count ? options->x.items[0] : NULL, options->y,
                                 options->a, options->split};
    static const char *const usual[] = {"x", "y", "a", "split"};
    if (options->x.count > 1)
        return gn_fail(ctx, GERNE_EUSAGE, "data.x has %zu names; features of '%s' are one array",
                       options->x.count, options->file);
    for (int i = 0; i < MEMBERS; i++) {
        bool unwanted = (i == Y || i == A) && gn_is_none(named[i]);
        members[i] = (gn_npz_member){.name = named[i] ? named[i] : usual[i]};
        members[i].key = named[i] || i == X ? keys[i] : NULL;
        if (unwanted)
            members[i] = (gn_npz_member){0};
    }
    return GERNE_OK;
}

static gerne_status check_members(gerne_ctx *ctx, const gn_data_options *options,
                                  const gn_npz_member *members)
{
    GN_TRY(check_matrix(ctx, options->file, &members[X].array));
    for (int i = Y; i < MEMBERS; i++)
        if (members[i].found && (members[i].array.dimensions != 1 ||
                                 members[i].array.shape[0] != members[X].array.shape[0]))
            return gn_fail(ctx, GERNE_EDATA, "'%s': the array '%s' is not a list of %zu labels",
                           options->file, members[i].name, members[X].array.shape[0]);
    return GERNE_OK;
}

static gerne_status add_npz_row(gerne_ctx *ctx, const char *path, const gn_npz_member *members,
                                size_t i, gn_text texts[MEMBERS], gn_rows *rows)
{
    for (int m = Y; m < MEMBERS; m++) {
        gn_text_clear(&texts[m]);
        if (members[m].found)
            GN_TRY(gn_npy_text(ctx, &members[m].array, path, members[m].items, i, &texts[m]));
    }
    gn_split split = GN_TRAIN;
    if (members[SPLIT].found && !gn_parse_split(texts[SPLIT].bytes, &split)) {
        gn_fail(ctx, GERNE_EDATA, "'%s', row %zu: " GN_NOT_A_SPLIT, path, i, texts[SPLIT].bytes);
        gn_hint(ctx, GN_OTHER_SPLITS);
        return GERNE_EDATA;
    }
    gerne_status status = gn_rows_add(ctx, rows, texts[Y].bytes, texts[A].bytes, split);
    return status == GERNE_EDATA ? gn_fail_in(ctx, status, "'%s', row %zu", path, i) : status;
}

static gerne_status npz_labels(gerne_ctx *ctx, const gn_data_options *options,
                               const gn_npz_member *members, gn_dataset *dataset)
{
    const char *path = options->file;
    gn_rows rows;
    gn_text texts[MEMBERS] = {{0}};
    GN_TRY(gn_rows_open(ctx, options, members[Y].found, members[A].found, &rows));
    gerne_status status = GERNE_OK;
    for (size_t i = 0; status == GERNE_OK && i < members[X].array.shape[0]; i++)
        status = add_npz_row(ctx, path, members, i, texts, &rows);
    if (status == GERNE_OK)
        status = gn_rows_finish(ctx, &rows, dataset);
    for (int m = 0; m < MEMBERS; m++)
        gn_text_free(&texts[m]);
    gn_rows_close(&rows);
    return status;
}

static gerne_status open_npz(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    gn_npz_member members[MEMBERS];
    GN_TRY(name_members(ctx, options, members));
    GN_TRY(gn_npz_read(ctx, options->file, dataset->memory_limit, members, MEMBERS));
    gerne_status status = check_members(ctx, options, members);
    bool unlabelled_splits = gn_is_none(options->y) && !options->labels && members[SPLIT].found;
    if (status == GERNE_OK && (members[Y].found || unlabelled_splits))
        status = npz_labels(ctx, options, members, dataset);
    else if (status == GERNE_OK)
        status = labels_for(ctx, options, members[X].array.shape[0], dataset);
    if (status == GERNE_OK)
        status = take_matrix(ctx, dataset, &members[X].array, members[X].items);
    if (status == GERNE_OK && !dataset->rows_owned) {
        dataset->rows_owned = members[X].items; /* float32 stays where it was read */
        members[X].items = NULL;
    }
    gn_npz_free(members, MEMBERS);
    return status;
}

/* ---- opening ---- */

void gn_features_settings(gn_dataset *dataset, const gn_data_options *options)
{
    dataset->standardize = options->standardize;
    gn_dataset_settings(dataset, "features standardize %d", options->standardize);
}

gerne_status gn_open_features(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    if (!options->file) {
        gn_fail(ctx, GERNE_EUSAGE, "data.file is not given");
        gn_hint(ctx, "--data.format features needs --data.file FILE (.npz, .npy, .csv or raw "
                     "float32)");
        return GERNE_EUSAGE;
    }
    bool npz = ends_in(options->file, ".npz"), csv = ends_in(options->file, ".csv");
    if (options->x.count && !npz && !csv)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "data.x names an array of an .npz file or columns of a CSV; '%s' is neither",
                       options->file);
    dataset->field = GN_FEATURES;
    GN_TRY(gn_arena_copy_text(ctx, dataset->arena, options->file, &dataset->features_file));
    gn_features_settings(dataset, options);
    if (npz)
        return open_npz(ctx, options, dataset);
    if (csv)
        return open_csv(ctx, options, dataset);
    if (ends_in(options->file, ".npy"))
        return open_npy(ctx, options, dataset);
    return open_raw(ctx, options, dataset);
}
