/* convnet.c - shallow convolutional networks: one for small pictures, and those that DeNetDM trains
 * beside a deep one. */
#include "nn/model.h"

#include <stdio.h>

typedef enum pooling { NOT_POOLED, POOLED_LAST, POOLED_FIRST } pooling;

/* A convolution, normalisation and ReLU; 2x2 pooling after all or before the normalisation. */
typedef struct layer {
    int64_t outputs, kernel, stride, padding;
    pooling pooled;
} layer;

static gn_value pool(gn_graph *graph, gn_value x)
{
    return gn_max_pool(graph, x, 2, 2, 0);
}

static gn_value stack(gn_graph *graph, gn_value x, const layer *layers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[GN_NAME_MAX];
        const gn_convolution convolution = {.outputs = layers[i].outputs,
                                            .kernel = layers[i].kernel,
                                            .stride = layers[i].stride,
                                            .padding = layers[i].padding};
        snprintf(name, sizeof name, "conv%zu", i + 1);
        x = gn_convolve(graph, x, name, &convolution);
        if (layers[i].pooled == POOLED_FIRST)
            x = pool(graph, x);
        snprintf(name, sizeof name, "bn%zu", i + 1);
        x = gn_batch_norm(graph, x, name, true);
        if (layers[i].pooled == POOLED_LAST)
            x = pool(graph, x);
    }
    return gn_average_all(graph, x);
}

/* Something must be left of an image behind the last convolution. */
static gerne_status check(gerne_ctx *ctx, const gn_model_options *options,
                          const gn_sample_shape *shape, int64_t least)
{
    const gn_field *pixels = gn_shape_field(shape, GN_FIELD_PIXELS);
    if (pixels->dims[1] >= least && pixels->dims[2] >= least)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE,
            "model.arch: '%s' needs images of at least %lld x %lld pixels, not %lld x %lld",
            options->arch, (long long)least, (long long)least, (long long)pixels->dims[1],
            (long long)pixels->dims[2]);
    gn_hint(ctx, "use another --model.arch, or enlarge them with --data.resize");
    return GERNE_EUSAGE;
}

static gerne_status settle3(gerne_ctx *ctx, gn_model_options *options, const gn_sample_shape *shape)
{
    return check(ctx, options, shape, 32);
}

static gerne_status settle4(gerne_ctx *ctx, gn_model_options *options, const gn_sample_shape *shape)
{
    return check(ctx, options, shape, 42);
}

static gn_value convnet(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    static const layer layers[] = {{24, 3, 1, 1, NOT_POOLED},
                                   {48, 3, 2, 1, NOT_POOLED},
                                   {64, 3, 2, 1, NOT_POOLED},
                                   {64, 3, 2, 1, NOT_POOLED}};
    (void)options;
    return stack(graph, x, layers, sizeof layers / sizeof layers[0]);
}

static gn_value convnet3(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    static const layer layers[] = {
        {32, 5, 1, 0, POOLED_LAST}, {64, 5, 1, 0, POOLED_LAST}, {64, 5, 1, 0, NOT_POOLED}};
    (void)options;
    return stack(graph, x, layers, sizeof layers / sizeof layers[0]);
}

static gn_value convnet4(gn_graph *graph, const gn_model_options *options, gn_value x)
{
    static const layer layers[] = {{64, 7, 1, 0, POOLED_LAST},
                                   {128, 3, 1, 0, POOLED_LAST},
                                   {512, 3, 1, 0, POOLED_FIRST},
                                   {512, 3, 1, 0, NOT_POOLED}};
    (void)options;
    return stack(graph, x, layers, sizeof layers / sizeof layers[0]);
}

const gn_architecture gn_convnet_architecture = {
    .name = "convnet",
    .summary =
        "four 3x3 convolutions with BatchNorm, 64 features: for small pictures such as digits",
    .wants_images = true,
    .initialization = GN_INIT_UNIFORM,
    .body = convnet,
};

const gn_architecture gn_convnet3_architecture = {
    .name = "convnet3",
    .summary = "three 5x5 convolutions, 64 features: DeNetDM's shallow network for 32x32 images",
    .wants_images = true,
    .initialization = GN_INIT_UNIFORM,
    .body = convnet3,
    .settle = settle3,
};

const gn_architecture gn_convnet4_architecture = {
    .name = "convnet4",
    .summary = "four convolutions, 512 features: DeNetDM's shallow network for photographs",
    .wants_images = true,
    .initialization = GN_INIT_UNIFORM,
    .body = convnet4,
    .settle = settle4,
};
