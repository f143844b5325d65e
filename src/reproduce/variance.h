/* variance.h - appendix B in numbers: GERNE's loss beside sampling and weighting (SW), drawn by the
 * very samplers that train. */
#ifndef GN_REPRODUCE_VARIANCE_H
#define GN_REPRODUCE_VARIANCE_H

#include "debias/bounds.h"

/* Two classes with two attributes, nearly all samples aligned. Variances are in units of that of
 * the mean loss of a batch of aligned samples, with the minority fitted (its losses zero). */
typedef struct gn_variance_check {
    double c, beta;
    double expected;            /* loss under the extrapolated law, both groups losing */
    double gerne_mean, sw_mean; /* over draws */
    double gerne, shared, sw;   /* variances: independent batches, shared majority, SW */
    gn_variances derived;
} gn_variance_check;

GERNE_CHECKED gerne_status gn_variance_measure(gerne_ctx *ctx, double c, double beta, int draws,
                                               gn_variance_check *out);

/* Whether means agree within 1 % and variances within 15 % (or 0.02 near zero), and none lies that
 * far below the paper's bound. */
bool gn_variance_agrees(const gn_variance_check *check);

#endif
