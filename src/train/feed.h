/* feed.h - the batches of a stage, step by step: drawn as the method plans them, fetched ahead. */
#ifndef GN_TRAIN_FEED_H
#define GN_TRAIN_FEED_H

#include "data/dataset.h"
#include "methods/method.h"

typedef struct gn_feed gn_feed;

/* rows: training sample -> sample of the dataset. Everything is lent. */
GERNE_CHECKED gerne_status gn_feed_new(gn_run *run, const gn_dataset *data, const uint32_t *rows,
                                       int threads, gn_feed **out);
void gn_feed_close(gn_feed *feed); /* takes NULL */
GN_LOCAL_HANDLE(gn_feed, gn_feed_close)

/* The batches of step k; borrowed until the next call. Steps follow each other by one. */
GERNE_CHECKED gerne_status gn_feed_next(gn_feed *feed, int64_t k, gn_minibatch **batches);

#endif
