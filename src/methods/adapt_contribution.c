/* adapt_contribution.c - rule contribution: small groups give gamma times the gradient that large
 * ones give (after the gradient alignment of ECS+GA).
 *
 * The l1 norm of d CE / d logits is 2 (1 - p(y|x)): its mean u over a group says how strongly the
 * group pulls. On the line of s a group counts (1 - s) alpha + s / A, so that the contributions of
 * large and small groups are linear in s and the wanted ratio has one solution. */
#include <math.h>

#include "debias/groups.h"
#include "methods/adapt.h"

double gn_contribution_s(const gerne_groups *groups, const float *doubt, double gamma,
                         gn_class_range range, double now)
{
    double as_drawn[2] = {0}, balanced[2] = {0}; /* of large and of small groups */
    for (uint32_t y = range.first; y < range.end; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double u = (double)doubt[gn_group_id(groups, y, a)];
            if (gerne_groups_count(groups, y, a) == 0)
                continue;
            if (u < 0)
                return now;
            bool small = gn_is_small(groups, y, a);
            as_drawn[small] += gerne_groups_alpha(groups, y, a) * u;
            balanced[small] += gn_target_part(groups, y, a, u);
        }
    double slope = gamma * (as_drawn[0] - balanced[0]) + balanced[1] - as_drawn[1];
    return slope > 0 ? (gamma * as_drawn[0] - as_drawn[1]) / slope : now;
}

static gerne_status propose(gn_run *run, const gn_adapt *a, const gn_adapt_moment *moment,
                            double *wish)
{
    (void)run;
    (void)moment;
    for (size_t r = 0; r < gn_adapt_ranges(a); r++) {
        gn_class_range range = gn_adapt_range(a, r);
        wish[r] = gn_contribution_s(a->groups, a->doubt, a->options->gamma, range,
                                    (double)a->s[range.first]);
    }
    return GERNE_OK;
}

const gn_adapt_rule gn_adapt_contribution = {
    .name = "contribution",
    .summary = "small groups give gamma times the gradient of the large ones",
    .when = GN_ADAPT_STEPS,
    .propose = propose,
};
