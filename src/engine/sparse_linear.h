/* sparse_linear.h - how a linear layer on a program's input skips the zeros of that input.
 *
 * Such a layer has two forms. In training the numbers of each run choose one of them; in inference
 * those of each row do, so that a sample gets the same bits whatever else is in the batch.
 */
#ifndef GN_ENGINE_SPARSE_LINEAR_H
#define GN_ENGINE_SPARSE_LINEAR_H

#include "engine/internal.h"

/* Whether the layer may skip zeros: its weights are then in GN_COLUMN_ORDER. */
bool gn_may_be_sparse(const gn_maker *maker, const gn_node *node);
bool gn_has_sparse_form(const gn_compiler *c, const gn_node *node);

/* Looks for zeros in x, then y = x w + bias, in the dense kernel or without it. tensors: what that
 * takes: x, w, y, bias. found: what was found, for the gradient; not set in inference. */
gerne_status gn_emit_sparse_forward(gn_compiler *c, const gn_node *node, bool relu,
                                    const gn_kernel *dense, const int tensors[4], int *found);
/* The gradients of weights and bias, which are the node's first parameters; what follows is for
 * other inputs until c->suits is set back. */
gerne_status gn_emit_sparse_backward(gn_compiler *c, const gn_node *node, int x, int found, int dy);

#endif
