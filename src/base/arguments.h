/* arguments.h - what public calls check first. */
#ifndef GN_BASE_ARGUMENTS_H
#define GN_BASE_ARGUMENTS_H

#include "base/status.h"

/* An argument that may not be NULL. */
#define GN_NEEDS(ctx, argument)                                                                    \
    do {                                                                                           \
        if (!(argument))                                                                           \
            return gn_fail(ctx, GERNE_EUSAGE, "%s: '%s' is NULL", __func__, #argument);            \
    } while (0)

#endif
