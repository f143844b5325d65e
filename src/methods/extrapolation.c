#include "methods/extrapolation.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "debias/bounds.h"
#include "debias/target.h"

static bool draws_both(const gn_extrapolation *e)
{
    return e->betas || (e->beta != 0 && e->beta != -1);
}

/* With a beta of its own for every class and step both batches are always drawn, and no weight of a
 * coalesced batch may cancel: no numbers of draws have this ratio. */
static const double NEVER_CANCELS = 0.70710678118654752;

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
    e->betas = options->betas;
    run->c = options->c;
    if (!options->betas)
        run->beta = options->beta;
    bool both = draws_both(e);
    run->pass_samples = (size_t)run->classes * run->per_class * (both && run->concatenate ? 2 : 1);
    const gerne_sampler_options sampler = {
        .c = options->c,
        .beta = e->betas ? NEVER_CANCELS : options->beta,
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
    if (e->betas || e->beta != 0)
        plan->batches[plan->count++] = (gn_request){.sampler = e->sampler,
                                                    .draw = GERNE_DRAW_BIASED,
                                                    .scale = e->betas ? 1 : (float)-e->beta};
    if (e->betas || e->beta != -1)
        plan->batches[plan->count++] = (gn_request){.sampler = e->sampler,
                                                    .draw = GERNE_DRAW_LESS_BIASED,
                                                    .scale = e->betas ? 1 : (float)(1 + e->beta)};
    return GERNE_OK;
}

/* Weights of a batch by the beta of each sample's class, where that is not the plan's: its first
 * samples are of the biased batch, the others of the less biased one. */
static const float *weigh(const gn_extrapolation *e, gn_minibatch *batch, size_t biased)
{
    if (!e->betas)
        return NULL;
    for (size_t i = 0; i < batch->samples.count; i++) {
        double beta = e->betas[batch->samples.labels[i]];
        double factor = i < biased ? -beta : 1 + beta;
        batch->weights[i] = (float)(factor * (double)batch->samples.weights[i]);
    }
    return batch->weights;
}

static const float *weigh_coalesced(const gn_extrapolation *e, gn_minibatch *batch)
{
    if (!e->betas)
        return NULL;
    for (size_t i = 0; i < batch->samples.count; i++) {
        double beta = e->betas[batch->samples.labels[i]];
        batch->weights[i] =
            (float)((1 + beta) * (double)batch->less_biased[i] - beta * (double)batch->biased[i]);
    }
    return batch->weights;
}

static double loss_with(const gn_minibatch *batch, const float *own)
{
    return gn_weighted_sum(own ? own : batch->samples.weights, batch->losses[0],
                           batch->samples.count);
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
    const float *own = weigh_coalesced(e, batch);
    GN_TRY(gn_weighted_pass(run, 0, batch, own, false));
    size_t n = batch->samples.count;
    const float *losses = batch->losses[0];
    gn_run_log(run, "L_b", loss_of(batch->biased, losses, n));
    gn_run_log(run, "L_lb", loss_of(batch->less_biased, losses, n));
    gn_run_log(run, "loss", loss_with(batch, own));
    return gn_run_apply(run, 0);
}

/* Both batches in one pass that shares its statistics: the first half is the biased one. */
static gerne_status concatenated(gn_run *run, const gn_extrapolation *e, gn_minibatch *batch)
{
    size_t half = batch->samples.count / 2;
    const float *own = weigh(e, batch, half);
    GN_TRY(gn_weighted_pass(run, 0, batch, own, false));
    gn_run_log(run, "L_b", gn_mean(batch->losses[0], half));
    gn_run_log(run, "L_lb", gn_mean(batch->losses[0] + half, half));
    gn_run_log(run, "loss", loss_with(batch, own));
    return gn_run_apply(run, 0);
}

/* The beta of the step, where all classes share one that uses both batches: gradients of L_b and
 * L_lb can be told from their sum. */
static bool comparable(const gn_run *run, const gn_extrapolation *e, double *beta)
{
    *beta = e->betas ? e->betas[0] : e->beta;
    for (uint32_t y = 1; e->betas && y < run->classes; y++)
        if (e->betas[y] != *beta)
            return false;
    return *beta != 0 && *beta != -1;
}

/* One pass for each batch. */
static gerne_status apart(gn_run *run, gn_extrapolation *e, gn_minibatch *batches)
{
    double beta, loss = 0;
    bool compare = comparable(run, e, &beta) && run->diagnose;
    gn_minibatch *next = batches;
    bool with_b = e->betas || e->beta != 0, with_lb = e->betas || e->beta != -1;
    if (with_b) {
        const float *own = weigh(e, next, next->samples.count);
        if (with_lb)
            gn_run_more(run, 0);
        GN_TRY(gn_weighted_pass(run, 0, next, own, false));
        double loss_b = gn_mean(next->losses[0], next->samples.count);
        gn_run_log(run, "L_b", loss_b);
        loss += own ? loss_with(next, own) : -beta * loss_b;
        if (compare)
            GN_TRY(keep_gradient(run, e, -beta));
        next++;
    }
    if (with_lb) {
        const float *own = weigh(e, next, 0);
        GN_TRY(gn_weighted_pass(run, 0, next, own, with_b));
        double loss_lb = gn_mean(next->losses[0], next->samples.count);
        gn_run_log(run, "L_lb", loss_lb);
        loss += own ? loss_with(next, own) : (1 + beta) * loss_lb;
        if (compare)
            GN_TRY(log_gradients(run, e, -beta, 1 + beta));
    }
    gn_run_log(run, "loss", loss);
    return gn_run_apply(run, 0);
}

gerne_status gn_extrapolation_step(gn_run *run, gn_extrapolation *e, gn_minibatch *batches)
{
    if (!run->coupled && run->fixed)
        return coalesced(run, e, &batches[0]);
    if (run->concatenate && draws_both(e))
        return concatenated(run, e, &batches[0]);
    return apart(run, e, batches);
}

size_t gn_extrapolation_batches(const gn_run *run, const gn_extrapolation *e)
{
    bool one = (!run->coupled && run->fixed) || run->concatenate || !draws_both(e);
    return one ? 1 : 2;
}

gerne_groups *gn_extrapolation_groups(const gn_run *run)
{
    return run->estimator ? run->expected : run->groups;
}

gerne_status gn_extrapolation_target(const gn_run *run, gerne_groups *groups, const char *target)
{
    gerne_status status =
        groups ? gerne_groups_set_target(run->ctx, groups, target)
               : gn_target_check(run->ctx, target, run->classes, run->attributes_found);
    return status == GERNE_OK ? status : gn_fail_in(run->ctx, status, "method.target");
}

unsigned gn_extrapolation_flags(const gn_run *run, bool beyond_bounds)
{
    return (run->known ? 0U : GERNE_PSEUDO_GROUPS) | (beyond_bounds ? GERNE_BEYOND_BOUNDS : 0U);
}

/* Drawn at random, beta goes from no extrapolation to just below its bound, where a group's share
 * is zero. */
gerne_status gn_extrapolation_limits(const gn_run *run, double c, bool beyond_bounds, int steps,
                                     gn_limits *out)
{
    const gerne_groups *groups = run->expected ? run->expected : run->groups;
    gerne_bounds bounds;
    gn_beta_list list;
    static_assert(sizeof list.items <= sizeof out->values, "a grid of beta has room");
    *out = (gn_limits){.allowed = {-INFINITY, INFINITY}};
    snprintf(out->at, sizeof out->at, "c = %g", c);
    GN_TRY(gerne_bounds_of(run->ctx, groups, c, &bounds));
    GN_TRY(gn_beta_grid(run->ctx, groups, c, steps, &list));
    out->count = list.count;
    memcpy(out->values, list.items, list.count * sizeof list.items[0]);
    if (bounds.binds && !beyond_bounds)
        out->allowed =
            (gn_interval){bounds.lower, run->known ? bounds.upper : gn_pseudo_cap(groups, c)};
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
