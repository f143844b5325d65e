/* predict.c - what a gerne_model says about samples, and how right it is. */
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/evaluate.h"
#include "api/model.h"
#include "train/judge.h"
#include "train/same_data.h"

/* ---- predictions ---- */

struct gerne_predictions {
    gn_predictions predictions;
    uint32_t *rows;
    float *features;
    size_t count, feature_count, row_capacity, feature_capacity;
};

static const int32_t no_label[1] = {0}; /* predictions are kept without labels */

typedef struct collector {
    gerne_ctx *ctx;
    const gn_dataset *dataset;
    bool with_features;
    gerne_predictions *out;
} collector;

static gerne_status collect(void *user, const gn_inferred *inferred)
{
    const collector *c = user;
    gerne_predictions *out = c->out;
    size_t classes = (size_t)out->predictions.classes, width = inferred->feature_count;
    GN_TRY(gn_grow(c->ctx, &out->rows, &out->row_capacity, out->count + inferred->count,
                   sizeof *out->rows, "predictions"));
    if (c->with_features) {
        out->feature_count = width;
        GN_TRY(gn_grow(c->ctx, &out->features, &out->feature_capacity,
                       (out->count + inferred->count) * width, sizeof *out->features, "features"));
        memcpy(out->features + out->count * width, inferred->features,
               inferred->count * width * sizeof *out->features);
    }
    for (size_t i = 0; i < inferred->count; i++) {
        GN_TRY(gn_predictions_add_logits(c->ctx, &out->predictions, inferred->logits + i * classes,
                                         no_label, no_label, 1));
        out->rows[out->count++] = (uint32_t)gn_dataset_row(c->dataset, inferred->samples[i]);
    }
    return GERNE_OK;
}

gerne_status gerne_model_predict(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset,
                                 gerne_split split, unsigned flags, gerne_predictions **out)
{
    gn_model_use use;
    gerne_predictions *predictions = NULL;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, model);
    if (flags & ~(unsigned)GERNE_WITH_FEATURES)
        return gn_fail(ctx, GERNE_EUSAGE, "unknown flags 0x%x", flags);
    gerne_status status = gn_model_use_start(ctx, model, dataset, split, &use);
    if (status == GERNE_OK)
        status = gn_alloc(ctx, 1, sizeof *predictions, "predictions", &predictions);
    if (status == GERNE_OK) {
        collector c = {ctx, use.data.dataset, flags & GERNE_WITH_FEATURES, predictions};
        gn_predictions_init(&predictions->predictions, (int32_t)gerne_model_classes(model), 1,
                            true);
        status = gn_predictor_run(use.predictor, "predict", collect, &c);
    }
    gn_model_use_end(model, status, &use);
    if (status != GERNE_OK)
        gerne_predictions_close(predictions);
    else
        *out = predictions;
    return status;
}

void gerne_predictions_close(gerne_predictions *predictions)
{
    if (!predictions)
        return;
    gn_predictions_free(&predictions->predictions);
    gn_free(predictions->rows);
    gn_free(predictions->features);
    gn_free(predictions);
}

size_t gerne_predictions_count(const gerne_predictions *predictions)
{
    return predictions ? predictions->count : 0;
}

uint32_t gerne_predictions_classes(const gerne_predictions *predictions)
{
    return predictions ? (uint32_t)predictions->predictions.classes : 0;
}

const double *gerne_predictions_probabilities(const gerne_predictions *predictions)
{
    return predictions ? predictions->predictions.probabilities : NULL;
}

const int32_t *gerne_predictions_pred(const gerne_predictions *predictions)
{
    return predictions ? predictions->predictions.pred : NULL;
}

const uint32_t *gerne_predictions_rows(const gerne_predictions *predictions)
{
    return predictions ? predictions->rows : NULL;
}

const float *gerne_predictions_features(const gerne_predictions *predictions)
{
    return predictions ? predictions->features : NULL;
}

size_t gerne_predictions_feature_count(const gerne_predictions *predictions)
{
    return predictions ? predictions->feature_count : 0;
}

/* ---- sample by sample ---- */

typedef struct teller {
    gerne_ctx *ctx;
    const gn_dataset *dataset;
    gn_predictions one; /* the sample at hand */
    gerne_prediction told;
    gerne_prediction_fn *take;
    void *user;
    char file[4096];
} teller;

static gerne_status tell_sample(teller *t, uint32_t sample)
{
    const gn_dataset *dataset = t->dataset;
    gerne_prediction *told = &t->told;
    told->row = gn_dataset_row(dataset, sample);
    told->y = dataset->y ? dataset->class_names[dataset->y[sample]] : NULL;
    told->a = dataset->a ? dataset->attribute_names[dataset->a[sample]] : NULL;
    told->split = (gerne_split)dataset->split[sample];
    if (told->file)
        gn_dataset_file(dataset, sample, t->file, sizeof t->file);
    told->pred = t->one.pred[0];
    told->probabilities = t->one.probabilities;
    return t->take(t->user, told);
}

static gerne_status tell(void *user, const gn_inferred *inferred)
{
    teller *t = user;
    for (size_t i = 0; i < inferred->count; i++) {
        gn_predictions_clear(&t->one);
        GN_TRY(gn_predictions_add_logits(t->ctx, &t->one, inferred->logits + i * t->told.classes,
                                         no_label, no_label, 1));
        GN_TRY(tell_sample(t, inferred->samples[i]));
    }
    return GERNE_OK;
}

static gerne_status tell_all(teller *t, gn_predictor *predictor, uint32_t classes)
{
    t->told = (gerne_prediction){
        .size = sizeof t->told,
        .file = gn_dataset_has_files(t->dataset) ? t->file : NULL,
        .classes = classes,
        .attributes = t->dataset->attributes,
        .attribute_names = t->dataset->attribute_names,
    };
    gn_predictions_init(&t->one, (int32_t)classes, 1, true);
    gerne_status status = gn_predictor_run(predictor, "predict", tell, t);
    gn_predictions_free(&t->one);
    return status;
}

gerne_status gerne_model_predict_each(gerne_ctx *ctx, gerne_model *model,
                                      const gerne_dataset *dataset, gerne_split split,
                                      gerne_prediction_fn *take, void *user)
{
    gn_model_use use;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, model);
    GN_NEEDS(ctx, take);
    gerne_status status = gn_model_use_start(ctx, model, dataset, split, &use);
    if (status == GERNE_OK) {
        teller t = {.ctx = ctx, .dataset = use.data.dataset, .take = take, .user = user};
        status = tell_all(&t, use.predictor, gerne_model_classes(model));
    }
    gn_model_use_end(model, status, &use);
    return status;
}

/* ---- evaluation ---- */

static gerne_status check_data(gerne_ctx *ctx, gerne_model *model)
{
    const gn_trained_options *options = &model->options;
    if (!options->own_data || options->other_data || atomic_load(&model->same_data))
        return GERNE_OK;
    GN_TRY(gn_same_data_check(ctx, model->path, "--other-data"));
    atomic_store(&model->same_data, true);
    return GERNE_OK;
}

static gerne_status give_judgement(gerne_ctx *ctx, const gerne_model *model, gn_split split,
                                   const gn_judgement *judgement, gerne_metrics *metrics,
                                   gerne_form form, char **out)
{
    char title[GN_JUDGEMENT_TITLE];
    const gn_evaluation evaluation = {.first = {gn_judgement_title(model->path, split, title),
                                                &judgement->metrics, judgement->names}};
    gn_warn_of_empty_groups(ctx, &judgement->metrics, &judgement->names);
    GN_TRY(gn_give_metrics(ctx, &judgement->metrics, metrics));
    return gn_give_evaluation(ctx, &evaluation, form, out);
}

gerne_status gerne_model_evaluate(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset,
                                  gerne_split split, gerne_metrics *metrics, gerne_form form,
                                  char **out)
{
    gn_model_use use;
    gn_judgement judgement = {0};
    if (out)
        *out = NULL;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, model);
    GN_TRY(gn_check_form(ctx, form));
    if (!dataset)
        GN_TRY(check_data(ctx, model));
    gerne_status status = gn_model_use_start(ctx, model, dataset, split, &use);
    if (status == GERNE_OK)
        status = gn_judge(ctx, model->model, &use.data, use.predictor, &judgement);
    if (status == GERNE_OK)
        status = give_judgement(ctx, model, use.data.split, &judgement, metrics, form, out);
    gn_judgement_free(&judgement);
    gn_model_use_end(model, status, &use);
    return status;
}
