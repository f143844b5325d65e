#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
    return S_ISLNK(mode) ? "a symbolic link" : S_ISDIR(mode) ? "a directory" : "a special file";
}

void gn_close_local(const int *file)
{
    if (*file >= 0)
        close(*file);
}

gerne_status gn_folder_of(gerne_ctx *ctx, const char *path, int *folder, const char **name)
{
    const char *slash = strrchr(path, '/');
    *folder = -1;
    *name = slash ? slash + 1 : path;
    if (!slash) {
        *folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else {
        GN_FREED char *copy = NULL;
        size_t size = slash == path ? 1 : (size_t)(slash - path);
        GN_TRY(gn_alloc(ctx, size + 1, 1, path, &copy));
        memcpy(copy, path, size);
        *folder = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    return *folder >= 0 ? GERNE_OK : gn_fail_errno(ctx, GERNE_EIO, "cannot write '%s'", path);
}

gerne_status gn_folder_sync(gerne_ctx *ctx, int folder, const char *path)
{
    if (fsync(folder) == 0 || errno == EINVAL) /* some file systems cannot */
        return GERNE_OK;
    return gn_fail_errno(ctx, GERNE_EIO, "cannot sync the directory of '%s'", path);
}

gerne_status gn_path_sync(gerne_ctx *ctx, const char *path)
{
    GN_CLOSED int folder = -1;
    const char *name;
    gerne_status status = gn_folder_of(ctx, path, &folder, &name);
    if (status == GERNE_EIO && errno == EACCES)
        return GERNE_OK;
    GN_TRY(status);
    return gn_folder_sync(ctx, folder, path);
}

gerne_status gn_folder_own(gerne_ctx *ctx, const char *path, int *folder)
{
    GN_CLOSED int parent = -1;
    const char *name;
    struct stat info;
    *folder = -1;
    GN_TRY(gn_folder_of(ctx, path, &parent, &name));
    if (mkdirat(parent, name, 0777) == 0)
        GN_TRY(gn_folder_sync(ctx, parent, path));
    else if (errno != EEXIST)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot make the directory '%s'", path);
    *folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*folder >= 0)
        return GERNE_OK;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode))
        return gn_fail(ctx, GERNE_EIO, "'%s' is %s, not a directory", path,
                       S_ISREG(info.st_mode) ? "a file" : kind_of(info.st_mode));
    return gn_fail_errno(ctx, GERNE_EIO, "cannot open the directory '%s'", path);
}

gerne_status gn_folder_make_own(gerne_ctx *ctx, const char *path)
{
    GN_CLOSED int folder = -1;
    return gn_folder_own(ctx, path, &folder);
}

gerne_status gn_folder_check_file(gerne_ctx *ctx, int folder, const char *name, const char *path)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? GERNE_OK
                               : gn_fail_errno(ctx, GERNE_EIO, "cannot inspect '%s'", path);
    if (S_ISREG(info.st_mode))
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EIO, "cannot write '%s': it is %s, not a regular file", path,
                   kind_of(info.st_mode));
}

gerne_status gn_path_check_file(gerne_ctx *ctx, const char *path)
{
    GN_CLOSED int folder = -1;
    const char *name;
    GN_TRY(gn_folder_of(ctx, path, &folder, &name));
    return gn_folder_check_file(ctx, folder, name, path);
}

/* A second name is somebody else's hold on the contents: a file of theirs, or a copy by links that
 * they believe to be safe. */
static gerne_status check_names(gerne_ctx *ctx, const struct stat *info, const char *path)
{
    if (info->st_nlink <= 1)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EIO, "cannot write '%s': the file has %llu names (hard links)", path,
            (unsigned long long)info->st_nlink);
    gn_hint(ctx, "make it a file of its own: copy it, and move the copy over it");
    return GERNE_EIO;
}

gerne_status gn_path_check_own_file(gerne_ctx *ctx, const char *path)
{
    struct stat info;
    GN_TRY(gn_path_check_file(ctx, path));
    return lstat(path, &info) == 0 ? check_names(ctx, &info, path) : GERNE_OK;
}

gerne_status gn_folder_open_file(gerne_ctx *ctx, const char *path, int flags, int *file)
{
    GN_CLOSED int folder = -1, opened = -1;
    const char *name;
    struct stat info;
    *file = -1;
    GN_TRY(gn_folder_of(ctx, path, &folder, &name));
    GN_TRY(gn_folder_check_file(ctx, folder, name, path));
    /* Non-blocking, so that a FIFO put there just now cannot hang us. */
    opened = openat(folder, name, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (opened < 0 || fstat(opened, &info) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot write '%s'", path);
    if (!S_ISREG(info.st_mode))
        return gn_fail(ctx, GERNE_EIO, "'%s' is not a regular file", path);
    GN_TRY(check_names(ctx, &info, path));
    *file = gn_give_descriptor(&opened);
    return GERNE_OK;
}

/* ---- whole directories ---- */

static bool is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void remove_at(int folder, const char *name, int levels)
{
    int inner = -1;
    if (levels > 0)
        inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = inner >= 0 ? fdopendir(inner) : NULL;
    if (!list) {
        if (inner >= 0)
            close(inner);
        unlinkat(folder, name, 0);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));)
        if (is_entry(entry))
            remove_at(dirfd(list), entry->d_name, levels - 1);
    closedir(list);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void gn_folder_remove(const char *path, int levels)
{
    char copy[4096];
    size_t size = strlen(path);
    if (size >= sizeof copy)
        return;
    memcpy(copy, path, size + 1);
    while (size > 1 && copy[size - 1] == '/') /* or a link would be followed */
        copy[--size] = '\0';
    remove_at(AT_FDCWD, copy, levels);
}

void gn_folder_remove_empty(const char *path)
{
    rmdir(path);
}

void gn_folder_remove_file(int folder, const char *name)
{
    unlinkat(folder, name, 0);
}

gerne_status gn_path_move(gerne_ctx *ctx, const char *from, const char *to)
{
    struct stat info;
    if (lstat(to, &info) == 0)
        return gn_fail(ctx, GERNE_EIO, "cannot move '%s': '%s' is there already", from, to);
    if (rename(from, to) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot rename '%s' to '%s'", from, to);
    return gn_path_sync(ctx, to);
}

gerne_status gn_path_replace(gerne_ctx *ctx, const char *from, const char *path)
{
    GN_TRY(gn_path_check_file(ctx, path));
    if (rename(from, path) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot rename to '%s'", path);
    return gn_path_sync(ctx, path);
}

enum { MERGE_LEVELS = 64 };

static gerne_status merge(gerne_ctx *ctx, int parent, const char *name, int to, const char *path,
                          int levels);

/* One entry; path names the folder it comes from, for messages. */
static gerne_status merge_entry(gerne_ctx *ctx, int from, int to, const char *name,
                                const char *path, int levels)
{
    struct stat new, old;
    if (fstatat(from, name, &new, AT_SYMLINK_NOFOLLOW) != 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot inspect '%s' of '%s'", name, path);
    bool there = fstatat(to, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && (new.st_mode &S_IFMT) != (old.st_mode & S_IFMT))
        return gn_fail(ctx, GERNE_EIO, "'%s' of '%s' is %s where it should go", name, path,
                       S_ISREG(old.st_mode) ? "a file" : kind_of(old.st_mode));
    if (!there || !S_ISDIR(new.st_mode))
        return renameat(from, name, to, name) == 0
                   ? GERNE_OK
                   : gn_fail_errno(ctx, GERNE_EIO, "cannot move '%s' of '%s'", name, path);
    if (levels == 0)
        return gn_fail(ctx, GERNE_EIO, "'%s' has more than %d levels of directories", path,
                       MERGE_LEVELS);
    GN_CLOSED int inner = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open '%s' where it should go", name);
    GN_TRY(merge(ctx, from, name, inner, path, levels - 1));
    unlinkat(from, name, AT_REMOVEDIR);
    return GERNE_OK;
}

/* What the directory name in parent holds. */
static gerne_status merge(gerne_ctx *ctx, int parent, const char *name, int to, const char *path,
                          int levels)
{
    int from = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = from >= 0 ? fdopendir(from) : NULL;
    gerne_status status = GERNE_OK;
    if (!list) {
        status = gn_fail_errno(ctx, GERNE_EIO, "cannot list '%s' of '%s'", name, path);
        if (from >= 0)
            close(from);
        return status;
    }
    for (struct dirent *entry; status == GERNE_OK && (entry = readdir(list));)
        if (is_entry(entry))
            status = merge_entry(ctx, from, to, entry->d_name, path, levels);
    closedir(list);
    return status;
}

gerne_status gn_folder_merge(gerne_ctx *ctx, const char *from, const char *to)
{
    GN_CLOSED int folder = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open the directory '%s'", to);
    return merge(ctx, AT_FDCWD, from, folder, from, MERGE_LEVELS);
}

/* ---- temporary names ---- */

static const char mark[] = ".tmp-";
enum { RANDOM_BYTES = 8, DIGITS = 2 * RANDOM_BYTES, STEM_MAX = 200 };

gerne_status gn_temporary_name(gerne_ctx *ctx, const char *name, char out[GN_TEMPORARY_NAME])
{
    unsigned char random[RANDOM_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return gn_fail_errno(ctx, GERNE_EIO, "the system gives no random bytes");
    int used = snprintf(out, GN_TEMPORARY_NAME, "%.*s%s", STEM_MAX, name, mark);
    for (size_t i = 0; i < sizeof random; i++)
        used += snprintf(out + used, GN_TEMPORARY_NAME - (size_t)used, "%02x", random[i]);
    return GERNE_OK;
}

/* How long the name before the mark is, or -1. */
static ptrdiff_t stem_of(const char *name)
{
    size_t length = strlen(name), tail = sizeof mark - 1 + DIGITS;
    if (length <= tail || memcmp(name + length - tail, mark, sizeof mark - 1) != 0 ||
        strspn(name + length - DIGITS, "0123456789abcdef") != DIGITS)
        return -1;
    return (ptrdiff_t)(length - tail);
}

bool gn_is_temporary(const char *name)
{
    return stem_of(name) >= 0;
}

static bool is_of(const char *temporary, const char *name)
{
    ptrdiff_t stem = stem_of(temporary);
    if (stem < 0 || !name)
        return stem >= 0;
    size_t length = strlen(name);
    return (size_t)stem == (length < STEM_MAX ? length : STEM_MAX) &&
           memcmp(temporary, name, (size_t)stem) == 0;
}

/* Whoever writes a temporary file holds its lock. */
static void remove_abandoned(int folder, const char *name)
{
    GN_CLOSED int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
}

void gn_folder_sweep(int folder, const char *name)
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a place of its own */
    DIR *list = own >= 0 ? fdopendir(own) : NULL;
    if (!list) {
        if (own >= 0)
            close(own);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));)
        if (is_of(entry->d_name, name))
            remove_abandoned(folder, entry->d_name);
    closedir(list);
}

void gn_path_sweep(const char *path)
{
    GN_CLOSED int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        gn_folder_sweep(folder, NULL);
}
