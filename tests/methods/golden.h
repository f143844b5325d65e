/* golden.h - ten steps of a method beside PyTorch's: what it logs, step by step. Inputs, labels,
 * batches and initial weights are formulas that tests/golden/methods_*.py has too. */
#ifndef GN_TESTS_GOLDEN_H
#define GN_TESTS_GOLDEN_H

#include <stdbool.h>

typedef struct golden_case {
    const char *file, *method;
    int stage; /* whose steps are compared */
    const char *figures[2];
    const char *flags[8][2];
} golden_case;

/* skewed: classes and groups of very different sizes. */
void golden_check(const golden_case *c, bool skewed);

#endif
