/* use_model.h - a trained network and data to use it on: what `eval` and `predict` share.
 *
 * The first argument is a run directory or a file of weights. A run brings its own data and model
 * keys, over which flags win; a model file tells its architecture, any other file of weights needs
 * --model.arch.
 */
#ifndef GN_CLI_USE_MODEL_H
#define GN_CLI_USE_MODEL_H

#include "cli/command.h"
#include "train/frozen.h"
#include "train/inference.h"
#include "train/last.h"
#include "train/model_file.h"

typedef struct gn_use_options {
    gn_data_options data;
    gn_model_options model;
    int checkpoint, precision;
    int64_t threads;
    const char *cache, *class_names;
    bool frozen; /* the run's model.freeze is body */
} gn_use_options;

/* Adds the options' tables to the command. */
GERNE_CHECKED gerne_status gn_use_options_add(gn_cli *cli, gn_use_options *options);

typedef struct gn_use {
    gn_dataset *source;     /* what the data.* keys describe */
    const gn_dataset *data; /* that, or the features of its frozen body */
    const gn_model_card *card;
    gn_sample_list samples;  /* of the split */
    gn_inference *inference; /* over data */
    int32_t *class_of;       /* [source->classes] the model's class, by name; -1: it has none */
    uint64_t *train_counts;  /* [classes][attributes] of the data's training split, or NULL */

    /* Behind them. */
    gn_device *device;
    gn_model_file *file;
    gn_network *network;
    gn_frozen *frozen;
    gn_last *last;          /* with --checkpoint last */
    const char *weights;    /* the file */
    const char *checkpoint; /* last.ckpt of the run */
    bool from_run;
} gn_use;

/* Reads a run's configuration, applies the flags, opens everything. split is "train", "val",
 * "test" or "all". Close it also after a failure. */
GERNE_CHECKED gerne_status gn_use_open(gn_cli *cli, gn_use_options *options, const char *argument,
                                       const char *split, gn_use *use);
void gn_use_close(gn_use *use);

#endif
