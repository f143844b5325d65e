/* write.c - files that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/map.h"

enum { WRITE_BUFFER = 1 << 16 };

struct gn_writer {
    gerne_ctx *ctx;
    int folder, fd;
    size_t buffered;
    char *path;       /* as it was named, for messages */
    const char *name; /* its last part */
    char temporary[GN_TEMPORARY_NAME];
    unsigned char buffer[WRITE_BUFFER];
};

static void writer_free(gn_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->folder >= 0)
        close(writer->folder);
    gn_free(writer->path);
    gn_free(writer);
}

/* A file of our own under a name that was free. The lock says that a living process writes it; a
 * sweep may have removed it before we had the lock. */
static gerne_status make_temporary(gn_writer *writer)
{
    for (;;) {
        struct stat info;
        GN_TRY(gn_temporary_name(writer->ctx, writer->name, writer->temporary));
        writer->fd = openat(writer->folder, writer->temporary,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (writer->fd < 0 && errno == EEXIST)
            continue;
        if (writer->fd < 0)
            return gn_fail_errno(writer->ctx, GERNE_EIO, "cannot write '%s'", writer->path);
        while (flock(writer->fd, LOCK_EX) != 0 && errno == EINTR) {
        }
        if (fstat(writer->fd, &info) != 0 || info.st_nlink > 0)
            return GERNE_OK;
        close(writer->fd);
    }
}

/* folder: the open directory of path, or -1. */
static gerne_status open_writer(gn_writer *writer, int folder, const char *path)
{
    size_t size = strlen(path) + 1;
    GN_TRY(gn_alloc(writer->ctx, size, 1, path, &writer->path));
    memcpy(writer->path, path, size);
    if (folder < 0) {
        GN_TRY(gn_folder_of(writer->ctx, writer->path, &writer->folder, &writer->name));
    } else {
        const char *slash = strrchr(writer->path, '/');
        writer->name = slash ? slash + 1 : writer->path;
        writer->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
        if (writer->folder < 0)
            return gn_fail_errno(writer->ctx, GERNE_EIO, "cannot write '%s'", path);
    }
    GN_TRY(gn_folder_check_file(writer->ctx, writer->folder, writer->name, path));
    return make_temporary(writer);
}

gerne_status gn_write_open_in(gerne_ctx *ctx, int folder, const char *path, gn_writer **out)
{
    *out = NULL;
    gn_writer *writer;
    GN_TRY(gn_alloc(ctx, 1, sizeof *writer, path, &writer));
    writer->ctx = ctx;
    writer->folder = writer->fd = -1;
    gerne_status status = open_writer(writer, folder, path);
    if (status == GERNE_OK)
        *out = writer;
    else
        writer_free(writer);
    return status;
}

gerne_status gn_write_open(gerne_ctx *ctx, const char *path, gn_writer **out)
{
    return gn_write_open_in(ctx, -1, path, out);
}

static gerne_status write_through(gn_writer *writer, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size > 0) {
        ssize_t done = write(writer->fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return gn_fail_errno(writer->ctx, GERNE_EIO, "cannot write '%s'", writer->path);
        at += done;
        size -= (size_t)done;
    }
    return GERNE_OK;
}

static gerne_status flush(gn_writer *writer)
{
    size_t size = writer->buffered;
    writer->buffered = 0;
    return write_through(writer, writer->buffer, size);
}

gerne_status gn_write(gn_writer *writer, const void *bytes, size_t size)
{
    if (size > WRITE_BUFFER - writer->buffered)
        GN_TRY(flush(writer));
    if (size > WRITE_BUFFER)
        return write_through(writer, bytes, size);
    if (size > 0)
        memcpy(writer->buffer + writer->buffered, bytes, size);
    writer->buffered += size;
    return GERNE_OK;
}

/* Some file systems tell of a failed write only when a file is closed; ours stays open, because its
 * lock has to last until the rename. */
static bool is_handed_over(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) == 0;
}

/* bytes, name: whether to wait until they are on the disk. */
static gerne_status commit(gn_writer **handle, bool bytes, bool name)
{
    gn_writer *writer = *handle;
    gerne_ctx *ctx = writer->ctx;
    GN_TRY(flush(writer));
    GN_TRY(gn_map_check(ctx)); /* what was computed from a file that is gone is not kept */
    if (bytes && fsync(writer->fd) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot sync '%s'", writer->path);
    if (!is_handed_over(writer->fd))
        return gn_fail_errno(ctx, GERNE_EIO, "cannot write '%s'", writer->path);
    GN_TRY(gn_folder_check_file(ctx, writer->folder, writer->name, writer->path));
    if (renameat(writer->folder, writer->temporary, writer->folder, writer->name) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot rename to '%s'", writer->path);
    writer->temporary[0] = '\0';
    gerne_status status = GERNE_OK;
    if (name) {
        /* The rename itself is durable only when the directory is. */
        status = gn_folder_sync(ctx, writer->folder, writer->path);
        gn_folder_sweep(writer->folder, writer->name);
    }
    writer_free(writer);
    *handle = NULL;
    return status;
}

gerne_status gn_write_commit(gn_writer **handle)
{
    return commit(handle, true, true);
}

gerne_status gn_write_commit_quick(gn_writer **handle)
{
    return commit(handle, false, false);
}

void gn_write_abort(gn_writer *writer)
{
    if (!writer)
        return;
    if (writer->temporary[0])
        unlinkat(writer->folder, writer->temporary, 0);
    writer_free(writer);
}

static gerne_status write_file(gerne_ctx *ctx, int folder, const char *path, const void *bytes,
                               size_t size, bool sync_name)
{
    GN_LOCAL(gn_writer) *writer = NULL;
    GN_TRY(gn_write_open_in(ctx, folder, path, &writer));
    GN_TRY(gn_write(writer, bytes, size));
    return commit(&writer, true, sync_name);
}

gerne_status gn_file_write(gerne_ctx *ctx, const char *path, const void *bytes, size_t size)
{
    return write_file(ctx, -1, path, bytes, size, true);
}

gerne_status gn_file_write_one_of(gerne_ctx *ctx, int folder, const char *path, const void *bytes,
                                  size_t size)
{
    return write_file(ctx, folder, path, bytes, size, false);
}
