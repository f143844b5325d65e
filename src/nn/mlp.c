/* mlp.c - linear layers: the logistic regression of the field, and the paper's C-MNIST network. */
#include "nn/model.h"

#include <stdio.h>

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
    .layers_before_head = no_layers,
};

const gn_architecture gn_mlp_architecture = {
    .name = "mlp",
    .summary = "linear layers with ReLU; model.hidden gives their widths",
    .initialization = GN_INIT_UNIFORM,
    .body = mlp_body,
    .layers_before_head = hidden_layers,
};
