/* same_data.h - is the data that a run names still the data it was trained on? */
#ifndef GN_TRAIN_SAME_DATA_H
#define GN_TRAIN_SAME_DATA_H

#include "base/status.h"

/* Opens the data of the run and compares its fingerprint with the one that the run recorded.
 * GERNE_EUSAGE when they differ; a run that recorded none passes. flag is what allows other data,
 * for the hint. */
GERNE_CHECKED gerne_status gn_same_data_check(gerne_ctx *ctx, const char *run, const char *flag);

#endif
