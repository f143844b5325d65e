/* slope.h - a gradient against central differences of the value that it belongs to. */
#ifndef GN_TESTS_SLOPE_H
#define GN_TESTS_SLOPE_H

#include "nn/network.h"

/* Moves the part's parameters a little along their gradient, both ways, and compares how
 * value(user) changes with the gradient's length. The parameters are as before afterwards. */
typedef double test_value_fn(const void *user);
void test_slope(gn_block part, test_value_fn *value, const void *user);

#endif
