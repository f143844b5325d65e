/* association.h - how strongly an attribute predicts the class, from the sizes of the groups alone.
 */
#ifndef GN_DEBIAS_ASSOCIATION_H
#define GN_DEBIAS_ASSOCIATION_H

#include "base/statistics.h"
#include "base/status.h"

typedef struct gn_association {
    uint64_t n;                /* samples */
    uint64_t degrees;          /* of freedom; 0: one class or one attribute, nothing varies */
    double cramers_v;          /* 0: independent, 1: one determines the other */
    double cramers_v_unbiased; /* corrected for chance in a table of this shape (Bergsma) */
    double mutual_information; /* nats */
    double most_information;   /* the largest value that it could have: the smaller entropy */
    double attribute_only;     /* accuracy of the best guess of the class from the attribute */
    double largest_class;      /* accuracy of always guessing the largest class */
    gn_interval cramers_v_ci95, mutual_information_ci95, attribute_only_ci95;
} gn_association;

/* The intervals of V and of the information are asymptotic: the estimate and 1.96 standard errors
 * by the delta method, evaluated with half a sample more in every cell so that a perfect table does
 * not claim certainty. The lower end is 0 when a chi-square test does not reject independence at
 * 5 %, and the upper end is at least what independence alone produces in 97.5 % of all samples.
 * The interval of the accuracy is Clopper and Pearson's, the guesses being taken as given. counts
 * are [classes][attributes]; classes and attributes without samples are no part of the table. */
GERNE_CHECKED gerne_status gn_association_of(gerne_ctx *ctx, const uint64_t *counts,
                                             uint32_t classes, uint32_t attributes,
                                             gn_association *out);

/* The q-quantile of chi-square for q = 0.95 or 0.975: exact for one degree of freedom, else by
 * Wilson and Hilferty (within 0.6 %). */
double gn_chi_square_quantile(double degrees, double q);

#endif
