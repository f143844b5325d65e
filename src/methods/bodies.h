/* bodies.h - for methods that run bodies and heads apart. */
#ifndef GN_METHODS_BODIES_H
#define GN_METHODS_BODIES_H

#include "methods/method.h"

/* GERNE_EUSAGE when model.freeze leaves a part of the network as it is. */
GERNE_CHECKED gerne_status gn_bodies_check(gn_run *run);

#endif
