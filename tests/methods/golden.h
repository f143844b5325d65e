/* golden.h - ten steps of a method beside PyTorch's: what it logs, step by step. Inputs, labels,
 * batches and initial weights are formulas that tests/golden/methods_*.py has too. */
#ifndef GN_TESTS_GOLDEN_H
#define GN_TESTS_GOLDEN_H

#include <stdbool.h>

#include "methods/method.h"

typedef struct golden_case {
    const char *file, *method;
    int stage; /* whose steps are compared */
    const char *figures[2];
    const char *flags[8][2];
} golden_case;

/* The attribute of a sample of the cases that are not skewed. */
int32_t golden_attribute(uint32_t sample);

/* skewed: classes and groups of very different sizes. */
void golden_check(const golden_case *c, bool skewed);

/* The same of a stage for which leave fills the tables that earlier stages would have left. */
void golden_check_after(const golden_case *c, bool skewed, void (*leave)(gn_run *run));

#endif
