/* adapt_hypergradient.c - rule hypergradient: s goes down the validation loss.
 *
 * F = sum_g q_g L_g over the groups of validation, q = softmax(L_g / T): a soft worst group. The
 * head that minimises L_ext(s) + l2/2 |W|^2 on the features as they are moves with s by
 * -H^-1 d(grad L_ext)/ds, hence
 *
 *     dF/ds = - grad F . H^-1 (g_bal - g_b)
 *
 * with the exact Hessian H of the head's loss: exact for heads on features, and for the last layer
 * of a deep network. It costs an inference pass over the validation split and a part of the
 * training split (adapt_features.h) for each evaluation. */
#include <math.h>
#include <string.h>

#include "debias/groups.h"
#include "methods/adapt_features.h"
#include "nn/loss.h"

static const double TEMPERATURE = 0.1;
enum { ITERATIONS = 30 }; /* of conjugate gradients */

/* Weights of the validation samples in F, from their losses. */
static void weigh_validation(const gn_labelled *val, const float *losses, double *sums,
                             double *counts, size_t groups, float *weights)
{
    double largest = -INFINITY, total = 0;
    memset(sums, 0, groups * sizeof *sums);
    memset(counts, 0, groups * sizeof *counts);
    for (size_t i = 0; i < val->n; i++) {
        size_t g = (size_t)val->y[i] * val->attributes + (size_t)val->a[i];
        sums[g] += (double)losses[i];
        counts[g]++;
    }
    for (size_t g = 0; g < groups; g++)
        if (counts[g] > 0)
            largest = fmax(largest, sums[g] /= counts[g]);
    for (size_t g = 0; g < groups; g++) {
        sums[g] = counts[g] > 0 ? exp((sums[g] - largest) / TEMPERATURE) : 0;
        total += sums[g];
    }
    for (size_t i = 0; i < val->n; i++) {
        size_t g = (size_t)val->y[i] * val->attributes + (size_t)val->a[i];
        weights[i] = (float)(sums[g] / total / counts[g]);
    }
}

/* grad F by the head, flat, into out. */
static gerne_status gradient_of_f(gn_run *run, const gn_adapt *a, gn_adapt_features *f, float *out)
{
    gn_labelled val = gn_run_labelled(run, GN_SET_VALIDATION);
    size_t groups = (size_t)a->classes * val.attributes;
    float *weights, *logits, *losses;
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, val.n, sizeof *weights, &weights));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, val.n, sizeof *losses, &losses));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, val.n * a->classes, sizeof *logits, &logits));
    const gn_linear_head head = gn_flat_head(&f->work, f->head);
    const gn_linear_head gradient = gn_flat_head(&f->work, out);
    gn_head_logits(&f->val, &head, logits);
    gn_head_loss(&f->val, NULL, logits, losses);
    weigh_validation(&val, losses, a->scratch, a->scratch + groups, groups, weights);
    gn_head_logits(&f->val, &head, logits);
    gn_head_loss(&f->val, weights, logits, losses);
    gn_head_gradient(&f->val, logits, &gradient);
    return GERNE_OK;
}

/* d L_ext / ds of a range is a sum over its samples with the weights w(1) - w(0); its gradient
 * along v is the sum of w (p - e_y) . z with z = X v, which is in logits. */
static double slope_along(const gn_adapt_features *f, const float *at_one, const float *at_zero,
                          gn_class_range range, const float *logits)
{
    double sum = 0;
    size_t classes = f->train.classes;
    for (size_t i = 0; i < f->train.n; i++) {
        size_t y = (size_t)f->train.y[i];
        if (y < range.first || y >= range.end)
            continue;
        const float *p = f->work.probabilities + i * classes, *z = logits + i * classes;
        double along = -(double)z[y];
        for (size_t k = 0; k < classes; k++)
            along += (double)p[k] * (double)z[k];
        sum += (double)(at_one[i] - at_zero[i]) * along;
    }
    return sum;
}

static gerne_status descend(gn_run *run, const gn_adapt *a, gn_adapt_features *f, double *wish)
{
    float *of_f, *moved, *at_one;
    double *s;
    size_t ranges = gn_adapt_ranges(a);
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->work.size, sizeof *of_f, &of_f));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->work.size, sizeof *moved, &moved));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->train.n, sizeof *at_one, &at_one));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, a->classes, sizeof *s, &s));
    GN_TRY(gradient_of_f(run, a, f, of_f));
    for (uint32_t y = 0; y < a->classes; y++)
        s[y] = (double)a->s[y];
    gn_adapt_weigh(run, f, s, a->scratch, f->weights);
    gn_head_look(&f->work, f->head);
    gn_head_solve(&f->work, of_f, ITERATIONS, moved);
    const gn_linear_head direction = gn_flat_head(&f->work, moved);
    gn_head_logits(&f->train, &direction, f->work.logits);
    for (uint32_t y = 0; y < a->classes; y++)
        s[y] = 1;
    gn_adapt_weigh(run, f, s, a->scratch, at_one);
    memset(s, 0, a->classes * sizeof *s);
    gn_adapt_weigh(run, f, s, a->scratch, f->weights);
    for (size_t r = 0; r < ranges; r++) {
        gn_class_range range = gn_adapt_range(a, r);
        double slope = -slope_along(f, at_one, f->weights, range, f->work.logits);
        wish[r] = (double)a->s[range.first] - a->options->rate * slope;
        if (r == 0)
            gn_run_log(run, "s_slope", slope);
    }
    return GERNE_OK;
}

static gerne_status propose(gn_run *run, const gn_adapt *a, const gn_adapt_moment *moment,
                            double *wish)
{
    GN_LOCAL(gn_adapt_features) features = {0};
    (void)moment;
    GN_TRY(gn_adapt_features_open(run, &features));
    return descend(run, a, &features, wish);
}

const gn_adapt_rule gn_adapt_hypergradient = {
    .name = "hypergradient",
    .summary = "s goes down the validation loss of the worst groups",
    .when = GN_ADAPT_EVALUATIONS,
    .needs_validation = true,
    .needs_validation_groups = true,
    .propose = propose,
};
