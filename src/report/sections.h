/* sections.h - the parts of a page, each omitted if it has nothing to show. */
#ifndef GN_REPORT_SECTIONS_H
#define GN_REPORT_SECTIONS_H

#include "metrics/metrics.h"
#include "report/page.h"
#include "report/record.h"

enum {
    GN_ROWS_SHOWN = 20,
    GN_HEAT_SIDE = 12,
    GN_WARNINGS_SHOWN = 20,
    GN_WARNING_CHARACTERS = 600,
};
#define GN_STRONG 0.8 /* the share from which a heated cell needs white letters */

/* Verdict, stamp, key figures, notes. */
void gn_section_verdict(gn_page *page, gn_run_record *run);
/* What was asked: method, data, model, training, and the whole configuration folded. */
void gn_section_asked(gn_page *page, gn_run_record *run);
/* The groups of the training data, how biased they are, and the axis of beta. */
void gn_section_data(gn_page *page, gn_run_record *run);
void gn_section_beta(gn_page *page, gn_run_record *run);
/* Losses, accuracies, groups over time. */
void gn_section_curves(gn_page *page, gn_run_record *run);
/* Groups with intervals, confusion by group, pictures of mistakes. */
void gn_section_groups(gn_page *page, gn_run_record *run);
void gn_section_confusion(gn_page *page, gn_run_record *run);
void gn_section_pictures(gn_page *page, gn_run_record *run);
/* How to repeat the run. */
void gn_section_repeat(gn_page *page, gn_run_record *run);

/* All of the above, in order. */
void gn_sections_of_run(gn_page *page, gn_run_record *run);

/* Several runs of one dataset side by side. */
void gn_section_comparison(gn_page *page, gn_run_record *runs, size_t count);

/* Compares every run with the first, sample by sample, where both predicted the same samples. */
GERNE_CHECKED gerne_status gn_pair_runs(gn_run_record *runs, size_t count);

/* A whole study: ranking, parameters, tables, figures, trials. */
void gn_section_study(gn_page *page, const gn_study_record *study);

/* Adds the name of a group, long parts cut; title adds the whole name to hover over. */
void gn_page_group(gn_page *page, const gn_run_record *run, size_t group, bool title);

/* Adds the stage and the reason of a divergence, after "diverged at step N". */
void gn_page_divergence(gn_page *page, const gn_run_record *run);

/* The first sentence about a run, as plain text. */
gn_shown gn_interval_words(double lo, double hi);

/* The ids of the groups with test samples, worst first, at most limit; returns how many. */
size_t gn_worst_groups(gn_page *page, const gn_run_record *run, size_t *ids, size_t limit);

#endif
