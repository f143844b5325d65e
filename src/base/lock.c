#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"

/* Its last holder may have removed the file between our open and our lock. */
static bool is_still(int lock, const char *path)
{
    struct stat held, named;
    return fstat(lock, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

gerne_status gn_lock_try(gerne_ctx *ctx, const char *path, int *lock)
{
    *lock = -1;
    for (;;) {
        int file;
        GN_TRY(gn_folder_open_file(ctx, path, O_RDWR, &file));
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

gerne_status gn_lock_wait(gerne_ctx *ctx, const char *path, const char *what, const char *why,
                          int *lock)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
    const gerne_progress progress = {.what = what, .detail = why};
    for (;;) {
        GN_TRY(gn_lock_try(ctx, path, lock));
        if (*lock >= 0)
            return GERNE_OK;
        GN_TRY(gn_progress(ctx, &progress));
        nanosleep(&moment, NULL);
    }
}

void gn_lock_release(const char *path, int lock, bool remove)
{
    if (lock < 0)
        return;
    if (remove)
        unlink(path);
    close(lock);
}
