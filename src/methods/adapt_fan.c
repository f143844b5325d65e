/* adapt_fan.c - rule fan: many s in one run. At every evaluation heads with different s are fitted
 * to the features as they are, each from the one before, and the one that section select likes best
 * is evaluated in place of the network's own; training continues with its s. A search over beta for
 * the price of a few heads. */
#include <math.h>
#include <string.h>

#include "methods/adapt_features.h"

/* The first head comes from the network's, the others from a neighbour. */
enum { FIRST_STEPS = 4, STEPS = 2, FIRST_ITERATIONS = 10, ITERATIONS = 6 };

/* From the smallest s to the largest, evenly. */
static double s_of(const gn_adapt *a, uint32_t y, int64_t h)
{
    double share = (double)h / (double)(a->options->heads - 1);
    return a->limits[y].lo + share * (a->limits[y].hi - a->limits[y].lo);
}

/* The head is fitted at s number h, and judged. */
static gerne_status try_one(gn_run *run, const gn_adapt *a, gn_adapt_features *f, int64_t h,
                            double *s, float *logits, double *value)
{
    const gn_linear_head head = gn_flat_head(&f->work, f->head);
    for (uint32_t y = 0; y < a->classes; y++)
        s[y] = s_of(a, y, h);
    gn_adapt_weigh(run, f, s, a->scratch, f->weights);
    gn_head_descend(&f->work, f->head, h ? STEPS : FIRST_STEPS, h ? ITERATIONS : FIRST_ITERATIONS);
    gn_head_logits(&f->val, &head, logits);
    return gn_run_judge(run, logits, value);
}

static gerne_status choose(gn_run *run, const gn_adapt *a, gn_adapt_features *f)
{
    float *logits, *best;
    double *s, value, most = -INFINITY, chosen = 0;
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, a->classes, sizeof *s, &s));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->val.n * a->classes, sizeof *logits, &logits));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->work.size, sizeof *best, &best));
    for (int64_t h = 0; h < a->options->heads; h++) {
        GN_TRY(try_one(run, a, f, h, s, logits, &value));
        if (!(value > most))
            continue;
        most = value;
        chosen = s_of(a, 0, h);
        memcpy(best, f->head, f->work.size * sizeof *best);
    }
    gn_run_log(run, "s_head", chosen);
    const gn_linear_head head = gn_flat_head(&f->work, best);
    return gn_run_set_head(run, 0, head.weights, head.bias);
}

static gerne_status refit(gn_run *run, const gn_adapt *a)
{
    GN_LOCAL(gn_adapt_features) features = {0};
    GN_TRY(gn_adapt_features_open(run, &features));
    return choose(run, a, &features);
}

const gn_adapt_rule gn_adapt_fan = {
    .name = "fan",
    .summary = "evaluates the best of many heads, each fitted with an s of its own",
    .when = GN_ADAPT_EVALUATIONS,
    .needs_validation = true,
    .refit = refit,
};
