/* fused_norm.h - normalization.c and addition.c in one kernel of ours.
 *
 * A normalisation whose only consumer is an addition, as its first input, emits nothing of its own:
 * the addition runs both. */
#ifndef GN_ENGINE_FUSED_NORM_H
#define GN_ENGINE_FUSED_NORM_H

#include "engine/internal.h"

/* False for layouts, types and ranks that our kernel does not know: oneDNN's do these. */
bool gn_fuses_norm(const gn_compiler *c, int source, bool trains);
/* The addition that runs with a normalisation, or NULL. */
const gn_node *gn_addition_after(const gn_compiler *c, const gn_node *norm);

/* The norm's extra tensors are the source, and the mean and variance that it normalises by. */
gerne_status gn_fused_norm_forward(gn_compiler *c, const gn_node *norm, const gn_node *addition,
                                   bool trains);
gerne_status gn_fused_norm_backward(gn_compiler *c, const gn_node *norm, const gn_node *addition,
                                    bool trains);

/* normalization.c: what an addition runs in place of itself; false if it runs alone. */
bool gn_runs_with_norm(const gn_compiler *c, const gn_node *addition);
gerne_status gn_norm_and_addition(gn_compiler *c, const gn_node *addition, bool backward);

/* addition.c */
bool gn_is_addition(const gn_node *node);
bool gn_addition_has_relu(const gn_node *node);

#endif
