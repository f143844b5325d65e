/* file.h - files: whole reads with a limit, and writes that are never half done. */
#ifndef GN_BASE_FILE_H
#define GN_BASE_FILE_H

#include "base/map.h"
#include "base/text.h"

/* Opens a regular file for reading; the caller closes it. A FIFO in its place cannot hang us. */
GERNE_CHECKED gerne_status gn_file_open(gerne_ctx *ctx, const char *path, int *fd, size_t *size);

/* Reads a whole regular file of at most limit bytes. */
GERNE_CHECKED gerne_status gn_file_read(gerne_ctx *ctx, const char *path, size_t limit,
                                        gn_text *out);

/* Writing: bytes go to a temporary name beside path; gn_write_commit makes them durable and
 * renames, gn_write_abort forgets them (and does nothing after a commit). Large buffers go straight
 * through. Only a regular file is replaced: a link, a device or a FIFO of that name is GERNE_EIO.
 * gn_write_commit removes what killed writers of the same file left. */
typedef struct gn_writer gn_writer;

GERNE_CHECKED gerne_status gn_write_open(gerne_ctx *ctx, const char *path, gn_writer **out);
/* The same with the directory of path held open (base/folder.h), which stays the caller's. */
GERNE_CHECKED gerne_status gn_write_open_in(gerne_ctx *ctx, int folder, const char *path,
                                            gn_writer **out);
GERNE_CHECKED gerne_status gn_write(gn_writer *writer, const void *bytes, size_t size);
GERNE_CHECKED gerne_status
gn_write_commit(gn_writer **writer); /* sets *writer to NULL on success */
/* The same without waiting for the disk: for many files that can be regenerated. */
GERNE_CHECKED gerne_status gn_write_commit_quick(gn_writer **writer);
void gn_write_abort(gn_writer *writer); /* takes NULL */
GN_LOCAL_HANDLE(gn_writer, gn_write_abort)

/* All of the above in one call. */
GERNE_CHECKED gerne_status gn_file_write(gerne_ctx *ctx, const char *path, const void *bytes,
                                         size_t size);
/* One of several files in an open directory: its bytes are on the disk before it has its name, and
 * the names are once the caller has called gn_folder_sync for all of them. */
GERNE_CHECKED gerne_status gn_file_write_one_of(gerne_ctx *ctx, int folder, const char *path,
                                                const void *bytes, size_t size);

/* Makes a directory and its parents; an existing one is fine. */
GERNE_CHECKED gerne_status gn_make_directory(gerne_ctx *ctx, const char *path);

bool gn_path_exists(const char *path);
bool gn_is_directory(const char *path);

/* directory/name, in the arena. */
GERNE_CHECKED gerne_status gn_path_join(gerne_ctx *ctx, gn_arena *arena, const char *directory,
                                        const char *name, const char **out);

#endif
