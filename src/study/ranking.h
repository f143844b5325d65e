/* ranking.h - trials that differ only in their seed are one configuration; which is best. */
#ifndef GN_STUDY_RANKING_H
#define GN_STUDY_RANKING_H

#include "base/statistics.h"
#include "study/ledger.h"

enum { GN_TEST_FIGURES = 3 };
extern const char *const gn_test_figures[GN_TEST_FIGURES]; /* gba, wga, acc_avg */

typedef struct gn_ranked {
    const char *settings; /* JSON, of the list */
    size_t first;         /* its first trial in the list */
    int level;
    size_t trials, done, failed;
    gn_spread figure;     /* of the selection metric on the selection split, over seeds */
    gn_interval interval; /* of one run's figure, averaged over the runs; NaN when there is none */
    gn_spread test[GN_TEST_FIGURES];
} gn_ranked;

typedef struct gn_ranking {
    gn_ranked *items; /* the best first */
    size_t count;
} gn_ranking;

/* The list is lent and must outlive the ranking. Configurations whose trials all succeeded come
 * first; among them the highest level, then the best mean; ties in the order of the list. One that
 * lost a seed ranks behind: the mean of the survivors flatters it. */
GERNE_CHECKED gerne_status gn_rank(gerne_ctx *ctx, const gn_trial_list *list, const char *split,
                                   const char *metric, gn_ranking *out);
void gn_ranking_free(gn_ranking *ranking);

/* The winner, or NULL while no trial is done. */
const gn_ranked *gn_ranking_best(const gn_ranking *ranking);

#endif
