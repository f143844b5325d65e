/* result.h - what a finished run's results.json says, whole or as the ledger keeps it.
 *
 * "splits" is the object of figures by split. Missing and foreign values are NaN or NULL.
 */
#ifndef GN_STUDY_RESULT_H
#define GN_STUDY_RESULT_H

#include "base/json.h"
#include "base/statistics.h"

/* The figures of the run's own choice of a checkpoint, or of that of an oracle. */
const json_t *gn_result_splits(const json_t *results, bool oracle);

double gn_result_figure(const json_t *splits, const char *split, const char *metric);

/* The 95 % interval of the figure; both ends are NaN when the metric has none. */
gn_interval gn_result_interval(const json_t *splits, const char *split, const char *metric);

/* What the results say of the groups that an estimator found: "precision", for example. */
double gn_result_pseudo(const json_t *results, const char *key);

/* What chose the checkpoint; false, and empty texts, when the results do not say. */
typedef struct gn_result_selection {
    const char *metric, *split; /* lent by the results */
    bool oracle;
} gn_result_selection;
bool gn_result_selection_of(const json_t *results, gn_result_selection *out);

/* How many warnings the run gave, and the first of them (lent; NULL when none). */
size_t gn_result_warnings(const json_t *results, const char **first);

/* Removes what a ledger does not keep: lists over groups. */
void gn_result_slim(json_t *results);

#endif
