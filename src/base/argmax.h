/* argmax.h - the index of the largest of count values, the lowest on ties. */
#ifndef GN_BASE_ARGMAX_H
#define GN_BASE_ARGMAX_H

#include <stddef.h>

#pragma GCC visibility push(default) /* what plug-ins may call */

size_t gn_argmax(const double *values, size_t count);
size_t gn_argmax_float(const float *values, size_t count);

#pragma GCC visibility pop

#endif
