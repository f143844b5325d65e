/* transformer.h - what BERT and ViT share: sizes from options, files and defaults. */
#ifndef GN_NN_TRANSFORMER_H
#define GN_NN_TRANSFORMER_H

#include "nn/model.h"
#include "nn/weights.h"

/* What a file of weights says of its network; 0 or -1 where it says nothing. */
typedef struct gn_transformer_file {
    gn_weights *weights; /* NULL without a file */
    const char *path;
    gn_transformer sizes;
} gn_transformer_file;

/* Opens options->weights, if any, and reads what is not in the shapes of tensors (heads,
 * activation, epsilon) from our own metadata or from config.json beside it. Close the weights
 * afterwards. */
GERNE_CHECKED gerne_status gn_transformer_open(gerne_ctx *ctx, const gn_model_options *options,
                                               gn_transformer_file *out);

/* The tensor of that name, whatever stands before it; NULL when there is none. */
const gn_weight *gn_transformer_tensor(const gn_transformer_file *file, const char *name);

/* How many of "...PATTERN..." there are from 0 on; the pattern has one %d. */
int64_t gn_transformer_count(const gn_transformer_file *file, const char *pattern);

/* The sizes: what the options say, else the file, else the defaults. An option that contradicts the
 * file is GERNE_EUSAGE. */
GERNE_CHECKED gerne_status gn_transformer_combine(gerne_ctx *ctx, const gn_transformer_file *file,
                                                  const gn_transformer *defaults,
                                                  gn_model_options *options);

/* One of the layers of a transformer under construction: PREFIX.INDEX.name */
typedef struct gn_block_layer {
    gn_graph *graph;
    const gn_transformer *sizes;
    const char *prefix;
    int index;
} gn_block_layer;

gn_value gn_block_linear(const gn_block_layer *layer, gn_value x, const char *name,
                         int64_t outputs);
gn_value gn_block_norm(const gn_block_layer *layer, gn_value x, const char *name);

/* bert.c: all places of the last layer, for tests. The graph has the inputs GN_FIELD_TOKENS,
 * GN_SPANS and GN_KEYS. */
gn_value gn_bert_all_places(gn_graph *graph, const gn_model_options *options, gn_value tokens);

#endif
