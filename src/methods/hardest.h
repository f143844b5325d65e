/* hardest.h - groups hard and easy of scores: the lowest of every class are hard. Shared by the
 * estimators that score samples. */
#ifndef GN_METHODS_HARDEST_H
#define GN_METHODS_HARDEST_H

#include "methods/estimating.h"

typedef struct gn_hardest_options {
    double t; /* NaN: auto */
    int rounding;
} gn_hardest_options;

/* Their rows, for options that have a field hardest. */
#define GN_HARDEST_OPTIONS(type, usual_t)                                                          \
    {"t",                                                                                          \
     GN_REAL,                                                                                      \
     offsetof(type, hardest.t),                                                                    \
     .fallback = usual_t,                                                                          \
     .min = 0,                                                                                     \
     .max = 1,                                                                                     \
     .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX | GN_LOG | GN_GUESSED | GN_AUTO,              \
     .search_factor = 2,                                                                           \
     .help = "attributes unknown: fraction of each class that becomes its hard pseudo-group; "     \
             "auto: by the two modes of the model's log-odds"},                                    \
    {                                                                                              \
        "t_rounding", GN_CHOICE, offsetof(type, hardest.rounding),                                 \
            .fallback = "floor", .choices = "floor|ceil",                                          \
            .help = "rounding of t times the class size to a number of samples"                    \
    }

/* What a model says of the samples' own classes. */
typedef struct gn_scores {
    float *right; /* [n]: the probability of the right class */
    float *odds;  /* [n]: its log-odds, where probabilities are 1 in float */
} gn_scores;

/* Scores of the training samples by network i. */
GERNE_CHECKED gerne_status gn_score_training(gn_run *run, int i, const gn_scores *out);

/* The hook expect: with a number t, the sizes are known. */
GERNE_CHECKED gerne_status gn_hardest_expect(const gn_run *run, const gn_hardest_options *given,
                                             char *at, size_t size, gerne_groups **out);

/* The hook gives_membership: with t auto the two modes say how much. */
bool gn_hardest_membership(const gn_hardest_options *given);

/* The hook groups: by t, or, with t auto, by the two modes of the log-odds. */
GERNE_CHECKED gerne_status gn_hardest_groups(gn_run *run, const gn_hardest_options *given,
                                             const gn_scores *scores);
/* By the two modes of any scores [n]; the run gets the posteriors as membership, too. */
GERNE_CHECKED gerne_status gn_modes_groups(gn_run *run, const float *scores);

#endif
