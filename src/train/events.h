/* events.h - scalars for TensorBoard: an event file of framed, checksummed records.
 *
 * The file only grows; a checkpoint keeps the length of gn_events_sync and a resumed run opens the
 * file with it. Wall times differ between runs: nothing is compared byte by byte here.
 */
#ifndef GN_TRAIN_EVENTS_H
#define GN_TRAIN_EVENTS_H

#include "base/status.h"

/* TensorBoard finds files by this word in their name. */
#define GN_EVENTS_FILE "events.out.tfevents.gerne"

typedef struct gn_events gn_events;

/* Starts the file (keep = 0) or appends after its first keep bytes. The context is lent. */
GERNE_CHECKED gerne_status gn_events_open(gerne_ctx *ctx, const char *path, uint64_t keep,
                                          gn_events **out);

/* One point of the curve that tag names, such as "val/wga". Like gn_events_flush it takes NULL: a
 * rank that does not write. */
GERNE_CHECKED gerne_status gn_events_scalar(gn_events *events, const char *tag, uint64_t step,
                                            double value);

GERNE_CHECKED gerne_status gn_events_flush(gn_events *events); /* others see it */
GERNE_CHECKED gerne_status gn_events_sync(gn_events *events, uint64_t *length);
void gn_events_close(gn_events *events); /* takes NULL */
GN_LOCAL_HANDLE(gn_events, gn_events_close)

#endif
