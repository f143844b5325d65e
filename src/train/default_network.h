/* default_network.h - the network of a run that names none: chosen by the data, and logged. */
#ifndef GN_TRAIN_DEFAULT_NETWORK_H
#define GN_TRAIN_DEFAULT_NETWORK_H

#include "data/dataset.h"
#include "train/options.h"

/* What model.arch stands for, auto included. */
const char *gn_architecture_name(const gn_run_config *config, const gn_dataset *dataset);

/* Puts a name in the place of model.arch auto, so that config.yaml and run_hash have it. */
GERNE_CHECKED gerne_status gn_settle_architecture(gerne_ctx *ctx, const gn_run_config *config,
                                                  const gn_dataset *dataset);

#endif
