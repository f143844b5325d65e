/* layout_folders.c - images whose labels are in their paths, or nowhere. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "data/images.h"

enum { DEPTH_MAX = 16, PATH_BYTES = 4096 };

/* ---- listing ---- */

static bool has_image_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static gerne_status list_below(gerne_ctx *ctx, const char *top, const char *relative, int depth,
                               gn_listing *out);

static gerne_status list_entry(gerne_ctx *ctx, const char *top, const char *relative,
                               const char *name, int depth, gn_listing *out)
{
    char inner[PATH_BYTES], full[2 * PATH_BYTES];
    int length = snprintf(inner, sizeof inner, "%s%s%s", relative, relative[0] ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof inner)
        return gn_fail(ctx, GERNE_EDATA, "a path below '%s' has more than %d bytes", top,
                       PATH_BYTES);
    snprintf(full, sizeof full, "%s/%s", top, inner);
    struct stat info;
    /* A link that leads nowhere is listed: reading it fails, or skip_bad skips it. */
    if (stat(full, &info) == 0 && S_ISDIR(info.st_mode))
        return list_below(ctx, top, inner, depth + 1, out);
    if (!has_image_name(name))
        return GERNE_OK;
    GN_TRY(gn_grow(ctx, &out->paths, &out->capacity, out->count + 1, sizeof *out->paths,
                   "file names"));
    return gn_arena_copy_text(ctx, out->arena, inner, &out->paths[out->count++]);
}

static gerne_status list_below(gerne_ctx *ctx, const char *top, const char *relative, int depth,
                               gn_listing *out)
{
    char path[2 * PATH_BYTES];
    if (depth > DEPTH_MAX)
        return gn_fail(ctx, GERNE_EDATA, "'%s/%s' is more than %d folders deep", top, relative,
                       DEPTH_MAX);
    snprintf(path, sizeof path, "%s%s%s", top, relative[0] ? "/" : "", relative);
    DIR *directory = opendir(path);
    if (!directory)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open the folder '%s'", path);
    gerne_status status = GERNE_OK;
    struct dirent *entry;
    while (status == GERNE_OK && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            status = list_entry(ctx, top, relative, entry->d_name, depth, out);
    closedir(directory);
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

gerne_status gn_list_images(gerne_ctx *ctx, const char *directory, gn_listing *out)
{
    *out = (gn_listing){0};
    GN_TRY(gn_arena_new(ctx, &out->arena));
    gerne_status status = list_below(ctx, directory, "", 0, out);
    if (status != GERNE_OK) {
        gn_listing_free(out);
        return status;
    }
    if (out->count) /* the order of a directory is the file system's affair */
        qsort(out->paths, out->count, sizeof *out->paths, compare_paths);
    return GERNE_OK;
}

void gn_listing_free(gn_listing *listing)
{
    gn_free(listing->paths);
    gn_arena_close(listing->arena);
    *listing = (gn_listing){0};
}

/* ---- paths ---- */

/* The folders of a path; the file name is not among them. */
typedef struct path_parts {
    char text[2 * PATH_BYTES];
    const char *folders[DEPTH_MAX + 2];
    size_t count;
} path_parts;

static void split_path(const char *path, path_parts *parts)
{
    parts->count = 0;
    snprintf(parts->text, sizeof parts->text, "%s", path);
    char *start = parts->text;
    for (char *slash; (slash = strchr(start, '/')) && parts->count <= DEPTH_MAX;
         start = slash + 1) {
        *slash = '\0';
        parts->folders[parts->count++] = start;
    }
}

/* A column that was named would be ignored: the user means another folder, or forgot a CSV. */
static gerne_status refuse_columns(gerne_ctx *ctx, const gn_collection *collection)
{
    const gn_data_options *o = collection->options;
    const char *const columns[] = {o->y, o->a, o->split, o->filename_column};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && !o->columns_of_run; i++)
        if (columns[i] && !gn_is_none(columns[i])) {
            gn_fail(ctx, GERNE_EUSAGE,
                    "'%s' has no column '%s': labels are read from the paths of its images",
                    collection->directory, columns[i]);
            gn_hint(ctx, "folder layouts have no columns; those of a CSV beside the images need "
                         "metadata.csv or --data.file");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

/* has_y and has_a say what the paths tell; data.y and data.a may be none all the same. */
static gerne_status open_rows(gerne_ctx *ctx, gn_collection *collection, bool has_y, bool has_a)
{
    const gn_data_options *options = collection->options;
    GN_TRY(refuse_columns(ctx, collection));
    GN_TRY(gn_rows_open(ctx, options, has_y && !gn_is_none(options->y),
                        has_a && !gn_is_none(options->a), &collection->rows));
    collection->has_rows = true;
    collection->rows.y_name = collection->rows.a_name = NULL;
    return GERNE_OK;
}

static gerne_status add(gerne_ctx *ctx, gn_collection *collection, const char *path, const char *y,
                        const char *a, gn_split split)
{
    gerne_status status = gn_rows_add(ctx, &collection->rows, y, a, split);
    if (status != GERNE_OK)
        return gn_fail_in(ctx, status, "'%s/%s'", collection->directory, path);
    return gn_files_add(ctx, &collection->files, path, 0);
}

static gerne_status no_images(gerne_ctx *ctx, const gn_collection *collection)
{
    gn_fail(ctx, GERNE_EDATA, "there are no images (.png, .jpg, .jpeg) in '%s'",
            collection->directory);
    gn_hint(ctx, "'gerne help data' describes the layouts");
    return GERNE_EDATA;
}

/* ---- split/class/attribute ---- */

/* Levels above the class: 1 when every image is below a folder named after a split, else 0. */
static size_t split_levels(const gn_listing *listing)
{
    path_parts parts;
    gn_split split;
    for (size_t i = 0; i < listing->count; i++) {
        split_path(listing->paths[i], &parts);
        if (parts.count < 2 || !gn_parse_split(parts.folders[0], &split))
            return 0;
    }
    return 1;
}

static gerne_status add_folders(gerne_ctx *ctx, gn_collection *collection,
                                const gn_listing *listing)
{
    path_parts parts;
    size_t levels = split_levels(listing);
    bool classes_only = gn_is_none(collection->options->a); /* what is below does not matter */
    split_path(listing->paths[0], &parts);
    size_t depth = parts.count;
    if (depth < levels + 1 || (depth > levels + 2 && !classes_only)) {
        gn_fail(ctx, GERNE_EDATA,
                "'%s/%s' is %zu folders deep, not split/class/attribute/image or "
                "class/attribute/image",
                collection->directory, listing->paths[0], depth);
        gn_hint(ctx, "list the images of other layouts in a CSV: --data.file metadata.csv");
        return GERNE_EDATA;
    }
    bool has_a = depth == levels + 2 && !classes_only;
    GN_TRY(open_rows(ctx, collection, true, has_a));
    if (levels == 0)
        gn_log(ctx, GERNE_LOG_INFO,
               "'%s' has no folders train, val and test: all samples are for "
               "training",
               collection->directory);
    for (size_t i = 0; i < listing->count; i++) {
        split_path(listing->paths[i], &parts);
        if (classes_only ? parts.count < levels + 1 : parts.count != depth) {
            gn_fail(ctx, GERNE_EDATA, "'%s/%s' is %zu folders deep, '%s' is %zu",
                    collection->directory, listing->paths[i], parts.count, listing->paths[0],
                    depth);
            gn_hint(ctx, "--data.a none ignores the folders below those of the classes");
            return GERNE_EDATA;
        }
        gn_split split = GN_TRAIN;
        if (levels)
            (void)gn_parse_split(parts.folders[0], &split);
        GN_TRY(add(ctx, collection, listing->paths[i], parts.folders[levels],
                   has_a ? parts.folders[levels + 1] : NULL, split));
    }
    return GERNE_OK;
}

gerne_status gn_read_folders(gerne_ctx *ctx, gn_collection *collection)
{
    GN_LOCAL(gn_listing) listing = {0};
    GN_TRY(gn_list_images(ctx, collection->directory, &listing));
    return listing.count ? add_folders(ctx, collection, &listing) : no_images(ctx, collection);
}

/* ---- DFA's names ---- */

bool gn_parse_dfa_name(const char *path, char y[16], char a[16])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.'), *ends[2] = {dot, NULL};
    for (int i = 0; i < 2; i++) {
        const char *at = ends[i];
        while (at && at > name && at[-1] >= '0' && at[-1] <= '9')
            at--;
        if (!at || at == ends[i] || at == name || at[-1] != '_' || ends[i] - at > 15)
            return false;
        char *out = i ? y : a;
        memcpy(out, at, (size_t)(ends[i] - at));
        out[ends[i] - at] = '\0';
        if (i == 0)
            ends[1] = at - 1;
    }
    return true;
}

/* align and conflict are train; the first folder that says something counts. */
static bool dfa_split(const char *path, gn_split *split)
{
    path_parts parts;
    split_path(path, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        if (strcmp(parts.folders[i], "align") == 0 || strcmp(parts.folders[i], "conflict") == 0) {
            *split = GN_TRAIN;
            return true;
        }
        bool digit = parts.folders[i][0] >= '0' && parts.folders[i][0] <= '9';
        if (!digit && gn_parse_split(parts.folders[i], split))
            return true;
    }
    return false;
}

static gerne_status add_dfa(gerne_ctx *ctx, gn_collection *collection, const gn_listing *listing,
                            const char *before, bool *has_test)
{
    for (size_t i = 0; i < listing->count; i++) {
        char y[16], a[16], path[2 * PATH_BYTES];
        gn_split split = GN_TEST;
        snprintf(path, sizeof path, "%s%s", before, listing->paths[i]);
        if (!gn_parse_dfa_name(path, y, a))
            return gn_fail(ctx, GERNE_EDATA, "'%s/%s' does not end in _<class>_<attribute>.png",
                           collection->directory, path);
        if (!before[0] && !dfa_split(path, &split)) {
            gn_fail(ctx, GERNE_EDATA, "'%s/%s' is in none of align, conflict, valid, test",
                    collection->directory, path);
            gn_hint(ctx, "data.dir is one setting's folder, such as cmnist/0.5pct");
            return GERNE_EDATA;
        }
        *has_test = *has_test || split == GN_TEST;
        GN_TRY(add(ctx, collection, path, y, a, split));
    }
    return GERNE_OK;
}

gerne_status gn_read_dfa(gerne_ctx *ctx, gn_collection *collection)
{
    GN_LOCAL(gn_listing) listing = {0}, shared = {0};
    bool has_test = false;
    GN_TRY(gn_list_images(ctx, collection->directory, &listing));
    GN_TRY(listing.count ? open_rows(ctx, collection, true, true) : no_images(ctx, collection));
    GN_TRY(add_dfa(ctx, collection, &listing, "", &has_test));
    const char *beside;
    GN_TRY(gn_path_join(ctx, collection->files.arena, collection->directory, "../test", &beside));
    if (has_test || !gn_is_directory(beside))
        return GERNE_OK;
    GN_TRY(gn_list_images(ctx, beside, &shared)); /* one test set for all ratios */
    return add_dfa(ctx, collection, &shared, "../test/", &has_test);
}

/* ---- no labels ---- */

gerne_status gn_read_plain(gerne_ctx *ctx, gn_collection *collection)
{
    GN_LOCAL(gn_listing) listing = {0};
    GN_TRY(gn_list_images(ctx, collection->directory, &listing));
    GN_TRY(listing.count ? open_rows(ctx, collection, false, false) : no_images(ctx, collection));
    for (size_t i = 0; i < listing.count; i++)
        GN_TRY(add(ctx, collection, listing.paths[i], NULL, NULL, GN_TEST));
    return GERNE_OK;
}

/* ---- guessing ---- */

static bool holds(const char *directory, const char *name)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return gn_path_exists(path);
}

gerne_status gn_guess_layout(gerne_ctx *ctx, gn_collection *collection, gn_image_layout *out)
{
    const char *directory = collection->directory;
    *out = GN_LAYOUT_METADATA;
    if (collection->options->file || holds(directory, "metadata.csv"))
        return GERNE_OK;
    *out = GN_LAYOUT_CELEBA;
    if (holds(directory, "list_attr_celeba.txt") || holds(directory, "list_attr_celeba.csv"))
        return GERNE_OK;
    GN_LOCAL(gn_listing) listing = {0};
    GN_TRY(gn_list_images(ctx, directory, &listing));
    char y[16], a[16];
    gn_split split;
    bool dfa = listing.count > 0, flat = true;
    for (size_t i = 0; i < listing.count; i++) {
        flat = flat && !strchr(listing.paths[i], '/');
        dfa =
            dfa && gn_parse_dfa_name(listing.paths[i], y, a) && dfa_split(listing.paths[i], &split);
    }
    *out = dfa ? GN_LAYOUT_DFA : flat ? GN_LAYOUT_PLAIN : GN_LAYOUT_FOLDERS;
    return listing.count ? GERNE_OK : no_images(ctx, collection);
}
