#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"

gerne_status gn_file_open(gerne_ctx *ctx, const char *path, int *fd, size_t *size)
{
    GN_CLOSED int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    *size = 0;
    *fd = -1;
    if (opened < 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open '%s'", path);
    if (fstat(opened, &info) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot inspect '%s'", path);
    if (!S_ISREG(info.st_mode))
        return gn_fail(ctx, GERNE_EIO, "'%s' is %s, not a regular file", path,
                       S_ISDIR(info.st_mode) ? "a directory" : "a special file");
    *size = (size_t)info.st_size;
    *fd = gn_give_descriptor(&opened);
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
    GN_CLOSED int fd = -1;
    size_t size;
    GN_TRY(gn_file_open(ctx, path, &fd, &size));
    if (size > limit)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has %zu bytes, more than the limit of %zu", path,
                       size, limit);
    return read_all(ctx, fd, path, size, out);
}

static gerne_status make_one(gerne_ctx *ctx, const char *path)
{
    if (mkdir(path, 0777) == 0)
        return gn_path_sync(ctx, path); /* or all that will be in it could be gone with it */
    if (errno == EEXIST && gn_is_directory(path))
        return GERNE_OK;
    return gn_fail_errno(ctx, GERNE_EIO, "cannot make the directory '%s'", path);
}

gerne_status gn_make_directory(gerne_ctx *ctx, const char *path)
{
    GN_FREED char *copy = NULL;
    size_t size = strlen(path) + 1;
    GN_TRY(gn_alloc(ctx, size, 1, path, &copy));
    memcpy(copy, path, size);
    for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        GN_TRY(make_one(ctx, copy));
        *slash = '/';
    }
    return make_one(ctx, copy);
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
