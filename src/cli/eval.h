/* eval.h - what the files of `gerne eval` share: predictions, models, gates. */
#ifndef GN_CLI_EVAL_H
#define GN_CLI_EVAL_H

#include "cli/client.h"
#include "train/trained_options.h"

typedef struct gn_eval_options {
    const char *predictions, *compare;
    const char *y, *a, *pred, *score, *split, *train_counts;
    gn_texts classes;
    int missing;
    double min_wga, min_gba, max_regression;
    bool gate_ci;
    int64_t resamples;
    gn_trained_options use; /* of a model; for help */
} gn_eval_options;

/* Judges what the run or file of weights in the first argument says about its data. */
GERNE_CHECKED gerne_status gn_eval_model(gn_cli *cli);

/* GERNE_EUSAGE for gates that lack what they need. */
GERNE_CHECKED gerne_status gn_eval_check_gates(gn_cli *cli);

/* Outputs what a call has given, with the gates in JSON, applies these, and frees the text;
 * differences is NULL without a gate for them. Nothing but that unless status says that it went
 * well.
 */
GERNE_CHECKED gerne_status gn_eval_output(gn_cli *cli, gerne_status status,
                                          const gerne_metrics *metrics,
                                          const gerne_differences *differences, char *text);

#endif
