/* shared_data.h - the data of several runs in one process, after or beside each other: read once as
 * long as their keys of the section data stay the same. */
#ifndef GN_TRAIN_SHARED_DATA_H
#define GN_TRAIN_SHARED_DATA_H

#include <pthread.h>

#include "data/dataset.h"
#include "train/options.h"

/* What was read last; starts as GN_SHARED_DATA. */
typedef struct gn_shared_data {
    pthread_mutex_t lock;
    gn_text keys;
    gn_dataset *dataset;
} gn_shared_data;

#define GN_SHARED_DATA                                                                             \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* What the run would read, or NULL; the caller closes it, too. */
GERNE_CHECKED gerne_status gn_shared_data_find(gerne_ctx *ctx, const gn_run_config *config,
                                               gn_dataset **out);
/* Keeps what the run has read for the next one; it must not change any more. */
GERNE_CHECKED gerne_status gn_shared_data_keep(gerne_ctx *ctx, const gn_run_config *config,
                                               gn_dataset *dataset);
void gn_shared_data_free(gn_shared_data *shared);
GN_LOCAL_STRUCT(gn_shared_data, gn_shared_data_free)

#endif
