/* found.h - the groups that an estimator has found, kept in the directory of the run (groups.ckpt)
 * for runs that take them from there. */
#ifndef GN_TRAIN_FOUND_H
#define GN_TRAIN_FOUND_H

#include "train/trainer.h"

#define GN_FOUND_FILE "groups.ckpt"

/* Writes the groups that the run has now, unless the file is there. */
GERNE_CHECKED gerne_status gn_found_write(gn_trainer *t);

#endif
