#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a regular file for reading. Non-blocking, so that a FIFO in its place cannot hang us. */
static gerne_status open_regular(gerne_ctx *ctx, const char *path, int *fd, size_t *size)
{
    *size = 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open '%s'", path);
    struct stat info;
    if (fstat(*fd, &info) != 0) {
        gerne_status status = gn_fail_errno(ctx, GERNE_EIO, "cannot inspect '%s'", path);
        close(*fd);
        return status;
    }
    if (!S_ISREG(info.st_mode)) {
        close(*fd);
        return gn_fail(ctx, GERNE_EIO, "'%s' is %s, not a regular file", path,
                       S_ISDIR(info.st_mode) ? "a directory" : "a special file");
    }
    *size = (size_t)info.st_size;
    return GERNE_OK;
}

static gerne_status read_all(gerne_ctx *ctx, int fd, const char *path, size_t size, gn_text *out)
{
    GN_TRY(gn_grow(ctx, &out->bytes, &out->capacity, size + 1, 1, path));
    out->size = 0;
    while (out->size < size) {
        ssize_t got = read(fd, out->bytes + out->size, size - out->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gn_fail_errno(ctx, GERNE_EIO, "cannot read '%s'", path);
        if (got == 0)
            break; /* it shrank while we read */
        out->size += (size_t)got;
    }
    out->bytes[out->size] = '\0';
    return GERNE_OK;
}

gerne_status gn_file_read(gerne_ctx *ctx, const char *path, size_t limit, gn_text *out)
{
    int fd;
    size_t size;
    GN_TRY(open_regular(ctx, path, &fd, &size));
    gerne_status status;
    if (size > limit)
        status = gn_fail(ctx, GERNE_EDATA, "'%s' has %zu bytes, more than the limit of %zu", path,
                         size, limit);
    else
        status = read_all(ctx, fd, path, size, out);
    close(fd);
    return status;
}

gerne_status gn_map_open(gerne_ctx *ctx, const char *path, gn_map *out)
{
    *out = (gn_map){0};
    int fd;
    size_t size;
    GN_TRY(open_regular(ctx, path, &fd, &size));
    gerne_status status = GERNE_OK;
    if (size > 0) {
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            status = gn_fail_errno(ctx, GERNE_EIO, "cannot map '%s'", path);
        else
            *out = (gn_map){.bytes = bytes, .size = size};
    }
    close(fd);
    return status;
}

void gn_map_close(gn_map *map)
{
    if (map->bytes)
        munmap((void *)(uintptr_t)map->bytes, map->size);
    *map = (gn_map){0};
}

enum { WRITE_BUFFER = 1 << 16 };

struct gn_writer {
    gerne_ctx *ctx;
    int fd;
    size_t buffered;
    char *path, *temporary;
    unsigned char buffer[WRITE_BUFFER];
};

static void writer_free(gn_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    gn_free(writer->path);
    gn_free(writer->temporary);
    gn_free(writer);
}

gerne_status gn_write_open(gerne_ctx *ctx, const char *path, gn_writer **out)
{
    *out = NULL;
    gn_writer *writer;
    GN_TRY(gn_alloc(ctx, 1, sizeof *writer, path, &writer));
    writer->ctx = ctx;
    writer->fd = -1;
    size_t size = strlen(path);
    gerne_status status = gn_alloc(ctx, size + 1, 1, path, &writer->path);
    if (status == GERNE_OK)
        status = gn_alloc(ctx, size + 32, 1, path, &writer->temporary);
    if (status == GERNE_OK) {
        memcpy(writer->path, path, size + 1);
        snprintf(writer->temporary, size + 32, "%s.tmp-%ld", path, (long)getpid());
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (writer->fd < 0)
            status = gn_fail_errno(ctx, GERNE_EIO, "cannot write '%s'", path);
    }
    if (status != GERNE_OK) {
        writer_free(writer);
        return status;
    }
    *out = writer;
    return GERNE_OK;
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

/* The rename itself is durable only when the directory is. */
static gerne_status sync_directory_of(gerne_ctx *ctx, const char *path)
{
    char *copy;
    size_t size = strlen(path) + 2;
    GN_TRY(gn_alloc(ctx, size, 1, path, &copy));
    memcpy(copy, path, size - 1);
    char *slash = strrchr(copy, '/');
    if (!slash)
        memcpy(copy, ".", 2);
    else if (slash == copy)
        slash[1] = '\0';
    else
        *slash = '\0';
    int fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gn_free(copy);
    if (fd < 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open the directory of '%s'", path);
    int failed = fsync(fd) != 0 && errno != EINVAL; /* some file systems cannot: that is no loss */
    gerne_status status =
        failed ? gn_fail_errno(ctx, GERNE_EIO, "cannot sync the directory of '%s'", path)
               : GERNE_OK;
    close(fd);
    return status;
}

static gerne_status commit(gn_writer **handle, bool durable)
{
    gn_writer *writer = *handle;
    GN_TRY(flush(writer));
    if (durable && fsync(writer->fd) != 0)
        return gn_fail_errno(writer->ctx, GERNE_EIO, "cannot sync '%s'", writer->path);
    if (close(writer->fd) != 0) {
        writer->fd = -1;
        return gn_fail_errno(writer->ctx, GERNE_EIO, "cannot close '%s'", writer->path);
    }
    writer->fd = -1;
    if (rename(writer->temporary, writer->path) != 0)
        return gn_fail_errno(writer->ctx, GERNE_EIO, "cannot rename to '%s'", writer->path);
    gerne_status status = durable ? sync_directory_of(writer->ctx, writer->path) : GERNE_OK;
    writer_free(writer);
    *handle = NULL;
    return status;
}

gerne_status gn_write_commit(gn_writer **handle)
{
    return commit(handle, true);
}

gerne_status gn_write_commit_quick(gn_writer **handle)
{
    return commit(handle, false);
}

void gn_write_abort(gn_writer *writer)
{
    if (!writer)
        return;
    unlink(writer->temporary);
    writer_free(writer);
}

gerne_status gn_file_write(gerne_ctx *ctx, const char *path, const void *bytes, size_t size)
{
    gn_writer *writer;
    GN_TRY(gn_write_open(ctx, path, &writer));
    gerne_status status = gn_write(writer, bytes, size);
    if (status == GERNE_OK)
        status = gn_write_commit(&writer);
    gn_write_abort(writer);
    return status;
}

static gerne_status make_one(gerne_ctx *ctx, const char *path)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && gn_is_directory(path)))
        return GERNE_OK;
    return gn_fail_errno(ctx, GERNE_EIO, "cannot make the directory '%s'", path);
}

gerne_status gn_make_directory(gerne_ctx *ctx, const char *path)
{
    char *copy;
    size_t size = strlen(path) + 1;
    GN_TRY(gn_alloc(ctx, size, 1, path, &copy));
    memcpy(copy, path, size);
    gerne_status status = GERNE_OK;
    for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash && status == GERNE_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(ctx, copy);
        *slash = '/';
    }
    if (status == GERNE_OK)
        status = make_one(ctx, copy);
    gn_free(copy);
    return status;
}

bool gn_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool gn_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

gerne_status gn_path_join(gerne_ctx *ctx, gn_arena *arena, const char *directory, const char *name,
                          const char **out)
{
    *out = NULL;
    char *path;
    size_t size = strlen(directory) + strlen(name) + 2;
    GN_TRY(gn_arena_alloc(ctx, arena, size, 1, &path));
    const char *separator = directory[0] && directory[strlen(directory) - 1] != '/' ? "/" : "";
    snprintf(path, size, "%s%s%s", directory, separator, name);
    *out = path;
    return GERNE_OK;
}
