/* found.h - the groups that an estimator has found, kept in the directory of the run (groups.ckpt)
 * for runs that take them from there. */
#ifndef GN_TRAIN_FOUND_H
#define GN_TRAIN_FOUND_H

#include "train/trainer.h"

#define GN_FOUND_FILE "groups.ckpt"

/* Where a run keeps them; GERNE_EUSAGE when it has none. */
GERNE_CHECKED gerne_status gn_found_path(gerne_ctx *ctx, gn_arena *arena, const char *directory,
                                         const char **out);

/* The lines "weights DIGEST" and "groups DIGEST" of the files beside the data that a configuration
 * reads, where it does: for studies, whose trials have to read the same. */
GERNE_CHECKED gerne_status gn_describe_inputs(gerne_ctx *ctx, const gn_run_config *config,
                                              gn_text *out);

/* Writes the groups that the run has now, unless the file is there. */
GERNE_CHECKED gerne_status gn_found_write(gn_trainer *t);

#endif
