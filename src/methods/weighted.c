#include "methods/weighted.h"

gerne_status gn_plan_draw(gn_plan *plan, const gerne_sampler *sampler, gerne_draw draw)
{
    plan->batches[plan->count++] = (gn_request){.sampler = sampler, .draw = draw};
    return GERNE_OK;
}

gerne_status gn_shuffled_start(gn_run *run)
{
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.drop_last = true}, &run->shuffled);
}

gerne_status gn_shuffled_plan(gn_run *run, int64_t k, gn_plan *plan)
{
    (void)k;
    return gn_plan_draw(plan, run->shuffled, GERNE_DRAW_SHUFFLED);
}

static gn_cross_entropy terms_of(const gn_minibatch *batch, const float *weights)
{
    gn_cross_entropy terms = gn_samples_terms(&batch->samples);
    if (weights)
        terms.weights = weights;
    return terms;
}

gerne_status gn_weighted_pass(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                              bool accumulate)
{
    const gn_cross_entropy terms = terms_of(batch, weights);
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    return gn_run_pass(run, i, batch, &loss, accumulate);
}

gerne_status gn_weighted_forward(gn_run *run, int i, gn_minibatch *batch)
{
    const gn_cross_entropy terms = terms_of(batch, NULL);
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    return gn_run_forward(run, i, batch, &loss);
}

gerne_status gn_weighted_backward(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                                  bool accumulate)
{
    const gn_cross_entropy terms = terms_of(batch, weights);
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    return gn_run_backward(run, i, batch, &loss, accumulate);
}

gerne_status gn_plain_step(gn_run *run, gn_minibatch *batch)
{
    GN_TRY(gn_weighted_pass(run, 0, batch, NULL, false));
    gn_run_log(run, "loss", gn_mean(batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

gerne_status gn_weighted_step(gn_run *run, gn_minibatch *batch)
{
    GN_TRY(gn_weighted_pass(run, 0, batch, batch->weights, false));
    gn_run_log(run, "loss",
               gn_weighted_sum(batch->weights, batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

double gn_weighted_sum(const float *weights, const float *losses, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)weights[i] * (double)losses[i];
    return sum;
}

double gn_mean(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i];
    return sum / (double)count;
}
