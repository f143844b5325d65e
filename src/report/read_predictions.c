/* read_predictions.c - predictions.csv and the pictures or texts in errors/. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "debias/groups.h"
#include "report/record.h"

enum { PICTURE_BYTES = 1 << 18 };

/* ---- predictions.csv ---- */

/* Without attributes the cells of column a are empty. */
static bool has_attributes(const gn_run_record *run)
{
    return run->attributes > 1 || strcmp(run->attribute_names[0], GN_ALL_SAMPLES) != 0;
}

gerne_status gn_read_predictions(gn_run_record *run)
{
    const char *path;
    GN_TRY(gn_record_path(run, "predictions.csv", &path));
    if (!run->results)
        return GERNE_OK; /* left by an earlier end, perhaps */
    if (!gn_path_exists(path))
        return gn_run_note(run,
                           "predictions.csv is missing: there is no confusion table and no paired "
                           "comparison.");
    const gn_prediction_columns columns = {
        .y = "y",
        .a = has_attributes(run) ? "a" : NULL,
        .pred = "pred",
        .classes = run->class_names,
        .class_count = run->classes,
        .attributes = run->attribute_names,
        .attribute_count = run->attributes,
        .in_order = true,
        .decisions_only = true,
    };
    gerne_status status = gn_predictions_read(run->ctx, path, &columns, &run->predictions);
    if (status == GERNE_OK)
        return GERNE_OK;
    gn_prediction_file_free(&run->predictions);
    if (status != GERNE_EDATA)
        return status;
    return gn_run_note(run, "predictions.csv is damaged and ignored: %s.", gerne_message(run->ctx));
}

/* ---- errors/<index>_<y>_<a>_<pred>.png or .txt ---- */

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
    out->is_text = strcmp(at, ".txt") == 0;
    if ((!out->is_text && strcmp(at, ".png") != 0) || numbers[1] >= run->classes ||
        numbers[2] >= run->attributes || numbers[3] >= run->classes)
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

/* A picture that cannot be read is skipped: it only illustrates. */
static bool load_picture(gn_run_record *run, const char *folder, const char *name,
                         gn_picture_record *out)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    const char *path;
    return gn_path_join(run->ctx, run->arena, folder, name, &path) == GERNE_OK &&
           gn_file_read(run->ctx, path, PICTURE_BYTES, &out->bytes) == GERNE_OK &&
           (out->is_text || (out->bytes.size > sizeof signature &&
                             memcmp(out->bytes.bytes, signature, sizeof signature - 1) == 0));
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
            gn_text_free(&picture.bytes);
    }
    closedir(folder);
    qsort(run->pictures, run->picture_count, sizeof run->pictures[0], by_index);
    return GERNE_OK;
}
