/* adapt_feedback.c - rule feedback: at every evaluation s moves by the gap between the accuracies
 * of large and of small groups on validation, until they are equally good. */
#include <math.h>

#include "debias/groups.h"
#include "methods/adapt.h"

double gn_accuracy_gap(const gerne_groups *groups, const double *accuracies, gn_class_range range)
{
    double sum[2] = {0}, count[2] = {0}; /* of large and of small groups */
    for (uint32_t y = range.first; y < range.end; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double accuracy = accuracies[gn_group_id(groups, y, a)];
            bool small = gn_is_small(groups, y, a);
            if (isnan(accuracy))
                continue;
            sum[small] += accuracy;
            count[small]++;
        }
    return count[0] > 0 && count[1] > 0 ? sum[0] / count[0] - sum[1] / count[1] : 0;
}

static gerne_status propose(gn_run *run, const gn_adapt *a, const gn_adapt_moment *moment,
                            double *wish)
{
    (void)run;
    for (size_t r = 0; r < gn_adapt_ranges(a); r++) {
        gn_class_range range = gn_adapt_range(a, r);
        wish[r] =
            (double)a->s[range.first] +
            a->options->kappa * gn_accuracy_gap(a->groups, moment->validated->accuracies, range);
    }
    return GERNE_OK;
}

const gn_adapt_rule gn_adapt_feedback = {
    .name = "feedback",
    .summary = "s moves until large and small groups are equally good on validation",
    .when = GN_ADAPT_EVALUATIONS,
    .needs_validation = true,
    .needs_validation_groups = true,
    .propose = propose,
};
