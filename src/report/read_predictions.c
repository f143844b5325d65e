/* read_predictions.c - predictions.csv and the pictures in errors/. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "report/record.h"

enum { PICTURE_BYTES = 1 << 18 };

/* ---- predictions.csv ---- */

/* A name's number; the last one found is tried first, as rows come in runs. */
static bool number_of(const char *const *names, uint32_t count, const char *text, uint32_t *last)
{
    if (*last < count && strcmp(names[*last], text) == 0)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0) {
            *last = i;
            return true;
        }
    return false;
}

typedef struct columns {
    size_t index, y, a, pred;
    uint32_t last_y, last_a, last_pred;
} columns;

static gerne_status take_row(gn_run_record *run, gn_csv *csv, columns *c)
{
    int64_t index;
    const char *const *classes = (const char *const *)run->class_names;
    const char *const *attributes = (const char *const *)run->attribute_names;
    const char *a = gn_csv_cell(csv, c->a);
    if (!gn_parse_int(gn_csv_cell(csv, c->index), &index) || index < 0)
        return gn_csv_fail(csv, GERNE_EDATA, (ptrdiff_t)c->index, "not the number of a sample");
    if (!number_of(classes, run->classes, gn_csv_cell(csv, c->y), &c->last_y) ||
        !number_of(classes, run->classes, gn_csv_cell(csv, c->pred), &c->last_pred))
        return gn_csv_fail(csv, GERNE_EDATA, -1, "a class that results.json does not name");
    if (*a == '\0')
        c->last_a = 0;
    else if (!number_of(attributes, run->attributes, a, &c->last_a))
        return gn_csv_fail(csv, GERNE_EDATA, (ptrdiff_t)c->a,
                           "an attribute that results.json does not name");
    GN_TRY(gn_grow(run->ctx, &run->rows, &run->row_capacity, run->row_count + 1, sizeof *run->rows,
                   "predictions"));
    run->rows[run->row_count++] = (gn_row_record){
        .index = (uint64_t)index,
        .group = c->last_y * run->attributes + c->last_a,
        .pred = c->last_pred,
    };
    return GERNE_OK;
}

static gerne_status take_rows(gn_run_record *run, gn_csv *csv)
{
    columns c = {0};
    GN_TRY(gn_csv_require(csv, "index", &c.index));
    GN_TRY(gn_csv_require(csv, "y", &c.y));
    GN_TRY(gn_csv_require(csv, "a", &c.a));
    GN_TRY(gn_csv_require(csv, "pred", &c.pred));
    for (;;) {
        bool more;
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        GN_TRY(take_row(run, csv, &c));
    }
}

gerne_status gn_read_predictions(gn_run_record *run)
{
    const char *path;
    gn_csv *csv;
    GN_TRY(gn_record_path(run, "predictions.csv", &path));
    if (!run->results)
        return GERNE_OK; /* left by an earlier end, perhaps */
    if (!gn_path_exists(path))
        return gn_run_note(run, "predictions.csv is missing: there is no confusion and no paired "
                                "comparison.");
    GN_TRY(gn_csv_open(run->ctx, path, NULL, &csv));
    gerne_status status = take_rows(run, csv);
    gn_csv_close(csv);
    if (status != GERNE_EDATA)
        return status;
    run->row_count = 0;
    return gn_run_note(run, "predictions.csv is damaged and left out: %s.",
                       gerne_message(run->ctx));
}

/* ---- errors/<index>_<y>_<a>_<pred>.png ---- */

static bool parse_name(const gn_run_record *run, const char *name, gn_picture_record *out)
{
    unsigned long long numbers[4];
    char *at = (char *)(uintptr_t)name;
    for (int i = 0; i < 4; i++) {
        const char *begin = at;
        numbers[i] = strtoull(begin, &at, 10);
        if (at == begin || *begin == '-' || *at != (i < 3 ? '_' : '.'))
            return false;
        at += i < 3;
    }
    if (strcmp(at, ".png") != 0 || numbers[1] >= run->classes || numbers[2] >= run->attributes ||
        numbers[3] >= run->classes)
        return false;
    out->index = numbers[0];
    out->y = (uint32_t)numbers[1];
    out->a = (uint32_t)numbers[2];
    out->pred = (uint32_t)numbers[3];
    return true;
}

static int by_index(const void *left, const void *right)
{
    const gn_picture_record *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* A picture that cannot be read is left out: it only illustrates. */
static bool load_picture(gn_run_record *run, const char *folder, const char *name,
                         gn_picture_record *out)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    const char *path;
    return gn_path_join(run->ctx, run->arena, folder, name, &path) == GERNE_OK &&
           gn_file_read(run->ctx, path, PICTURE_BYTES, &out->png) == GERNE_OK &&
           out->png.size > sizeof signature &&
           memcmp(out->png.bytes, signature, sizeof signature - 1) == 0;
}

gerne_status gn_read_pictures(gn_run_record *run)
{
    const char *path;
    GN_TRY(gn_record_path(run, "errors", &path));
    DIR *folder = run->results ? opendir(path) : NULL;
    if (!folder)
        return GERNE_OK;
    for (struct dirent *entry; (entry = readdir(folder));) {
        gn_picture_record picture = {0};
        if (run->picture_count == GN_PICTURES_SHOWN || !parse_name(run, entry->d_name, &picture))
            continue;
        if (load_picture(run, path, entry->d_name, &picture))
            run->pictures[run->picture_count++] = picture;
        else
            gn_text_free(&picture.png);
    }
    closedir(folder);
    qsort(run->pictures, run->picture_count, sizeof run->pictures[0], by_index);
    return GERNE_OK;
}
