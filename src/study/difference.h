/* difference.h - whether two configurations differ: this minus the reference, with its interval. */
#ifndef GN_STUDY_DIFFERENCE_H
#define GN_STUDY_DIFFERENCE_H

#include <stdbool.h>

#include "base/statistics.h"

/* Where the interval of a difference comes from. */
typedef enum gn_difference_test {
    GN_NOT_TESTED,        /* neither is at hand */
    GN_PAIRED_OVER_SEEDS, /* Student's t over the differences of runs with the same seed */
    GN_METRIC_INTERVALS,  /* the intervals of both figures */
} gn_difference_test;

typedef struct gn_difference {
    gn_difference_test test;
    double mean;
    gn_interval interval; /* 95 % */
} gn_difference;

/* The mean of differences between runs that share all but one thing; not tested below two. */
gn_difference gn_difference_over_seeds(const double *differences, size_t count);

/* Of two figures with 95 % intervals, by the method of variance estimates recovery (Zou and Donner
 * 2008), which keeps their asymmetry. It takes the figures as independent: of models judged on the
 * same samples, which mostly err together, it claims less than it could. Not tested when an
 * interval is NaN. */
gn_difference gn_difference_of_figures(double ours, gn_interval our_interval, double reference,
                                       gn_interval reference_interval);

/* Tested, and the interval excludes zero. */
bool gn_difference_significant(const gn_difference *difference);

#endif
