/* trained_options.h - how a trained model is used: the keys that `eval` and `predict` share.
 *
 * A run brings its own keys for data and model, over which flags win; a file of weights has flags
 * alone.
 */
#ifndef GN_TRAIN_TRAINED_OPTIONS_H
#define GN_TRAIN_TRAINED_OPTIONS_H

#include "data/options.h"
#include "nn/model.h"

typedef enum gn_trained_checkpoint { GN_CHECKPOINT_BEST, GN_CHECKPOINT_LAST } gn_trained_checkpoint;

typedef struct gn_trained_options {
    gn_data_options data;
    gn_model_options model;    /* of weights without metadata; arch NULL: not given */
    int checkpoint, precision; /* checkpoint: of a run */
    int64_t threads;
    const char *cache;
    const char *class_names; /* a file with one name per line; NULL: those of the metadata */
    bool other_data;         /* a run's own data may have changed */

    /* Filled by gn_trained_options_resolve. */
    const char *model_flag; /* the first model.* flag; NULL: none */
    bool has_data;          /* flags name data, or a run brings its own */
    bool own_data;          /* of a run, and no flag names other data */
    bool frozen;            /* of a run on its own data, with a frozen body: features are cached */
    bool cut;               /* of a run on what frozen layers computed, unless on texts */
} gn_trained_options;

/* Adds the tables to a configuration and fills *options with the defaults. */
GERNE_CHECKED gerne_status gn_trained_options_add(gerne_ctx *ctx, gn_config *config,
                                                  gn_trained_options *options);

/* With the key that evaluating has beyond those. */
#define GN_OTHER_DATA_HELP                                                                         \
    "of a run: evaluate although its data is not what it was when it was trained (without this, "  \
    "and without data.* keys, a changed fingerprint is an error)"
GERNE_CHECKED gerne_status gn_trained_options_add_all(gerne_ctx *ctx, gn_config *config,
                                                      gn_trained_options *options);

/* Without the keys of data and arithmetic: for what needs the model alone. */
GERNE_CHECKED gerne_status gn_trained_options_add_model(gerne_ctx *ctx, gn_config *config,
                                                        gn_trained_options *options);

/* Applies the keys of the run at path, if it is one, then the flags, to the configuration that the
 * options were added to (flags may belong to its other tables). */
GERNE_CHECKED gerne_status gn_trained_options_resolve(gerne_ctx *ctx, gn_config *config,
                                                      const char *path, const gn_settings *flags,
                                                      gn_trained_options *options);

#endif
