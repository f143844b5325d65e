/* resnet.c - residual networks with torchvision's names and shapes, and the small one for CIFAR. */
#include "nn/model.h"

#include <stdio.h>

typedef struct block {
    gn_graph *graph;
    const gn_model_options *options;
    char prefix[24]; /* "layer1.0" */
    int64_t planes, stride;
    bool projects; /* the shortcut is a 1x1 convolution */
} block;

static gn_value convolve(const block *b, gn_value x, const char *name, int64_t outputs,
                         int64_t kernel, int64_t stride)
{
    char full[GN_NAME_MAX];
    snprintf(full, sizeof full, "%s.%s", b->prefix, name);
    return gn_convolve(
        b->graph, x, full,
        &(gn_convolution){
            .outputs = outputs, .kernel = kernel, .stride = stride, .padding = kernel / 2});
}

static gn_value normalize(const block *b, gn_value x, const char *name, bool relu)
{
    char full[GN_NAME_MAX];
    snprintf(full, sizeof full, "%s.%s", b->prefix, name);
    return gn_batch_norm(b->graph, x, full, relu);
}

static gn_value project(const block *b, gn_value x, int64_t outputs)
{
    if (!b->projects)
        return x;
    x = convolve(b, x, "downsample.0", outputs, 1, b->stride);
    return normalize(b, x, "downsample.1", false);
}

static gn_value basic_block(const block *b, gn_value input)
{
    gn_value x = convolve(b, input, "conv1", b->planes, 3, b->stride);
    x = normalize(b, x, "bn1", true);
    x = convolve(b, x, "conv2", b->planes, 3, 1);
    x = normalize(b, x, "bn2", false);
    return gn_add_relu(b->graph, x, project(b, input, b->planes));
}

static gn_value bottleneck_block(const block *b, gn_value input)
{
    bool early = b->options->variant == GN_V1;
    gn_value x = convolve(b, input, "conv1", b->planes, 1, early ? b->stride : 1);
    x = normalize(b, x, "bn1", true);
    x = convolve(b, x, "conv2", b->planes, 3, early ? 1 : b->stride);
    x = normalize(b, x, "bn2", true);
    x = convolve(b, x, "conv3", 4 * b->planes, 1, 1);
    x = normalize(b, x, "bn3", false);
    return gn_add_relu(b->graph, x, project(b, input, 4 * b->planes));
}

static gn_value stem(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    bool cifar = options->stem == GN_STEM_CIFAR;
    gn_convolution first = {.outputs = 64, .kernel = 7, .stride = 2, .padding = 3};
    if (cifar)
        first = (gn_convolution){.outputs = 64, .kernel = 3, .stride = 1, .padding = 1};
    x = gn_convolve(graph, x, "conv1", &first);
    x = gn_batch_norm(graph, x, "bn1", true);
    return cifar ? x : gn_max_pool(graph, x, 3, 2, 1);
}

static gn_value resnet(gn_graph *graph, const gn_model_options *options, gn_value x,
                       const int depths[4], bool bottlenecks)
{
    x = stem(graph, options, x);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < depths[stage]; i++) {
            block b = {.graph = graph,
                       .options = options,
                       .planes = 64 << stage,
                       .stride = stage > 0 && i == 0 ? 2 : 1,
                       .projects = i == 0 && (bottlenecks || stage > 0)};
            snprintf(b.prefix, sizeof b.prefix, "layer%d.%d", stage + 1, i);
            x = bottlenecks ? bottleneck_block(&b, x) : basic_block(&b, x);
        }
    return gn_average_all(graph, x);
}

static gn_value resnet18(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    return resnet(graph, options, x, (int[]){2, 2, 2, 2}, false);
}

static gn_value resnet34(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    return resnet(graph, options, x, (int[]){3, 4, 6, 3}, false);
}

static gn_value resnet50(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    return resnet(graph, options, x, (int[]){3, 4, 6, 3}, true);
}

/* ---- ResNet-20 for 32x32 images: 16, 32, 64 planes, shortcuts without parameters ---- */

/* Every second pixel, with as many zero channels before as behind: a 1x1 convolution with stride 2
 * whose constant weights pick channel o - inputs/2. */
#define SELECTION(outputs, inputs) static const float select_##outputs[outputs][inputs]
#define ROW8(o, at)                                                                                \
    [o] = {[at] = 1}, [o + 1] = {[at + 1] = 1}, [o + 2] = {[at + 2] = 1},                          \
    [o + 3] = {[at + 3] = 1}, [o + 4] = {[at + 4] = 1}, [o + 5] = {[at + 5] = 1},                  \
    [o + 6] = {[at + 6] = 1}, [o + 7] = {[at + 7] = 1}
SELECTION(32, 16) = {ROW8(8, 0), ROW8(16, 8)};
SELECTION(64, 32) = {ROW8(16, 0), ROW8(24, 8), ROW8(32, 16), ROW8(40, 24)};

static gn_value small_block(const block *b, gn_value input)
{
    gn_value x = convolve(b, input, "conv1", b->planes, 3, b->stride);
    x = normalize(b, x, "bn1", true);
    x = convolve(b, x, "conv2", b->planes, 3, 1);
    x = normalize(b, x, "bn2", false);
    gn_value shortcut = input;
    if (b->stride > 1) {
        char name[GN_NAME_MAX];
        snprintf(name, sizeof name, "%s.shortcut", b->prefix);
        const float *fixed = b->planes == 32 ? &select_32[0][0] : &select_64[0][0];
        shortcut = gn_convolve(
            b->graph, input, name,
            &(gn_convolution){.outputs = b->planes, .kernel = 1, .stride = 2, .fixed = fixed});
    }
    return gn_add_relu(b->graph, x, shortcut);
}

static gn_value resnet20(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    gn_convolution first = {.outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
    x = gn_convolve(graph, x, "conv1", &first);
    x = gn_batch_norm(graph, x, "bn1", true);
    for (int stage = 0; stage < 3; stage++)
        for (int i = 0; i < 3; i++) {
            block b = {.graph = graph,
                       .options = options,
                       .planes = 16 << stage,
                       .stride = stage > 0 && i == 0 ? 2 : 1};
            snprintf(b.prefix, sizeof b.prefix, "layer%d.%d", stage + 1, i);
            x = small_block(&b, x);
        }
    return gn_average_all(graph, x);
}

const gn_architecture gn_resnet18_architecture = {
    .name = "resnet18",
    .summary = "ResNet-18 as in torchvision; model.stem cifar for small images",
    .wants_images = true,
    .initialization = GN_INIT_FAN_OUT,
    .body = resnet18,
};

const gn_architecture gn_resnet34_architecture = {
    .name = "resnet34",
    .summary = "ResNet-34 as in torchvision",
    .wants_images = true,
    .initialization = GN_INIT_FAN_OUT,
    .body = resnet34,
};

const gn_architecture gn_resnet50_architecture = {
    .name = "resnet50",
    .summary = "ResNet-50 as in torchvision (v1.5), or the original with model.variant v1",
    .wants_images = true,
    .initialization = GN_INIT_FAN_OUT,
    .body = resnet50,
};

const gn_architecture gn_resnet20_architecture = {
    .name = "resnet20",
    .summary = "the 20-layer ResNet for 32x32 images",
    .wants_images = true,
    .initialization = GN_INIT_FAN_IN,
    .body = resnet20,
};
