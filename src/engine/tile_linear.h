/* tile_linear.h - linear layers of sequences on the tiles of AMX, where the device has them. */
#ifndef GN_ENGINE_TILE_LINEAR_H
#define GN_ENGINE_TILE_LINEAR_H

#include "engine/internal.h"

/* Weights and values are in plain order; weights in front of the bias in node's parameters. */
bool gn_runs_on_tiles(const gn_compiler *c);

/* y = x w^T + bias of matrices */
gerne_status gn_emit_tile_forward(gn_compiler *c, const gn_node *node, int x, int w, int y,
                                  int bias);
/* The gradients of all of the node's parameters, of which the first half are weights. */
gerne_status gn_emit_tile_weight_gradient(gn_compiler *c, const gn_node *node, int x, int dy);
gerne_status gn_emit_tile_source_gradient(gn_compiler *c, const gn_node *node, int dy, int w,
                                          int dx);

#endif
