/* train.h - trains one run into a run directory, or resumes one. */
#ifndef GN_TRAIN_TRAIN_H
#define GN_TRAIN_TRAIN_H

#include "base/json.h"
#include "train/options.h"

/* Trains as configured into config->top.out, which must not exist or be empty. report (which may be
 * NULL) receives a table of groups for people; *results (may be NULL) the document of results.json,
 * a new reference. GERNE_EINTERRUPTED when the progress hook asked to stop: the run is saved. */
GERNE_CHECKED gerne_status gn_train(gerne_ctx *ctx, const gn_run_config *config, gn_text *report,
                                    json_t **results);

/* Goes on with the run in a directory; a finished one is left as it is. */
GERNE_CHECKED gerne_status gn_train_resume(gerne_ctx *ctx, const char *directory, gn_text *report,
                                           json_t **results);

/* The same with its configuration at hand, to which samples in memory have been added. */
GERNE_CHECKED gerne_status gn_train_resume_as(gerne_ctx *ctx, const gn_run_config *config,
                                              gn_text *report, json_t **results);

/* The configuration that a run directory was made with; out is set to the directory. */
GERNE_CHECKED gerne_status gn_run_config_of(gerne_ctx *ctx, const char *directory,
                                            gn_run_config **out);

#endif
