/* model.h - which network: the options of section "model" and the list of architectures. */
#ifndef GN_NN_MODEL_H
#define GN_NN_MODEL_H

#include "base/field.h"
#include "base/option.h"
#include "engine/graph.h"

typedef enum gn_variant { GN_V1_5, GN_V1 } gn_variant;            /* where a bottleneck strides */
typedef enum gn_stem { GN_STEM_IMAGENET, GN_STEM_CIFAR } gn_stem; /* 7x7/2 and pooling, or 3x3 */
/* What is not trained: nothing, a part, or all layers of the body up to a named one. */
typedef enum gn_freeze {
    GN_FREEZE_NONE,
    GN_FREEZE_BODY,
    GN_FREEZE_HEAD,
    GN_FREEZE_LAYERS,
} gn_freeze;
/* What model.freeze with a layer keeps of all samples: the numbers behind it, in a file. */
typedef enum gn_activations { GN_KEEP_F16, GN_KEEP_F32, GN_RECOMPUTE } gn_activations;
/* Of a network that is cut behind its frozen layers. */
typedef enum gn_network_part { GN_WHOLE, GN_FRONT, GN_REST } gn_network_part;
typedef enum gn_pool { GN_POOL_FIRST, GN_POOL_MEAN } gn_pool;
typedef enum gn_bn { GN_BN_AUTO, GN_BN_SEPARATE, GN_BN_CONCAT, GN_BN_FROZEN } gn_bn;

/* The sizes of a transformer, once options, the weights' file and defaults have settled them. */
typedef struct gn_transformer {
    bool settled;
    int64_t depth, width, heads, intermediate;
    int64_t vocabulary, positions, segments; /* bert: rows of its tables; 0 segments: no table */
    bool pooler;    /* bert: a linear layer and tanh in front of the head */
    int64_t patch;  /* vit */
    int activation; /* gn_activation */
    double epsilon; /* of layer norm */
} gn_transformer;

typedef struct gn_model_options {
    const char *arch;
    gn_ints hidden;
    const char *weights; /* a file to start from, or NULL */
    const char *vocab;   /* of texts: vocab.txt or tokenizer.json, or NULL */
    int variant, stem, bn, pool;
    const char *freeze; /* "none", "body", "head" or a layer; NULL for none: gn_model_freeze */
    int activations;    /* behind frozen layers: gn_activations */
    int64_t views;      /* behind frozen layers, of a training sample; 0 stands for 1 */
    double dropout;     /* of the features in front of the head, in training passes */
    int64_t copies;     /* of the body, side by side, their features concatenated; 0 stands for 1 */
    int64_t depth, width, heads, intermediate, patch; /* as asked for; 0: see transformer */
    double inner_dropout;                             /* of an encoder, in training passes */
    gn_transformer transformer;                       /* settled by gn_network_new */
    /* Not options: the network is a part of this one, cut behind a layer. */
    gn_network_part part;
    const char *cut;
    const gn_sample_shape *origin; /* GN_REST: what the whole network takes; lent */
    /* Not an option: a network of more numbers is GERNE_EDATA, before any memory is taken: sizes
     * that a file claims may be false. 0: any. */
    int64_t numbers_max;
} gn_model_options;

gn_freeze gn_model_freeze(const gn_model_options *options);
int64_t gn_model_views(const gn_model_options *options);

extern const gn_option gn_model_option_table[];
extern const size_t gn_model_option_count;

typedef enum gn_initialization {
    GN_INIT_UNIFORM,   /* PyTorch's default: U(-1/sqrt(fan_in), 1/sqrt(fan_in)) */
    GN_INIT_FAN_OUT,   /* convolutions N(0, 2/fan_out), the head as above: torchvision's ResNets */
    GN_INIT_FAN_IN,    /* all weights N(0, 2/fan_in): ResNet-20 */
    GN_INIT_TRUNCATED, /* all weights N(0, 0.02^2) within two deviations, biases 0: transformers */
} gn_initialization;

/* One architecture: adds its body (input -> features) to a graph. */
struct gn_weights;

typedef struct gn_architecture {
    const char *name, *summary;
    bool wants_images, wants_tokens; /* neither: any numbers */
    gn_initialization initialization;
    gn_value (*body)(gn_graph *graph, const gn_model_options *options, gn_value input);
    int (*layers_before_head)(const gn_model_options *options); /* NULL: the head has a name */
    const char *head;                                           /* NULL: "fc" */
    const char *prefix; /* of the names of all layers of the body; or NULL */
    /* Completes the options for these samples, or refuses them; NULL: there is nothing to do. */
    gerne_status (*settle)(gerne_ctx *ctx, gn_model_options *options, const gn_sample_shape *shape);
    /* What a sample looks like to bare weights, without a field where they do not tell. NULL: they
     * never do. */
    gn_sample_shape (*sample)(const struct gn_weights *weights);
    /* Files of the field: other names of a tensor, one after the other (false: there are no more),
     * and tensors that are passed over. NULL: none. */
    bool (*alias)(const char *name, int which, char *out, size_t size);
    bool (*unused)(const char *name);
    bool decays_matrices; /* adamw decays matrices alone */
} gn_architecture;

/* Inputs of networks that take tokens, beside GN_FIELD_TOKENS: see engine/graph.h. */
#define GN_SPANS "spans"
#define GN_KEYS  "keys"

/* The name of the head's layer; name has GN_NAME_MAX bytes. */
void gn_head_name(const gn_architecture *architecture, const gn_model_options *options, char *name);

/* Samples that run at once where the batch may be cut: what fits the cache. In inference it is a
 * function of the sample's shape alone, as the last bits may depend on it; predictors for fewer
 * samples (train/trained_model.h) take fewer at once. */
int64_t gn_training_batch(const gn_architecture *architecture, const gn_sample_shape *shape);
int64_t gn_inference_batch(const gn_sample_shape *shape);

/* Takes numbers, not images or texts: the activations of a whole batch need little memory. */
bool gn_architecture_is_small(const gn_architecture *architecture);

/* Ends with a NULL. */
extern const gn_architecture *const gn_architectures[];

/* GERNE_EUSAGE with the nearest name when there is none. */
GERNE_CHECKED gerne_status gn_architecture_find(gerne_ctx *ctx, const char *name,
                                                const gn_architecture **out);

extern const gn_architecture gn_linear_architecture, gn_mlp_architecture;
extern const gn_architecture gn_resnet18_architecture, gn_resnet34_architecture,
    gn_resnet50_architecture, gn_resnet20_architecture;
extern const gn_architecture gn_convnet_architecture, gn_convnet3_architecture,
    gn_convnet4_architecture;
extern const gn_architecture gn_bert_architecture, gn_vit_architecture;

#endif
