#include "base/append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"

enum { BUFFER = 1 << 14 };

struct gn_append {
    gerne_ctx *ctx;
    int fd;
    char *path;
    uint64_t length; /* what the system has */
    size_t buffered;
    unsigned char buffer[BUFFER];
};

/* Cuts the file, or says why it cannot be gone on with. */
static gerne_status cut(gn_append *append, uint64_t keep)
{
    struct stat info;
    if (fstat(append->fd, &info) != 0)
        return gn_fail_errno(append->ctx, GERNE_EIO, "cannot inspect '%s'", append->path);
    if ((uint64_t)info.st_size < keep)
        return gn_fail(append->ctx, GERNE_EDATA,
                       "'%s' has %lld bytes, fewer than the %llu that were written to it",
                       append->path, (long long)info.st_size, (unsigned long long)keep);
    if (ftruncate(append->fd, (off_t)keep) != 0 || lseek(append->fd, (off_t)keep, SEEK_SET) < 0)
        return gn_fail_errno(append->ctx, GERNE_EIO, "cannot truncate '%s'", append->path);
    append->length = keep;
    return GERNE_OK;
}

gerne_status gn_append_open(gerne_ctx *ctx, const char *path, uint64_t keep, gn_append **out)
{
    *out = NULL;
    GN_LOCAL(gn_append) *append = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *append, path, &append));
    append->ctx = ctx;
    append->fd = -1;
    size_t size = strlen(path) + 1;
    GN_TRY(gn_alloc(ctx, size, 1, path, &append->path));
    memcpy(append->path, path, size);
    GN_TRY(gn_folder_open_file(ctx, path, O_WRONLY, &append->fd));
    if (keep == 0)
        GN_TRY(gn_path_sync(ctx, path)); /* it may be new */
    GN_TRY(cut(append, keep));
    return gn_give(&append, out);
}

gerne_status gn_append_flush(gn_append *append)
{
    size_t done = 0;
    while (done < append->buffered) {
        ssize_t wrote = write(append->fd, append->buffer + done, append->buffered - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) { /* keep the rest: the disk may have room again later */
            memmove(append->buffer, append->buffer + done, append->buffered - done);
            append->buffered -= done;
            return gn_fail_errno(append->ctx, GERNE_EIO, "cannot write '%s'", append->path);
        }
        done += (size_t)wrote;
        append->length += (uint64_t)wrote;
    }
    append->buffered = 0;
    return GERNE_OK;
}

gerne_status gn_append_write(gn_append *append, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size > 0) {
        if (append->buffered == BUFFER)
            GN_TRY(gn_append_flush(append));
        size_t room = BUFFER - append->buffered, part = size < room ? size : room;
        memcpy(append->buffer + append->buffered, at, part);
        append->buffered += part;
        at += part;
        size -= part;
    }
    return GERNE_OK;
}

gerne_status gn_append_sync(gn_append *append, uint64_t *length)
{
    GN_TRY(gn_append_flush(append));
    if (fsync(append->fd) != 0)
        return gn_fail_errno(append->ctx, GERNE_EIO, "cannot sync '%s'", append->path);
    if (length)
        *length = append->length;
    return GERNE_OK;
}

void gn_append_close(gn_append *append)
{
    if (!append)
        return;
    if (append->fd >= 0) {
        /* Nobody can be told here; gn_append_sync is the way to know. */
        gerne_status status = gn_append_flush(append);
        (void)status;
        close(append->fd);
    }
    gn_free(append->path);
    gn_free(append);
}
