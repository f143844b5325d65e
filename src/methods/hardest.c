#include "methods/hardest.h"

#include <math.h>
#include <stdio.h>

#include "debias/bounds.h"
#include "debias/groups.h"
#include "debias/pseudo.h"
#include "nn/loss.h"

/* log p[y] / (1 - p[y]) = z[y] - log of the sum of exp z over the other classes. */
static double log_odds(const float *logits, size_t classes, size_t y)
{
    double largest = (double)-INFINITY, sum = 0;
    for (size_t k = 0; k < classes; k++)
        if (k != y)
            largest = fmax(largest, (double)logits[k]);
    for (size_t k = 0; k < classes; k++)
        if (k != y)
            sum += exp((double)logits[k] - largest);
    return (double)logits[y] - largest - log(sum);
}

gerne_status gn_score_training(gn_run *run, int i, const gn_scores *out)
{
    float *logits;
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_infer(run, i, GN_SET_TRAIN, logits, NULL));
    for (size_t j = 0; j < run->n; j++)
        out->odds[j] = (float)log_odds(logits + j * run->classes, run->classes, (size_t)run->y[j]);
    gn_softmax(logits, run->n, run->classes);
    for (size_t j = 0; j < run->n; j++)
        out->right[j] = logits[j * run->classes + (size_t)run->y[j]];
    return GERNE_OK;
}

gerne_status gn_hardest_expect(const gn_run *run, const gn_hardest_options *given, char *at,
                               size_t size, gerne_groups **out)
{
    if (isnan(given->t))
        return GERNE_OK; /* not even how many is known before */
    snprintf(at, size, "t = %g", given->t);
    return gn_pseudo_counts(run->ctx, run->groups, given->t, given->rounding == 1, out);
}

bool gn_hardest_membership(const gn_hardest_options *given)
{
    return isnan(given->t);
}

static gerne_status regroup(gn_run *run, const int32_t *a, const float *membership)
{
    static const char *const names[GN_TWO_ATTRIBUTES] = {"hard", "easy"};
    static const bool minority[GN_TWO_ATTRIBUTES] = {true, false};
    return gn_run_regroup(run, &(gn_grouping){.a = a,
                                              .attributes = GN_TWO_ATTRIBUTES,
                                              .names = names,
                                              .minority = minority,
                                              .membership = membership});
}

/* Says what was found in every class, and its share and expected precision over all. */
static void report_found(gn_run *run, const gn_hard *hard)
{
    static const char *const from[] = {
        [GN_HARD_NOTHING] = "no second mode",
        [GN_HARD_CLEAR] = "a clear second mode",
        [GN_HARD_OTHERS] = "no clear second mode, the share of the other classes",
        [GN_HARD_UNCLEAR] = "a second mode that overlaps with the first"};
    uint64_t all = 0, judged = 0;
    double right = 0;
    char text[GN_GROUP_TEXT];
    for (uint32_t y = 0; y < run->classes; y++) {
        gn_log(run->ctx, GERNE_LOG_INFO, "t auto: class %s: %llu hard samples of %llu (%s)",
               gn_class_text(run->groups, y, text), (unsigned long long)hard[y].count,
               (unsigned long long)run->groups->class_counts[y], from[hard[y].from]);
        all += hard[y].count;
        if (!isnan(hard[y].precision) && hard[y].count) {
            judged += hard[y].count;
            right += (double)hard[y].count * hard[y].precision;
        }
    }
    run->pseudo.t = (double)all / (double)run->n;
    run->pseudo.expected_precision = judged ? right / (double)judged : (double)NAN;
}

/* How much a sample is hard: the posterior of the lower mode below the mean of the higher one, and
 * what it is taken for where no mode decides. */
static void fill_membership(const gn_run *run, const gn_hard *hard, const float *scores,
                            const int32_t *a, float *membership)
{
    for (size_t i = 0; i < run->n; i++) {
        const gn_hard *own = &hard[run->y[i]];
        double score = (double)scores[i], degree = a[i] == 0;
        if (own->from == GN_HARD_CLEAR || own->from == GN_HARD_UNCLEAR)
            degree = score < own->fit.high_mean ? gn_modes_low(&own->fit, score) : 0;
        membership[i * GN_TWO_ATTRIBUTES] = (float)degree;
        membership[i * GN_TWO_ATTRIBUTES + 1] = (float)(1 - degree);
    }
}

gerne_status gn_modes_groups(gn_run *run, const float *scores)
{
    gerne_pseudo *pseudo;
    gn_hard *hard;
    int32_t *a;
    float *membership;
    GN_TRY(gn_run_alloc(run, run->n, sizeof *a, &a));
    GN_TRY(gn_run_alloc(run, run->n * GN_TWO_ATTRIBUTES, sizeof *membership, &membership));
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *hard, &hard));
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores, run->n, run->classes, &pseudo));
    gerne_status status = gn_hard_find(run->ctx, pseudo, scores, hard);
    if (status == GERNE_OK) {
        gn_hard_assign(pseudo, hard, a);
        fill_membership(run, hard, scores, a, membership);
        report_found(run, hard);
    }
    gerne_pseudo_close(pseudo);
    GN_TRY(status);
    return regroup(run, a, membership);
}

gerne_status gn_hardest_groups(gn_run *run, const gn_hardest_options *given,
                               const gn_scores *scores)
{
    gerne_pseudo *pseudo;
    int32_t *a;
    if (isnan(given->t))
        return gn_modes_groups(run, scores->odds);
    GN_TRY(gn_run_alloc(run, run->n, sizeof *a, &a));
    GN_TRY(gerne_pseudo_new(run->ctx, run->y, scores->right, run->n, run->classes, &pseudo));
    gerne_status status = gerne_pseudo_assign(run->ctx, pseudo, given->t, given->rounding == 1, a);
    gerne_pseudo_close(pseudo);
    run->pseudo.t = given->t;
    GN_TRY(status);
    return regroup(run, a, NULL);
}
