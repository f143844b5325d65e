/* line.h - the line on which all batches of GERNE lie: p(a|y) = (1 - s) alpha + s q.
 *
 * q is the target of the groups (gerne_groups_set_target), 1/A unless told otherwise. s = 0 is the
 * data with balanced classes, s = 1 the target itself (Resampling), and s > 1 extrapolates beyond
 * it. The less biased batch has s = c and L_ext has s = c (1 + beta), so that its expected loss
 * depends on s alone; at equal s the choice of c changes the variance only. A class reaches its own
 * largest s where one of its groups has the share 0.
 */
#ifndef GN_DEBIAS_LINE_H
#define GN_DEBIAS_LINE_H

#include "base/status.h"

static inline double gn_s_of(double c, double beta)
{
    return c * (beta + 1);
}

static inline double gn_beta_of(double c, double s)
{
    return s / c - 1;
}

/* Where the shares of a class, or of all, are between 0 and 1; infinite where s moves nothing. The
 * group whose share is 0 at upper binds. */
typedef struct gn_s_bounds {
    double lower, upper;
    bool binds;
    uint32_t y, a;
} gn_s_bounds;

/* The two ends that one group allows: the s at which its share is 0, and 1. false when s does not
 * move it. */
bool gn_group_ends(const gerne_groups *groups, uint32_t y, uint32_t a, double *at_zero,
                   double *at_one);

gn_s_bounds gn_s_bounds_of_class(const gerne_groups *groups, uint32_t y);
/* The tightest of all classes. */
gn_s_bounds gn_s_bounds_of(const gerne_groups *groups);

/* GERNE_EUSAGE unless the shares target[classes * attributes] of every class are in [0, 1], add up
 * to 1, and are 0 for groups without samples. */
GERNE_CHECKED gerne_status gn_check_target(gerne_ctx *ctx, const gerne_groups *groups,
                                           const double *target);

/* Fills p[classes * attributes]; s is that of each class. */
void gn_line_fill(const gerne_groups *groups, const double *s, double *p);

/* The same as weights of samples: p / alpha, whose mean over a class is 1; 0 for groups without
 * samples. */
void gn_line_weights(const gerne_groups *groups, const double *s, double *weights);

/* s for each class: as it is where a class allows it, else a part of the class's own largest. */
void gn_clip_by_class(const gerne_groups *groups, double s, double part, double *out);

#endif
