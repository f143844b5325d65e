/* limits.h - which beta a configuration may have: the exact interval for its c, and for its t where
 * groups are guessed. From the sizes of the training groups alone. */
#ifndef GN_TUNE_LIMITS_H
#define GN_TUNE_LIMITS_H

#include "base/statistics.h"
#include "debias/bounds.h"
#include "train/options.h"

typedef struct gn_limits {
    bool apply;  /* the method has c and beta, and refuses what is outside */
    bool pseudo; /* groups will be guessed: t of each class is hard */
    bool round_up;
    double c, t; /* of the base configuration */
    uint32_t classes, attributes;
    int64_t *counts; /* [classes * attributes], of the training split */
} gn_limits;

/* Opens the data for its labels. Memory is the arena's. */
GERNE_CHECKED gerne_status gn_limits_of(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                                        gn_limits *out);

/* What beta has to lie in; infinite where nothing binds. */
GERNE_CHECKED gerne_status gn_limits_interval(gerne_ctx *ctx, const gn_limits *limits, double c,
                                              double t, gn_interval *out);

/* Values of beta worth trying. */
GERNE_CHECKED gerne_status gn_limits_grid(gerne_ctx *ctx, const gn_limits *limits, double c,
                                          double t, int steps, gn_beta_list *out);

/* The value of an option of type GN_REAL or GN_INT; fallback when there is no such option. */
double gn_number_of(const gn_run_config *config, const char *key, double fallback);

#endif
