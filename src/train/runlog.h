/* runlog.h - log.jsonl: what happened in a run, one JSON object a line.
 *
 * The file only grows; a checkpoint keeps the length of gn_runlog_sync and a resumed run opens the
 * file with it. A line is handed to the system whole, so that `tail -f` never shows half of one.
 */
#ifndef GN_TRAIN_RUNLOG_H
#define GN_TRAIN_RUNLOG_H

#include "base/json.h"

typedef struct gn_runlog gn_runlog;

/* Starts the file (keep = 0) or resumes it after its first keep bytes. The context is lent. */
GERNE_CHECKED gerne_status gn_runlog_open(gerne_ctx *ctx, const char *path, uint64_t keep,
                                          gn_runlog **out);

/* Writes {"event":name,"time":seconds since 1970,...fields}. fields is an object, or NULL for none;
 * its reference is taken in every case. Nothing is written where log is NULL: a rank that does not
 * write. */
GERNE_CHECKED gerne_status gn_runlog_event(gn_runlog *log, const char *name, json_t *fields);

GERNE_CHECKED gerne_status gn_runlog_sync(gn_runlog *log, uint64_t *length);
void gn_runlog_close(gn_runlog *log); /* takes NULL */
GN_LOCAL_HANDLE(gn_runlog, gn_runlog_close)

#endif
