/* mlp.c - linear layers: the logistic regression of the field, and the paper's C-MNIST network. */
#include <stdio.h>

#include "nn/model.h"
#include "nn/weights.h"

/* As many features as the first layer has columns; pixels in a row are features, too. */
static gn_sample_shape sample(const gn_weights *weights)
{
    const gn_weight *first = gn_weights_find(weights, "fc1.weight");
    bool matrix = first && first->ndims == 2 && first->dims[1] > 0;
    return matrix ? gn_features_shape(first->dims[1]) : (gn_sample_shape){0};
}

static gn_value linear_body(gn_graph *graph, const gn_model_options *options, gn_value input)
{
    (void)graph;
    (void)options;
    return input; /* the sample itself is the feature vector */
}

static int no_layers(const gn_model_options *options)
{
    (void)options;
    return 0;
}

static gn_value mlp_body(gn_graph *graph, const gn_model_options *options, gn_value input)
{
    gn_value x = input;
    for (size_t i = 0; i < options->hidden.count; i++) {
        char name[GN_NAME_MAX];
        snprintf(name, sizeof name, "fc%zu", i + 1);
        x = gn_linear(graph, x, name, options->hidden.items[i], true);
    }
    return x;
}

static int hidden_layers(const gn_model_options *options)
{
    return (int)options->hidden.count;
}

const gn_architecture gn_linear_architecture = {
    .name = "linear",
    .summary = "one linear layer on pixels or features",
    .initialization = GN_INIT_UNIFORM,
    .body = linear_body,
    .sample = sample,
    .layers_before_head = no_layers,
};

const gn_architecture gn_mlp_architecture = {
    .name = "mlp",
    .summary = "linear layers with ReLU; model.hidden gives their widths",
    .initialization = GN_INIT_UNIFORM,
    .body = mlp_body,
    .sample = sample,
    .layers_before_head = hidden_layers,
};
