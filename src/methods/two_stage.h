/* two_stage.h - what methods of two stages have in common. */
#ifndef GN_METHODS_TWO_STAGE_H
#define GN_METHODS_TWO_STAGE_H

#include "methods/weighted.h"

/* ERM of the whole network, of which the last checkpoint is taken. */
gn_stage gn_erm_stage(void);

/* Such a stage, "first", of so many epochs (0: those of the run), and a network of its own after
 * it, "main"; returns their number. */
int gn_first_and_main(double first_epochs, gn_stage *stages);
bool gn_is_first_stage(const gn_run *run);

/* The head alone behind the body of the stage before, with a fresh head. */
gn_stage gn_head_stage(const char *name);

#endif
