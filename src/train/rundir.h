/* rundir.h - the directory of a run: made once, used by one process at a time. */
#ifndef GN_TRAIN_RUNDIR_H
#define GN_TRAIN_RUNDIR_H

#include "base/json.h"
#include "train/trainer.h"

/* GERNE_EUSAGE when the directory exists and is not empty. */
GERNE_CHECKED gerne_status gn_rundir_check_empty(gerne_ctx *ctx, const char *path);

/* GERNE_EIO when another process uses the directory. */
GERNE_CHECKED gerne_status gn_rundir_lock(gerne_ctx *ctx, const char *path, int *lock);
void gn_rundir_unlock(int lock); /* takes -1 */

/* Reads config.yaml of a run; GERNE_EUSAGE when there is none. */
GERNE_CHECKED gerne_status gn_rundir_settings(gerne_ctx *ctx, const char *directory,
                                              gn_settings *out);

/* Makes and locks the directory of a new run, and writes config.yaml. */
GERNE_CHECKED gerne_status gn_rundir_start(gn_trainer *t);

/* On ranks that do not write: GERNE_EIO when the directory of rank 0 is not there. */
GERNE_CHECKED gerne_status gn_rundir_is_seen(gn_trainer *t);

/* Removes what a new run has written, and the directory if it made it, when the run cannot be
 * resumed: it failed before its first step, or its configuration turned out to be wrong. Otherwise,
 * and for a run that was resumed, does nothing. */
void gn_rundir_undo(gn_trainer *t, gerne_status why);

/* GERNE_EUSAGE that says what differs when the checkpoint belongs to another version,
 * configuration, data, number of threads or ranks, or kind of CPU. */
GERNE_CHECKED gerne_status gn_rundir_compare(gn_trainer *t, const json_t *head);

#endif
