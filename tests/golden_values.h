/* golden_values.h - numbers that the golden scripts and the tests make alike (tests/golden has them
 * in formulas.py), and how results are compared. */
#ifndef GOLDEN_VALUES_H
#define GOLDEN_VALUES_H

#include "testing.h"

#include "engine/graph.h"
#include "nn/weights.h"

/* In [-1, 1). */
float golden_value(uint64_t seed, uint64_t i);

uint32_t golden_name_seed(const char *name);

/* Parameters as a function of their names; scales whose names contain last_norm (or NULL) are made
 * small. */
void golden_fill(gerne_ctx *ctx, gn_store *store, const char *last_norm);

/* The tensor of that kind and name, up to 64 numbers; overwritten by the next call. */
const float *golden_numbers(gerne_ctx *ctx, const gn_weights *golden, const char *kind,
                            const char *name, size_t *count);

/* The norm and some numbers of a parameter, to 1e-3. */
void golden_compare(gerne_ctx *ctx, const gn_store *store, int index, const gn_weights *golden);

#endif
