/* handles.h - the insides of configurations and datasets that calls of several files use. */
#ifndef GN_API_HANDLES_H
#define GN_API_HANDLES_H

#include "data/dataset.h"
#include "train/options.h"

struct gerne_config {
    gn_arena *arena;
    gn_settings file, flags; /* of YAML and of gerne_config_set, which wins */
};

struct gerne_dataset {
    gn_arena *arena;
    gn_config *config; /* behind options; NULL for arrays */
    gn_data_options options;
    gerne_arrays arrays; /* of options.arrays */
    gn_settings keys;    /* the section data of a run on this dataset */
    gn_dataset *labels;  /* not prepared: its samples are never read */
    const char *name;    /* for people */
    size_t counts[GN_SPLITS + 1];
};

/* Sets a key, in the place of an earlier value. */
GERNE_CHECKED gerne_status gn_settings_put(gerne_ctx *ctx, gn_settings *settings,
                                           const gn_setting *setting);

/* All settings of a configuration (NULL: none) whose keys start with prefix, flags over file. */
GERNE_CHECKED gerne_status gn_config_pick(gerne_ctx *ctx, const gerne_config *config,
                                          const char *prefix, gn_settings *out);

/* The configuration of a training run, with the dataset (NULL: none) in the place of its section
 * data. The dataset has to outlive it. */
GERNE_CHECKED gerne_status gn_config_resolve(gerne_ctx *ctx, const gerne_config *config,
                                             const gerne_dataset *dataset, gn_run_config **out);

/* GERNE_EUSAGE for a number that is no gerne_split; the numbers are those of gn_split. */
GERNE_CHECKED gerne_status gn_take_split(gerne_ctx *ctx, gerne_split split, gn_split *out);

#endif
