/* bsoftmax.h - the prior of balanced softmax. */
#ifndef GN_METHODS_BSOFTMAX_H
#define GN_METHODS_BSOFTMAX_H

#include "methods/method.h"

/* raise[y] = log n_y over all attributes; -infinity for a class without samples. */
void gn_log_class_sizes(const gerne_groups *groups, uint32_t classes, uint32_t attributes,
                        float *raise);

#endif
