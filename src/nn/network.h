/* network.h - a classifier: a body (samples -> features) and a head (features -> logits).
 *
 * A pass runs one micro-batch of a fixed size: fill gn_network_input, call gn_body_forward and
 * gn_head_forward, write the loss's gradient into gn_logit_gradient, call gn_head_backward and
 * gn_body_backward. Methods may edit features between body and head, or gradients between head and
 * body. Nothing in a pass allocates.
 */
#ifndef GN_NN_NETWORK_H
#define GN_NN_NETWORK_H

#include "nn/model.h"

typedef struct gn_network gn_network;

enum { GN_BODY, GN_HEAD }; /* the store's graphs */

/* Tensors of model.copies bodies: "copy0.conv1.weight". */
#define GN_COPY_PREFIX "copy"

/* batch: samples of one pass. The options are copied; their texts and lists are lent. */
GERNE_CHECKED gerne_status gn_network_new(gerne_ctx *ctx, gn_device *device,
                                          const gn_model_options *options, gn_sample_shape shape,
                                          int64_t classes, int64_t batch, gn_network **out);
/* Without room for weights and batches, which take long to make: it can only be asked for its
 * options, its graphs, what follows from them, and be closed. */
GERNE_CHECKED gerne_status gn_network_outline(gerne_ctx *ctx, gn_device *device,
                                              const gn_model_options *options,
                                              gn_sample_shape shape, int64_t classes,
                                              gn_network **out);
void gn_network_close(gn_network *network);
GN_LOCAL_HANDLE(gn_network, gn_network_close)

/* As gn_network_initialize, but of the head alone: for a body whose weights come from a file. */
GERNE_CHECKED gerne_status gn_network_initialize_head(gerne_ctx *ctx, gn_network *network,
                                                      uint64_t seed);

/* What the body or the head computes, for exporters. Borrowed. */
const gn_graph *gn_network_graph(const gn_network *network, int which);

#pragma GCC visibility push(default) /* what plug-ins may call */

/* Fresh weights: a function of the seed and of the parameter's place. Masks of model.dropout follow
 * the same seed. */
GERNE_CHECKED gerne_status gn_network_initialize(gerne_ctx *ctx, gn_network *network,
                                                 uint64_t seed);

gn_store *gn_network_store(const gn_network *network);
gn_device *gn_network_device(const gn_network *network);
const gn_architecture *gn_network_architecture(const gn_network *network);
const gn_model_options *gn_network_options(const gn_network *network);
const gn_sample_shape *gn_network_shape(const gn_network *network);
int64_t gn_network_batch(const gn_network *network);
int64_t gn_network_classes(const gn_network *network);
int64_t gn_network_input_size(const gn_network *network);
int64_t gn_network_feature_count(const gn_network *network);
double gn_network_flops(const gn_network *network); /* of one sample's forward pass */

/* Frozen layers can be a network of their own (GN_FRONT), and what trains another (GN_REST). */
bool gn_network_can_cut(const gn_network *network);

/* A batch must be run whole: a layer that trains couples its samples. */
bool gn_network_couples_samples(const gn_network *network);

/* The mode of the passes that follow; compiled when first used. Frozen bodies only infer, and
 * model.bn frozen turns GN_MODE_TRAIN into GN_MODE_FROZEN. */
GERNE_CHECKED gerne_status gn_network_set_mode(gerne_ctx *ctx, gn_network *network, gn_mode mode);

/* Which masks of model.dropout the samples of the next pass take: those of a step, from a place in
 * it on. A mask is a function of the seed, the step and the sample's place alone, so that a pass
 * can be repeated, cut into other micro-batches, or resumed. gn_pass_part calls this. */
void gn_network_set_masks(gn_network *network, uint64_t step, uint64_t place);

float *gn_network_input(gn_network *network, int field); /* [batch][field], by its place */

/* Networks that take texts run any number of tokens up to a limit at a time, packed: the tokens of
 * all samples one after the other. */
bool gn_network_trains_body(const gn_network *network); /* in the present mode */
bool gn_network_takes_tokens(const gn_network *network);
int64_t gn_network_token_limit(const gn_network *network); /* a longer text runs alone */
void gn_network_keep_whole(gn_network *network);           /* no limit: batches are not cut */

/* Where the tokens of a pass go: ids[tokens], and spans[batch][2], the start and length of each
 * sample. */
typedef struct gn_text_input {
    int32_t *ids, *spans;
} gn_text_input;

/* Before each pass: chooses the body's program for so many tokens, and draws the keys of masks. */
GERNE_CHECKED gerne_status gn_network_expect_tokens(gerne_ctx *ctx, gn_network *network,
                                                    int64_t tokens, gn_text_input *out);

/* A second buffer of that size, for inputs that are made of two samples. */
GERNE_CHECKED gerne_status gn_network_make_spare_input(gerne_ctx *ctx, gn_network *network);
float *gn_network_spare_input(gn_network *network); /* NULL before the call above */

GERNE_CHECKED gerne_status gn_body_forward(gerne_ctx *ctx, gn_network *network);
/* Of texts: the features of the pass become the rows from first on; in inference several passes may
 * fill them. */
GERNE_CHECKED gerne_status gn_body_forward_rows(gerne_ctx *ctx, gn_network *network, size_t first,
                                                size_t count);
const float *gn_features(const gn_network *network); /* [batch][features], after gn_body_forward */

/* features: [batch][features], or NULL for those of the body. Training passes of model.dropout zero
 * some of them and scale the others up. */
GERNE_CHECKED gerne_status gn_head_forward(gerne_ctx *ctx, gn_network *network,
                                           const float *features);
GERNE_CHECKED gerne_status gn_head_forward_rows(gerne_ctx *ctx, gn_network *network,
                                                const float *features, size_t count);
const float *gn_logits(const gn_network *network); /* [batch][classes] */

float *gn_logit_gradient(gn_network *network); /* [batch][classes], to be filled */
GERNE_CHECKED gerne_status gn_head_backward(gerne_ctx *ctx, gn_network *network, bool accumulate);
const float *gn_feature_gradient(const gn_network *network); /* [batch][features], undropped */

/* A head on features that another network makes: its backward passes give their gradient even
 * though this network has no body to train. Before the first gn_network_set_mode. */
void gn_network_want_feature_gradient(gn_network *network);

/* For losses that look at features themselves: a gradient to be filled, zero at first, that the
 * next gn_body_backward adds to the head's. NULL where the body does not train. */
GERNE_CHECKED gerne_status gn_network_expect_feature_loss(gerne_ctx *ctx, gn_network *network);
float *gn_own_feature_gradient(gn_network *network);

/* gradient: [batch][features], or NULL for that of the head. Does nothing for a frozen body. */
GERNE_CHECKED gerne_status gn_body_backward(gerne_ctx *ctx, gn_network *network,
                                            const float *gradient, bool accumulate);

/* The same with count rows of features or gradients; the rest of the batch is zero. */
GERNE_CHECKED gerne_status gn_body_backward_rows(gerne_ctx *ctx, gn_network *network,
                                                 const float *gradient, size_t count,
                                                 bool accumulate);

/* The parameters that train: all, or those of the part that is not frozen. */
gn_block gn_network_trained(const gn_network *network);

/* Products alone, for benchmarks. */
GERNE_CHECKED gerne_status gn_network_run_products(gerne_ctx *ctx, gn_network *network);

#pragma GCC visibility pop

#endif
