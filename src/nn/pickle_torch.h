/* pickle_torch.h - the names that a pickle may call, and what calling them means. */
#ifndef GN_NN_PICKLE_TORCH_H
#define GN_NN_PICKLE_TORCH_H

#include "nn/pickle.h"

typedef struct gn_pickle_global gn_pickle_global;

/* The allowed name, or GERNE_EDATA with a sentence about the refused one. */
GERNE_CHECKED gerne_status gn_pickle_find_global(gerne_ctx *ctx, gn_pickle_text module,
                                                 gn_pickle_text name, const gn_pickle_global **out);

/* Calls a global with a tuple of arguments; *out is a kind and content for a fresh value. */
GERNE_CHECKED gerne_status gn_pickle_call(gerne_ctx *ctx, gn_arena *arena,
                                          const gn_pickle_value *callee,
                                          const gn_pickle_value *arguments, gn_pickle_value *out);

/* A persistent id, which must be a storage. */
GERNE_CHECKED gerne_status gn_pickle_load_storage(gerne_ctx *ctx, gn_arena *arena,
                                                  const gn_pickle_value *id, gn_pickle_value *out);

#endif
