/* model.h - which network: the options of section "model" and the list of architectures. */
#ifndef GN_NN_MODEL_H
#define GN_NN_MODEL_H

#include "base/field.h"
#include "base/option.h"
#include "engine/graph.h"

typedef enum gn_variant { GN_V1_5, GN_V1 } gn_variant;            /* where a bottleneck strides */
typedef enum gn_stem { GN_STEM_IMAGENET, GN_STEM_CIFAR } gn_stem; /* 7x7/2 and pooling, or 3x3 */
typedef enum gn_freeze { GN_FREEZE_NONE, GN_FREEZE_BODY, GN_FREEZE_HEAD } gn_freeze;
typedef enum gn_bn { GN_BN_AUTO, GN_BN_SEPARATE, GN_BN_CONCAT, GN_BN_FROZEN } gn_bn;

typedef struct gn_model_options {
    const char *arch;
    gn_ints hidden;
    const char *weights; /* a file to start from, or NULL */
    int variant, stem, freeze, bn;
    double dropout; /* of the features in front of the head, in training passes */
    int64_t copies; /* of the body, side by side, their features concatenated; 0 stands for 1 */
} gn_model_options;

extern const gn_option gn_model_option_table[];
extern const size_t gn_model_option_count;

typedef enum gn_initialization {
    GN_INIT_UNIFORM, /* PyTorch's default: U(-1/sqrt(fan_in), 1/sqrt(fan_in)) */
    GN_INIT_FAN_OUT, /* convolutions N(0, 2/fan_out), the head as above: torchvision's ResNets */
    GN_INIT_FAN_IN,  /* all weights N(0, 2/fan_in): ResNet-20 */
} gn_initialization;

/* One architecture: adds its body (input -> features) to a graph. */
typedef struct gn_architecture {
    const char *name, *summary;
    bool wants_images;
    int64_t smallest; /* height and width of images that it can see; 0: any */
    gn_initialization initialization;
    gn_value (*body)(gn_graph *graph, const gn_model_options *options, gn_value input);
    int (*layers_before_head)(const gn_model_options *options); /* NULL: the head is "fc" */
} gn_architecture;

/* Samples that run at once where the batch may be cut: what fits the cache. In inference it is a
 * function of the sample's shape alone, as the last bits may depend on it. */
int64_t gn_training_batch(const gn_architecture *architecture);
int64_t gn_inference_batch(const gn_sample_shape *shape);

/* Ends with a NULL. */
extern const gn_architecture *const gn_architectures[];

/* GERNE_EUSAGE with the nearest name when there is none. */
GERNE_CHECKED gerne_status gn_architecture_find(gerne_ctx *ctx, const char *name,
                                                const gn_architecture **out);

extern const gn_architecture gn_linear_architecture, gn_mlp_architecture;
extern const gn_architecture gn_resnet18_architecture, gn_resnet34_architecture,
    gn_resnet50_architecture, gn_resnet20_architecture;
extern const gn_architecture gn_convnet3_architecture, gn_convnet4_architecture;

#endif
