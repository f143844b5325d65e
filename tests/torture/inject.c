/* inject.c - a library to preload that makes one call of the system fail, or kills the program
 * there.
 *
 *   GERNE_INJECT=KIND:N      the N-th call of KIND (from 1) fails; 0: none does
 *   GERNE_INJECT=kill:N      the program is killed before its N-th change of the file system: a
 * write, fsync, rename, a file or directory made, cut or removed GERNE_INJECT_COUNTS=FILE how many
 * calls of each kind there were, as "KIND COUNT" lines
 *
 * Kinds: memory, write, fsync, rename, mmap, thread. Writes are those to files: a terminal or a
 * pipe is another matter. libgomp ends a program by itself when it gets no memory or thread, and
 * oneDNN uses objects of its own without looking whether it got them (src/engine/guard.cc makes
 * sure of room first): the calls of both are neither counted nor failed. What oneDNN's containers
 * allocate is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY, WRITE, FSYNC, RENAME, MMAP, THREAD, KILL, KINDS };
static const char *const names[KINDS] = {"memory", "write",  "fsync", "rename",
                                         "mmap",   "thread", "kill"};

static atomic_long counts[KINDS];
static int kind = KINDS;
static long chosen;
static bool ready;
static struct {
    uintptr_t start, end;
} spared[2];

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *bytes, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static int find_spared(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size, (void)user;
    int which = strstr(info->dlpi_name, "libgomp")   ? 0
                : strstr(info->dlpi_name, "libdnnl") ? 1
                                                     : -1;
    for (int i = 0; which >= 0 && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            spared[which].start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            spared[which].end = spared[which].start + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

__attribute__((constructor)) static void start(void)
{
    const char *what = getenv("GERNE_INJECT"), *colon = what ? strchr(what, ':') : NULL;
    dl_iterate_phdr(find_spared, NULL);
    for (int i = 0; colon && i < KINDS; i++)
        if (strncmp(what, names[i], (size_t)(colon - what)) == 0)
            kind = i;
    chosen = colon ? strtol(colon + 1, NULL, 10) : 0;
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("GERNE_INJECT_COUNTS");
    ready = false;
    FILE *file = path ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < KINDS; i++)
        fprintf(file, "%s %ld\n", names[i], atomic_load(&counts[i]));
    if (file)
        fclose(file);
}

/* Whether this call is the one. */
static bool fails(int which, const void *caller)
{
    uintptr_t from = (uintptr_t)caller;
    for (int i = 0; i < 2; i++)
        if (from >= spared[i].start && from < spared[i].end)
            return false;
    if (!ready)
        return false;
    if (which == WRITE || which == FSYNC || which == RENAME || which == KILL) {
        long at = atomic_fetch_add(&counts[KILL], 1) + 1;
        if (kind == KILL && at == chosen)
            raise(SIGKILL);
    }
    return which != KILL && atomic_fetch_add(&counts[which], 1) + 1 == chosen && kind == which;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    if (fails(MEMORY, CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (fails(MEMORY, CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, size);
}

void *realloc(void *bytes, size_t size)
{
    if (fails(MEMORY, CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(bytes, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (fails(MEMORY, CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = fails(MEMORY, CALLER) ? NULL : __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool is_file(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (is_file(fd) && fails(WRITE, CALLER)) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(write)(fd, bytes, size);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    if (is_file(fd) && fails(WRITE, CALLER)) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(pwrite64)(fd, bytes, size, at);
}

int fsync(int fd)
{
    if (fails(FSYNC, CALLER)) {
        errno = EIO;
        return -1;
    }
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    if (fails(FSYNC, CALLER)) {
        errno = EIO;
        return -1;
    }
    return REAL(fdatasync)(fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    if (fails(RENAME, CALLER)) {
        errno = EIO;
        return -1;
    }
    return REAL(renameat)(from_folder, from, to_folder, to);
}

/* ---- changes that are killed before, but not failed ---- */

int openat(int folder, const char *name, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(values, mode_t) : 0;
    va_end(values);
    if (flags & O_CREAT)
        (void)fails(KILL, CALLER);
    return REAL(openat)(folder, name, flags, mode);
}

int ftruncate(int fd, off_t size)
{
    (void)fails(KILL, CALLER);
    return REAL(ftruncate)(fd, size);
}

int unlink(const char *name)
{
    (void)fails(KILL, CALLER);
    return REAL(unlink)(name);
}

int unlinkat(int folder, const char *name, int flags)
{
    (void)fails(KILL, CALLER);
    return REAL(unlinkat)(folder, name, flags);
}

int mkdir(const char *name, mode_t mode)
{
    (void)fails(KILL, CALLER);
    return REAL(mkdir)(name, mode);
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    (void)fails(KILL, CALLER);
    return REAL(mkdirat)(folder, name, mode);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    if (fd >= 0 && fails(MMAP, CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return REAL(mmap)(address, size, protection, flags, fd, at);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *user)
{
    if (fails(THREAD, CALLER))
        return EAGAIN;
    return REAL(pthread_create)(thread, attributes, run, user);
}
