/* apart.c - gradients of all ranks, and body and head apart: the calls of methods/method.h whose
 * parts lie on several ranks. Methods see whole batches. */
#include <string.h>

#include "nn/split_pass.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

static gn_trainer *trainer_of(gn_run *run)
{
    return (gn_trainer *)run;
}

/* ---- gradients ---- */

void gn_run_more(gn_run *run, int i)
{
    trainer_of(run)->now.split[i].more = true;
}

/* What ranks have summed, and a pass is to add to, is rank 0's part from now on. */
static void divide(gn_run *run, int i)
{
    gn_block block = gn_network_trained(gn_run_network(run, i));
    if (!gn_ranks_first(run->ctx))
        memset(block.gradients, 0, block.size * sizeof *block.gradients);
}

gerne_status gn_expect_gradients(gn_run *run, int i, bool accumulate, bool whole)
{
    gn_split_parts *split = &trainer_of(run)->now.split[i];
    bool sums = whole && !split->more;
    if (split->sum == GN_SUM_UNDER_WAY)
        GN_TRY(gn_sum_gradients(run, i));
    if (accumulate && split->sum == GN_SUM_WHOLE)
        divide(run, i);
    split->sum = sums ? GN_SUM_UNDER_WAY : GN_SUM_PART;
    split->more = false;
    return gn_split_set_summing(run->ctx, gn_run_network(run, i), sums);
}

gerne_status gn_sum_gradients(gn_run *run, int i)
{
    gn_split_parts *split = &trainer_of(run)->now.split[i];
    gn_block block = gn_network_trained(gn_run_network(run, i));
    if (split->sum == GN_SUM_PART)
        GN_TRY(gn_ranks_sum(run->ctx, block.gradients, block.size));
    if (split->sum == GN_SUM_UNDER_WAY)
        GN_TRY(gn_ranks_sum_wait(run->ctx));
    split->sum = GN_SUM_WHOLE;
    return GERNE_OK;
}

gerne_status gn_run_gradients(gn_run *run, int i, const float **out)
{
    *out = gn_network_trained(gn_run_network(run, i)).gradients;
    return gn_sum_gradients(run, i);
}

/* ---- body and head apart ---- */

static gn_share share_of(const gn_run *run, size_t count)
{
    const gn_ranks *ranks = gn_ranks_of(run->ctx);
    return gn_ranks_share(ranks, gn_ranks_rank(ranks), count, 1);
}

/* The rows of all ranks, where there are several. */
static gerne_status gather(gn_run *run, int i, const float *own, size_t count, size_t row,
                           gn_split_rows *rows, const float **out)
{
    *out = own;
    if (!gn_ranks_of(run->ctx) || !own)
        return GERNE_OK;
    GN_TRY(gn_grow(run->ctx, &rows->values, &rows->capacity, count * row, sizeof(float),
                   "a batch of all ranks"));
    *out = rows->values;
    return gn_split_gather(run->ctx, gn_run_network(run, i), own, count, row, rows->values);
}

gerne_status gn_run_body_forward(gn_run *run, int i, gn_minibatch *batch, const float **features)
{
    gn_network *network = gn_run_network(run, i);
    const gn_samples own = gn_split_own(run->ctx, &batch->samples);
    if (own.count > (size_t)gn_network_batch(network))
        return gn_fail(run->ctx, GERNE_EINTERNAL, "a batch of %zu samples on a network of %lld",
                       own.count, (long long)gn_network_batch(network));
    GN_TRY(gn_network_set_mode(run->ctx, network, GN_MODE_TRAIN));
    if (own.count)
        GN_TRY(gn_pass_part(run->ctx, network, &own, 0, own.count, true));
    return gather(run, i, gn_features(network), batch->samples.count, gn_run_width(run, i),
                  &trainer_of(run)->now.split[i].features, features);
}

gerne_status gn_run_head_forward(gn_run *run, int i, const float *features, size_t count,
                                 const float **logits)
{
    gn_network *network = gn_run_network(run, i);
    gn_share share = share_of(run, count);
    GN_TRY(gn_network_set_mode(run->ctx, network, GN_MODE_TRAIN));
    GN_TRY(gn_head_forward_rows(run->ctx, network, features + share.first * gn_run_width(run, i),
                                share.end - share.first));
    return gather(run, i, gn_logits(network), count, run->classes,
                  &trainer_of(run)->now.split[i].logits, logits);
}

/* The loss of all rows; the gradient of this rank's goes into its network. */
static gerne_status take_gradient(gn_run *run, int i, const gn_loss *loss, size_t count,
                                  float *losses)
{
    gn_network *network = gn_run_network(run, i);
    gn_split_parts *split = &trainer_of(run)->now.split[i];
    size_t classes = run->classes;
    float *own = gn_logit_gradient(network), *gradient = own;
    bool several = gn_ranks_of(run->ctx) != NULL;
    if (several) {
        GN_TRY(gn_grow(run->ctx, &split->logit_gradient.values, &split->logit_gradient.capacity,
                       count * classes, sizeof(float), "a batch of all ranks"));
        gradient = split->logit_gradient.values;
    }
    const gn_loss_part part = {.count = count,
                               .classes = classes,
                               .logits = several ? split->logits.values : gn_logits(network),
                               .losses = losses,
                               .logit_gradient = gradient};
    loss->evaluate(loss->terms, &part);
    gn_share share = share_of(run, count);
    size_t n = share.end - share.first, batch = (size_t)gn_network_batch(network);
    if (several)
        memcpy(own, gradient + share.first * classes, n * classes * sizeof *own);
    memset(own + n * classes, 0, (batch - n) * classes * sizeof *own);
    return GERNE_OK;
}

gerne_status gn_run_head_backward(gn_run *run, int i, const gn_loss *loss, size_t count,
                                  bool accumulate, float *losses, const float **feature_gradient)
{
    gn_network *network = gn_run_network(run, i);
    GN_TRY(gn_expect_gradients(run, i, accumulate, false));
    GN_TRY(take_gradient(run, i, loss, count, losses));
    GN_TRY(gn_head_backward(run->ctx, network, accumulate));
    return gather(run, i, gn_feature_gradient(network), count, gn_run_width(run, i),
                  &trainer_of(run)->now.split[i].feature_gradient, feature_gradient);
}

gerne_status gn_run_body_backward(gn_run *run, int i, const float *feature_gradient, size_t count,
                                  bool accumulate)
{
    gn_share share = share_of(run, count);
    GN_TRY(gn_expect_gradients(run, i, accumulate, false));
    return gn_body_backward_rows(run->ctx, gn_run_network(run, i),
                                 feature_gradient + share.first * gn_run_width(run, i),
                                 share.end - share.first, accumulate);
}
