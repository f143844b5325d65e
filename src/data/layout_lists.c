/* layout_lists.c - images whose labels are in a list: metadata.csv, and CelebA's files. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/columns.h"
#include "data/images.h"

/* ---- metadata.csv ---- */

static const char *const attributes[] = {"a", "place", NULL};

typedef struct metadata_columns {
    size_t file;
    gn_csv_labels labels;
} metadata_columns;

static gerne_status find_columns(gerne_ctx *ctx, gn_csv *csv, const gn_data_options *options,
                                 const char *path, metadata_columns *columns)
{
    static const char *const files[] = {"filename", "img_filename", "image", "file", "path", NULL};
    static const char key[] = "data.filename_column";
    ptrdiff_t file;
    GN_TRY(gn_column_find(csv, options->filename_column, files, key, &file));
    if (file < 0)
        GN_TRY(gn_csv_require_flag(csv, files[0], key, &columns->file));
    else
        columns->file = (size_t)file;
    GN_TRY(gn_csv_labels_find(csv, options, attributes, &columns->labels));
    if (columns->labels.split < 0)
        gn_log(ctx, GERNE_LOG_INFO,
               "%s has no column 'split': all samples are for training; --data.split names another "
               "column",
               path);
    return GERNE_OK;
}

static gerne_status read_row(gerne_ctx *ctx, gn_csv *csv, const metadata_columns *columns,
                             gn_collection *collection)
{
    const char *file = gn_csv_cell(csv, columns->file);
    if (!file[0])
        return gn_csv_fail(csv, GERNE_EDATA, (ptrdiff_t)columns->file, "the file name is empty");
    GN_TRY(gn_csv_labels_add(ctx, csv, collection->files.listing, &columns->labels,
                             &collection->rows));
    return gn_files_add(ctx, &collection->files, file, gn_csv_line(csv));
}

static gerne_status read_rows(gerne_ctx *ctx, gn_csv *csv, gn_collection *collection)
{
    metadata_columns columns;
    GN_TRY(find_columns(ctx, csv, collection->options, collection->files.listing, &columns));
    GN_TRY(gn_rows_open(ctx, collection->options, columns.labels.y >= 0, columns.labels.a >= 0,
                        &collection->rows));
    collection->has_rows = true;
    collection->rows.a_name = columns.labels.a_name;
    for (;;) {
        bool more;
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        GN_TRY(read_row(ctx, csv, &columns, collection));
    }
}

gerne_status gn_read_metadata(gerne_ctx *ctx, gn_collection *collection, const char *path)
{
    GN_LOCAL(gn_csv) *csv = NULL;
    GN_TRY(gn_arena_copy_text(ctx, collection->files.arena, path, &collection->files.listing));
    GN_TRY(gn_csv_open(ctx, path, NULL, &csv));
    return read_rows(ctx, csv, collection);
}

gerne_status gn_metadata_path(gerne_ctx *ctx, gn_arena *arena, const gn_data_options *options,
                              const char **out)
{
    const char *file = options->file ? options->file : "metadata.csv";
    *out = file;
    if (options->dir && (!options->file || !gn_path_exists(file)))
        return gn_path_join(ctx, arena, options->dir, file, out);
    return GERNE_OK;
}

gerne_status gn_metadata_to_rank(gerne_ctx *ctx, gn_arena *arena, const gn_data_options *options,
                                 const char **out)
{
    bool listed = options->format == GN_DATA_IMAGES && (options->dir || options->file) &&
                  (options->layout == GN_LAYOUT_AUTO || options->layout == GN_LAYOUT_METADATA);
    bool own_splits = !options->val && options->train_on == GN_TRAIN_ON_TRAIN;
    const char *path;
    *out = NULL;
    if (!listed || !own_splits || options->a)
        return GERNE_OK;
    GN_TRY(gn_metadata_path(ctx, arena, options, &path));
    if (!gn_path_exists(path))
        return GERNE_OK;
    GN_LOCAL(gn_csv) *csv = NULL;
    ptrdiff_t a;
    GN_TRY(gn_csv_open(ctx, path, NULL, &csv));
    GN_TRY(gn_column_find(csv, NULL, attributes, "data.a", &a));
    if (a < 0)
        *out = path;
    return GERNE_OK;
}

/* ---- CelebA ---- */

enum { LINE_MAX_BYTES = 4096, FIELDS_MAX = 64 };

/* Lines of fields between blanks, or between commas in the .csv editions. */
typedef struct field_reader {
    const char *path;
    gn_map map;
    size_t at, line;
    char text[LINE_MAX_BYTES];
    char *fields[FIELDS_MAX];
    size_t count;
} field_reader;

static gerne_status next_line(gerne_ctx *ctx, field_reader *reader, bool *more)
{
    reader->count = 0;
    *more = reader->at < reader->map.size;
    if (!*more)
        return GERNE_OK;
    const char *start = (const char *)reader->map.bytes + reader->at;
    size_t left = reader->map.size - reader->at;
    const char *end = memchr(start, '\n', left);
    size_t length = end ? (size_t)(end - start) : left;
    reader->at += length + (end != NULL);
    reader->line++;
    if (length >= LINE_MAX_BYTES)
        return gn_fail(ctx, GERNE_EDATA, "%s, line %zu: the line has %zu bytes, more than %d",
                       reader->path, reader->line, length, LINE_MAX_BYTES);
    memcpy(reader->text, start, length);
    reader->text[length] = '\0';
    char *save = NULL;
    for (char *field = strtok_r(reader->text, " ,\t\r", &save); field;
         field = strtok_r(NULL, " ,\t\r", &save)) {
        if (reader->count == FIELDS_MAX)
            return gn_fail(ctx, GERNE_EDATA, "%s, line %zu: there are more than %d fields",
                           reader->path, reader->line, FIELDS_MAX);
        reader->fields[reader->count++] = field;
    }
    return GERNE_OK;
}

/* The place of an attribute among the names; file names stand before the values of a row. */
static gerne_status find_attribute(gerne_ctx *ctx, const field_reader *reader, const char *name,
                                   const char *key, size_t *column)
{
    bool image_column = reader->count && strcmp(reader->fields[0], "image_id") == 0;
    for (size_t i = image_column; i < reader->count; i++)
        if (strcmp(reader->fields[i], name) == 0) {
            *column = i + !image_column;
            return GERNE_OK;
        }
    const char *nearest = gn_nearest(name, (const char *const *)reader->fields, reader->count);
    gn_fail(ctx, GERNE_EUSAGE, "%s has no attribute '%s'", reader->path, name);
    if (nearest)
        gn_hint(ctx, "did you mean --%s %s?", key, nearest);
    else
        gn_hint(ctx, "name one of its attributes with --%s", key);
    return GERNE_EUSAGE;
}

/* +1 -> "1"; -1 or 0 -> "0". */
static gerne_status read_flag(gerne_ctx *ctx, const field_reader *reader, size_t column,
                              const char **out)
{
    const char *text = column < reader->count ? reader->fields[column] : "nothing";
    bool on = strcmp(text, "1") == 0;
    if (!on && strcmp(text, "-1") != 0 && strcmp(text, "0") != 0)
        return gn_fail(ctx, GERNE_EDATA, "%s, line %zu: '%s' is not 1 or -1", reader->path,
                       reader->line, text);
    *out = on ? "1" : "0";
    return GERNE_OK;
}

typedef struct celeba_lists {
    field_reader attributes, partition;
    size_t y, a;
    const char *y_name, *a_name;
    bool has_y, has_a;
} celeba_lists;

/* Skips a line with the count, then reads the line with the names. */
static gerne_status read_names(gerne_ctx *ctx, celeba_lists *lists, const gn_data_options *options)
{
    bool more;
    GN_TRY(next_line(ctx, &lists->attributes, &more));
    if (more && lists->attributes.count == 1)
        GN_TRY(next_line(ctx, &lists->attributes, &more));
    lists->has_y = !gn_is_none(options->y);
    lists->has_a = !gn_is_none(options->a);
    lists->y_name = options->y ? options->y : "Blond_Hair";
    lists->a_name = options->a ? options->a : "Male";
    if (lists->has_y)
        GN_TRY(find_attribute(ctx, &lists->attributes, lists->y_name, "data.y", &lists->y));
    if (lists->has_a)
        GN_TRY(find_attribute(ctx, &lists->attributes, lists->a_name, "data.a", &lists->a));
    return GERNE_OK;
}

/* The next line of the partition that names an image (the .csv edition has a header). */
static gerne_status next_partition(gerne_ctx *ctx, field_reader *reader, bool *more)
{
    GN_TRY(next_line(ctx, reader, more));
    if (*more && reader->line == 1 && reader->count == 2 &&
        strcmp(reader->fields[0], "image_id") == 0)
        return next_line(ctx, reader, more);
    return GERNE_OK;
}

static gerne_status read_person(gerne_ctx *ctx, celeba_lists *lists, const char *folder,
                                gn_collection *collection)
{
    field_reader *labels = &lists->attributes, *partition = &lists->partition;
    bool more;
    GN_TRY(next_partition(ctx, partition, &more));
    if (!more || partition->count != 2 || strcmp(partition->fields[0], labels->fields[0]) != 0)
        return gn_fail(ctx, GERNE_EDATA, "%s, line %zu: '%s' is expected, as in %s, line %zu",
                       partition->path, partition->line, labels->fields[0], labels->path,
                       labels->line);
    gn_split split;
    if (!gn_parse_split(partition->fields[1], &split))
        return gn_fail(ctx, GERNE_EDATA, "%s, line %zu: '%s' is not a split (0/1/2)",
                       partition->path, partition->line, partition->fields[1]);
    const char *y = NULL, *a = NULL;
    if (lists->has_y)
        GN_TRY(read_flag(ctx, labels, lists->y, &y));
    if (lists->has_a)
        GN_TRY(read_flag(ctx, labels, lists->a, &a));
    GN_TRY(gn_rows_add(ctx, &collection->rows, y, a, split));
    char name[LINE_MAX_BYTES + 32];
    snprintf(name, sizeof name, "%s%s", folder, labels->fields[0]);
    return gn_files_add(ctx, &collection->files, name, labels->line);
}

static gerne_status read_people(gerne_ctx *ctx, gn_collection *collection, celeba_lists *lists)
{
    const char *folder = "", *path;
    static const char *const folders[] = {"img_align_celeba", "img_align_celeba/img_align_celeba"};
    for (int i = 0; i < 2; i++) { /* the second is what an archive inside a folder leaves */
        GN_TRY(
            gn_path_join(ctx, collection->files.arena, collection->directory, folders[i], &path));
        if (gn_is_directory(path))
            folder = i ? "img_align_celeba/img_align_celeba/" : "img_align_celeba/";
    }
    GN_TRY(read_names(ctx, lists, collection->options));
    GN_TRY(gn_rows_open(ctx, collection->options, lists->has_y, lists->has_a, &collection->rows));
    collection->has_rows = true;
    collection->rows.y_name = lists->y_name;
    collection->rows.a_name = lists->a_name;
    for (;;) {
        bool more;
        GN_TRY(next_line(ctx, &lists->attributes, &more));
        if (!more)
            return GERNE_OK;
        if (lists->attributes.count)
            GN_TRY(read_person(ctx, lists, folder, collection));
    }
}

/* DIR/name.txt or DIR/name.csv. */
static gerne_status open_list(gerne_ctx *ctx, gn_collection *collection, const char *name,
                              field_reader *out)
{
    char file[64];
    for (int csv = 0; csv < 2; csv++) {
        snprintf(file, sizeof file, "%s.%s", name, csv ? "csv" : "txt");
        GN_TRY(gn_path_join(ctx, collection->files.arena, collection->directory, file, &out->path));
        if (gn_path_exists(out->path))
            return gn_map_open(ctx, out->path, &out->map);
    }
    return gn_fail(ctx, GERNE_EIO, "'%s' holds neither %s.txt nor %s.csv", collection->directory,
                   name, name);
}

gerne_status gn_read_celeba(gerne_ctx *ctx, gn_collection *collection)
{
    celeba_lists *lists;
    GN_TRY(gn_alloc(ctx, 1, sizeof *lists, "lists", &lists));
    gerne_status status = open_list(ctx, collection, "list_attr_celeba", &lists->attributes);
    if (status == GERNE_OK)
        status = open_list(ctx, collection, "list_eval_partition", &lists->partition);
    if (status == GERNE_OK) {
        collection->files.listing = lists->attributes.path;
        status = read_people(ctx, collection, lists);
    }
    gn_map_close(&lists->attributes.map);
    gn_map_close(&lists->partition.map);
    gn_free(lists);
    return status;
}
