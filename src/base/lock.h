/* lock.h - a lock among processes that lasts as long as its holder lives and not a moment longer.
 *
 * It is the system's lock on a file made for it: gone with the process, whatever ends it.
 */
#ifndef GN_BASE_LOCK_H
#define GN_BASE_LOCK_H

#include "base/status.h"

/* Makes the file if need be; *lock is -1 when a living process holds it. */
GERNE_CHECKED gerne_status gn_lock_try(gerne_ctx *ctx, const char *path, int *lock);

/* Waits until it can be had; what and why are for the progress hook, which may stop the wait. */
GERNE_CHECKED gerne_status gn_lock_wait(gerne_ctx *ctx, const char *path, const char *what,
                                        const char *why, int *lock);

/* remove: nobody will need it again. Takes -1. */
void gn_lock_release(const char *path, int lock, bool remove);

#endif
