/* adapt_groupdro.c - rule groupdro: Group DRO on the one dimension of s. L_ext is linear in s, and
 * its slope is the mean loss of balanced groups minus that of the data: s climbs while the small
 * groups have the larger loss, and falls when they are memorised. */
#include <math.h>

#include "debias/groups.h"
#include "methods/adapt.h"

double gn_slope_of_s(const gerne_groups *groups, const float *loss, double adjustment,
                     gn_class_range range)
{
    double sum = 0;
    for (uint32_t y = range.first; y < range.end; y++)
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double n = (double)gerne_groups_count(groups, y, a);
            double own = (double)loss[gn_group_id(groups, y, a)];
            if (n == 0)
                continue;
            if (own < 0)
                return 0; /* not seen yet */
            sum += (gn_target_part(groups, y, a, 1) - gerne_groups_alpha(groups, y, a)) *
                   (own + adjustment / sqrt(n));
        }
    return sum / (range.end - range.first);
}

static gerne_status propose(gn_run *run, const gn_adapt *a, const gn_adapt_moment *moment,
                            double *wish)
{
    (void)run;
    (void)moment;
    for (size_t r = 0; r < gn_adapt_ranges(a); r++) {
        gn_class_range range = gn_adapt_range(a, r);
        wish[r] =
            (double)a->s[range.first] +
            a->options->eta * gn_slope_of_s(a->groups, a->loss, a->options->adjustment, range);
    }
    return GERNE_OK;
}

const gn_adapt_rule gn_adapt_groupdro = {
    .name = "groupdro",
    .summary = "s climbs while the loss of the small groups is the larger one",
    .when = GN_ADAPT_STEPS,
    .propose = propose,
};
