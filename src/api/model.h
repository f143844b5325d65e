/* model.h - the inside of a gerne_model. */
#ifndef GN_API_MODEL_H
#define GN_API_MODEL_H

#include <pthread.h>

#include "train/trained_model.h"

enum { GN_IDLE_MAX = 4 }; /* networks that a model keeps for later calls */

struct gerne_model {
    gn_config *config; /* behind options */
    gn_trained_options options;
    gn_trained_model *model;
    const char *path;
    pthread_mutex_t lock; /* held until the first predictor has completed the model */
    _Atomic bool complete;
    _Atomic bool same_data; /* the run's own data is known to be what it was */
    pthread_mutex_t idle_lock;
    gn_predictor *idle[GN_IDLE_MAX]; /* resting ones, the least recently used first */
    size_t idle_count;
};

/* What one call uses: data of a split, and a predictor that no other call has meanwhile. */
typedef struct gn_model_use {
    gn_model_data data;
    gn_predictor *predictor;
    int threads; /* OpenMP's of the caller, which gets them back */
} gn_model_use;

/* Of the dataset, or NULL for the run's own data. The end is needed after a failure, too; a
 * predictor is kept for the next call unless status says that this one failed. */
GERNE_CHECKED gerne_status gn_model_use_start(gerne_ctx *ctx, gerne_model *model,
                                              const gerne_dataset *dataset, gerne_split split,
                                              gn_model_use *use);
void gn_model_use_end(gerne_model *model, gerne_status status, gn_model_use *use);

#endif
