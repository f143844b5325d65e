#include "methods/extrapolation.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "debias/bounds.h"

gerne_status gn_extrapolation_start(gn_run *run, gn_extrapolation *e,
                                    const gn_extrapolation_options *options)
{
    if (run->coupled && options->rounded) {
        gn_fail(run->ctx, GERNE_EUSAGE,
                "method.rounding: 'round' changes the batch size, which BatchNorm in "
                "training does not allow");
        gn_hint(run->ctx, "use --method.rounding exact or --model.bn frozen");
        return GERNE_EUSAGE;
    }
    e->beta = options->beta;
    run->c = options->c;
    run->beta = options->beta;
    bool both = options->beta != 0 && options->beta != -1;
    run->pass_samples = (size_t)run->classes * run->per_class * (both && run->concatenate ? 2 : 1);
    const gerne_sampler_options sampler = {
        .c = options->c,
        .beta = options->beta,
        .share_majority = options->share_majority,
        .rounded = options->rounded,
    };
    return gn_run_sampler(run, NULL, &sampler, &e->sampler);
}

/* Where samples do not meet inside the network and look the same in every pass, the two batches
 * become one of distinct samples with signed weights. Otherwise: the biased batch, then the less
 * biased one, without the batch whose weight is zero. */
gerne_status gn_extrapolation_plan(const gn_run *run, const gn_extrapolation *e, gn_plan *plan)
{
    plan->joined = run->concatenate;
    if (!run->coupled && run->fixed) {
        plan->batches[plan->count++] =
            (gn_request){.sampler = e->sampler, .draw = GERNE_DRAW_EXTRAPOLATED};
        return GERNE_OK;
    }
    if (e->beta != 0)
        plan->batches[plan->count++] = (gn_request){
            .sampler = e->sampler, .draw = GERNE_DRAW_BIASED, .scale = (float)-e->beta};
    if (e->beta != -1)
        plan->batches[plan->count++] = (gn_request){
            .sampler = e->sampler, .draw = GERNE_DRAW_LESS_BIASED, .scale = (float)(1 + e->beta)};
    return GERNE_OK;
}

static bool draws_both(const gn_extrapolation *e)
{
    return e->beta != 0 && e->beta != -1;
}

/* Keeps the gradient that the network has now: that of L_b, times scale. */
static gerne_status keep_gradient(gn_run *run, gn_extrapolation *e, double scale)
{
    gn_block block = gn_network_trained(gn_run_network(run, 0));
    const float *gradients;
    GN_TRY(gn_run_gradients(run, 0, &gradients));
    if (!e->gradient)
        GN_TRY(gn_run_alloc(run, block.size, sizeof *e->gradient, &e->gradient));
    for (size_t i = 0; i < block.size; i++)
        e->gradient[i] = (float)((double)gradients[i] / scale);
    return GERNE_OK;
}

/* Norms of the kept gradient of L_b and of that of L_lb, and the cosine of the angle between them.
 * The network holds added times the former plus scale times the latter. */
static gerne_status log_gradients(gn_run *run, const gn_extrapolation *e, double added,
                                  double scale)
{
    gn_block block = gn_network_trained(gn_run_network(run, 0));
    const float *gradients;
    GN_TRY(gn_run_gradients(run, 0, &gradients));
    double dot = 0, norm_b = 0, norm_lb = 0;
    for (size_t i = 0; i < block.size; i++) {
        double b = (double)e->gradient[i], lb = ((double)gradients[i] - added * b) / scale;
        dot += b * lb;
        norm_b += b * b;
        norm_lb += lb * lb;
    }
    gn_run_log(run, "gradient_b", sqrt(norm_b));
    gn_run_log(run, "gradient_lb", sqrt(norm_lb));
    gn_run_log(run, "gradient_cosine", dot / sqrt(norm_b * norm_lb));
    return GERNE_OK;
}

/* Two more passes, one for each batch's own weights. */
static gerne_status diagnose(gn_run *run, gn_extrapolation *e, gn_minibatch *batch)
{
    GN_TRY(gn_weighted_pass(run, 0, batch, batch->biased, false));
    GN_TRY(keep_gradient(run, e, 1));
    GN_TRY(gn_weighted_pass(run, 0, batch, batch->less_biased, false));
    return log_gradients(run, e, 0, 1);
}

/* The loss of one of the two laws; NaN, which is not logged, when none of its samples was drawn. */
static double loss_of(const float *weights, const float *losses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (weights[i] != 0)
            return gn_weighted_sum(weights, losses, count);
    return (double)NAN;
}

static gerne_status coalesced(gn_run *run, gn_extrapolation *e, gn_minibatch *batch)
{
    if (run->diagnose && draws_both(e))
        GN_TRY(diagnose(run, e, batch));
    GN_TRY(gn_weighted_pass(run, 0, batch, NULL, false));
    size_t n = batch->samples.count;
    const float *losses = batch->losses[0];
    gn_run_log(run, "L_b", loss_of(batch->biased, losses, n));
    gn_run_log(run, "L_lb", loss_of(batch->less_biased, losses, n));
    gn_run_log(run, "loss", gn_weighted_sum(batch->samples.weights, losses, n));
    return gn_run_apply(run, 0);
}

/* Both batches in one pass that shares its statistics: the first half is the biased one. */
static gerne_status concatenated(gn_run *run, gn_minibatch *batch)
{
    GN_TRY(gn_weighted_pass(run, 0, batch, NULL, false));
    size_t half = batch->samples.count / 2;
    gn_run_log(run, "L_b", gn_mean(batch->losses[0], half));
    gn_run_log(run, "L_lb", gn_mean(batch->losses[0] + half, half));
    gn_run_log(run, "loss", gn_weighted_sum(batch->samples.weights, batch->losses[0], 2 * half));
    return gn_run_apply(run, 0);
}

gerne_status gn_extrapolation_step(gn_run *run, gn_extrapolation *e, gn_minibatch *batches)
{
    if (!run->coupled && run->fixed)
        return coalesced(run, e, &batches[0]);
    double beta = e->beta, loss_b = 0, loss_lb = 0;
    bool compare = run->diagnose && draws_both(e);
    if (run->concatenate && draws_both(e))
        return concatenated(run, &batches[0]);
    gn_minibatch *next = batches;
    if (beta != 0) {
        GN_TRY(gn_weighted_pass(run, 0, next, NULL, false));
        loss_b = gn_mean(next->losses[0], next->samples.count);
        gn_run_log(run, "L_b", loss_b);
        if (compare)
            GN_TRY(keep_gradient(run, e, -beta));
        next++;
    }
    if (beta != -1) {
        GN_TRY(gn_weighted_pass(run, 0, next, NULL, beta != 0));
        loss_lb = gn_mean(next->losses[0], next->samples.count);
        gn_run_log(run, "L_lb", loss_lb);
        if (compare)
            GN_TRY(log_gradients(run, e, -beta, 1 + beta));
    }
    gn_run_log(run, "loss", (1 + beta) * loss_lb - beta * loss_b);
    return gn_run_apply(run, 0);
}

/* Drawn at random, beta goes from no extrapolation to just below its bound, where a group's share
 * is zero. */
gerne_status gn_extrapolation_limits(gerne_ctx *ctx, const gerne_groups *groups, double c,
                                     unsigned flags, int steps, gn_limits *out)
{
    gerne_bounds bounds;
    gn_beta_list list;
    static_assert(sizeof list.items <= sizeof out->values, "a grid of beta has room");
    *out = (gn_limits){.allowed = {-INFINITY, INFINITY}};
    snprintf(out->at, sizeof out->at, "c = %g", c);
    GN_TRY(gerne_bounds_of(ctx, groups, c, &bounds));
    GN_TRY(gn_beta_grid(ctx, groups, c, steps, &list));
    out->count = list.count;
    memcpy(out->values, list.items, list.count * sizeof list.items[0]);
    if (bounds.binds && !(flags & GERNE_BEYOND_BOUNDS))
        out->allowed = (gn_interval){
            bounds.lower, flags & GERNE_PSEUDO_GROUPS ? gn_pseudo_cap(groups, c) : bounds.upper};
    out->usual = (gn_interval){0, isinf(out->allowed.hi) ? 1 : 0.99 * out->allowed.hi};
    return GERNE_OK;
}

gerne_status gn_extrapolation_watch(const gn_run *run, double mean_loss, gn_text *warning)
{
    if (mean_loss > -0.1)
        return GERNE_OK;
    bool apart = run->coupled && !run->concatenate;
    return gn_text_add(
        run->ctx, warning,
        "the mean loss is %.3g: the loss of the biased batch grows without bound; "
        "lower method.beta or train.lr%s",
        mean_loss,
        apart ? ", or set model.bn concat: with separate statistics the network can tell "
                "the two batches apart"
              : "");
}
