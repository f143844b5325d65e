/* model.h - the inside of a gerne_model. */
#ifndef GN_API_MODEL_H
#define GN_API_MODEL_H

#include <pthread.h>

#include "train/trained_model.h"

struct gerne_model {
    gn_config *config; /* behind options */
    gn_trained_options options;
    gn_trained_model *model;
    const char *path;
    pthread_mutex_t lock; /* held until the first predictor has completed the model */
    _Atomic bool complete;
};

/* Data of a split and a predictor for it: of the dataset, or NULL for the run's own. Close both. */
GERNE_CHECKED gerne_status gn_model_use(gerne_ctx *ctx, gerne_model *model,
                                        const gerne_dataset *dataset, gerne_split split,
                                        gn_model_data *data, gn_predictor **predictor);

#endif
