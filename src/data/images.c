/* images.c - the format "images": files, a layout that labels them, a transform. */
#include "data/images.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const size_t file_limit = (size_t)1 << 30;

typedef struct image_source {
    gn_source source;
    gn_files files;
    gn_transform transform;
    size_t height, width; /* of the samples */
} image_source;

gerne_status gn_files_add(gerne_ctx *ctx, gn_files *files, const char *name, size_t line)
{
    size_t need = files->n + 1;
    GN_TRY(gn_grow(ctx, &files->names, &files->capacity_names, need, sizeof *files->names,
                   "file names"));
    GN_TRY(gn_grow(ctx, &files->lines, &files->capacity_lines, need, sizeof *files->lines,
                   "file names"));
    GN_TRY(gn_arena_copy_text(ctx, files->arena, name, &files->names[files->n]));
    files->lines[files->n++] = (uint32_t)line;
    return GERNE_OK;
}

static void free_files(gn_files *files)
{
    gn_free(files->names);
    gn_free(files->lines);
}

/* ---- reading samples ---- */

static const char *path_of(const gn_source *source, size_t row, char *buffer, size_t size)
{
    const gn_files *files = &((const image_source *)source)->files;
    if (files->names[row][0] == '/')
        snprintf(buffer, size, "%s", files->names[row]);
    else
        snprintf(buffer, size, "%s/%s", files->directory, files->names[row]);
    return buffer;
}

/* Adds "metadata.csv, line 7: " to a failure when the file was listed there. */
static gerne_status place(gerne_ctx *ctx, const image_source *self, size_t row, gerne_status status)
{
    if (status != GERNE_OK && self->files.lines[row])
        gn_fail_in(ctx, status, "%s, line %u", self->files.listing, self->files.lines[row]);
    return status;
}

/* The whole file in scratch. */
static gerne_status read_file(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch,
                              size_t row, char path[4096], gn_text *bytes)
{
    path_of(source, row, path, 4096);
    *bytes = (gn_text){.bytes = scratch->buffers[GN_SCRATCH_FILE],
                       .capacity = scratch->sizes[GN_SCRATCH_FILE]};
    gerne_status status = gn_file_read(ctx, path, file_limit, bytes);
    scratch->buffers[GN_SCRATCH_FILE] = bytes->bytes; /* it may have grown */
    scratch->sizes[GN_SCRATCH_FILE] = bytes->capacity;
    return status;
}

static gerne_status decode_row(gerne_ctx *ctx, const image_source *self, gn_scratch *scratch,
                               size_t row, uint8_t *pixels, unsigned char *digest)
{
    char path[4096];
    gn_text bytes;
    gn_image image;
    GN_TRY(read_file(ctx, &self->source, scratch, row, path, &bytes));
    if (digest)
        gn_sha256_of(bytes.bytes, bytes.size, digest);
    GN_TRY(gn_image_decode(ctx, scratch, path, bytes.bytes, bytes.size, &image));
    size_t height, width;
    gn_transform_size(&self->transform, image.height, image.width, &height, &width);
    if (height != self->height || width != self->width) {
        gn_fail(ctx, GERNE_EDATA, "'%s' has %zux%zu pixels, the first image has %zux%zu", path,
                image.height, image.width, self->height, self->width);
        gn_hint(ctx, "give all images one size: --data.resize N, or --data.preset");
        return GERNE_EDATA;
    }
    return gn_transform_apply(ctx, scratch, &self->transform, path, &image, pixels);
}

static gerne_status load(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch, size_t row,
                         uint8_t *pixels, unsigned char *digest)
{
    const image_source *self = (const image_source *)source;
    return place(ctx, self, row, decode_row(ctx, self, scratch, row, pixels, digest));
}

static gerne_status digest_row(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch,
                               size_t row, unsigned char *digest)
{
    char path[4096];
    gn_text bytes;
    gerne_status status = read_file(ctx, source, scratch, row, path, &bytes);
    if (status == GERNE_OK)
        gn_sha256_of(bytes.bytes, bytes.size, digest);
    return place(ctx, (const image_source *)source, row, status);
}

static gerne_status inspect(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch,
                            size_t row, size_t *height, size_t *width)
{
    char path[4096];
    gn_text bytes;
    gerne_status status = read_file(ctx, source, scratch, row, path, &bytes);
    if (status == GERNE_OK)
        status = gn_image_size(ctx, path, bytes.bytes, bytes.size, height, width);
    return place(ctx, (const image_source *)source, row, status);
}

static void close_images(gn_source *source)
{
    free_files(&((image_source *)source)->files);
    gn_free(source);
}

/* ---- files that are listed twice ---- */

/* Marks the second listing of a file; fails unless bad samples are to be skipped. */
static gerne_status check_twice(gerne_ctx *ctx, const gn_files *files, bool skip, uint8_t *keep,
                                size_t *dropped)
{
    size_t slots = 16;
    while (slots < 2 * files->n)
        slots *= 2;
    GN_FREED uint32_t *table = NULL;
    GN_TRY(gn_alloc(ctx, slots, sizeof *table, "file names", &table));
    for (size_t i = 0; i < files->n; i++) {
        size_t slot = (size_t)gn_text_hash(files->names[i]) & (slots - 1);
        while (table[slot] && strcmp(files->names[table[slot] - 1], files->names[i]) != 0)
            slot = (slot + 1) & (slots - 1);
        keep[i] = !table[slot];
        if (!table[slot]) {
            table[slot] = (uint32_t)i + 1;
            continue;
        }
        ++*dropped;
        gerne_status twice = gn_fail(
            ctx, GERNE_EDATA, "%s, line %u: lists '%s' again; it is already on line %u",
            files->listing, files->lines[i], files->names[i], files->lines[table[slot] - 1]);
        if (!skip)
            return twice;
        gn_log(ctx, GERNE_LOG_WARNING, "%s", gerne_message(ctx));
    }
    return GERNE_OK;
}

static gerne_status drop_twice(gerne_ctx *ctx, gn_dataset *dataset, const gn_files *files)
{
    GN_FREED uint8_t *keep = NULL;
    size_t dropped = 0;
    if (!files->listing)
        return GERNE_OK; /* a folder does not list a file twice */
    GN_TRY(gn_alloc(ctx, files->n, 1, "file names", &keep));
    GN_TRY(check_twice(ctx, files, dataset->skip_bad, keep, &dropped));
    for (size_t i = 0; i < dataset->n; i++)
        keep[i] = keep[gn_dataset_row(dataset, i)]; /* rows without labels are gone already */
    if (dropped)
        GN_TRY(gn_dataset_keep(ctx, dataset, keep));
    dataset->skipped += dropped;
    return GERNE_OK;
}

/* ---- opening ---- */

/* A preset fills what was not said. */
static gn_data_options with_preset(const gn_data_options *given)
{
    static const int64_t s178[] = {178}, s224[] = {224}, s256[] = {256};
    gn_data_options options = *given;
    bool sized = given->resize.count || given->crop.count;
    switch (given->preset) {
    case GN_PRESET_WATERBIRDS:
        if (!sized) {
            options.resize = (gn_ints){s256, 1};
            options.crop = (gn_ints){s224, 1};
        }
        break;
    case GN_PRESET_CELEBA:
        if (!sized) {
            options.crop = (gn_ints){s178, 1};
            options.resize = (gn_ints){s224, 1};
            options.crop_first = true;
        }
        break;
    case GN_PRESET_BFFHQ:
        if (!sized)
            options.resize = (gn_ints){s224, 1};
        break;
    default:
        break;
    }
    return options;
}

static gerne_status take_size(gerne_ctx *ctx, const char *key, gn_ints list, size_t *height,
                              size_t *width)
{
    if (list.count > 2)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "%s has %zu numbers, not one (a square) or two "
                       "(height,width)",
                       key, list.count);
    if (list.count) {
        *height = (size_t)list.items[0];
        *width = (size_t)list.items[list.count - 1];
    }
    return GERNE_OK;
}

static gerne_status find_directory(gerne_ctx *ctx, const gn_data_options *options,
                                   gn_collection *collection)
{
    if (options->dir) {
        collection->directory = options->dir;
    } else if (options->file) {
        const char *slash = strrchr(options->file, '/');
        char *directory;
        size_t length = slash ? (size_t)(slash - options->file) : 1;
        GN_TRY(gn_arena_alloc(ctx, collection->files.arena, length + 2, 1, &directory));
        memcpy(directory, slash ? options->file : ".", length ? length : 1);
        if (slash == options->file)
            directory[0] = '/';
        collection->directory = directory;
    } else {
        gn_fail(ctx, GERNE_EUSAGE, "neither data.dir nor data.file is given");
        gn_hint(ctx, "--data.format images needs --data.dir FOLDER");
        return GERNE_EUSAGE;
    }
    if (!gn_is_directory(collection->directory))
        return gn_fail(ctx, GERNE_EIO, "'%s' is not a directory", collection->directory);
    collection->files.directory = collection->directory;
    return GERNE_OK;
}

static gerne_status read_layout(gerne_ctx *ctx, gn_collection *collection)
{
    gn_image_layout layout = (gn_image_layout)collection->options->layout;
    if (layout == GN_LAYOUT_AUTO)
        GN_TRY(gn_guess_layout(ctx, collection, &layout));
    switch (layout) {
    case GN_LAYOUT_FOLDERS:
        return gn_read_folders(ctx, collection);
    case GN_LAYOUT_DFA:
        return gn_read_dfa(ctx, collection);
    case GN_LAYOUT_CELEBA:
        return gn_read_celeba(ctx, collection);
    case GN_LAYOUT_PLAIN:
        return gn_read_plain(ctx, collection);
    default:
        break;
    }
    const char *path;
    GN_TRY(gn_metadata_path(ctx, collection->files.arena, collection->options, &path));
    return gn_read_metadata(ctx, collection, path);
}

/* The size of samples: by the transform, or by the first image that can be read. */
static gerne_status find_size(gerne_ctx *ctx, const gn_dataset *dataset, image_source *self)
{
    gn_scratch scratch = {0};
    size_t height = 0, width = 0;
    gerne_status status = GERNE_EDATA;
    for (size_t i = 0; i < dataset->n && status != GERNE_OK; i++) {
        size_t row = gn_dataset_row(dataset, i);
        status = inspect(ctx, &self->source, &scratch, row, &height, &width);
        if (!dataset->skip_bad)
            break;
    }
    gn_scratch_free(&scratch);
    if (status == GERNE_OK)
        gn_transform_size(&self->transform, height, width, &self->height, &self->width);
    bool transforms = self->transform.resize_height || self->transform.crop_height;
    if (status == GERNE_OK && transforms && height == self->height && width == self->width)
        gn_log(
            ctx, GERNE_LOG_INFO,
            "images already have %zux%zu pixels: they are only normalised, not transformed again",
            height, width);
    return status;
}

static gerne_status set_up(gerne_ctx *ctx, gn_collection *collection, gn_dataset *dataset,
                           image_source *self)
{
    const gn_data_options *options = collection->options;
    gn_transform *t = &self->transform;
    GN_TRY(take_size(ctx, "data.resize", options->resize, &t->resize_height, &t->resize_width));
    GN_TRY(take_size(ctx, "data.crop", options->crop, &t->crop_height, &t->crop_width));
    t->crop_first = options->crop_first;
    GN_TRY(find_directory(ctx, options, collection));
    GN_TRY(read_layout(ctx, collection));
    gerne_status status = gn_rows_finish(ctx, &collection->rows, dataset);
    if (status != GERNE_OK)
        return gn_fail_in(ctx, status, "'%s'", collection->directory);
    self->files = collection->files;
    collection->files = (gn_files){0};
    GN_TRY(drop_twice(ctx, dataset, &self->files));
    GN_TRY(find_size(ctx, dataset, self));
    dataset->field = GN_PIXELS;
    dataset->height = self->height;
    dataset->width = self->width;
    dataset->dimension = self->height * self->width * GN_CHANNELS;
    gn_dataset_normalize(dataset, options->normalize, GN_NORMALIZE_IMAGENET);
    gn_dataset_settings(dataset, "images resize %zux%zu crop %zux%zu first %d", t->resize_height,
                        t->resize_width, t->crop_height, t->crop_width, t->crop_first);
    return GERNE_OK;
}

gerne_status gn_open_images(gerne_ctx *ctx, const gn_data_options *given, gn_dataset *dataset)
{
    gn_data_options options = with_preset(given);
    gn_collection collection = {.options = &options};
    collection.files.arena = dataset->arena;
    image_source *self;
    GN_TRY(gn_alloc(ctx, 1, sizeof *self, "a dataset", &self));
    self->source = (gn_source){.load = load,
                               .digest = digest_row,
                               .file = path_of,
                               .inspect = inspect,
                               .close = close_images};
    dataset->source = &self->source;
    gerne_status status = set_up(ctx, &collection, dataset, self);
    if (collection.has_rows)
        gn_rows_close(&collection.rows);
    free_files(&collection.files);
    return status;
}
