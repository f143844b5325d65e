#include "methods/mixing.h"

#include <math.h>

gerne_status gn_check_pairs(gn_run *run)
{
    if (run->batch >= 2)
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE, "method '%s' mixes samples of a batch, and a batch has one",
            run->method->name);
    gn_hint(run->ctx, "raise --train.batch");
    return GERNE_EUSAGE;
}

gerne_status gn_mixing_start(gn_run *run, size_t capacity, gn_mixing *mixing)
{
    gn_minibatch *batch = &mixing->batch;
    *mixing = (gn_mixing){.capacity = capacity};
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->pairs, &mixing->pairs));
    for (int f = 0; f < GN_FIELDS_MAX; f++) {
        GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->own[f], &mixing->own[f]));
        GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->other[f], &mixing->other[f]));
    }
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->indices, &mixing->indices));
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->labels, &mixing->labels));
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->other_labels, &mixing->other_labels));
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->draw_weights, &mixing->draw_weights));
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->share, &mixing->share));
    GN_TRY(gn_run_alloc(run, capacity, sizeof *mixing->boxes, &mixing->boxes));
    GN_TRY(gn_run_alloc(run, capacity, sizeof *batch->weights, &batch->weights));
    for (int i = 0; i < run->stage->networks; i++) {
        GN_TRY(gn_run_alloc(run, capacity, sizeof *batch->losses[i], &batch->losses[i]));
        GN_TRY(gn_run_alloc(run, capacity, sizeof *batch->predictions[i], &batch->predictions[i]));
    }
    return GERNE_OK;
}

static void gather(gn_mixing *mixing, const gn_minibatch *batch, size_t count)
{
    const gn_samples *from = &batch->samples;
    for (size_t i = 0; i < count; i++) {
        const gn_pair *pair = &mixing->pairs[i];
        mixing->indices[i] = batch->indices[pair->own];
        mixing->labels[i] = from->labels[pair->own];
        mixing->other_labels[i] = from->labels[pair->other];
        mixing->draw_weights[i] = 1.0f / (float)count;
        mixing->share[i] = pair->share;
        mixing->boxes[i] = pair->box;
        for (int f = 0; f < GN_FIELDS_MAX && from->fields[f]; f++) {
            mixing->own[f][i] = from->fields[f][pair->own];
            mixing->other[f][i] = from->fields[f][pair->other];
        }
    }
}

gn_minibatch *gn_mix(gn_mixing *mixing, const gn_minibatch *batch, size_t count,
                     gn_mix_operator how)
{
    gn_minibatch *mixed = &mixing->batch;
    gather(mixing, batch, count);
    mixing->mixture = (gn_mixture){.labels = mixing->other_labels,
                                   .share = mixing->share,
                                   .boxes = how == GN_MIX_BOXES ? mixing->boxes : NULL};
    mixed->indices = mixing->indices;
    mixed->samples = batch->samples;
    mixed->samples.count = count;
    mixed->samples.labels = mixing->labels;
    mixed->samples.weights = mixing->draw_weights;
    mixed->samples.mixture = &mixing->mixture;
    for (int f = 0; f < GN_FIELDS_MAX && batch->samples.fields[f]; f++) {
        mixed->samples.fields[f] = mixing->own[f];
        mixing->mixture.fields[f] = mixing->other[f];
    }
    return mixed;
}

static uint16_t clip(int64_t at, uint32_t end)
{
    return (uint16_t)(at < 0 ? 0 : at > (int64_t)end ? (int64_t)end : at);
}

gn_box gn_cutmix_box(double lambda, uint32_t height, uint32_t width, uint32_t row, uint32_t column,
                     float *share)
{
    double side = sqrt(1 - lambda);
    int64_t half_height = (int64_t)(height * side) / 2, half_width = (int64_t)(width * side) / 2;
    gn_box box = {.top = clip((int64_t)row - half_height, height),
                  .left = clip((int64_t)column - half_width, width),
                  .bottom = clip((int64_t)row + half_height, height),
                  .right = clip((int64_t)column + half_width, width)};
    double covered = (double)(box.bottom - box.top) * (box.right - box.left);
    *share = (float)(1 - covered / ((double)height * width));
    return box;
}
