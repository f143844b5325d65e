/* association.h - how strongly an attribute predicts the class, from the table of groups alone. */
#ifndef GN_DEBIAS_ASSOCIATION_H
#define GN_DEBIAS_ASSOCIATION_H

#include "base/statistics.h"
#include "base/status.h"

typedef struct gn_association {
    double cramers_v;          /* 0: independent, 1: one determines the other */
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
 * The interval of the accuracy is Clopper and Pearson's, the guesses being taken as given. */
GERNE_CHECKED gerne_status gn_association_of(gerne_ctx *ctx, const gerne_groups *groups,
                                             gn_association *out);

/* The q-quantile of chi-square for q = 0.95 or 0.975: exact for one degree of freedom, else by
 * Wilson and Hilferty (within 0.6 %). */
double gn_chi_square_quantile(double degrees, double q);

#endif
