/* file.h - files: whole reads with a limit, read-only maps, and writes that are never half done. */
#ifndef GN_BASE_FILE_H
#define GN_BASE_FILE_H

#include "base/text.h"

/* Reads a whole regular file of at most limit bytes. */
GERNE_CHECKED gerne_status gn_file_read(gerne_ctx *ctx, const char *path, size_t limit,
                                        gn_text *out);

/* A file mapped read-only; bytes is NULL for an empty file. */
typedef struct gn_map {
    const unsigned char *bytes;
    size_t size;
} gn_map;

GERNE_CHECKED gerne_status gn_map_open(gerne_ctx *ctx, const char *path, gn_map *out);
void gn_map_close(gn_map *map);

/* Writing: bytes go to a temporary name beside path; gn_write_commit makes them durable and
 * renames, gn_write_abort forgets them (and does nothing after a commit). Large buffers go straight
 * through. */
typedef struct gn_writer gn_writer;

GERNE_CHECKED gerne_status gn_write_open(gerne_ctx *ctx, const char *path, gn_writer **out);
GERNE_CHECKED gerne_status gn_write(gn_writer *writer, const void *bytes, size_t size);
GERNE_CHECKED gerne_status
gn_write_commit(gn_writer **writer); /* sets *writer to NULL on success */
/* The same without waiting for the disk: for many files that can be made again. */
GERNE_CHECKED gerne_status gn_write_commit_quick(gn_writer **writer);
void gn_write_abort(gn_writer *writer); /* takes NULL */

/* All of the above in one call. */
GERNE_CHECKED gerne_status gn_file_write(gerne_ctx *ctx, const char *path, const void *bytes,
                                         size_t size);

/* Makes a directory and its parents; an existing one is fine. */
GERNE_CHECKED gerne_status gn_make_directory(gerne_ctx *ctx, const char *path);

bool gn_path_exists(const char *path);
bool gn_is_directory(const char *path);

/* directory/name, in the arena. */
GERNE_CHECKED gerne_status gn_path_join(gerne_ctx *ctx, gn_arena *arena, const char *directory,
                                        const char *name, const char **out);

#endif
