/* record.c - a library to preload that writes down every change of the file system.
 *
 *   GERNE_RECORD=FILE       where the changes go, in their order, over all processes
 *   GERNE_RECORD_ROOT=DIR   only those below this directory, which has to be an absolute path
 *
 * One line for each, paths relative to the root, files by their inode number:
 *
 *   create INODE PATH    mkdir PATH    unlink PATH    rmdir PATH    rename PATH<tab>PATH
 *   write INODE OFFSET SIZE (the bytes follow, and a line end)      cut INODE SIZE
 *   sync INODE           syncdir PATH
 *
 * power.py makes of it what a disk may hold after a power loss.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int record = -1;
static char root[PATH_MAX];
static size_t root_size;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("GERNE_RECORD"), *below = getenv("GERNE_RECORD_ROOT");
    if (!path || !below)
        return;
    root_size = strlen(below);
    memcpy(root, below, root_size + 1);
    record =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

/* A call and its line are one step for everybody who records. */
static void begin(void)
{
    pthread_mutex_lock(&order);
    if (record >= 0)
        flock(record, LOCK_EX);
}

static void end(void)
{
    int reason = errno;
    if (record >= 0)
        flock(record, LOCK_UN);
    pthread_mutex_unlock(&order);
    errno = reason;
}

static void put(const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        long done = syscall(SYS_write, record, at, size);
        if (done <= 0)
            abort(); /* a log with a hole would prove nothing */
        at += done;
        size -= (size_t)done;
    }
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    char line[3 * PATH_MAX];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    put(line, (size_t)size);
}

/* What lies below the root of path, or NULL. */
static const char *inside(const char *path)
{
    if (record < 0 || strncmp(path, root, root_size) != 0 ||
        (path[root_size] != '/' && path[root_size] != '\0'))
        return NULL;
    return path[root_size] ? path + root_size + 1 : ".";
}

static const char *path_of(int fd, char out[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, out, PATH_MAX - 1);
    out[size > 0 ? size : 0] = '\0';
    return inside(out);
}

/* The path of name in folder, with links of its directories resolved. */
static const char *path_at(int folder, const char *name, char out[PATH_MAX])
{
    char whole[2 * PATH_MAX], base[PATH_MAX] = "";
    if (record < 0)
        return NULL;
    if (name[0] != '/' && folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base))
            return NULL;
    } else if (name[0] != '/') {
        (void)path_of(folder, base);
    }
    snprintf(whole, sizeof whole, "%s/%s", base, name);
    char *slash = strrchr(whole, '/');
    while (slash > whole && slash[1] == '\0') { /* "name/" */
        *slash = '\0';
        slash = strrchr(whole, '/');
    }
    *slash = '\0';
    char resolved[PATH_MAX];
    if (!realpath(whole[0] ? whole : "/", resolved))
        return NULL;
    if (snprintf(out, PATH_MAX, "%s/%s", resolved, slash + 1) >= PATH_MAX)
        return NULL;
    return inside(out);
}

static unsigned long long inode_of(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? (unsigned long long)info.st_ino : 0;
}

/* A regular file below the root. */
static bool is_ours(int fd)
{
    char path[PATH_MAX];
    struct stat info;
    return record >= 0 && fd != record && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           path_of(fd, path);
}

/* ---- opening ---- */

static int open_recorded(int folder, const char *name, int flags, mode_t mode)
{
    char path[PATH_MAX];
    struct stat info;
    begin();
    const char *relative = (flags & (O_CREAT | O_TRUNC)) ? path_at(folder, name, path) : NULL;
    bool there = relative && fstatat(folder, name, &info, 0) == 0;
    int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    if (fd >= 0 && relative && !there)
        note("create %llu %s\n", inode_of(fd), relative);
    else if (fd >= 0 && relative && flags & O_TRUNC && info.st_size > 0)
        note("cut %llu 0\n", inode_of(fd));
    end();
    return fd;
}

#define MODE_OF(flags, mode)                                                                       \
    do {                                                                                           \
        va_list values;                                                                            \
        va_start(values, flags);                                                                   \
        mode = ((flags)&O_CREAT) ? va_arg(values, mode_t) : 0;                                     \
        va_end(values);                                                                            \
    } while (0)

int open(const char *name, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return open_recorded(AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return open_recorded(AT_FDCWD, name, flags, mode);
}

int openat(int folder, const char *name, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return open_recorded(folder, name, flags, mode);
}

int openat64(int folder, const char *name, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return open_recorded(folder, name, flags, mode);
}

/* ---- contents ---- */

static void note_write(int fd, const void *bytes, ssize_t size, off_t at)
{
    if (size <= 0)
        return;
    note("write %llu %lld %lld\n", inode_of(fd), (long long)at, (long long)size);
    put(bytes, (size_t)size);
    put("\n", 1);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (!is_ours(fd))
        return REAL(write)(fd, bytes, size);
    begin();
    ssize_t done = REAL(write)(fd, bytes, size);
    note_write(fd, bytes, done, lseek(fd, 0, SEEK_CUR) - done); /* O_APPEND moves, too */
    end();
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    if (!is_ours(fd))
        return REAL(pwrite64)(fd, bytes, size, at);
    begin();
    ssize_t done = REAL(pwrite64)(fd, bytes, size, at);
    note_write(fd, bytes, done, at);
    end();
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite64(fd, bytes, size, at);
}

static int cut_recorded(int fd, off_t size)
{
    begin();
    int code = (int)syscall(SYS_ftruncate, fd, size);
    if (code == 0 && is_ours(fd))
        note("cut %llu %lld\n", inode_of(fd), (long long)size);
    end();
    return code;
}

int ftruncate(int fd, off_t size)
{
    return cut_recorded(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return cut_recorded(fd, size);
}

static int sync_recorded(int fd, int number)
{
    char path[PATH_MAX];
    struct stat info;
    begin();
    int code = (int)syscall(number, fd);
    const char *relative = path_of(fd, path);
    if (code == 0 && relative && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        note("syncdir %s\n", relative);
    else if (code == 0 && relative)
        note("sync %llu\n", inode_of(fd));
    end();
    return code;
}

int fsync(int fd)
{
    return sync_recorded(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_recorded(fd, SYS_fdatasync);
}

/* ---- names ---- */

static int rename_recorded(int from_folder, const char *from, int to_folder, const char *to)
{
    char old[PATH_MAX], new[PATH_MAX];
    begin();
    const char *before = path_at(from_folder, from, old), *after = path_at(to_folder, to, new);
    int code = (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
    if (code == 0 && before && after)
        note("rename %s\t%s\n", before, after);
    end();
    return code;
}

int rename(const char *from, const char *to)
{
    return rename_recorded(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return rename_recorded(from_folder, from, to_folder, to);
}

static int unlink_recorded(int folder, const char *name, int flags)
{
    char path[PATH_MAX];
    begin();
    const char *relative = path_at(folder, name, path);
    int code = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (code == 0 && relative)
        note("%s %s\n", flags & AT_REMOVEDIR ? "rmdir" : "unlink", relative);
    end();
    return code;
}

int unlink(const char *name)
{
    return unlink_recorded(AT_FDCWD, name, 0);
}

int unlinkat(int folder, const char *name, int flags)
{
    return unlink_recorded(folder, name, flags);
}

int rmdir(const char *name)
{
    return unlink_recorded(AT_FDCWD, name, AT_REMOVEDIR);
}

static int mkdir_recorded(int folder, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    begin();
    const char *relative = path_at(folder, name, path);
    int code = (int)syscall(SYS_mkdirat, folder, name, mode);
    if (code == 0 && relative)
        note("mkdir %s\n", relative);
    end();
    return code;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdir_recorded(AT_FDCWD, name, mode);
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    return mkdir_recorded(folder, name, mode);
}
