/* freeze.c - a run whose body is frozen trains heads on features. */
#include <string.h>

#include "train/model_file.h"
#include "train/trainer.h"

gerne_status gn_freeze_body(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    const gn_run_config *config = t->config;
    const char *cache;
    if (config->model.freeze != GN_FREEZE_BODY)
        return GERNE_OK;
    GN_TRY(gn_cache_folder(ctx, t->arena, config->top.cache, &cache));
    const gn_frozen_options options = {
        .model = &t->model,
        .cache = cache,
        .seed = (uint64_t)config->top.seed,
        .threads = gn_device_threads(t->device),
    };
    gn_frozen *frozen;
    GN_TRY(gn_frozen_features(ctx, t->device, &options, t->data, &frozen));
    if (gn_frozen_cached(frozen))
        gn_log(ctx, GERNE_LOG_INFO, "features of the frozen body: found in the cache");
    memcpy(t->scale, t->data->scale, sizeof t->scale);
    memcpy(t->shift, t->data->shift, sizeof t->shift);
    gn_dataset_close(t->data); /* its samples are not needed any more */
    t->frozen = frozen;
    t->data = gn_frozen_dataset(frozen);
    return GERNE_OK;
}

gerne_status gn_save_model(gn_trainer *t, const char *path)
{
    gn_network *network = t->networks[0];
    if (t->frozen) {
        GN_TRY(gn_frozen_set_head(t->run.ctx, t->frozen, network));
        network = gn_frozen_network(t->frozen);
    }
    gn_model_card card = gn_model_card_of(network, t->data, t->run.method->name);
    if (t->frozen) {
        memcpy(card.scale, t->scale, sizeof card.scale);
        memcpy(card.shift, t->shift, sizeof card.shift);
    }
    return gn_model_file_save(t->run.ctx, path, network, &card);
}
