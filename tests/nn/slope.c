#include "slope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

void test_slope(gn_block part, test_value_fn *value, const void *user)
{
    const double step = 1e-4; /* few units change sides within it */
    double norm = 0, ends[2];
    float *start = malloc(part.size * sizeof *start), *gradient = malloc(part.size * sizeof *start);
    assert_non_null(start);
    assert_non_null(gradient);
    memcpy(start, part.values, part.size * sizeof *start);
    memcpy(gradient, part.gradients, part.size * sizeof *start);
    for (size_t i = 0; i < part.size; i++)
        norm += pow((double)gradient[i], 2);
    norm = sqrt(norm);
    assert_true(norm > 0.05);
    for (int side = 0; side < 2; side++) {
        double length = (side ? step : -step) / norm;
        for (size_t i = 0; i < part.size; i++)
            part.values[i] = start[i] + (float)(length * (double)gradient[i]);
        ends[side] = value(user);
    }
    memcpy(part.values, start, part.size * sizeof *start);
    free(start);
    free(gradient);
    assert_near((ends[1] - ends[0]) / (2 * step) / norm, 1, 2e-3);
}
