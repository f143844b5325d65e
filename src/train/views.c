/* views.c - what model.views needs: pictures that change, and frozen layers whose output is kept.
 */
#include "train/trainer.h"

static gerne_status check_freeze(gerne_ctx *ctx, const gn_model_options *model)
{
    gn_freeze freeze = gn_model_freeze(model);
    if (freeze == GN_FREEZE_NONE || freeze == GN_FREEZE_HEAD) {
        gn_fail(ctx, GERNE_EUSAGE,
                "model.views needs a frozen body or layer, whose output is kept");
        gn_hint(ctx, "use --model.freeze body, or --model.freeze LAYER");
        return GERNE_EUSAGE;
    }
    if (model->activations == GN_RECOMPUTE) {
        gn_fail(ctx, GERNE_EUSAGE,
                "model.views cannot be combined with model.activations recompute, which keeps "
                "nothing");
        gn_hint(ctx, "use --model.activations fp16 or fp32, or remove model.views");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

gerne_status gn_check_views(const gn_trainer *t, const gn_dataset *data)
{
    gerne_ctx *ctx = t->run.ctx;
    const gn_model_options *model = &t->config->model;
    if (gn_model_views(model) == 1)
        return GERNE_OK;
    if (data->field != GN_PIXELS) {
        gn_fail(ctx, GERNE_EUSAGE, "model.views keeps changed images, and this data has none");
        gn_hint(ctx, "remove model.views");
        return GERNE_EUSAGE;
    }
    GN_TRY(check_freeze(ctx, model));
    if (data->augment != GN_AUGMENT_NONE)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "model.views keeps changed images, but data.augment is none");
    gn_hint(ctx, "use --data.augment flip, or another change");
    return GERNE_EUSAGE;
}

gerne_status gn_check_views_are_kept(const gn_trainer *t)
{
    if (gn_model_views(&t->model) == 1 || t->on_features)
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "model.views needs layers whose output is kept, but '%s' cannot be cut behind '%s'",
            t->model.arch, t->model.freeze);
    gn_hint(t->run.ctx, "use --model.freeze body or another layer, or remove model.views");
    return GERNE_EUSAGE;
}
