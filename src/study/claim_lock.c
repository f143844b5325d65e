#include "study/claim_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static gerne_status path_of(gerne_ctx *ctx, const char *folder, const char *id, char path[PATH_MAX])
{
    int size = snprintf(path, PATH_MAX, "%s/%s", folder, id);
    if (size < 0 || size >= PATH_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "the path '%s' is too long", folder);
    return GERNE_OK;
}

/* Its last holder may have removed the file between our open and our lock. */
static bool is_still(int lock, const char *path)
{
    struct stat held, named;
    return fstat(lock, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

gerne_status gn_claim_lock(gerne_ctx *ctx, const char *folder, const char *id, int *lock)
{
    char path[PATH_MAX];
    *lock = -1;
    GN_TRY(path_of(ctx, folder, id, path));
    for (;;) {
        int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0)
            return gn_fail_errno(ctx, GERNE_EIO, "cannot make '%s'", path);
        int code = flock(file, LOCK_EX | LOCK_NB);
        if (code == 0 && is_still(file, path)) {
            *lock = file;
            return GERNE_OK;
        }
        int reason = errno;
        close(file);
        if (code != 0 && reason == EWOULDBLOCK)
            return GERNE_OK;
        if (code != 0 && reason != EINTR) {
            errno = reason;
            return gn_fail_errno(ctx, GERNE_EIO, "cannot lock '%s'", path);
        }
    }
}

void gn_claim_unlock(const char *folder, const char *id, int lock, bool remove)
{
    char path[PATH_MAX];
    if (lock < 0)
        return;
    if (remove && path_of(NULL, folder, id, path) == GERNE_OK)
        unlink(path);
    close(lock);
}

double gn_claim_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
