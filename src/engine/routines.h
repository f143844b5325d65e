/* routines.h - the few flat loops that are ours: what oneDNN has no primitive for. */
#ifndef GN_ENGINE_ROUTINES_H
#define GN_ENGINE_ROUTINES_H

#include "engine/internal.h"

gn_routine gn_round_to;          /* from, to; both may be one */
gn_routine gn_clear;             /* x */
gn_routine gn_copy_to;           /* from, to */
gn_routine gn_add_to;            /* from, sum */
gn_routine gn_update_statistics; /* mean, variance, running mean, running variance */

#endif
