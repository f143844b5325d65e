/* kernels.h - all that layers see of oneDNN: descriptions of tensors, and kernels.
 *
 * A description says what a tensor looks like: type, dimensions, and the order of its numbers in
 * memory. Descriptions are values: they never change and are never freed. The device keeps one of
 * each, so that pointers to them may be copied and live as long as the device.
 *
 * A kernel is one computation on tensors of given descriptions. Each kind has one constructor,
 * which chooses an order wherever GN_ANY_ORDER was given and says in `operands` what it chose.
 * Kernels belong to their maker. descriptions.c and kernels.c are the only files that describe
 * anything to oneDNN.
 */
#ifndef GN_ENGINE_KERNELS_H
#define GN_ENGINE_KERNELS_H

#include "base/memory.h"
#include "engine/graph.h"

/* ---- descriptions ---- */

typedef enum gn_order {
    GN_ANY_ORDER,      /* the kernel chooses */
    GN_PLAIN_ORDER,    /* the last dimension runs fastest */
    GN_COLUMN_ORDER,   /* of a matrix: the first dimension runs fastest */
    GN_BLOCKED_ORDER,  /* weights of a convolution in blocks of 8 x 8 channels */
    GN_TAPS_ORDER,     /* the same tap by tap, for each [input][output] */
    GN_IMAGE_BLOCKS_8, /* images in blocks of channels */
    GN_IMAGE_BLOCKS_16,
} gn_order;

typedef struct gn_description {
    gn_type type;
    int ndims;
    int64_t dims[GN_DIMS_MAX];
    size_t size; /* bytes */
} gn_description;

typedef struct gn_maker gn_maker;

gerne_status gn_describe(gn_maker *maker, gn_type type, int ndims, const int64_t *dims,
                         gn_order order, const gn_description **out);
/* Some numbers of a tensor as they lie among the others. */
gerne_status gn_describe_part(gn_maker *maker, const gn_description *whole, const int64_t *dims,
                              const int64_t *offsets, const gn_description **out);
/* The channels that lie together in an image of fp32: 8 or 16; 0 for every other order. */
int64_t gn_channel_block(const gn_description *description);
/* The outputs that lie together in the weights of a convolution, where blocks of them are
 * outermost; 0 for every other order. */
int64_t gn_output_block(const gn_description *weights);
/* The same type, dimensions and order. */
bool gn_same_description(const gn_description *a, const gn_description *b);

/* ---- kernels ---- */

typedef struct gn_node gn_node;
typedef struct gn_call gn_call;
typedef void gn_routine(gn_program *program, const gn_call *call);

/* What a layer's kernels work on. In the kernels of the backward pass each is the value or its
 * gradient, whichever the kernel reads or writes. */
typedef struct gn_operands {
    const gn_description *source, *weights, *bias, *result;
} gn_operands;

/* A computation of oneDNN's, or a routine of ours. */
typedef struct gn_kernel {
    struct dnnl_primitive_desc *primitive; /* the maker's; NULL for a routine */
    const int *arguments;                  /* oneDNN's names of the tensors, in our order */
    gn_routine *routine;
    const gn_node *node; /* for a layer's own routine */
    gn_operands operands;
    const gn_description *workspace;  /* what backward needs of forward, or NULL */
    const gn_description *scratchpad; /* memory to work in, or NULL */
    bool is_product;                  /* a convolution or a matrix product */
    bool is_reference;                /* a slow implementation */
    bool alone;                       /* runs on one thread */
} gn_kernel;

/* For what kernels are made, and those that were made; gn_maker_close frees them. */
struct gn_maker {
    gerne_ctx *ctx;
    gn_device *device;
    const gn_graph *graph;
    int64_t batch, tokens; /* tokens of packed sequences */
    struct dnnl_primitive_desc **made;
    size_t count, capacity;
};

void gn_maker_close(gn_maker *maker);

/* Rows and columns of a convolution or a pooling, in arrays of the length that oneDNN reads. */
typedef int64_t gn_sides[12];

typedef struct gn_window {
    gn_sides kernel; /* of a pooling */
    gn_sides strides, before, after;
} gn_window;

typedef struct gn_pooling {
    bool mean; /* of the window; else its maximum */
    gn_window window;
} gn_pooling;

typedef struct gn_normalization {
    float epsilon;
    bool relu;
} gn_normalization;

/* The constructors. Beside each the tensors that its kernels take, in this order (d: the gradient
 * of). Kernels of the backward pass name the forward one that they belong to, which is NULL in the
 * forward pass. */

/* For products; a convolution has no bias. */
typedef enum gn_pass {
    GN_FORWARD,         /* source, weights, result, bias */
    GN_WEIGHT_GRADIENT, /* source, d result, d weights, d bias */
    GN_SOURCE_GRADIENT, /* d result, weights, d source */
} gn_pass;

gerne_status gn_make_convolution(gn_maker *maker, gn_pass pass, const gn_kernel *forward,
                                 const gn_operands *operands, const gn_window *window,
                                 gn_kernel *out);
/* For inference: with a bias, added to what the result holds, with ReLU. */
gerne_status gn_make_complete_convolution(gn_maker *maker, const gn_operands *operands,
                                          const gn_window *window, bool adds, bool relu,
                                          gn_kernel *out);
/* With ReLU when asked; its gradient is a kernel of its own. */
gerne_status gn_make_inner_product(gn_maker *maker, gn_pass pass, const gn_kernel *forward,
                                   const gn_operands *operands, bool relu, gn_kernel *out);

/* source, scale, shift, mean, variance, result, workspace; and
 * source, scale, shift, mean, variance, d result, workspace, d source, d scale, d shift */
gerne_status gn_make_batch_norm(gn_maker *maker, const gn_kernel *forward,
                                const gn_description *source, const gn_normalization *options,
                                gn_mode mode, gn_kernel *out);

/* source, result, workspace; and d source, d result, workspace */
gerne_status gn_make_pooling(gn_maker *maker, const gn_kernel *forward, const gn_operands *operands,
                             const gn_pooling *options, gn_mode mode, gn_kernel *out);

/* source, scale, shift, mean, variance, result; and
 * source, scale, shift, mean, variance, d result, d source, d scale, d shift; operands.bias
 * describes mean and variance, which inference does without */
gerne_status gn_make_layer_norm(gn_maker *maker, const gn_kernel *forward,
                                const gn_description *source, double epsilon, gn_mode mode,
                                gn_kernel *out);

/* source, result; and source (of GN_TANH: result), d result, d source: all described alike */
gerne_status gn_make_activation(gn_maker *maker, const gn_kernel *forward,
                                const gn_description *description, gn_activation activation,
                                gn_kernel *out);

/* a, b, sum: all described alike */
gerne_status gn_make_sum(gn_maker *maker, const gn_description *description, bool relu,
                         gn_kernel *out);
/* result, d result, d source: all described alike */
gerne_status gn_make_relu_gradient(gn_maker *maker, const gn_description *description,
                                   gn_kernel *out);
/* from, to */
gerne_status gn_make_reorder(gn_maker *maker, const gn_description *from, const gn_description *to,
                             gn_kernel *out);

/* ---- running them ---- */

enum { GN_ARGUMENTS_MAX = 13 };

/* A kernel that can be run again and again on the memory it is bound to. */
typedef struct gn_primitive gn_primitive;

gerne_status gn_primitive_new(gerne_ctx *ctx, gn_device *device, const gn_kernel *kernel,
                              gn_primitive **out);
void gn_primitive_close(gn_primitive *primitive);

/* The memory of the kernel's tensor number `index`, or of its scratchpad; tensors that it does
 * without are not bound. Another call moves a tensor. */
enum { GN_SCRATCHPAD = -1 };
gerne_status gn_primitive_bind(gerne_ctx *ctx, gn_primitive *primitive, int index,
                               const gn_description *description, void *memory);

gerne_status gn_primitive_start(gerne_ctx *ctx, gn_primitive *primitive);
gerne_status gn_primitives_wait(gerne_ctx *ctx, gn_device *device); /* for all that were started */

/* result = scale * a b of plain matrices, of which the first two may be stored transposed; strides
 * are those between rows as stored. On the calling thread alone inside of a parallel region. */
typedef struct gn_matrix {
    float *numbers;
    int64_t stride;
    bool transposed;
} gn_matrix;
bool gn_multiply_small(int64_t rows, int64_t columns, int64_t inner, double scale, gn_matrix a,
                       gn_matrix b, gn_matrix result); /* false when there is no memory */

/* Copies at once from one order to another. */
gerne_status gn_convert(gerne_ctx *ctx, gn_device *device, const gn_description *from,
                        const void *source, const gn_description *to, void *target);

#endif
