#include "data/export.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "data/image.h"

/* Files are made in this folder inside the one that was asked for: half a dataset must not look
 * like one. Listings skip names that start with a dot. */
#define PARTIAL ".partial"

enum {
    NAME_BYTES = 64,
    PATH_BYTES = 4096,
    PER_FOLDER = 1000,
    LEVELS = 3 /* split, thousand, images */
};

static void name_of(const gn_dataset *dataset, size_t i, char name[NAME_BYTES])
{
    size_t row = gn_dataset_row(dataset, i);
    snprintf(name, NAME_BYTES, "%s/%03zu/%06zu.png", gn_split_name((gn_split)dataset->split[i]),
             row / PER_FOLDER, row);
}

typedef struct export_job {
    const gn_dataset *dataset;
    const char *directory;
} export_job;

static gerne_status export_sample(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    const export_job *job = user;
    const gn_dataset *dataset = job->dataset;
    char name[NAME_BYTES], path[PATH_BYTES + NAME_BYTES];
    uint8_t *pixels;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_D, dataset->dimension, &pixels));
    GN_TRY(dataset->source->load(ctx, dataset->source, scratch, gn_dataset_row(dataset, index),
                                 pixels, NULL));
    gn_image image = {dataset->height, dataset->width, pixels};
    GN_LOCAL(gn_text) bytes = {0};
    name_of(dataset, index, name);
    snprintf(path, sizeof path, "%s/%s", job->directory, name);
    GN_TRY(gn_png_encode(ctx, &image, &bytes));
    GN_LOCAL(gn_writer) *writer = NULL;
    GN_TRY(gn_write_open(ctx, path, &writer));
    GN_TRY(gn_write(writer, bytes.bytes, bytes.size));
    return gn_write_commit_quick(&writer);
}

/* What a killed export left behind does not count. */
static gerne_status check_folder(gerne_ctx *ctx, const char *directory)
{
    if (strlen(directory) >= PATH_BYTES - NAME_BYTES)
        return gn_fail(ctx, GERNE_EUSAGE, "the path '%s' is too long", directory);
    DIR *folder = opendir(directory);
    if (!folder)
        return gn_make_directory(ctx, directory);
    size_t entries = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                   strcmp(entry->d_name, PARTIAL) != 0;
    closedir(folder);
    if (!entries)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the folder '%s' is not empty", directory);
    gn_hint(ctx, "choose another with --out");
    return GERNE_EUSAGE;
}

/* Once for each, before the threads start. */
static gerne_status make_folders(gerne_ctx *ctx, const gn_dataset *dataset, const char *directory)
{
    char last[NAME_BYTES] = "", name[NAME_BYTES], path[PATH_BYTES + NAME_BYTES];
    for (size_t i = 0; i < dataset->n; i++) {
        name_of(dataset, i, name);
        *strrchr(name, '/') = '\0';
        if (strcmp(name, last) == 0)
            continue;
        snprintf(last, sizeof last, "%s", name);
        snprintf(path, sizeof path, "%s/%s", directory, name);
        GN_TRY(gn_make_directory(ctx, path));
    }
    return GERNE_OK;
}

static gerne_status write_metadata(gerne_ctx *ctx, const gn_dataset *dataset, const char *directory)
{
    char path[PATH_BYTES + NAME_BYTES], name[NAME_BYTES];
    GN_LOCAL(gn_text) text = {0};
    GN_TRY(gn_text_add(ctx, &text, "id,filename,split,y,a,class,attribute\n"));
    for (size_t i = 0; i < dataset->n; i++) {
        name_of(dataset, i, name);
        GN_TRY(gn_text_add(ctx, &text, "%zu,%s,%d,%d,%d,%s,%s\n", gn_dataset_row(dataset, i), name,
                           dataset->split[i], dataset->y[i], dataset->a[i],
                           dataset->class_names[dataset->y[i]],
                           dataset->attribute_names[dataset->a[i]]));
    }
    snprintf(path, sizeof path, "%s/metadata.csv", directory);
    return gn_file_write(ctx, path, text.bytes, text.size);
}

/* Everything from the folder inside to directory, the metadata last. */
static gerne_status move_up(gerne_ctx *ctx, const char *partial, const char *directory)
{
    static const char *const names[] = {"train", "val", "test", "metadata.csv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char from[PATH_BYTES + NAME_BYTES], to[PATH_BYTES + NAME_BYTES];
        snprintf(from, sizeof from, "%s/%s", partial, names[i]);
        snprintf(to, sizeof to, "%s/%s", directory, names[i]);
        if (gn_path_exists(from))
            GN_TRY(gn_path_move(ctx, from, to));
    }
    return GERNE_OK;
}

static gerne_status write_all(gerne_ctx *ctx, const gn_dataset *dataset, const char *directory,
                              int threads)
{
    export_job job = {dataset, directory};
    GN_TRY(make_folders(ctx, dataset, directory));
    GN_TRY(gn_parallel(ctx, threads, dataset->n, "write images", export_sample, &job, NULL));
    return write_metadata(ctx, dataset, directory);
}

gerne_status gn_dataset_export(gerne_ctx *ctx, const gn_dataset *dataset, const char *directory,
                               int threads)
{
    if (dataset->field != GN_PIXELS || !dataset->y || !dataset->a ||
        (dataset->source->file != NULL)) {
        gn_fail(ctx, GERNE_EUSAGE, "format %s is read from files, not generated", dataset->format);
        gn_hint(ctx, "'gerne data make' writes synthetic, c-mnist and c-cifar10");
        return GERNE_EUSAGE;
    }
    bool found = gn_path_exists(directory);
    char partial[PATH_BYTES];
    GN_TRY(check_folder(ctx, directory));
    snprintf(partial, sizeof partial, "%s/%s", directory, PARTIAL);
    gn_folder_remove(partial, LEVELS);
    gerne_status status = write_all(ctx, dataset, partial, threads);
    if (status == GERNE_OK)
        status = move_up(ctx, partial, directory);
    gn_folder_remove(partial, LEVELS);
    if (status != GERNE_OK && !found)
        gn_folder_remove_empty(directory);
    return status;
}
