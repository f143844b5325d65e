/* adapt_repetitions.c - rule repetitions: extrapolate until the samples of a small group have been
 * seen so often that they are memorised, then return towards s_end (after PDE, and class-balancing
 * by mixture). A function of the step alone. */
#include <math.h>

#include "debias/groups.h"
#include "methods/adapt.h"

double gn_repetitions_per_step(const gerne_groups *groups, double c, uint32_t per_class)
{
    double most = 0;
    for (uint32_t y = 0; y < groups->classes; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double n = (double)gerne_groups_count(groups, y, a);
            double alpha = gerne_groups_alpha(groups, y, a);
            double drawn = (2 - c) * alpha + gn_target_part(groups, y, a, c); /* both batches */
            if (n > 0)
                most = fmax(most, per_class * drawn / n);
        }
    return most;
}

double gn_scheduled_s(double start, double end, double passes_per_step, double most_passes,
                      int64_t k, int64_t steps)
{
    double turn = most_passes / passes_per_step; /* the step at which s starts to fall */
    if ((double)k <= turn || turn >= (double)steps)
        return start;
    return start + (end - start) * ((double)k - turn) / ((double)steps - turn);
}

/* It only ever lowers s, so there must be something to lower it to. */
static gerne_status check(gerne_ctx *ctx, const gn_adapt_options *options, double start)
{
    if (options->end < start && options->end >= options->low)
        return GERNE_OK;
    if (options->end < options->low) {
        gn_fail(ctx, GERNE_EUSAGE, "method.adapt_end %g is below method.adapt_min %g", options->end,
                options->low);
        gn_hint(ctx, "set --method.adapt_min %g, too", options->end);
    } else {
        gn_fail(ctx, GERNE_EUSAGE,
                "method.adapt: rule 'repetitions' lowers s to method.adapt_end %g, but training "
                "starts with s = c (1 + beta) = %g",
                options->end, start);
        gn_hint(ctx, "set a larger --method.beta, or a smaller --method.adapt_end");
    }
    return GERNE_EUSAGE;
}

static gerne_status propose(gn_run *run, const gn_adapt *a, const gn_adapt_moment *moment,
                            double *wish)
{
    (void)run;
    double passes = gn_repetitions_per_step(a->groups, a->c, a->per_class);
    for (size_t r = 0; r < gn_adapt_ranges(a); r++)
        wish[r] = gn_scheduled_s(a->start, a->options->end, passes, a->options->repetitions,
                                 moment->k, moment->steps);
    return GERNE_OK;
}

const gn_adapt_rule gn_adapt_repetitions = {
    .name = "repetitions",
    .summary = "s falls once the samples of a small group have been repeated often",
    .when = GN_ADAPT_STEPS,
    .check = check,
    .propose = propose,
};
