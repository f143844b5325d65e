/* lc.h - the rules of logit correction as pure functions, apart from any network. */
#ifndef GN_METHODS_LC_H
#define GN_METHODS_LC_H

#include "base/rng.h"
#include "methods/method.h"
#include "methods/shifted.h"

typedef enum gn_lc_rule {
    GN_LC_MV,       /* a running mean, sample by sample */
    GN_LC_BATCH,    /* the mean over this batch */
    GN_LC_MV_BATCH, /* a running mean of that */
} gn_lc_rule;

typedef enum gn_lc_columns {
    GN_LC_NORMALIZED, /* a column sums to 1 */
    GN_LC_RAW,
    GN_LC_SMOOTH, /* normalised with 1e-4 more in the divisor */
} gn_lc_columns;

/* What the biased network says about the samples of a batch. */
typedef struct gn_lc_view {
    size_t count;
    const int32_t *y;  /* classes */
    int32_t *a;        /* pseudo-attributes: the classes it would say */
    float *confidence; /* its probability of y */
} gn_lc_view;

/* Confidence by (class, pseudo-attribute): all [classes][classes]. */
typedef struct gn_lc_table {
    size_t classes;
    float *values, *seen; /* seen: 1 where a sample has been */
    float *sums, *counts; /* room for those of a batch */
} gn_lc_table;

void gn_lc_update(gn_lc_table *table, gn_lc_rule rule, double alpha, const gn_lc_view *view);

/* Column a of the table: [classes]. */
void gn_lc_column(const gn_lc_table *table, gn_lc_columns how, size_t a, float *column);

/* Strength of group mix-up after t of ramp steps: 0.5 exp(-5 (1 - t / ramp)^2), at most 0.5. */
double gn_lc_strength(double t, double ramp);

/* The partner of each sample: of its class, drawn with replacement among those that the biased
 * network takes for another class; a permutation of the class where there are none, and then false.
 * room[count]. */
bool gn_lc_partners(const gn_lc_view *view, size_t classes, gn_stream *stream, uint32_t *partners,
                    uint32_t *room);

/* What is added to the logit of a class with that prior: log(prior + 1e-4). */
float gn_lc_shift(float prior);

#endif
