/* folder.h - directories held open while something is done in them, so that nothing that is put in
 * their way leads elsewhere.
 *
 * What the user named may be a link, and is followed. What lies inside, this program made: a
 * symbolic link there is somebody else's work, is never followed for writing or removing, and is
 * an error. */
#ifndef GN_BASE_FOLDER_H
#define GN_BASE_FOLDER_H

#include "base/memory.h"

enum { GN_TEMPORARY_NAME = 256 };

/* Before a file descriptor that is a local, -1 at first: it is closed when its scope ends. */
#define GN_CLOSED __attribute__((cleanup(gn_close_local)))

/* Hands such a descriptor to the caller. */
static inline int gn_give_descriptor(int *local)
{
    int given = *local;
    *local = -1;
    return given;
}
void gn_close_local(const int *file);

/* Opens the directory that holds path ("." for a bare name); *name points into path. The caller
 * closes it. */
GERNE_CHECKED gerne_status gn_folder_of(gerne_ctx *ctx, const char *path, int *folder,
                                        const char **name);

/* Waits until what was made, renamed or removed in the directory is on the disk. path is for the
 * message. */
GERNE_CHECKED gerne_status gn_folder_sync(gerne_ctx *ctx, int folder, const char *path);
/* The same of the directory that holds path; one that may not be read promises nothing. */
GERNE_CHECKED gerne_status gn_path_sync(gerne_ctx *ctx, const char *path);

/* Opens a directory of ours, made if need be; its parent has to exist. GERNE_EIO when it is a link.
 * The caller closes it. */
GERNE_CHECKED gerne_status gn_folder_own(gerne_ctx *ctx, const char *path, int *folder);

/* The same, closed again. */
GERNE_CHECKED gerne_status gn_folder_make_own(gerne_ctx *ctx, const char *path);

/* GERNE_EIO when name is there and not a regular file; path is for the message. */
GERNE_CHECKED gerne_status gn_folder_check_file(gerne_ctx *ctx, int folder, const char *name,
                                                const char *path);
/* The same of a path. */
GERNE_CHECKED gerne_status gn_path_check_file(gerne_ctx *ctx, const char *path);
/* And GERNE_EIO when the file has other names: for one that is changed in its place. */
GERNE_CHECKED gerne_status gn_path_check_own_file(gerne_ctx *ctx, const char *path);

/* Opens a regular file for writing in its place, made if need be, never through a link and never
 * one that has other names; flags are added to those of open. The caller closes it. */
GERNE_CHECKED gerne_status gn_folder_open_file(gerne_ctx *ctx, const char *path, int flags,
                                               int *file);

/* Removes what path names: a directory with what is inside down to so many levels of directories,
 * a link as such. A missing one is fine; what cannot be removed stays. */
void gn_folder_remove(const char *path, int levels);

/* Removes a directory if it is empty. */
void gn_folder_remove_empty(const char *path);

/* Removes a file, or the link of that name, from an open directory; a missing one is fine. */
void gn_folder_remove_file(int folder, const char *name);

/* Renames, durably; GERNE_EIO when to is there. */
GERNE_CHECKED gerne_status gn_path_move(gerne_ctx *ctx, const char *from, const char *to);

/* Renames a file over path, durably; path may be there as a regular file. */
GERNE_CHECKED gerne_status gn_path_replace(gerne_ctx *ctx, const char *from, const char *path);

/* Moves everything in from into to. Directories that are in both are merged, files replaced;
 * anything else in the way is GERNE_EIO. */
GERNE_CHECKED gerne_status gn_folder_merge(gerne_ctx *ctx, const char *from, const char *to);

/* ---- temporary names ---- */

/* A name beside name that nobody can foresee. */
GERNE_CHECKED gerne_status gn_temporary_name(gerne_ctx *ctx, const char *name,
                                             char out[GN_TEMPORARY_NAME]);
bool gn_is_temporary(const char *name);

/* Removes the temporary files of processes that were killed: those of name (NULL: of all names)
 * that no living process holds. */
void gn_folder_sweep(int folder, const char *name);
/* The same of all names in the directory path. */
void gn_path_sweep(const char *path);

#endif
