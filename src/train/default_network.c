#include "train/default_network.h"

#include <stdio.h>
#include <string.h>

#include "train/inference.h"

/* From this side on, images are for the ResNets of ImageNet; below it their stem would leave too
 * little of them. */
enum { LARGE_SIDE = 64, REASON_MAX = 120 };

static const char *choose(const gn_run_config *c, const gn_dataset *dataset, char *reason)
{
    bool small = dataset->height < LARGE_SIDE || dataset->width < LARGE_SIDE;
    char words[96];
    if (gn_config_origin(c->config, "model.hidden") >= GN_FILE) {
        snprintf(reason, REASON_MAX, "because model.hidden is set");
        return "mlp";
    }
    if (c->data.format == GN_DATA_SYNTHETIC || c->data.format == GN_DATA_CMNIST) {
        snprintf(reason, REASON_MAX, "the default for %s data",
                 gn_data_format_name(c->data.format));
        return "mlp";
    }
    gn_sample_shape shape = gn_dataset_shape(dataset);
    gn_shape_words(&shape, words, sizeof words);
    snprintf(reason, REASON_MAX, "the default for %s", words);
    if (dataset->field == GN_TOKENS)
        return "bert";
    return dataset->field == GN_FEATURES ? "mlp" : small ? "resnet20" : "resnet18";
}

const char *gn_architecture_name(const gn_run_config *config, const gn_dataset *dataset)
{
    char reason[REASON_MAX];
    const char *name = config->model.arch;
    return strcmp(name, "auto") == 0 ? choose(config, dataset, reason) : name;
}

gerne_status gn_settle_architecture(gerne_ctx *ctx, const gn_run_config *config,
                                    const gn_dataset *dataset)
{
    char reason[REASON_MAX];
    if (strcmp(config->model.arch, "auto") != 0)
        return GERNE_OK;
    const char *name = choose(config, dataset, reason);
    GN_LOCAL(gn_settings) chosen = {.arena = gn_config_arena(config->config)};
    gn_log(ctx, GERNE_LOG_INFO, "network: %s, %s (--model.arch selects another)", name, reason);
    GN_TRY(gn_settings_add(ctx, &chosen, "model.arch", &name, 1, false, 0));
    GN_TRY(gn_config_apply(ctx, config->config, &chosen));
    return gn_config_complete(ctx, config->config); /* options of other networks are unset */
}
