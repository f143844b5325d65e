/* winograd.h - 3x3 convolutions of stride 1 by our own kernels for Winograd's algorithm.
 *
 * oneDNN has the algorithm for AVX-512 alone, and is slower there (docs/engine.md). */
#ifndef GN_ENGINE_WINOGRAD_H
#define GN_ENGINE_WINOGRAD_H

#include "engine/internal.h"

/* By shape, precision and processor, whatever the batch: its weights then lie in GN_TAPS_ORDER. */
bool gn_suits_winograd(const gn_maker *maker, const gn_node *node);
/* Also by the order of its input: it is an image in blocks of channels that there are kernels for.
 */
bool gn_runs_by_winograd(const gn_compiler *c, const gn_node *node);

gerne_status gn_winograd_forward(gn_compiler *c, const gn_node *node);
gerne_status gn_winograd_backward(gn_compiler *c, const gn_node *node);

#endif
