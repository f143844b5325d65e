#include "methods/soft_law.h"

#include <math.h>

#include "debias/groups.h"
#include "debias/soft.h"
#include "methods/weighted.h"

static const double PART = 0.98; /* of the largest s of a class, as adapt.c */

gerne_status gn_soft_law_check(const gn_run *run)
{
    if (run->has_membership)
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method.membership soft needs an estimator that says how much a sample is of a group");
    gn_hint(run->ctx, "use --method.attributes unknown with --method.t auto, or with "
                      "--method.estimator crossfit or ensemble");
    return GERNE_EUSAGE;
}

static gerne_status refuse(gn_run *run, double s, double bound, uint32_t y, bool beyond)
{
    char text[GN_GROUP_TEXT];
    const char *side = s > bound ? "above" : "below";
    gn_class_text(run->groups, y, text);
    if (beyond) {
        gn_warn(run->ctx,
                "s = c (1 + beta) = %g is %s %.6f, where a sample of class %s has weight 0; "
                "allowed because beyond_bounds is set",
                s, side, bound, text);
        return GERNE_OK;
    }
    gn_fail(run->ctx, GERNE_EUSAGE,
            "s = c (1 + beta) = %g is %s %.6f, where a sample of class %s has weight 0", s, side,
            bound, text);
    gn_hint(run->ctx, "%s, or set method.beyond_bounds",
            s > bound ? "use a smaller --method.beta, or --method.s_by_class, which limits each "
                        "class separately"
                      : "use a larger --method.beta");
    return GERNE_EUSAGE;
}

/* s of every class, and their mean. */
static gerne_status limit(gn_run *run, gn_soft_law *law, const gn_soft_law_options *options,
                          const gn_soft *soft, const double *rho, double *s)
{
    double wanted = gn_s_of(options->c, options->beta);
    law->s = 0;
    for (uint32_t y = 0; y < run->classes; y++) {
        size_t binding;
        double bound = gn_soft_bound(soft, rho, y, &binding);
        s[y] = options->by_class ? fmin(wanted, PART * bound) : wanted;
        double lower = gn_soft_lower_bound(soft, rho, y);
        if (s[y] > bound * (1 + 1e-9))
            GN_TRY(refuse(run, wanted, bound, y, options->beyond_bounds));
        if (s[y] < lower * (1 + 1e-9))
            GN_TRY(refuse(run, wanted, lower, y, options->beyond_bounds));
        law->s += s[y] / run->classes;
    }
    return GERNE_OK;
}

gerne_status gn_soft_law_start(gn_run *run, gn_soft_law *law, const gn_soft_law_options *options)
{
    const gn_soft soft = {run->y, run->membership, run->n, run->classes, run->attributes};
    size_t cells = (size_t)run->classes * run->attributes;
    double *alpha, *rho, *s, *drawn;
    GN_TRY(gn_run_alloc(run, cells, sizeof *alpha, &alpha));
    GN_TRY(gn_run_alloc(run, cells, sizeof *drawn, &drawn));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *rho, &rho));
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *s, &s));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *law->weights, &law->weights));
    GN_TRY(gn_soft_shares(run->ctx, &soft, alpha));
    gn_soft_ratios(&soft, alpha, run->groups->target, rho);
    GN_TRY(limit(run, law, options, &soft, rho, s));
    gn_soft_weights(&soft, rho, s, law->weights);
    GN_TRY(gerne_law_fill(run->ctx, run->groups, GERNE_LAW_LESS_BIASED, options->c, 0, drawn));
    gn_soft_redraw(run->groups, run->y, run->a, run->n, drawn, law->weights);
    run->c = options->c;
    run->beta = options->by_class ? (double)NAN : options->beta;
    run->pass_samples = (size_t)run->classes * run->per_class;
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.c = options->c}, &law->sampler);
}

gerne_status gn_soft_law_plan(const gn_soft_law *law, gn_plan *plan)
{
    return gn_plan_draw(plan, law->sampler, GERNE_DRAW_LESS_BIASED);
}

gerne_status gn_soft_law_step(gn_run *run, const gn_soft_law *law, gn_minibatch *batch)
{
    for (size_t i = 0; i < batch->samples.count; i++)
        batch->weights[i] = batch->samples.weights[i] * law->weights[batch->indices[i]];
    gn_run_log(run, "s", law->s);
    return gn_weighted_step(run, batch);
}
