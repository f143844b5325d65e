/* eval.h - what the two forms of `gerne eval` share: of a file of predictions, and of a model. */
#ifndef GN_CLI_EVAL_H
#define GN_CLI_EVAL_H

#include "cli/command.h"
#include "metrics/metrics.h"
#include "train/trained_options.h"

typedef struct gn_eval_options {
    const char *predictions, *compare;
    const char *y, *a, *pred, *score, *split, *train_counts;
    gn_texts classes;
    int missing;
    double min_wga, min_gba, max_regression;
    bool gate_ci, other_data;
    int64_t resamples;
    gn_trained_options use; /* of a model */
} gn_eval_options;

/* Judges what the run or file of weights in the first argument says about its data. */
GERNE_CHECKED gerne_status gn_eval_model(gn_cli *cli);

/* Prints the figures under a title, or as JSON, and applies the gates. */
GERNE_CHECKED gerne_status gn_eval_print(gn_cli *cli, const char *title, const gn_metrics *metrics,
                                         const gn_group_names *names);

#endif
