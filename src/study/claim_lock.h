/* claim_lock.h - a lock per trial that lasts as long as its holder lives and not a moment longer.
 *
 * It is the system's lock on a file DIR/.locks/<id>: gone with the process, whatever ends it.
 */
#ifndef GN_STUDY_CLAIM_LOCK_H
#define GN_STUDY_CLAIM_LOCK_H

#include "base/status.h"

/* *lock is -1 when a living process holds it. */
GERNE_CHECKED gerne_status gn_claim_lock(gerne_ctx *ctx, const char *folder, const char *id,
                                         int *lock);

/* remove: nobody will need it again. Takes -1. */
void gn_claim_unlock(const char *folder, const char *id, int lock, bool remove);

double gn_claim_clock(void); /* seconds, for durations */

#endif
