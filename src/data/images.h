/* images.h - a collection of image files: their names, and the labels that a layout gives them. */
#ifndef GN_DATA_IMAGES_H
#define GN_DATA_IMAGES_H

#include "data/image.h"

/* The names of the files of a collection, relative to its directory, and where each was listed. */
typedef struct gn_files {
    gn_arena *arena;
    const char **names;
    uint32_t *lines; /* in the metadata; 0 when there is none */
    size_t n, capacity_names, capacity_lines;
    const char *directory; /* before the names */
    const char *listing;   /* the metadata file, or NULL */
} gn_files;

GERNE_CHECKED gerne_status gn_files_add(gerne_ctx *ctx, gn_files *files, const char *name,
                                        size_t line);

/* A reader of one layout fills files and rows alike. */
typedef struct gn_collection {
    const gn_data_options *options; /* the preset is already applied */
    const char *directory;
    gn_files files;
    gn_rows rows;
    bool has_rows; /* gn_rows_open was called */
} gn_collection;

GERNE_CHECKED gerne_status gn_read_metadata(gerne_ctx *ctx, gn_collection *collection,
                                            const char *path);
/* Where the metadata of the images is; dir or file has to be given. */
GERNE_CHECKED gerne_status gn_metadata_path(gerne_ctx *ctx, gn_arena *arena,
                                            const gn_data_options *options, const char **out);

/* The metadata of images when the attribute is neither named nor called by one of its usual names:
 * a CSV whose columns can be ranked. *out is NULL for any other data, and for data whose splits are
 * not those of the file. */
GERNE_CHECKED gerne_status gn_metadata_to_rank(gerne_ctx *ctx, gn_arena *arena,
                                               const gn_data_options *options, const char **out);
GERNE_CHECKED gerne_status gn_read_celeba(gerne_ctx *ctx, gn_collection *collection);
GERNE_CHECKED gerne_status gn_read_folders(gerne_ctx *ctx, gn_collection *collection);
GERNE_CHECKED gerne_status gn_read_dfa(gerne_ctx *ctx, gn_collection *collection);
GERNE_CHECKED gerne_status gn_read_plain(gerne_ctx *ctx, gn_collection *collection);

/* Which layout the directory has, when nothing was said. */
GERNE_CHECKED gerne_status gn_guess_layout(gerne_ctx *ctx, gn_collection *collection,
                                           gn_image_layout *out);

/* All image files below a directory, sorted by path, relative to it. */
typedef struct gn_listing {
    gn_arena *arena;
    const char **paths;
    size_t count, capacity;
} gn_listing;

GERNE_CHECKED gerne_status gn_list_images(gerne_ctx *ctx, const char *directory, gn_listing *out);
void gn_listing_free(gn_listing *listing);
GN_LOCAL_STRUCT(gn_listing, gn_listing_free)

/* The class and attribute fields of a name such as 123_4_7.png; false when it has none. */
bool gn_parse_dfa_name(const char *path, char y[16], char a[16]);

#endif
