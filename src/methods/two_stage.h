/* two_stage.h - what methods that first train a network and then its head alone have in common. */
#ifndef GN_METHODS_TWO_STAGE_H
#define GN_METHODS_TWO_STAGE_H

#include "methods/weighted.h"

/* ERM of the whole network, of which the last checkpoint is taken. */
gn_stage gn_erm_stage(void);

/* The head alone behind the body of the stage before, with a fresh head. */
gn_stage gn_head_stage(const char *name);

#endif
