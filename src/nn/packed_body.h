/* packed_body.h - the programs of a body that takes texts: one for each number of tokens that
 * passes have had, rounded up to a few sizes. They share their parameters and their memory. */
#ifndef GN_NN_PACKED_BODY_H
#define GN_NN_PACKED_BODY_H

#include "engine/graph.h"

typedef struct gn_packed_body gn_packed_body;

/* graph, store and memory are lent; batch: samples of a pass. */
GERNE_CHECKED gerne_status gn_packed_body_new(gerne_ctx *ctx, gn_graph *graph, gn_store *store,
                                              int64_t batch, gn_memory *memory,
                                              gn_packed_body **out);
void gn_packed_body_close(gn_packed_body *body); /* takes NULL */

/* The program for so many tokens, compiled when first asked for; borrowed. */
GERNE_CHECKED gerne_status gn_packed_body_program(gerne_ctx *ctx, gn_packed_body *body,
                                                  gn_mode mode, int64_t tokens, gn_program **out);

#endif
