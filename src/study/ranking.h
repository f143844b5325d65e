/* ranking.h - trials that differ only in their seed are one configuration; which is best, and which
 * show no significant difference from it. */
#ifndef GN_STUDY_RANKING_H
#define GN_STUDY_RANKING_H

#include "study/difference.h"
#include "study/ledger.h"

enum { GN_TEST_FIGURES = 3 };
extern const char *const gn_test_figures[GN_TEST_FIGURES]; /* gba, wga, acc_avg */

typedef struct gn_ranked {
    json_t *settings;        /* {"method.beta":"1"}; owned */
    const gn_trial **trials; /* in the order of the list */
    size_t count, done, failed;
    size_t warned;        /* runs that are done, with warnings */
    const char *warning;  /* the first one; or NULL */
    gn_spread figure;     /* of the selection metric on the selection split, over seeds */
    gn_interval interval; /* of one run's figure, averaged over the runs; NaN when there is none */
    gn_spread test[GN_TEST_FIGURES];
    gn_difference to_first; /* of the figure, from rank 1 */
} gn_ranked;

typedef struct gn_ranking {
    gn_ranked *items; /* the best first */
    size_t count;
    const gn_trial **trials; /* of all items */
} gn_ranking;

/* The list is lent and must outlive the ranking. Configurations whose trials all succeeded come
 * first; among them the highest level, then the best mean; ties in the order of the list. One that
 * lost a seed ranks behind: the mean of the survivors flatters it.
 *
 * Rank 1 is compared with those of its level that lost no seed: by runs with the same seed where
 * there are at least two, else by the intervals of the figures. */
GERNE_CHECKED gerne_status gn_rank(gerne_ctx *ctx, const gn_trial_list *list, const char *split,
                                   const char *metric, gn_ranking *out);
void gn_ranking_free(gn_ranking *ranking);
GN_LOCAL_STRUCT(gn_ranking, gn_ranking_free)

/* The winner, or NULL while no trial is done. */
const gn_ranked *gn_ranking_best(const gn_ranking *ranking);

/* Whether a rank was compared with rank 1 and shows no significant difference. */
bool gn_ranked_ties(const gn_ranked *item);

/* Appends a sentence without a full stop: which ranks show no significant difference from rank 1,
 * and by which test. Nothing when no rank can be compared with it. */
GERNE_CHECKED gerne_status gn_ranking_describe_ties(gerne_ctx *ctx, const gn_ranking *ranking,
                                                    gn_text *out);

/* Appends "2 of 3 runs warned: ..." about a configuration; nothing when none did. */
GERNE_CHECKED gerne_status gn_ranked_describe_warnings(gerne_ctx *ctx, const gn_ranked *item,
                                                       gn_text *out);

#endif
