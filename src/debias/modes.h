/* modes.h - two normal distributions fitted to numbers by expectation-maximisation. */
#ifndef GN_DEBIAS_MODES_H
#define GN_DEBIAS_MODES_H

#include <stddef.h>

typedef struct gn_modes {
    double share; /* of the lower one */
    double low_mean, low_sd, high_mean, high_sd;
} gn_modes;

/* Of n numbers in ascending order, at least one. Starts with means at the quantiles 0.05 and 0.95
 * and equal shares; deviations stay above a thousandth of that of all numbers. */
gn_modes gn_modes_fit(const double *sorted, size_t n);

/* The posterior probability that a number is of the lower one. */
double gn_modes_low(const gn_modes *m, double x);

/* The numbers that are taken for the lower one: all up to the last below the mean of the higher one
 * whose posterior is above 1/2. *precision is the mean posterior over them, NaN when there is
 * none. */
size_t gn_modes_count(const gn_modes *m, const double *sorted, size_t n, double *precision);

/* How far the mean of the lower one lies below that of the higher one: in deviations of the higher
 * one, and in the deviation that remains within both. */
double gn_modes_distance(const gn_modes *m);
double gn_modes_pooled_distance(const gn_modes *m);

#endif
