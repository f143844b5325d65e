#include "base/argmax.h"

#define ARGMAX(name, type)                                                                         \
    size_t name(const type *values, size_t count)                                                  \
    {                                                                                              \
        size_t best = 0;                                                                           \
        for (size_t k = 1; k < count; k++)                                                         \
            if (values[k] > values[best])                                                          \
                best = k;                                                                          \
        return best;                                                                               \
    }

ARGMAX(gn_argmax, double)
ARGMAX(gn_argmax_float, float)
