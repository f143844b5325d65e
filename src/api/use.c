/* use.c - what a call of a gerne_model works with: data, and a network out of the model's store.
 *
 * Building a network takes longer than running it on a few samples, so that networks are kept. A
 * call takes one that rests, or builds one; no two calls share one at the same time. */
#include <stdatomic.h>
#include <string.h>

#include "api/handles.h"
#include "api/model.h"

/* ---- networks that rest ---- */

static gn_predictor *take_idle(gerne_model *model, const gn_model_data *data)
{
    gn_predictor *found = NULL;
    pthread_mutex_lock(&model->idle_lock);
    for (size_t i = model->idle_count; i-- > 0 && !found;)
        if (gn_predictor_suits(model->idle[i], data)) {
            found = model->idle[i];
            model->idle_count--;
            memmove(model->idle + i, model->idle + i + 1,
                    (model->idle_count - i) * sizeof *model->idle);
        }
    pthread_mutex_unlock(&model->idle_lock);
    return found;
}

static void keep_idle(gerne_model *model, gn_predictor *predictor)
{
    gn_predictor *oldest = NULL;
    gn_predictor_rest(predictor);
    pthread_mutex_lock(&model->idle_lock);
    if (model->idle_count == GN_IDLE_MAX) {
        oldest = model->idle[0];
        model->idle_count--;
        memmove(model->idle, model->idle + 1, model->idle_count * sizeof *model->idle);
    }
    model->idle[model->idle_count++] = predictor;
    pthread_mutex_unlock(&model->idle_lock);
    gn_predictor_close(oldest);
}

/* ---- a call ---- */

static gerne_status open_data(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset,
                              gn_split split, gn_model_data *data)
{
    return dataset ? gn_trained_model_other_data(ctx, model->model, &dataset->options, split, data)
                   : gn_trained_model_data(ctx, model->model, split, data);
}

static gerne_status open_first(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset,
                               gn_split split, gn_model_use *use)
{
    GN_TRY(open_data(ctx, model, dataset, split, &use->data));
    return gn_predictor_new(ctx, model->model, &use->data, &use->predictor);
}

static gerne_status open_again(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset,
                               gn_split split, gn_model_use *use)
{
    GN_TRY(open_data(ctx, model, dataset, split, &use->data));
    use->predictor = take_idle(model, &use->data);
    return use->predictor ? gn_predictor_wake(ctx, use->predictor, &use->data)
                          : gn_predictor_new(ctx, model->model, &use->data, &use->predictor);
}

gerne_status gn_model_use_start(gerne_ctx *ctx, gerne_model *model, const gerne_dataset *dataset,
                                gerne_split split, gn_model_use *use)
{
    gn_split which;
    *use = (gn_model_use){.threads = gn_threads_of_caller()};
    GN_TRY(gn_take_split(ctx, split, &which));
    if (atomic_load(&model->complete))
        return open_again(ctx, model, dataset, which, use);
    pthread_mutex_lock(&model->lock);
    gerne_status status = open_first(ctx, model, dataset, which, use);
    if (status == GERNE_OK)
        atomic_store(&model->complete, true);
    pthread_mutex_unlock(&model->lock);
    return status;
}

void gn_model_use_end(gerne_model *model, gerne_status status, gn_model_use *use)
{
    if (status == GERNE_OK && !use->data.cached)
        keep_idle(model, use->predictor);
    else
        gn_predictor_close(use->predictor);
    gn_model_data_close(&use->data);
    gn_restore_threads(use->threads);
}
